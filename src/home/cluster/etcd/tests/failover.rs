//! Servers that stop, die and come back, while calls are made.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;

use parking_lot::Mutex;

use super::*;

/// Until a transaction is done, whatever becomes of earlier ones.
fn until_done(engine: &Engine, key: &str) {
    until("a transaction is done", || {
        let outcome = engine.txn(always(vec![put(key, "1")]), Duration::from_secs(4));
        match outcome {
            Ok(_) => Some(()),
            Err(EngineError::Unknown(_) | EngineError::Refused(_)) => None,
            Err(other) => panic!("{other}"),
        }
    });
}

/// Stands between an engine and a server, and can keep answers to itself.
struct Between {
    address: SocketAddr,
    swallows: Arc<AtomicBool>,
    clients: Arc<Mutex<Vec<TcpStream>>>,
}

impl Between {
    fn new(server: String) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let between = Between {
            address: listener.local_addr().unwrap(),
            swallows: Arc::default(),
            clients: Arc::default(),
        };
        let (swallows, clients) = (between.swallows.clone(), between.clients.clone());
        // Its threads end with the test's process.
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                clients.lock().push(client.try_clone().unwrap());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                spawn(move || pass_on(from, to, &AtomicBool::new(false)));
                let swallows = swallows.clone();
                spawn(move || pass_on(server, client, &swallows));
            }
        });
        between
    }

    /// From now on, does it drop what the server says?
    fn swallow(&self, does: bool) {
        self.swallows.store(does, Ordering::SeqCst);
    }

    /// Closes all connections.
    fn cut(&self) {
        for client in self.clients.lock().drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, swallows: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !swallows.load(Ordering::SeqCst) && to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn what_was_done_unheard_is_not_called_refused() {
    let Some(etcd) = Etcd::start() else { return };
    let witness = engine_of(&etcd);
    let between = Between::new(etcd.authority());
    let url = format!("etcd://{}/test?timeout=4", between.address);
    let engine = Engine::connect(&Config::of(&url)).unwrap();
    let once = |key: &str| {
        let (found, _) = range(&witness, Keys::One(key.into()));
        assert_eq!(found[0].version, 1);
    };

    // Done, and the answer does not come.
    between.swallow(true);
    let outcome = engine.txn(always(vec![put("silence", "1")]), Duration::from_secs(5));
    assert!(matches!(outcome, Err(EngineError::Unknown(_))), "{outcome:?}");
    until("it was done", || get(&witness, "silence"));
    between.swallow(false);
    until_done(&engine, "well");
    once("silence");

    // Done, and the connection breaks before the answer comes.
    between.swallow(true);
    let (tell, told) = listening();
    engine.txn_then(always(vec![put("cut", "1")]), LONG, tell).unwrap();
    until("it was done", || get(&witness, "cut"));
    between.swallow(false);
    between.cut();
    let outcome = next(&told);
    assert!(matches!(outcome, Err(EngineError::Unknown(_))), "{outcome:?}");
    until_done(&engine, "well");
    once("cut");
}

#[test]
fn a_server_that_stops_leaves_calls_unknown_and_is_used_when_it_goes_on() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    etcd.stop(0);
    let outcome = engine.txn(always(vec![put("a", "1")]), Duration::from_secs(1));
    assert!(matches!(outcome, Err(EngineError::Unknown(_))), "{outcome:?}");
    // It is not sent to a server that was silent the last time.
    let outcome = engine.txn(always(vec![put("b", "1")]), Duration::from_secs(1));
    assert!(matches!(outcome, Err(EngineError::Refused(_))), "{outcome:?}");
    etcd.cont(0);
    until_done(&engine, "c");
    assert_eq!(get(&engine, "b"), None);
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let Some(mut etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    etcd.kill(0);
    let why = until("the connection is known to be gone", || {
        let outcome = engine.txn(always(vec![put("a", "1")]), Duration::from_secs(1));
        match outcome.unwrap_err() {
            EngineError::Refused(why) => Some(why),
            EngineError::Unknown(_) => None,
            other => panic!("{other}"),
        }
    });
    assert!(why.contains(&etcd.authority()), "{why}");
    let mut config = config_of(&etcd);
    config.timeout = Duration::from_secs(1);
    let error = Engine::connect(&config).unwrap_err();
    assert!(matches!(&error, EngineError::Refused(why) if why.contains("refused")), "{error}");
    // What waits for the server gets through when it is back.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| engine.txn(always(vec![put("a", "2")]), LONG));
        etcd.restart(0);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(get(&engine, "a").as_deref(), Some("2"));
}

#[test]
fn calls_go_on_when_the_leader_stops() {
    let Some(etcd) = Etcd::cluster(3) else { return };
    let mut config = config_of(&etcd);
    config.timeout = Duration::from_secs(4);
    // They begin with servers of their own choice.
    let engines: Vec<_> = (0..4).map(|_| Engine::connect(&config).unwrap()).collect();
    let leader = etcd.leader();
    etcd.stop(leader);
    std::thread::scope(|scope| {
        for (i, engine) in engines.iter().enumerate() {
            scope.spawn(move || {
                until_done(engine, &format!("k{i}"));
                assert!(!range(engine, Keys::Prefix(b"k".to_vec())).0.is_empty());
            });
        }
    });
    // A new one finds its way around the stopped one, too.
    let mut late = config.clone();
    late.timeout = Duration::from_secs(10);
    for _ in 0..3 {
        until_done(&Engine::connect(&late).unwrap(), "late");
    }
    etcd.cont(leader);
}

#[test]
fn calls_go_on_when_servers_are_killed_in_turn() {
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    let mut config = config_of(&etcd);
    config.timeout = Duration::from_secs(4);
    let engine = Engine::connect(&config).unwrap();
    for index in 0..3 {
        etcd.kill(index);
        until_done(&engine, &format!("k{index}"));
        etcd.restart(index);
    }
    let (found, _) = range(&engine, Keys::Prefix(b"k".to_vec()));
    assert_eq!(found.len(), 3);
}
