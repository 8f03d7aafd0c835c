//! Who one is to the servers: a token that is fetched with a password, shown with every request, and fetched again when it is no longer good.

use std::time::Duration;

use parking_lot::Mutex;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;

use super::config::Login;
use super::error::Failure;
use super::messages::AuthenticateRequest;
use super::wire;

/// Who one is, if the URL says so.
#[derive(Debug)]
pub(super) struct Badge {
    login: Option<Login>,
    token: Mutex<Token>,
    /// Who fetches a token keeps the others waiting, so that one is fetched.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Token {
    /// How many there have been: who blames one that is gone already must not hit its successor.
    count: u64,
    proof: Option<Proof>,
}

/// What is shown with a request, and which one it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof {
    pub count: u64,
    /// `None` where nobody asks.
    token: Option<MetadataValue<Ascii>>,
}

impl Badge {
    pub fn new(login: Option<Login>) -> Self {
        Badge { login, token: Mutex::default(), fetching: Default::default() }
    }

    /// Is there a point in fetching another token?
    pub fn can_be_renewed(&self) -> bool {
        self.login.is_some()
    }

    /// What to show, fetched if there is none.
    pub async fn proof(&self, channel: &Channel, limit: Duration) -> Result<Proof, Failure> {
        let Some(login) = &self.login else { return Ok(Proof::default()) };
        let known = || self.token.lock().proof.clone();
        if let Some(proof) = known() {
            return Ok(proof);
        }
        let _alone = self.fetching.lock().await;
        if let Some(proof) = known() {
            return Ok(proof);
        }
        let fetched = fetch(channel, login, limit).await?;
        let mut token = self.token.lock();
        token.count += 1;
        let proof = Proof { count: token.count, token: fetched };
        token.proof = Some(proof.clone());
        Ok(proof)
    }

    /// A token is no longer good.
    pub fn discard(&self, count: u64) {
        let mut token = self.token.lock();
        if token.count == count {
            token.proof = None;
        }
    }
}

impl Proof {
    /// A request that shows it.
    pub fn on<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        // A server that has lost the others says so at once, instead of keeping the request until they come back.
        metadata.insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            metadata.insert("token", token.clone());
        }
        request
    }
}

async fn fetch(
    channel: &Channel,
    login: &Login,
    limit: Duration,
) -> Result<Option<MetadataValue<Ascii>>, Failure> {
    let password = login.password.reveal().to_owned();
    let request = AuthenticateRequest { name: login.user.clone(), password };
    let request = Proof::default().on(request);
    match wire::send(channel, request, limit).await {
        Ok(answer) => {
            let nonsense = |_| Failure::Token("the server's token makes no sense".to_owned());
            let mut token = MetadataValue::try_from(answer.token).map_err(nonsense)?;
            // It is not shown then.
            token.set_sensitive(true);
            Ok(Some(token))
        }
        Err(Failure::Refused(_, why)) if why.contains("authentication is not enabled") => Ok(None),
        Err(Failure::Refused(_, why)) => Err(Failure::Token(why)),
        Err(other) => Err(other),
    }
}
