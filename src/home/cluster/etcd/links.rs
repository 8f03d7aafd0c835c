//! The connections to all servers: which one is used now, and when to turn to another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use super::badge::{Badge, Proof};
use super::config::Config;
use super::error::{EngineError, Failure};
use super::link::Link;
use super::random::{self, Backoff};
use super::seen::Seen;
use super::tls;
use super::wire::{self, Call};

/// The connections to all servers.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    /// The one that is used now.
    current: AtomicUsize,
    badge: Badge,
    pub seen: Seen,
    /// How long one request may take.
    pub timeout: Duration,
}

/// With what a request is sent.
struct Line {
    used: Used,
    channel: Channel,
    proof: Proof,
}

/// With what a request was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    link: usize,
    connection: u64,
    token: u64,
}

/// A call that goes on in both directions.
pub(super) struct Stream<C: Call> {
    /// The call ends when it goes.
    pub requests: mpsc::Sender<C>,
    pub answers: Streaming<C::Answer>,
    pub used: Used,
}

/// May a request be sent again if it may have been done?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Never,
    /// To do it twice is the same as to do it once.
    Freely,
}

impl Links {
    pub fn new(config: &Config) -> Result<Links, EngineError> {
        let tls = config.tls.as_ref().map(tls::client).transpose()?;
        let link = |host: &String| Link::new(host, tls.as_ref(), config.timeout);
        let links = config.endpoints.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        Ok(Links {
            // Not all processes begin with the first.
            current: AtomicUsize::new(random::below(links.len() as u64) as usize),
            links,
            badge: Badge::new(config.login.clone()),
            seen: Seen::default(),
            timeout: config.timeout,
        })
    }

    /// Sends a request to one server after the other, until one has it or time is up.
    pub async fn call<C: Call>(
        &self,
        request: C,
        until: Instant,
        repeat: Repeat,
    ) -> Result<C::Answer, Failure> {
        let mut backoff = Backoff::new();
        let mut attempts = 0;
        let mut token_renewed = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let limit = match repeat {
                Repeat::Never => left,
                Repeat::Freely => left.min(self.patience()),
            };
            let failure = match self.attempt(request.clone(), limit).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let again = match failure {
                Failure::NotHere(_) => true,
                Failure::Unknown { .. } => repeat == Repeat::Freely,
                // A new one that is not good either will not become so.
                Failure::Token(_) => {
                    self.badge.can_be_renewed() && !std::mem::replace(&mut token_renewed, true)
                }
                Failure::Refused(..) => false,
            };
            attempts += 1;
            let pause = match attempts % self.links.len() {
                0 => backoff.next(),
                _ => Duration::ZERO,
            };
            if !again || Instant::now() + pause >= until {
                return Err(failure);
            }
            sleep(pause).await;
        }
    }

    /// Sends a request to the server that is used now.
    async fn attempt<C: Call>(&self, request: C, limit: Duration) -> Result<C::Answer, Failure> {
        let begun = Instant::now();
        let line = self.line(limit).await?;
        let left = limit.saturating_sub(begun.elapsed());
        let sent = wire::send(&line.channel, line.proof.on(request), left).await;
        sent.map_err(|failure| {
            self.blame(line.used, &failure);
            failure.at(&self.links[line.used.link].name())
        })
    }

    /// Begins a call that goes on in both directions with its first request.
    pub async fn stream<C: Call>(&self, first: C, limit: Duration) -> Result<Stream<C>, Failure> {
        let line = self.line(limit).await?;
        let (requests, coming) = mpsc::channel(4);
        // There is room for one, and somebody who takes it.
        let _ = requests.try_send(first);
        let request = line.proof.on(ReceiverStream::new(coming));
        let begun = wire::begin(&line.channel, request, limit).await;
        let answers = begun.inspect_err(|failure| self.blame(line.used, failure))?;
        Ok(Stream { requests, answers, used: line.used })
    }

    /// Draws the consequences of a failure: no more of this connection, server or token.
    pub fn blame(&self, used: Used, failure: &Failure) {
        if failure.breaks() {
            self.links[used.link].forget(used.connection);
        }
        if failure.of_the_server() {
            self.turn_from(used.link);
        }
        if let Failure::Token(_) = failure {
            self.badge.discard(used.token);
        }
    }

    /// How many servers there are.
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// How long a server may be silent before another one is tried.
    pub fn patience(&self) -> Duration {
        self.timeout / 2
    }

    fn turn_from(&self, link: usize) {
        let next = (link + 1) % self.links.len();
        // Another request may have turned already.
        let _ = self.current.compare_exchange(link, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A connection to the server that is used now. If this fails, nothing was sent.
    async fn line(&self, limit: Duration) -> Result<Line, Failure> {
        let index = self.current.load(Ordering::Relaxed);
        let link = &self.links[index];
        let limit = limit.min(self.patience());
        let making = async {
            let (connection, channel) = link.open(&self.badge, limit).await?;
            let used = Used { link: index, connection, token: 0 };
            let proof = self.badge.proof(&channel, limit).await;
            let proof = proof.inspect_err(|failure| self.blame(used, failure))?;
            Ok(Line { used: Used { token: proof.count, ..used }, channel, proof })
        };
        let made = timeout(limit, making).await.unwrap_or_else(|_| Err(Failure::silence()));
        made.map_err(|failure| match failure {
            Failure::Token(why) => Failure::Token(why),
            other => {
                self.turn_from(index);
                Failure::NotHere(other.why().to_owned()).at(&link.name())
            }
        })
    }
}
