//! Logs that no member has written so: forged entries, truncation at any time, and stores that were
//! restored from a backup.

use super::*;
use crate::guards::Guard;
use crate::nemesis;
use crate::plans::TABLE;
use ternlease::sim_api::entry::{LogEntry, What};
use ternlease::sim_api::keys::{END, Keys};
use ternlease::sim_api::store::Read;

/// A session that never existed.
const STRANGER: i64 = 77;

/// The value of a metric.
fn metric(manager: &LeaseManager, name: &str) -> f64 {
    let text = manager.metrics();
    let value =
        |line: &str| line.strip_prefix("ternlease_")?.strip_prefix(name)?.trim().parse().ok();
    text.lines().find_map(value).unwrap_or_else(|| panic!("{name}: {text}"))
}

/// How many entries were appended.
fn position(server: &Shared) -> i64 {
    let head = server.borrow().keys.read(&Read::key(Keys::new(TABLE).head()));
    head.first().map_or(0, |head| head.version)
}

fn claim_until(manager: &LeaseManager, server: &Shared, last: i64) {
    let mut held = None;
    while position(server) < last {
        held = match held {
            None => Some(manager.acquire("x", "holder", HOUR).unwrap()),
            Some(lease) => {
                manager.release(lease).unwrap();
                None
            }
        };
    }
}

/// An entry of a session that never existed.
fn entry(check: Option<(u64, u64)>) -> LogEntry {
    let what = What::Commands(vec![]);
    LogEntry { session: STRANGER, number: 1, now: 0, seen: (0, 0), check, what }
}

/// An entry that cannot be decoded is counted by all members, with the log or with a snapshot, and
/// changes nothing.
#[test]
fn malformed_entry_is_counted_and_changes_nothing() {
    run(
        1,
        vec![Box::new(|sim, server| {
            let manager = open();
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            let before = (manager.leases(), manager.events_since(0));
            let whole = entry(None).encode();
            let malformed = [
                vec![],
                // The versions are right.
                [&whole[..2], &[0xff]].concat(),
                whole[..whole.len() - 1].to_vec(),
                [&whole[..], &[0]].concat(),
                // Only the end of a session has this number.
                LogEntry { number: END, ..entry(None) }.encode(),
            ];
            let count = malformed.len() as f64;
            for (number, bytes) in malformed.into_iter().enumerate() {
                let name = (STRANGER, number as u64);
                assert!(nemesis::append_garbage(server, sim, name, bytes));
            }
            assert_eq!((manager.leases(), manager.events_since(0)), before);
            let late = open();
            claim_until(&manager, server, 40);
            rt::sleep(Duration::from_secs(1));
            let latest = open();
            assert_eq!(metric(&latest, "snapshots_loaded_total"), 1.0);
            for manager in [&manager, &late, &latest] {
                assert_eq!(manager.leases_on("a"), [lease]);
                assert_eq!(metric(manager, "entries_malformed_total"), count);
                assert_eq!(manager.verify(), Ok(()));
            }
        })],
    );
}

/// An entry of other rules, or with another hash of the state than that of the replica, stops the
/// members: nothing that they would answer is certain.
#[test]
fn entry_of_other_rules_or_with_another_hash_stops_members() {
    const CHECKED: u64 = 256;
    let unknown_version = [1, 0x7f].to_vec();
    let cases = [
        (entry(None).encode(), false),
        // No replica remembers its hash there.
        (entry(Some((CHECKED - 1, 1))).encode(), false),
        (entry(Some((CHECKED, 1))).encode(), true),
        (unknown_version, true),
    ];
    for (bytes, stops) in cases {
        run(
            1,
            vec![Box::new(move |sim, server| {
                let members = [open(), open()];
                claim_until(&members[0], server, CHECKED as i64);
                members.iter().for_each(|manager| assert!(manager.leases().len() < 2));
                assert!(nemesis::append_garbage(server, sim, (STRANGER, 1), bytes));
                for manager in &members {
                    let claimed = manager.acquire("a", "holder", HOUR);
                    let stopped = claimed == Err(Error::Corrupt);
                    assert_eq!(stopped, stops, "{claimed:?}");
                    if let Ok(lease) = claimed {
                        manager.release(lease).unwrap();
                    }
                }
            })],
        );
    }
}

/// A claim had no answer. Before its process could ask again, other members wrote a snapshot and
/// truncated the log: the reply is in the snapshot.
#[test]
fn reply_is_found_in_a_snapshot() {
    run(
        1,
        vec![
            Box::new(|sim, server| {
                let manager = open();
                rt::sleep(Duration::from_secs(1));
                server.borrow_mut().faults = Faults { unanswered: 1000, ..Faults::default() };
                let engine = server.clone();
                sim.after(1, None, move |sim| {
                    let mut engine = engine.borrow_mut();
                    engine.faults = Faults::default();
                    engine.cut_off(0, sim.now() + 1_050_000);
                });
                let lease = manager.acquire("a", "holder", HOUR).unwrap();
                assert_eq!(manager.state(lease), Some(LeaseState::Held));
                assert_eq!(metric(&manager, "snapshots_loaded_total"), 1.0);
                assert_eq!(manager.leases_on("a"), [lease]);
            }),
            Box::new(|_, server| {
                let manager = open();
                while manager.leases_on("a").is_empty() {
                    rt::sleep(Duration::from_millis(1));
                }
                let last = position(server) + 50;
                claim_until(&manager, server, last);
                rt::sleep(HOUR);
            }),
        ],
    );
}

/// Does a member append to a store that was restored from a backup, at once or after others have
/// moved the log on? It has seen more than the backup has, and so refuses every command.
fn appends_after_restore(moves_on: bool, guard: Option<Guard>) -> bool {
    let appends = Rc::new(Cell::new(false));
    let report = appends.clone();
    run_with(
        Server::without(guard),
        1,
        vec![Box::new(move |_, server| {
            let manager = open();
            claim_until(&manager, server, 21);
            let backup = server.borrow().keys.clone();
            claim_until(&manager, server, 41);
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            server.borrow_mut().keys = backup;
            if moves_on {
                let other = open();
                claim_until(&other, server, 80);
                std::mem::forget(other);
            }
            let before = position(server);
            let claimed = manager.acquire("b", "holder", HOUR);
            report.set(position(server) != before);
            if guard.is_some() {
                return;
            }
            if claimed == Err(Error::Unavailable) {
                rt::sleep(Duration::from_secs(5));
            }
            assert_eq!(manager.acquire("b", "holder", HOUR), Err(Error::OtherStore));
            assert_eq!(manager.state(lease), Some(LeaseState::Expired));
            assert_eq!(manager.release(lease), Err(Error::OtherStore));
        })],
    );
    appends.get()
}

#[test]
fn restored_store_is_refused_and_not_appended_to() {
    for moves_on in [false, true] {
        assert!(!appends_after_restore(moves_on, None));
        assert!(appends_after_restore(moves_on, Some(Guard::LastEntry)));
    }
}
