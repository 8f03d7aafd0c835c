//! The client with real servers, which are stopped, killed and compacted.
#![allow(unsafe_code)] // To stop servers, and to fork.

mod calls;
mod contract;
mod doors;
mod failover;
#[path = "../../../../../tests/common/etcd.rs"]
mod servers;
mod sessions;
mod watches;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use prost::Message;

use super::links::Repeat;
use super::wire::Call;
use super::*;
use servers::{Etcd, PATIENCE, until};

/// How long a call may take while servers run.
const LONG: Duration = PATIENCE;

fn config_of(etcd: &Etcd) -> Config {
    Config::of(&format!("etcd://{}/test?timeout=10", etcd.authority()))
}

fn engine_of(etcd: &Etcd) -> Engine {
    Engine::connect(&config_of(etcd)).unwrap()
}

fn put(key: &str, value: impl AsRef<[u8]>) -> Op {
    Op::Put { key: key.into(), value: value.as_ref().to_vec(), lease: 0, previous: false }
}

fn always(then: Vec<Op>) -> Txn {
    Txn { then, ..Txn::default() }
}

fn all(keys: Keys) -> Read {
    Read { keys, min_mod_revision: 0, keys_only: false }
}

/// What is in a range, and the revision.
fn range(engine: &Engine, keys: Keys) -> (Vec<KeyValue>, i64) {
    let mut snapshot = engine.read(vec![all(keys)], LONG).unwrap();
    (snapshot.found.remove(0), snapshot.revision)
}

/// The value of a key.
fn get(engine: &Engine, key: &str) -> Option<String> {
    let (mut found, _) = range(engine, Keys::One(key.into()));
    found.pop().map(|kv| String::from_utf8(kv.value).unwrap())
}

/// Any call of etcd: tests need more of them than the library.
fn call<C: Call>(engine: &Engine, request: C) -> Result<C::Answer, EngineError> {
    let links = engine.links().unwrap();
    engine.ask(LONG, async move {
        let until = Instant::now() + LONG;
        Ok(links.call(request, until, Repeat::Freely).await?)
    })
}

/// A listener, and the events that it receives.
fn listening<T: Send + 'static>() -> (impl Fn(T) + Send + 'static, Receiver<T>) {
    let (sender, events): (Sender<T>, _) = channel();
    // The test may have ended.
    (move |event| drop(sender.send(event)), events)
}

fn next<T>(events: &Receiver<T>) -> T {
    events.recv_timeout(PATIENCE).expect("an event in time")
}

/// A response of which nothing is needed.
#[derive(Clone, PartialEq, Message)]
struct Nothing {}

#[derive(Clone, PartialEq, Message)]
struct CompactionRequest {
    #[prost(int64, tag = "1")]
    revision: i64,
    #[prost(bool, tag = "2")]
    physical: bool,
}

impl Call for CompactionRequest {
    type Answer = Nothing;
    const PATH: &'static str = "/etcdserverpb.KV/Compact";
}
