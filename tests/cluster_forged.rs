//! Keys of a table that another client has deleted or written to, as everybody with rights to them can: an error or nothing at all, never a panic or a call that
//! does not come back; and other tables of the same etcd go on.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::net::SocketAddrV4;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use etcd::gateway::{base64, call};
use etcd::{Etcd, PATIENCE};
use ternlease::{LeaseManager, LeaseState};

const HOUR: Duration = Duration::from_secs(3600);
/// So long somebody stands in line.
const SHORT: Duration = Duration::from_secs(1);

/// What the keys of a table begin with, after its name (`src/home/cluster/keys.rs`); of several, the last one is forged.
const KEYS: [&str; 4] = ["shape", "head", "l/", "s/"];

/// How: by what is written instead, made from what was there and what is in another key, both as JSON has bytes.
type Forgery = (&'static str, fn(&str, &str) -> Option<String>);
const FORGERIES: [Forgery; 6] = [
    ("deleted", |_, _| None),
    ("emptied", |_, _| Some(String::new())),
    ("cut in half", |was, _| Some(was[..was.len() / 8 * 4].to_owned())),
    ("another's", |_, other| Some(other.to_owned())),
    ("ones only", |was, _| Some("/".repeat(was.len().max(12)))),
    ("a hundred thousand zeros", |_, _| Some("A".repeat(100_000))),
];

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The last key that begins with this, and what is in it, as JSON has them.
fn read(server: SocketAddrV4, begins: &str) -> (String, String) {
    let end = begins[..begins.len() - 1].to_owned() + "\u{7f}";
    let (key, end) = (base64(begins), base64(&end));
    let told = call(server, "kv/range", &format!(r#"{{"key":"{key}","range_end":"{end}"}}"#));
    let last = told.rsplit_once(r#""key":""#).expect("there is no such key").1;
    let value = last.split_once(r#""value":""#).map_or("", |(_, rest)| rest);
    let text = |quoted: &str| quoted.split('"').next().unwrap().to_owned();
    (text(last), text(value))
}

fn forge(server: SocketAddrV4, table: &str, key: &str, forgery: Forgery) {
    let (_, other) = read(server, &format!("/ternlease/{table}/shape"));
    let (key, was) = read(server, &format!("/ternlease/{table}/{key}"));
    match forgery.1(&was, &other) {
        None => call(server, "kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)),
        Some(value) => call(server, "kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#)),
    };
}

/// Everything is asked of two who use the table, and of one who comes new. What they say does not matter; that they do, does.
fn use_forged(server: SocketAddrV4, table: &str, key: &str, forgery: Forgery) {
    let url = format!("etcd://{server}/{table}?timeout=2&session_ttl=5&member=own");
    let managers = [(); 2].map(|()| LeaseManager::open(&url).unwrap());
    let lease = managers[0].acquire("gpu0", "one", HOUR).unwrap();
    let names = ["gpu0"];
    let waits = managers[1].claim("two").of(&names).patience(SHORT).enqueue().unwrap();
    forge(server, table, key, forgery);
    for manager in &managers {
        let _ = manager.acquire("gpu1", "three", HOUR);
        let _ = manager.release(lease);
        let _ = (manager.leases().len(), manager.tickets().len(), manager.find_deadlocks());
        let _ = manager.events_since(0);
        let _ = manager.acquire("gpu2", "four", HOUR).and_then(|lease| manager.release(lease));
    }
    let _ = waits.wait();
    let _ = LeaseManager::open(&url).map(|new| new.acquire("gpu3", "five", HOUR));
}

#[test]
fn whatever_is_in_the_keys_everybody_gets_an_answer() {
    let Some(etcd) = Etcd::start() else { return };
    let server = etcd.client(0);
    std::panic::set_hook(Box::new(|panic| PANICS.lock().unwrap().push(panic.to_string())));
    let apart = LeaseManager::open(&format!("etcd://{server}/apart")).unwrap();
    let lease = apart.acquire("gpu0", "one", HOUR).unwrap();

    let (tell, told) = channel();
    for (number, key) in KEYS.into_iter().enumerate() {
        for (other, forgery) in FORGERIES.into_iter().enumerate() {
            let tell = tell.clone();
            thread::spawn(move || {
                use_forged(server, &format!("forged-{number}-{other}"), key, forgery);
                tell.send((key, forgery.0)).unwrap();
            });
        }
    }
    let mut missing: Vec<_> =
        KEYS.iter().flat_map(|key| FORGERIES.map(|forgery| (*key, forgery.0))).collect();
    while !missing.is_empty() {
        let Ok(done) = told.recv_timeout(PATIENCE) else { break };
        missing.retain(|it| *it != done);
    }
    let _ = std::panic::take_hook();
    assert!(PANICS.lock().unwrap().is_empty(), "{:#?}", PANICS.lock().unwrap());
    assert!(missing.is_empty(), "not answered: {missing:?}");

    assert_eq!(apart.state(lease), Some(LeaseState::Held));
    apart.release(lease).unwrap();
}
