//! The client against real servers, which are stopped, killed and told to forget.
#![allow(unsafe_code)] // To stop servers, and to fork.

mod calls;
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

/// How long a call may take where servers are well.
const LONG: Duration = PATIENCE;

fn config_of(etcd: &Etcd) -> Config {
    Config::of(&format!("etcd://{}/test?timeout=10", etcd.authority()))
}

fn engine_of(etcd: &Etcd) -> Engine {
    Engine::connect(&config_of(etcd)).unwrap()
}

fn put(key: &str, value: impl AsRef<[u8]>) -> Op {
    Op::Put { key: key.into(), value: value.as_ref().to_vec(), lease: 0 }
}

fn always(then: Vec<Op>) -> Txn {
    Txn { then, ..Txn::default() }
}

/// The value of a key.
fn get(engine: &Engine, key: &str) -> Option<String> {
    let mut found = engine.range(Keys::One(key.into()), LONG).unwrap();
    found.keys.pop().map(|kv| String::from_utf8(kv.value).unwrap())
}

/// Any call of etcd's, as tests need more of them than the library.
fn call<C: Call>(engine: &Engine, request: C) -> Result<C::Answer, EngineError> {
    let links = engine.links().unwrap();
    engine.ask(LONG, async move {
        let until = Instant::now() + LONG;
        Ok(links.call(request, until, Repeat::Freely).await?)
    })
}

/// What is told to a callback, to be looked at by a test.
fn listening<T: Send + 'static>() -> (impl Fn(T) + Send + 'static, Receiver<T>) {
    let (tell, told): (Sender<T>, _) = channel();
    // The test may have ended.
    (move |news| drop(tell.send(news)), told)
}

fn next<T>(told: &Receiver<T>) -> T {
    told.recv_timeout(PATIENCE).expect("there are news in time")
}

/// An answer of which nothing is needed.
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
