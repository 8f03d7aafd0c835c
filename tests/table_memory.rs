//! What becomes of leases that others renew, or see past their end, without the lock while a command decides about them; and what a home is told.

mod common;
#[path = "common/memory.rs"]
mod memory;

use common::granted;
use memory::{Shared, shared_tables};
use ternlease::table::*;

fn table() -> Table<Shared> {
    let [table, _] = shared_tables(Settings::default());
    table
}

fn lease(t: &Table<Shared>, ttl: Time) -> LeaseId {
    granted(t.claim(t.now(), &Claim { ttl, ..Claim::one("w", &["gpu"]) }))
}

#[test]
fn a_lease_that_is_renewed_as_its_time_comes_goes_on() {
    let t = table();
    let id = lease(&t, 10);
    t.memory().meanwhile(move |memory| assert_eq!(renew_quickly(memory, id, 7), Some(17)));
    t.advance(10).unwrap();
    assert_eq!(t.state(id, 10), Some(LeaseState::Held));
    assert_eq!((t.lease(id).unwrap().end, t.next_due()), (17, 17));
    t.verify().unwrap();
    t.advance(17).unwrap();
    assert_eq!(t.lease(id).unwrap().reason, Some(Reason::TimedOut));
    assert_eq!(t.held(), 0);
}

#[test]
fn a_lease_that_is_released_as_it_is_renewed_is_released() {
    let t = table();
    let id = lease(&t, 10);
    t.memory().meanwhile(move |memory| assert_eq!(renew_quickly(memory, id, 7), Some(17)));
    t.release(8, id).unwrap();
    let info = t.lease(id).unwrap();
    assert_eq!((info.state, info.end), (LeaseState::Expired, 8));
    t.verify().unwrap();
}

#[test]
fn a_notice_counts_from_the_end_that_a_lease_has_by_then() {
    let t = table();
    let id = lease(&t, 10);
    t.memory().meanwhile(move |memory| assert_eq!(renew_quickly(memory, id, 6), Some(16)));
    assert_eq!(t.revoke(6, id, Reason::Operator, "", 20), Ok(Revoked::Notified(26)));
    assert_eq!(t.lease(id).unwrap().end, 16);
    assert_eq!(t.state(id, 16), Some(LeaseState::Expired), "its own end comes first");
    t.verify().unwrap();
}

#[test]
fn a_lease_that_is_seen_past_its_end_as_it_is_renewed_is_over() {
    let t = table();
    let id = lease(&t, 10);
    t.memory().meanwhile(move |memory| {
        assert_eq!(lease_state(memory, id, || 10), Some(LeaseState::Expired));
    });
    let refusal = Error::NotHeld(LeaseState::Expired, Reason::TimedOut);
    assert_eq!(t.renew(5, id, None), Err(refusal));
    assert_eq!((t.held(), t.now()), (0, 10));
    t.verify().unwrap();
}

#[test]
fn a_lease_that_is_seen_past_its_end_as_somebody_ends_it_has_ended_so() {
    type End = fn(&Table<Shared>, LeaseId) -> Result<(), Error>;
    let ends: [(End, bool); 4] = [
        (|t, id| t.release(9, id), true),
        (|t, id| t.revoke(9, id, Reason::Operator, "", 0).map(drop), true),
        (|t, id| t.revoke(9, id, Reason::Operator, "ann", 0).map(drop), true),
        (|t, _| t.reap(9, 0, Reason::HolderDied).map(drop), false),
    ];
    for (end, is_told) in ends {
        for (notice, state, reason) in [
            (None, LeaseState::Expired, Reason::TimedOut),
            (Some(10), LeaseState::Revoked, Reason::NodeDrain),
        ] {
            let t = table();
            let id = lease(&t, if notice.is_some() { 20 } else { 10 });
            if let Some(notice) = notice {
                t.revoke(0, id, Reason::NodeDrain, "ops", notice).unwrap();
            }
            t.memory().meanwhile(move |memory| {
                assert_eq!(lease_state(memory, id, || 10), Some(state));
            });
            let answer = if is_told { Err(Error::NotHeld(state, reason)) } else { Ok(()) };
            assert_eq!(end(&t, id), answer, "it was not this that ended it");
            let info = t.lease(id).unwrap();
            assert_eq!((info.state, info.end, info.reason), (state, 10, Some(reason)));
            assert_eq!(info.revoker.as_deref(), notice.map(|_| "ops"));
            t.verify().unwrap();
        }
    }
}

/// Who is to go, to break a deadlock, may be gone already.
#[test]
fn a_victim_that_is_seen_past_its_end_is_no_reason_for_alarm() {
    let settings = Settings { deadlocks: DeadlockPolicy::Break, ..Settings::default() };
    let [t, _] = shared_tables(settings);
    let claim = |holder: &'static str, name: &'static [&'static str], wait| {
        t.claim(0, &Claim { ttl: 10, wait, ..Claim::one(holder, name) })
    };
    let [_, second] = [("a", ["x"].as_slice()), ("b", &["y"])]
        .map(|(holder, name)| granted(claim(holder, name, 0)));
    claim("a", &["y"], FOREVER).unwrap();
    t.memory().meanwhile(move |memory| {
        assert_eq!(lease_state(memory, second, || 10), Some(LeaseState::Expired));
    });
    claim("b", &["x"], FOREVER).unwrap();
    assert_eq!(t.lease(second).unwrap().reason, Some(Reason::TimedOut));
    t.verify().unwrap();
    t.advance(11).unwrap();
}

/// A minute.
#[test]
fn nobodys_clock_is_far_ahead_of_all_others() {
    const MINUTE: Time = 60_000_000;
    let over = Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut));
    for (ttl, answer) in [(MINUTE + 3, over), (MINUTE + 4, Err(Error::Corrupt))] {
        let t = table();
        let id = lease(&t, ttl);
        assert_eq!(lease_state(t.memory(), id, || ttl), Some(LeaseState::Expired));
        assert_eq!(t.release(3, id), answer);
        assert_eq!(t.advance(MINUTE * 2).is_err(), answer == Err(Error::Corrupt));
    }
}

/// A child does not outlive its parent, and a notice is not renewed away: about these the table decides.
#[test]
fn a_renewal_leaves_it_as_it_was_who_may_renew_without_the_lock() {
    let t = table();
    let id = lease(&t, 100);
    assert_eq!(t.renew(1, id, None), Ok(101));
    assert_eq!(renew_quickly(t.memory(), id, 2), Some(102));
    let child = Claim { parent: Some(id), ttl: 50, ..Claim::one("w", &["other"]) };
    let child = granted(t.claim(2, &child));
    assert_eq!(t.renew(3, child, None), Ok(53));
    assert_eq!(renew_quickly(t.memory(), child, 4), None);
    assert_eq!(t.renew(4, id, None), Ok(104), "a parent may");
    assert_eq!(renew_quickly(t.memory(), id, 5), Some(105));
    t.revoke(5, id, Reason::Operator, "", 150).unwrap();
    assert_eq!(t.renew(6, id, None), Ok(106));
    assert_eq!(renew_quickly(t.memory(), id, 7), None);
    t.verify().unwrap();
}

#[test]
fn a_lease_that_was_renewed_under_notice_ends_by_what_comes_first() {
    for (ttl, end, state) in [(10, 15, LeaseState::Expired), (50, 30, LeaseState::Revoked)] {
        let t = table();
        let id = lease(&t, 10);
        assert_eq!(t.revoke(0, id, Reason::Operator, "", 30), Ok(Revoked::Notified(30)));
        assert_eq!(t.renew(5, id, Some(ttl)), Ok(end));
        assert_eq!(t.state(id, end - 1), Some(LeaseState::Held));
        assert_eq!(t.state(id, end), Some(state));
        t.advance(end).unwrap();
        assert_eq!(t.lease(id).unwrap().state, state);
    }
}

#[test]
fn a_home_is_told_of_each_change_that_others_may_forestall_and_of_each_end_by_time() {
    let t = table();
    let id = lease(&t, 10);
    assert_eq!(t.memory().told(), [""; 0], "nobody else knows of it yet");
    t.renew(1, id, None).unwrap();
    assert_eq!(t.memory().told(), ["swap"]);
    t.memory().meanwhile(move |memory| assert_eq!(renew_quickly(memory, id, 2), Some(12)));
    t.renew(3, id, None).unwrap();
    assert_eq!(t.memory().told(), ["swap", "failed", "swap"]);
    t.advance(13).unwrap();
    assert_eq!(t.memory().told(), ["swap", "checkpoint"]);
}
