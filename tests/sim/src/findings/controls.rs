//! Runs without a guard of the protocol. Each shows what is wrong then, or which other guard does
//! the same. The same run with the guard passes.

use super::*;
use crate::guards::{self, Guard};
use crate::plans::TABLE;
use crate::server;
use ternlease::sim_api::keys::{END, Keys};
use ternlease::sim_api::replica::Replica;
use ternlease::sim_api::shape::Shape;
use ternlease::sim_api::store::{Entry, Op, Read, Txn, TxnReply};

/// Longer than any request or session lasts.
const MINUTE: Duration = Duration::from_secs(60);

fn keys() -> Keys {
    Keys::new(TABLE)
}

fn base(server: &Shared) -> Option<Entry> {
    server.borrow().keys.read(&Read::key(keys().base())).pop()
}

/// Claims a resource and releases it.
fn claim_once(manager: &LeaseManager) {
    let lease = manager.acquire("x", "holder", HOUR).unwrap();
    manager.release(lease).unwrap();
}

/// Can another member read the log, join and append?
fn can_join() -> bool {
    let manager = crate::open(SHARED, Options::real());
    manager.is_ok_and(|manager| manager.acquire("new", "newcomer", HOUR).is_ok())
}

/// Runs a script on one machine, and returns its result.
fn result_of<T: 'static>(
    guard: Option<Guard>,
    script: impl FnOnce(&Rc<Sim>, &Shared) -> T + 'static,
    others: Vec<Script>,
) -> T {
    let result = Rc::new(Cell::new(None));
    let report = result.clone();
    let first: Script = Box::new(move |sim, server| report.set(Some(script(sim, server))));
    let machines = std::iter::once(first).chain(others).collect();
    run_with(Server::without(guard), 1, machines);
    result.take().expect("the script has ended")
}

/// The first transaction that was executed and for which this is true.
fn executed(server: &Shared, is_wanted: impl Fn(&Txn) -> bool) -> Txn {
    let server = server.borrow();
    let executed = server.executed.as_ref().expect("they are recorded");
    executed.iter().find(|txn| is_wanted(txn)).expect("it was executed").clone()
}

/// A copy of a request arrives. Is it executed?
fn repeat(sim: &Rc<Sim>, server: &Shared, txn: &Txn) -> bool {
    matches!(server::run_txn(server, sim, txn), Ok(TxnReply::Done { .. }))
}

/// A process dies while its claim is on its way, and the claim arrives up to half a minute later.
/// How many entries of the session are in the log after its end? None of them grants a lease.
fn count_entries_after_end(guard: Option<Guard>, seed: u64) -> usize {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    run_with(
        Server::without(guard),
        seed,
        vec![
            Box::new(move |sim, server| {
                let manager = open();
                while manager.leases_on("b").is_empty() {
                    rt::sleep(Duration::from_millis(10));
                }
                let until = sim.now() + 40_000_000;
                while sim.now() < until {
                    // A claim that arrives before the end is granted until the end.
                    let ended = manager.leases_on("b").is_empty();
                    assert!(!ended || manager.leases_on("a").is_empty());
                    rt::sleep(Duration::from_millis(50));
                }
                counted.set(count_dropped(server));
                manager.acquire("a", "heir", HOUR).unwrap();
            }),
            Box::new(|sim, server| {
                let manager = open();
                manager.acquire("b", "holder", HOUR).unwrap();
                let delayed_until = sim.now() + 30_000_000;
                let faults = Faults { delayed: 1000, delayed_until, ..Faults::default() };
                server.borrow_mut().faults = faults;
                let engine = server.clone();
                sim.after(1, None, move |sim| {
                    engine.borrow_mut().faults = Faults::default();
                    sim.kill(1);
                });
                let claimed = manager.acquire("a", "holder", HOUR);
                panic!("the machine is killed before: {claimed:?}");
            }),
        ],
    );
    count.get()
}

/// Applies the log to a new replica. How many of its entries are of sessions that have ended? The
/// replica drops their commands.
fn count_dropped(server: &Shared) -> usize {
    let read = |read: Read| server.borrow().keys.read(&read);
    let shape = read(Read::key(keys().shape())).pop().expect("there is a table");
    let shape = Shape::decode(&shape.value).expect("a shape");
    let mut replica = Replica::try_new(&shape).expect("there is memory");
    let mut log = read(Read::all(keys().entries()));
    log.sort_by_key(|entry| entry.modified);
    let (mut ended, mut dropped) = (Vec::new(), 0);
    for entry in log {
        let (session, number) = keys().entry_of(&entry.key).expect("an entry");
        let applied = replica.apply(entry.modified, &entry.value).expect("the log is sound");
        assert_eq!(replica.malformed(), 0);
        if ended.contains(&session) {
            assert_eq!((applied.author, replica.last_of(session)), (None, None));
            assert_eq!(applied.effects, Some(vec![]));
            dropped += 1;
        }
        if number == END {
            ended.push(session);
        }
    }
    dropped
}

/// Without the guard, the log has entries of sessions that have ended. They do no harm: the replica
/// is the second guard, which drops them.
#[test]
fn append_without_session_guard_is_dropped_by_replicas() {
    let count = |guard| (1..=10).map(|seed| count_entries_after_end(guard, seed)).sum::<usize>();
    assert_eq!(count(None), 0);
    let late = count(Some(Guard::Session));
    println!("{late} of 10 late claims are in the log after the end of their session");
    assert!(late > 0);
}

/// A copy of the first claim of a session arrives after the log was truncated there, while it is
/// truncated again. Is its entry appended again? Can another member join?
fn repeat_while_truncating(guard: Option<Guard>) -> (bool, bool) {
    let script = |sim: &Rc<Sim>, server: &Shared| {
        server.borrow_mut().executed = Some(Vec::new());
        let manager = open();
        claim_once(&manager);
        let is_first = |txn: &Txn| guards::entry_in(txn).is_some_and(|(_, number)| number == 1);
        let claim = executed(server, is_first);
        let (session, number) = guards::entry_in(&claim).expect("an append");
        let key = Read::key(keys().entry(session, number));
        let repeated = Rc::new(Cell::new(None));
        let (report, here, engine) = (repeated.clone(), sim.clone(), server.clone());
        sim.start(0, "the network", move || {
            let pause = || rt::sleep(Duration::from_micros(10));
            while !engine.borrow().keys.read(&key).is_empty() {
                pause();
            }
            let before = base(&engine);
            while base(&engine) == before {
                pause();
            }
            report.set(Some(repeat(&here, &engine, &claim)));
        });
        while repeated.get().is_none() {
            claim_once(&manager);
        }
        rt::sleep(MINUTE);
        (repeated.get() == Some(true), can_join())
    };
    result_of(guard, script, vec![])
}

/// Without the guard, the entry is appended again. Replicas drop it because of its number, and a
/// truncation deletes only keys that it knows.
#[test]
fn append_without_guard_of_last_entry_is_dropped_by_replicas() {
    assert_eq!(repeat_while_truncating(None), (false, true));
    assert_eq!(repeat_while_truncating(Some(Guard::LastEntry)), (true, true));
}

/// What the network repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Join,
    Claim,
    End,
}

/// All requests of one step arrive twice. Can the process append afterwards? Can another member
/// join?
fn repeat_requests(guard: Option<Guard>, repeated: Step) -> (bool, bool) {
    let script = move |sim: &Rc<Sim>, server: &Shared| {
        let begin = |step| {
            rt::sleep(MINUTE);
            let repeated = if step == repeated { 1000 } else { 0 };
            server.borrow_mut().faults = Faults { repeated, ..Faults::default() };
        };
        begin(Step::Join);
        let manager = open();
        if repeated == Step::Claim {
            begin(Step::Claim);
            manager.acquire("a", "holder", HOUR).unwrap();
        }
        if repeated == Step::End {
            begin(Step::End);
            sim.after(1, None, |sim| sim.kill(1));
            manager.claim("heir").of(&["b"]).ttl(HOUR).wait_for(MINUTE).unwrap();
        }
        rt::sleep(Duration::from_secs(5));
        server.borrow_mut().faults = Faults::default();
        rt::sleep(MINUTE);
        (manager.acquire("c", "holder", HOUR).is_ok(), can_join())
    };
    let other: Script = Box::new(|_, _| {
        let manager = open();
        manager.acquire("b", "holder", HOUR).unwrap();
        rt::sleep(HOUR);
    });
    result_of(guard, script, vec![other])
}

/// Without the guard, a copy of a request moves an entry in the log: other members find that an
/// entry is missing, and the session cannot append behind an entry that has moved.
#[test]
fn append_without_guard_of_own_key_is_detected() {
    for step in [Step::Claim, Step::End] {
        assert_eq!(repeat_requests(None, step), (true, true), "{step:?}");
    }
    let guard = Some(Guard::OwnKey);
    assert_eq!(repeat_requests(guard, Step::Claim), (false, false));
    assert_eq!(repeat_requests(guard, Step::End), (true, false));
}

/// The same of the entry with which a session joins.
#[test]
fn join_without_guard_is_detected() {
    assert_eq!(repeat_requests(None, Step::Join), (true, true));
    assert_eq!(repeat_requests(Some(Guard::Join), Step::Join), (false, false));
}

/// A copy of the write of a snapshot arrives after the next snapshot. Is it executed? Can another
/// member join?
fn repeat_snapshot(guard: Option<Guard>) -> (bool, bool) {
    let script = |sim: &Rc<Sim>, server: &Shared| {
        server.borrow_mut().executed = Some(Vec::new());
        let manager = open();
        while base(server).is_none_or(|base| base.version < 2) {
            claim_once(&manager);
        }
        rt::sleep(MINUTE);
        let is_base = |op: &Op| matches!(op, Op::Put { key, .. } if *key == keys().base());
        let first = executed(server, |txn| txn.then.iter().any(is_base));
        (repeat(sim, server, &first), can_join())
    };
    result_of(guard, script, vec![])
}

/// Without the guard, a snapshot that was deleted replaces its successor.
#[test]
fn snapshot_without_guard_of_base_is_detected() {
    assert_eq!(repeat_snapshot(None), (false, true));
    assert_eq!(repeat_snapshot(Some(Guard::Base)), (true, false));
}

/// Without the deadline of its session, a holder that is cut off reports its lease as held when
/// another process has the device.
#[test]
fn session_without_deadline_is_detected() {
    assert!(!has_two_holders(Server::without(None)));
    assert!(has_two_holders(Server::without(Some(Guard::Deadline))));
}

/// Two processes claim a resource at the same time. How many get it?
fn count_holders(guard: Option<Guard>) -> u64 {
    let holders = Rc::new(Cell::new(0));
    let claim = |number: u64| -> Script {
        let holders = holders.clone();
        Box::new(move |sim, _| {
            let manager = open();
            rt::sleep(Duration::from_micros(10_000_000 - sim.now()));
            match manager.acquire("a", "holder", HOUR) {
                Ok(_) => holders.set(holders.get() + 1),
                Err(error) => assert_eq!(error, Error::Busy, "process {number}"),
            }
            rt::sleep(Duration::from_secs(1));
        })
    };
    run_with(Server::without(guard), 1, vec![claim(0), claim(1)]);
    holders.get()
}

/// A reply before the entry is in the store grants a resource twice.
#[test]
fn reply_before_the_append_is_detected() {
    assert_eq!(count_holders(None), 1);
    assert_eq!(count_holders(Some(Guard::Execution)), 2);
}

/// So does a reply before the entries in front of it are applied.
#[test]
fn reply_without_the_entries_in_front_is_detected() {
    assert_eq!(count_holders(None), 1);
    assert_eq!(count_holders(Some(Guard::Predecessor)), 2);
}

/// For how many milliseconds a machine reports a lease as held that another machine has ended. The
/// author of the end leaves or is killed two seconds after it.
fn late_notice(guard: Option<Guard>, leaves: bool) -> u64 {
    let ended = Rc::new(Cell::new(None));
    let note = ended.clone();
    result_of(
        guard,
        move |sim, _| {
            let manager = open();
            let lease = manager.claim("spare").of(&["a"]).spare(Duration::ZERO).try_now().unwrap();
            while ended.get().is_none() {
                rt::sleep(Duration::from_millis(1));
            }
            if !leaves {
                sim.after(2_000_000, None, |sim| sim.kill(1));
            }
            while manager.state(lease) == Some(LeaseState::Held) {
                rt::sleep(Duration::from_millis(1));
            }
            (sim.now() - ended.get().unwrap()) / 1000
        },
        vec![Box::new(move |sim, _| {
            let manager = open();
            while manager.leases_on("a").is_empty() {
                rt::sleep(Duration::from_millis(1));
            }
            manager.claim("first").of(&["a"]).wait_for(HOUR).unwrap();
            note.set(Some(sim.now()));
            rt::sleep(if leaves { Duration::from_secs(2) } else { HOUR });
            drop(manager);
            rt::sleep(HOUR);
        })],
    )
}

/// The author of an entry ended before it wrote the hints of those that the entry concerns. Its own
/// session ends too, and then every member reads the log. If it leaves, it does not mark its session
/// as left.
#[test]
fn holder_without_a_hint_is_notified_when_the_author_ends() {
    for leaves in [false, true] {
        let late = late_notice(None, leaves);
        assert!(late < 100, "{late} ms");
        // Three seconds until the session of a killed author has ended, and a delay.
        let late = late_notice(Some(Guard::Hint), leaves);
        assert!((2000..7000).contains(&late), "{late} ms");
    }
}
