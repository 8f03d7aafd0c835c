//! The connection to one server.

use std::time::Duration;

use parking_lot::Mutex;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

use super::badge::Badge;
use super::error::{EngineError, Failure, chain};
use super::messages::StatusRequest;
use super::{version, wire};

/// A server closes the connection of who asks more often than every five seconds whether it is alive.
const ALIVE_CHECK: Duration = Duration::from_secs(10);

/// The connection to one server, made when it is needed.
#[derive(Debug)]
pub(super) struct Link {
    endpoint: Endpoint,
    connection: Mutex<Connection>,
    /// Who connects keeps the others waiting, so that one connection is made.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Connection {
    /// How many there have been: who blames one that is gone already must not hit its successor.
    count: u64,
    /// There only if the server has answered by it and is good enough, and gone as soon as it fails: what cannot be
    /// repeated is never sent to a server that may be dead for long.
    channel: Option<Channel>,
}

impl Link {
    pub fn new(
        host: &str,
        tls: Option<&ClientTlsConfig>,
        timeout: Duration,
    ) -> Result<Link, EngineError> {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{host}"))
            .and_then(|endpoint| match tls {
                Some(tls) => endpoint.tls_config(tls.clone()),
                None => Ok(endpoint),
            })
            .map_err(|error| EngineError::Refused(format!("{host}: {}", chain(&error))))?
            .http2_keep_alive_interval(ALIVE_CHECK)
            .keep_alive_timeout(timeout)
            // The server takes it for an attack.
            .keep_alive_while_idle(false)
            // Tables are large, and the usual window makes them wait for the other side every 64 KB.
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(4 << 20);
        Ok(Link { endpoint, connection: Mutex::default(), connecting: Default::default() })
    }

    pub fn name(&self) -> String {
        let uri = self.endpoint.uri();
        uri.authority().map_or_else(|| uri.to_string(), ToString::to_string)
    }

    /// A connection by which the server has answered, and which one it is.
    pub async fn open(&self, badge: &Badge, limit: Duration) -> Result<(u64, Channel), Failure> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let _alone = self.connecting.lock().await;
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let connecting = self.endpoint.connect().await;
        let channel = connecting.map_err(|error| Failure::NotHere(chain(&error)))?;
        let proof = badge.proof(&channel, limit).await?;
        let status = wire::send(&channel, proof.on(StatusRequest {}), limit).await;
        if let Err(Failure::Token(_)) = status {
            badge.discard(proof.count);
        }
        match version::objection(&status?.version) {
            Some(why) => Err(Failure::NotHere(why)),
            None => Ok(self.keep(channel)),
        }
    }

    fn known(&self) -> Option<(u64, Channel)> {
        let connection = self.connection.lock();
        connection.channel.clone().map(|channel| (connection.count, channel))
    }

    fn keep(&self, channel: Channel) -> (u64, Channel) {
        let mut connection = self.connection.lock();
        connection.count += 1;
        connection.channel = Some(channel.clone());
        (connection.count, channel)
    }

    /// A connection is broken.
    pub fn forget(&self, count: u64) {
        let mut connection = self.connection.lock();
        if connection.count == count {
            connection.channel = None;
        }
    }
}
