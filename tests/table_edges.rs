//! What the table tells and keeps at its edges: limits that are reached, times to the tick, counts, and what is read without the lock.

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{granted, lease_of, table, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn small(limits: Limits) -> Table<Arrays> {
    new_table(Settings { limits, ..Settings::default() })
}

#[test]
fn what_there_is_is_counted_and_found() {
    let t = table();
    let gpu = t.declare(0, "gpu", 1, 0).unwrap();
    let other = t.declare(0, "other", 1, 0).unwrap();
    assert_eq!((t.resource_id("gpu"), t.resource_id("other")), (Some(gpu), Some(other)));
    assert_eq!(t.resource_id("nothing"), None);
    assert_eq!(t.granted(), 0);
    let both = Claim { count: 2, ..Claim::one("a", &["gpu", "other"]) };
    let id = granted(t.claim(0, &both));
    let mut held = Vec::new();
    t.each_resource_of(id, |resource| held.push(resource));
    assert_eq!(held, [gpu, other]);
    let wait = |_| waiting(t.claim(0, &Claim { wait: FOREVER, ..Claim::one("b", &["gpu"]) }));
    let tickets = [0, 1, 2].map(wait);
    assert_eq!(t.waiting_for(|resource| resource == gpu), 3);
    assert_eq!(t.waiting_for(|resource| resource == other), 0);
    granted(t.claim(0, &Claim::one("c", &["free"])));
    assert_eq!(t.granted(), 2);
    assert_eq!(t.resource_id("free"), None, "only what was declared has an id");
    t.release(1, id).unwrap();
    assert_eq!(t.held_by("b"), [lease_of(&t, tickets[0])]);
    assert_eq!(t.waiting_for(|resource| resource == gpu), 2);
    assert_eq!(t.granted(), 3);
}

#[test]
fn ids_and_reasons_are_told_as_they_are_written() {
    assert_eq!(LeaseId(12).to_string(), "12");
    assert_eq!(TicketId(34).to_string(), "34");
    for reason in Reason::ALL {
        assert_eq!(reason.to_string(), reason.name());
    }
}

#[test]
fn a_table_made_later_gives_larger_ids() {
    // 66,562 records of leases need 17 bits: 2^14 numbers are left for each second.
    let limits = Limits::default();
    assert_eq!(first_sequence(limits, Duration::ZERO), 0);
    assert_eq!(first_sequence(limits, Duration::from_secs(1)), 1 << 14);
    assert_eq!(first_sequence(limits, Duration::from_millis(2500)), 5 << 13);
}

#[test]
fn ids_are_made_of_the_numbers_that_a_table_is_given() {
    static NEXT: AtomicU64 = AtomicU64::new(10);
    fn three(bits: u32) -> Range<u64> {
        assert_eq!(1 << bits, table().memory().index_mask() + 1);
        let start = NEXT.fetch_add(10, Ordering::Relaxed);
        start..start + 3
    }
    let tables =
        [0, 1].map(|_| new_table(Settings { numbers: Some(three), ..Settings::default() }));
    let mut numbers = Vec::new();
    for _ in 0..4 {
        for t in &tables {
            let id = granted(t.claim(0, &Claim { take: Take::Shared, ..Claim::one("a", &["x"]) }));
            numbers.push(id.0 / (t.memory().index_mask() + 1));
        }
    }
    assert_eq!(numbers, [10, 20, 11, 21, 12, 22, 30, 40]);
}

#[test]
fn nothing_is_due_before_the_first_end() {
    let t = table();
    assert_eq!(t.next_due(), FOREVER);
    assert_eq!(held_and_due(t.memory()), (0, FOREVER));
    granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("a", &["x"]) }));
    granted(t.claim(0, &Claim { ttl: 20, ..Claim::one("a", &["y"]) }));
    assert_eq!(t.next_due(), 10);
    assert_eq!(held_and_due(t.memory()), (2, 10));
    t.advance(9).unwrap();
    assert_eq!(held_and_due(t.memory()), (2, 10));
    t.advance(10).unwrap();
    assert_eq!(held_and_due(t.memory()).0, 1);
    t.advance(20).unwrap();
    assert_eq!(held_and_due(t.memory()).0, 0);
}

#[test]
fn a_plain_lease_is_renewed_without_the_lock_and_no_other() {
    let t = table();
    let [first, second] = ["x", "y"].map(|name| {
        let names = [name];
        granted(t.claim(0, &Claim { ttl: 100, ..Claim::one("a", &names) }))
    });
    assert_eq!(renew_quickly(t.memory(), first, 10), Some(110));
    assert_eq!(renew_quickly(t.memory(), second, 20), Some(120));
    assert_eq!(renew_quickly(t.memory(), second, 5), Some(120), "never to an earlier time");
    assert_eq!((t.lease(first).unwrap().end, t.lease(second).unwrap().end), (110, 120));
    // A quarter of the time is left at 85: later, the table notes that it is late.
    assert_eq!(renew_quickly(t.memory(), first, 86), None);
    assert_eq!(renew_quickly(t.memory(), first, 85), Some(185));
    assert_eq!(renew_quickly(t.memory(), second, 120), None);
    let child = Claim { parent: Some(first), ttl: 100, ..Claim::one("a", &["z"]) };
    let child = granted(t.claim(85, &child));
    assert_eq!(renew_quickly(t.memory(), child, 90), None, "its parent has a say");
    t.revoke(90, first, Reason::Operator, "", 50).unwrap();
    assert_eq!(renew_quickly(t.memory(), first, 91), None, "so has a notice");
    let forever = granted(t.claim(90, &Claim::one("a", &["w"])));
    let end = t.lease(forever).unwrap().end;
    assert_eq!(renew_quickly(t.memory(), forever, 91), Some(end.max(FOREVER)));
    t.release(92, forever).unwrap();
    assert_eq!(renew_quickly(t.memory(), forever, 93), None);
}

#[test]
fn a_lease_that_was_told_to_be_over_is_over_for_all() {
    let t = table();
    let id = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("a", &["x"]) }));
    let state = |now| lease_state(t.memory(), id, || now);
    assert_eq!(state(9), Some(LeaseState::Held));
    assert_eq!(state(10), Some(LeaseState::Expired));
    // To a clock that is behind as well.
    assert_eq!(state(5), Some(LeaseState::Expired));
    assert_eq!(renew_quickly(t.memory(), id, 5), None);
    let refusal = Error::NotHeld(LeaseState::Expired, Reason::TimedOut);
    assert_eq!(t.renew(5, id, None), Err(refusal));
    let id = granted(t.claim(10, &Claim { ttl: 50, ..Claim::one("a", &["x"]) }));
    t.revoke(10, id, Reason::Operator, "", 10).unwrap();
    let state = |now| lease_state(t.memory(), id, || now);
    assert_eq!(state(19), Some(LeaseState::Held));
    assert_eq!(state(20), Some(LeaseState::Revoked));
    assert_eq!(state(12), Some(LeaseState::Revoked));
}

#[test]
fn a_second_notice_that_ends_earlier_is_a_notice_still() {
    let t = table();
    let id = granted(t.claim(0, &Claim { preemptible: true, ..Claim::one("a", &["x"]) }));
    assert_eq!(t.revoke(0, id, Reason::Operator, "b", 50), Ok(Revoked::Notified(50)));
    assert_eq!(t.revoke(1, id, Reason::NodeDrain, "c", 10), Ok(Revoked::Notified(11)));
    let info = t.lease(id).unwrap();
    assert!(info.revoking);
    assert_eq!((info.reason, info.revoker), (Some(Reason::NodeDrain), Some("c".into())));
    t.verify().unwrap();
    assert_eq!(t.state(id, 11), Some(LeaseState::Revoked));
}

#[test]
fn an_owner_that_is_gone_leaves_what_is_of_others() {
    let t = table();
    let of = |owner, name: &'static [&'static str]| Claim { owner, ..Claim::one("w", name) };
    let own = granted(t.claim(0, &of(7, &["a"])));
    let given = granted(t.claim(0, &of(7, &["b"])));
    let taken = granted(t.claim(0, &of(8, &["c"])));
    t.give_to(0, given, 8).unwrap();
    t.give_to(0, taken, 7).unwrap();
    for (owner, name) in [(7, &["a"]), (7, &["b"]), (8, &["b"])] {
        waiting(t.claim(0, &Claim { wait: FOREVER, ..of(owner, name) }));
    }
    let reaped = t.reap(1, 7, Reason::HolderDied);
    assert_eq!(reaped, Ok(Reaped { leases: 2, tickets: 2 }));
    let state = |id| t.state(id, 1);
    assert_eq!(
        [own, given, taken].map(state),
        [LeaseState::Expired, LeaseState::Held, LeaseState::Expired].map(Some)
    );
    assert_eq!(t.waiting(), 1);
    assert_eq!(t.reap(1, 9, Reason::HolderDied), Ok(Reaped::default()));
    t.verify().unwrap();
}

/// As often as they change: so many fit, and one more does not.
#[test]
fn a_table_holds_what_its_limits_say() {
    const RESOURCES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let limits = Limits { leases: 5, tickets: 3, resources: 6, history: 4 };
    let t = small(limits);
    t.declare(0, "spare", 1, 0).unwrap();
    for round in 0..50 {
        let name = |kind: &str, nth: usize| format!("{kind} {round} {nth}");
        let take = |nth: usize| {
            let holder = name("holder", nth);
            granted(t.claim(round, &Claim::one(&holder, &RESOURCES[nth..nth + 1])))
        };
        let leases = [0, 1, 2, 3, 4].map(take);
        let refused = t.claim(round, &Claim::one("one more", &["spare"]));
        assert_eq!(refused, Err(Error::Full(Part::Leases)));
        assert_eq!(t.declare(round, "one more", 1, 0), Err(Error::Full(Part::Resources)));
        let wait =
            |holder: &str| t.claim(round, &Claim { wait: FOREVER, ..Claim::one(holder, &["a"]) });
        let tickets = [0, 1, 2].map(|nth| waiting(wait(&name("waiter", nth))));
        assert_eq!(wait("one more"), Err(Error::Full(Part::Tickets)));
        t.verify().unwrap();
        for ticket in tickets {
            assert_eq!(t.cancel(round, ticket), Ok(Cancelled::Left));
        }
        for (nth, lease) in leases.into_iter().enumerate() {
            t.revoke(round, lease, Reason::Operator, &name("revoker", nth), 0).unwrap();
        }
        t.verify().unwrap();
    }
}
