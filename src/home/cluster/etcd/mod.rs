//! A client of etcd, with what the cluster home needs and no more. It runs on its own thread;
//! callers are ordinary threads.

mod badge;
mod config;
mod engine;
mod error;
mod link;
mod links;
mod messages;
mod of_this_process;
mod random;
mod range;
mod seen;
mod session;
mod status;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod tls;
mod txn;
mod version;
mod watch;
mod wire;

pub(crate) use config::{Config, without_password};
pub(crate) use engine::Engine;
pub(crate) use error::EngineError;
pub(crate) use messages::KeyValue;
pub(crate) use random::half_to_whole;
pub(crate) use seen::Replaced;
pub(crate) use session::{Session, SessionNews};
pub(crate) use txn::{Compare, Keys, Op, OpReply, Read, Txn};
pub(crate) use watch::{Change, Watch, WatchEvent};
