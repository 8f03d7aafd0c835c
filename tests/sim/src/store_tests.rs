//! The simulated store keeps the promises of etcd under all faults.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::link::{self, Link};
use super::machine::Sim;
use super::nemesis;
use super::server::{Faults, Server, Shared};
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::rt;
use ternlease::sim_api::store::{
    Compare, Entry, Op, Range, Read, Store, StoreError, Txn, TxnReply, WatchEvent,
};

/// What a machine does.
type Script = Box<dyn FnOnce(&Rc<Sim>, &Shared)>;

/// Runs these machines until the first one has ended.
fn run(seed: u64, faults: Faults, machines: Vec<Script>) {
    let (sim, server) = (Sim::new(seed, false), Server::new(1_000_000));
    server.borrow_mut().faults = faults;
    link::set_server(Some(server.clone()));
    let over = Rc::new(Cell::new(false));
    for (number, machine) in machines.into_iter().enumerate() {
        let (process, server, over) = (sim.add_process(1_000_000, 0), server.clone(), over.clone());
        let here = sim.clone();
        sim.start(process, "the main thread", move || {
            machine(&here, &server);
            over.set(over.get() || number == 0);
        });
    }
    assert!(sim.run(1_000_000, || over.get()) && over.get(), "it does not end");
    sim.end();
    link::set_server(None);
}

fn link() -> Link {
    Link::new(Duration::from_secs(1))
}

fn put(key: &str, value: &str, session: Option<i64>) -> Op {
    Op::Put { key: key.to_owned(), value: value.into(), session }
}

fn log() -> Range {
    Range { from: "l/".to_owned(), to: "l0".to_owned() }
}

fn read_all(store: &Link, range: Range) -> (Vec<Entry>, i64) {
    loop {
        if let Ok((mut found, revision)) = store.read(&[Read::all(range.clone())]) {
            return (found.remove(0), revision);
        }
    }
}

/// Appends once, with the next number of the head.
fn append(store: &Link, name: &str) -> Result<TxnReply, StoreError> {
    store.txn(&Txn {
        compare: vec![Compare::Created(name.to_owned(), 0)],
        then: vec![put(name, name, None), Op::Swap { key: "head".to_owned(), value: name.into() }],
        otherwise: vec![Read::key(name.to_owned())],
    })
}

/// However requests and events travel, each watch reports each change once, in the order of the
/// revisions, from where it starts.
#[test]
fn watches_report_the_whole_history_in_order() {
    let faults = Faults {
        lost: 50,
        unanswered: 50,
        repeated: 50,
        late: 20,
        overtaken: 100,
        delayed: 20,
        delayed_copy: 20,
        delayed_until: 30_000_000,
        missed: 0,
        stale: 100,
    };
    for seed in 1..20 {
        let author = |name: &'static str| -> Script {
            Box::new(move |_, _| {
                for number in 0..20 {
                    let _ = append(&link(), &format!("l/{name}/{number:02}"));
                    rt::sleep(Duration::from_micros(rt::below(500_000)));
                }
                rt::sleep(Duration::from_secs(3600));
            })
        };
        let observer = move |sim: &Rc<Sim>, server: &Shared| {
            rt::sleep(Duration::from_secs(3));
            let store = link();
            let (found, revision) = read_all(&store, log());
            let all = Arc::new(Mutex::new(Vec::new()));
            let later = Arc::new(Mutex::new(Vec::new()));
            let watches = [(0, &all), (revision, &later)].map(|(after, events)| {
                let events = events.clone();
                let listener = Box::new(move |event| events.lock().unwrap().push(event));
                store.watch(log(), after, listener).unwrap()
            });
            server.borrow_mut().slow_down(0, sim.now() + 5_000_000);
            server.borrow_mut().cut_off(0, sim.now() + 1_000_000);
            rt::sleep(Duration::from_secs(60));
            let (end, _) = read_all(&store, log());
            assert!(end.len() > found.len(), "seed {seed}");
            for (events, before) in [(&all, Vec::new()), (&later, found)] {
                let mut seen: BTreeMap<String, Entry> =
                    before.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
                let mut last = 0;
                for event in events.lock().unwrap().iter() {
                    let WatchEvent::Changed { revision, changes } = event else { panic!() };
                    assert!(*revision > last);
                    last = *revision;
                    for change in changes {
                        let key = change.key.clone();
                        let value = change.value.clone().expect("nothing is deleted");
                        let (created, modified, version) = (last, last, change.version);
                        let entry = Entry { key, value, created, modified, version };
                        assert_eq!(seen.insert(change.key.clone(), entry), None);
                    }
                }
                assert_eq!(seen.into_values().collect::<Vec<_>>(), end, "seed {seed}");
            }
            drop(watches);
        };
        run(seed, faults, vec![Box::new(observer), author("a"), author("b")]);
    }
}

/// A request that was delayed, or its copy, is executed after its author got an unknown outcome,
/// after the session has ended and after the log was truncated. One that writes keys of the session
/// is not.
#[test]
fn delayed_request_is_executed_after_truncation_and_the_end_of_its_session() {
    let (mut executed, mut written_again) = (0, 0);
    for seed in 1..40 {
        let result = Rc::new(RefCell::new(None));
        let report = result.clone();
        run(
            seed,
            Faults::default(),
            vec![Box::new(move |sim, server| {
                let store = link();
                let session = store.session(Duration::from_secs(3), Box::new(|_| ())).unwrap();
                let delayed_until = sim.now() + 60_000_000;
                let faults = Faults { delayed: 1000, delayed_until, ..Faults::default() };
                server.borrow_mut().faults = faults;
                let first = append(&store, "l/first");
                assert!(matches!(first, Err(StoreError::Unknown(_))), "{first:?}");
                let held = put("held", "", Some(session.id()));
                assert!(store.txn(&Txn { then: vec![held], ..Txn::default() }).is_err());
                server.borrow_mut().faults =
                    Faults { delayed_copy: 1000, delayed_until, ..Faults::default() };
                assert!(matches!(append(&store, "l/second"), Ok(TxnReply::Done { .. })));
                server.borrow_mut().faults = Faults::default();
                session.revoke().unwrap();
                let truncate = Txn { then: vec![Op::Delete(log())], ..Txn::default() };
                store.txn(&truncate).unwrap();
                let (found, _) = read_all(&store, Range::only("held".to_owned()));
                assert_eq!(found, []);
                rt::sleep(Duration::from_secs(61));
                let (found, _) = read_all(&store, Range::only("held".to_owned()));
                assert_eq!(found, []);
                *report.borrow_mut() = Some(read_all(&store, log()).0);
            })],
        );
        let found = result.take().unwrap();
        executed += usize::from(found.iter().any(|entry| entry.key == "l/first"));
        written_again += usize::from(found.iter().any(|entry| entry.key == "l/second"));
    }
    assert!(executed > 20 && written_again > 20, "{executed} {written_again}");
}

/// What a member with a defect appends counts as an entry: the version of the head grows.
#[test]
fn garbage_is_appended_to_a_log_that_exists() {
    run(
        1,
        Faults::default(),
        vec![Box::new(|sim, server| {
            let (store, keys) = (link(), Keys::new(super::plans::TABLE));
            let append = || nemesis::append_garbage(server, sim, (7, 9), vec![1, 1, 0xff]);
            assert!(!append());
            let then = vec![Op::Swap { key: keys.head(), value: vec![] }];
            store.txn(&Txn { then, ..Txn::default() }).unwrap();
            assert!(append() && !append());
            let found = read_all(&store, keys.entries()).0;
            assert_eq!(keys.entry_of(&found[0].key), Some((7, 9)));
            assert_eq!(read_all(&store, Range::only(keys.head())).0[0].version, 2);
        })],
    );
}
