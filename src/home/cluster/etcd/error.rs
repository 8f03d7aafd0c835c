//! Why a call failed, and above all: whether it may have been done all the same.

use std::error::Error;
use std::fmt;
use std::io;

use tonic::{Code, ConnectError, Status};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineError {
    /// It was surely not done.
    Refused(String),
    /// It may have been done or not, or may still be done.
    Unknown(String),
    /// It was surely not done, because the cluster does not know this user or does not let it.
    Unauthenticated(String),
    /// This process is a child of the one that the engine is of.
    Forked,
    /// The engine was closed before the call began.
    Closed,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Refused(why) => write!(f, "not done: {why}"),
            EngineError::Unknown(why) => write!(f, "outcome unknown: {why}"),
            EngineError::Unauthenticated(why) => write!(f, "not allowed: {why}"),
            EngineError::Forked => f.write_str("the connection is that of the parent process"),
            EngineError::Closed => f.write_str("the connection was closed"),
        }
    }
}

impl Error for EngineError {}

/// What to make of a failed attempt.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request was surely not done, and another server may do it.
    NotHere(String),
    /// The request was surely not done, as its token is not good or no longer good.
    Token(String),
    /// The request was surely not done, and no server would.
    Refused(Code, String),
    /// The request may have been done. A broken connection is not to be used again; a server that merely says that it does
    /// not know can be talked to.
    Unknown { why: String, broken: bool },
}

impl Failure {
    /// Nothing was heard for too long.
    pub fn silence() -> Failure {
        Failure::Unknown { why: "no answer in time".to_owned(), broken: true }
    }

    /// The server ended what should go on.
    pub fn ended() -> Failure {
        Failure::Unknown { why: "the server ended the call".to_owned(), broken: true }
    }

    pub fn not_found(&self) -> bool {
        matches!(self, Failure::Refused(Code::NotFound, _))
    }

    /// Is no later renewal of a lease answered otherwise? etcd renews a lease for those who may
    /// write its keys.
    pub fn ends_session(&self) -> bool {
        self.not_found() || matches!(self, Failure::Refused(Code::PermissionDenied, _))
    }

    pub fn compacted(&self) -> bool {
        matches!(self, Failure::Refused(Code::OutOfRange, why) if why.contains("compacted"))
    }

    /// Is another server to be tried next?
    pub fn of_the_server(&self) -> bool {
        matches!(self, Failure::NotHere(_) | Failure::Unknown { .. })
    }

    /// Is the connection not to be used again before its server has answered by another one?
    pub fn breaks(&self) -> bool {
        matches!(self, Failure::NotHere(_) | Failure::Unknown { broken: true, .. })
    }

    /// Says at which server it was that nothing was done.
    pub fn at(self, server: &str) -> Failure {
        match self {
            Failure::NotHere(why) => Failure::NotHere(format!("{server}: {why}")),
            other => other,
        }
    }

    pub fn why(&self) -> &str {
        match self {
            Failure::NotHere(why) | Failure::Token(why) | Failure::Refused(_, why) => why,
            Failure::Unknown { why, .. } => why,
        }
    }
}

impl From<Failure> for EngineError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotHere(why) => EngineError::Refused(why),
            Failure::Token(why) => EngineError::Unauthenticated(why),
            Failure::Refused(Code::PermissionDenied, why) => EngineError::Unauthenticated(why),
            Failure::Refused(_, why) => EngineError::Refused(why),
            Failure::Unknown { why, .. } => EngineError::Unknown(why),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if let Some(connect) = never_connected(&status) {
            return Failure::NotHere(connect.to_owned());
        }
        let why = status.message().to_owned();
        let Some(etcd) = status.message().strip_prefix("etcdserver: ") else {
            return match status.code() {
                // What the server's own transport refuses before etcd sees it.
                Code::ResourceExhausted | Code::Unimplemented if why.starts_with("grpc: ") => {
                    Failure::Refused(status.code(), why)
                }
                _ => Failure::Unknown { why: chain(&status), broken: true },
            };
        };
        match status.code() {
            // Asked before anything is done, as each request says that it needs a leader.
            Code::Unavailable if etcd == "no leader" => Failure::NotHere(why),
            Code::ResourceExhausted if etcd == "too many requests" => Failure::NotHere(why),
            Code::FailedPrecondition if etcd.contains("learner") => Failure::NotHere(why),
            Code::Unauthenticated => Failure::Token(why),
            Code::InvalidArgument
                if ["user name is empty", "revision of auth store is old"].contains(&etcd) =>
            {
                Failure::Token(why)
            }
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::ResourceExhausted => Failure::Refused(status.code(), why),
            _ => Failure::Unknown { why, broken: false },
        }
    }
}

/// Why there was no connection to send anything by, if that is so.
fn never_connected(status: &Status) -> Option<String> {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return Some(chain(error));
        }
        cause = error.source();
    }
    None
}

/// What the system said, without its number.
pub(super) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::ConnectionRefused, _) => "connection refused".to_owned(),
        (_, Some(number)) => text.replace(&format!(" (os error {number})"), ""),
        _ => text,
    }
}

/// An error with all its causes, in one line.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        let said = match (error.downcast_ref::<Status>(), error.downcast_ref::<io::Error>()) {
            (Some(status), _) => status.message().to_owned(),
            (None, Some(error)) => in_words(error),
            (None, None) => error.to_string(),
        };
        // Layers of the transport that name no cause of their own.
        let is_layer = ["transport error", "tcp connect error"].contains(&said.as_str());
        // Many an error repeats its cause.
        let is_said = words.iter().any(|earlier| earlier.contains(&said));
        let is_empty = is_layer && next.is_some();
        if !is_said && !is_empty {
            words.push(said);
        }
    }
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(code: Code, message: &str) -> EngineError {
        Failure::from(Status::new(code, message)).into()
    }

    #[test]
    fn only_what_was_surely_not_done_is_refused() {
        for (code, message) in [
            (Code::InvalidArgument, "etcdserver: too many operations in txn request"),
            (Code::NotFound, "etcdserver: requested lease not found"),
            (Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded"),
            (Code::ResourceExhausted, "etcdserver: too many requests"),
            (Code::ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"),
            (Code::Unavailable, "etcdserver: no leader"),
        ] {
            assert!(matches!(verdict(code, message), EngineError::Refused(_)), "{message}");
        }
        for (code, message) in [
            (Code::Unavailable, "etcdserver: request timed out"),
            (Code::Unavailable, "etcdserver: leader changed"),
            (Code::Unavailable, "etcdserver: server stopped"),
            (Code::Unavailable, "transport is closing"),
            (Code::Cancelled, "etcdserver: request canceled"),
            (Code::DeadlineExceeded, "etcdserver: context deadline exceeded"),
            (Code::OutOfRange, "Error, decoded message length too large"),
            (Code::Unknown, ""),
        ] {
            assert!(matches!(verdict(code, message), EngineError::Unknown(_)), "{message}");
        }
        for (code, message) in [
            (Code::Unauthenticated, "etcdserver: invalid auth token"),
            (Code::InvalidArgument, "etcdserver: user name is empty"),
            (Code::PermissionDenied, "etcdserver: permission denied"),
        ] {
            assert!(matches!(verdict(code, message), EngineError::Unauthenticated(_)), "{message}");
        }
    }
}
