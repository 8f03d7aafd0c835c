//! The readers that do not take the lock, through the interleavings with a command of the real table.
//! Run by `RUSTFLAGS="--cfg loom" cargo test --test loom_slot`.
//!
//! The reader is the spawned thread and the table stays in the first one: loom explores backwards from the last store
//! that a load could have seen, so it must see the stores before the loads.
#![cfg(loom)]

use std::collections::BTreeSet;
use std::sync::Mutex;

use loom::thread;
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

/// Explores the model, and checks that it came to exactly these observations: a model that never saw
/// the interesting ones would prove nothing.
fn explore<T: Ord + Clone + std::fmt::Debug + Send + 'static>(
    expected: &[T],
    model: impl Fn() -> T + Sync + Send + 'static,
) {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let log = seen.clone();
    let mut builder = loom::model::Builder::new();
    // A command has hundreds of atomic operations, more than loom expects.
    builder.max_branches = 1_000_000;
    builder.check(move || {
        let observed = model();
        log.lock().unwrap().insert(observed);
    });
    let expected: BTreeSet<T> = expected.iter().cloned().collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

fn table() -> Table<Arrays> {
    let limits = Limits { leases: 1, tickets: 1, resources: 1, history: 1 };
    new_table(Settings { limits, ..Settings::default() })
}

fn lease(table: &Table<Arrays>, now: Time, ttl: Time) -> LeaseId {
    match table.claim(now, &Claim { ttl, ..Claim::one("w", &["r"]) }) {
        Ok(Outcome::Granted(id)) => id,
        other => panic!("{other:?}"),
    }
}

/// With a history of one, the end of this lease makes the one before it forgotten, and its record free.
fn reuse(table: &Table<Arrays>) {
    let other = lease(table, 5, 100);
    table.release(5, other).unwrap();
}

/// The record that an id names.
fn index(id: LeaseId) -> u64 {
    let limits = Limits { leases: 1, tickets: 1, resources: 1, history: 1 };
    id.0 & limits.sizes().index_mask()
}

fn trit(state: Option<LeaseState>) -> Option<i8> {
    state.map(|state| state as i8)
}

/// A reader sees a lease revoked while it looks: held before, revoked after, and never back.
#[test]
fn state_against_revoke() {
    let (held, revoked) = (Some(1), Some(-1));
    explore(&[(held, held), (held, revoked), (revoked, revoked)], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        let reader = thread::spawn(move || {
            let look = || trit(lease_state(&memory, id, || 1));
            (look(), look())
        });
        table.revoke(1, id, Reason::Operator, "", 0).unwrap();
        reader.join().unwrap()
    });
}

/// The record serves another lease while a reader looks for the old one. The old lease is over at the reader's
/// time and the new one is not: a reader that mixed them up would say held. Who releases it is told that it was over if the reader was.
#[test]
fn state_against_slot_reuse() {
    explore(&[("released", Some(0)), ("released", None), ("was over", Some(0))], || {
        let table = table();
        let memory = table.memory().clone();
        let old = lease(&table, 0, 10);
        let reader = thread::spawn(move || trit(lease_state(&memory, old, || 50)));
        let told = match table.release(5, old) {
            Ok(()) => "released",
            Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut)) => "was over",
            Err(other) => panic!("{other:?}"),
        };
        reuse(&table);
        let new = lease(&table, table.now(), 100);
        assert_eq!(index(new), index(old));
        assert_eq!(table.state(new, 50), Some(LeaseState::Held));
        assert_eq!(table.state(old, 50), None);
        (told, reader.join().unwrap())
    });
}

/// A lease ends by time while a reader looks whose clock is behind or ahead: the reader's own clock decides until the end is written.
#[test]
fn state_against_expiry() {
    explore(&[(Some(1), Some(0)), (Some(0), Some(0))], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        let reader = thread::spawn(move || {
            let behind = trit(lease_state(&memory, id, || 9));
            (behind, trit(lease_state(&memory, id, || 10)))
        });
        table.advance(12).unwrap();
        reader.join().unwrap()
    });
}

/// A renewal and a revocation at once: the lease is revoked in the end, whoever came first.
#[test]
fn renew_against_revoke() {
    explore(&[None, Some(14)], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        let renewer = thread::spawn(move || renew_quickly(&memory, id, 4));
        table.revoke(3, id, Reason::Operator, "", 0).unwrap();
        let renewed = renewer.join().unwrap();
        assert_eq!(table.lease(id).unwrap().state, LeaseState::Revoked);
        table.verify().unwrap();
        renewed
    });
}

/// A renewal in the last moment and the end by time: exactly one of them wins.
#[test]
fn renew_against_expiry() {
    explore(&[(None, 0), (Some(17), 1)], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        // Its clock showed 7 when it began; the table's shows 11.
        let renewer = thread::spawn(move || renew_quickly(&memory, id, 7));
        table.advance(11).unwrap();
        let renewed = renewer.join().unwrap();
        table.verify().unwrap();
        (renewed, table.lease(id).unwrap().state as i8)
    });
}

/// A reader has been told that a lease is over; a renewal whose clock is behind must not bring it back.
#[test]
fn told_over_stays_over() {
    explore(&[((Some(0), Some(0)), None), ((Some(1), Some(1)), Some(17))], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        let reader = thread::spawn(move || {
            let first = trit(lease_state(&memory, id, || 10));
            (first, trit(lease_state(&memory, id, || 12)))
        });
        let renewed = renew_quickly(table.memory(), id, 7);
        let seen = reader.join().unwrap();
        if renewed.is_none() {
            // The table is asked next, by a clock that is still behind: it knows better.
            assert!(matches!(
                table.renew(8, id, None),
                Err(Error::NotHeld(LeaseState::Expired, _))
            ));
        }
        table.verify().unwrap();
        (seen, renewed)
    });
}

/// A renewal never reaches a later lease in the same record.
#[test]
fn renew_against_slot_reuse() {
    explore(&[None, Some(16)], || {
        let table = table();
        let memory = table.memory().clone();
        let old = lease(&table, 0, 10);
        let renewer = thread::spawn(move || renew_quickly(&memory, old, 6));
        table.release(5, old).unwrap();
        reuse(&table);
        // Ends when the old one would have: only the generation tells them apart.
        let new = lease(&table, 5, 5);
        assert_eq!(index(new), index(old));
        let renewed = renewer.join().unwrap();
        assert_eq!(table.lease(new).unwrap().end, 10);
        table.verify().unwrap();
        renewed
    });
}

/// Two renewals at once: the later end stays, and at most one of them is sent to the table.
#[test]
fn renew_against_renew() {
    explore(&[1, 2], || {
        let table = table();
        let memory = table.memory().clone();
        let id = lease(&table, 0, 10);
        let other = memory.clone();
        let thread = thread::spawn(move || renew_quickly(&other, id, 2));
        let mine = renew_quickly(&memory, id, 3);
        let theirs = thread.join().unwrap();
        assert_eq!(Some(table.lease(id).unwrap().end), mine.max(theirs));
        mine.iter().chain(&theirs).count()
    });
}

/// A waiter that polls its ticket without the lock finds its lease as soon as it sees the grant.
#[test]
fn ticket_against_grant() {
    explore(&[None, Some(Some(1))], || {
        let table = table();
        let memory = table.memory().clone();
        let first = lease(&table, 0, 100);
        let wait = Claim { ttl: 50, wait: 50, ..Claim::one("x", &["r"]) };
        let Ok(Outcome::Waiting(ticket)) = table.claim(0, &wait) else { panic!() };
        let waiter = thread::spawn(move || match ticket_state(&memory, ticket) {
            Some(TicketState::Granted(id)) => Some(trit(lease_state(&memory, id, || 1))),
            other => {
                assert_eq!(other, Some(TicketState::Waiting));
                None
            }
        });
        table.release(1, first).unwrap();
        waiter.join().unwrap()
    });
}
