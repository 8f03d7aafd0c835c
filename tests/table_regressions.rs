//! What the second implementation of `docs/rules.md` once found wrong, each by the shortest way to it.

mod common;

use common::{granted, lease_of, patient, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn table(deadlocks: DeadlockPolicy, implied_wants: bool) -> Table<Arrays> {
    let limits = Limits { leases: 64, tickets: 64, resources: 64, history: 256 };
    new_table(Settings { limits, deadlocks, implied_wants, ..Settings::default() })
}

fn plain() -> Table<Arrays> {
    table(DeadlockPolicy::Report, false)
}

fn end_and_reason(t: &Table<Arrays>, lease: LeaseId) -> (Time, Option<Reason>) {
    let info = t.lease(lease).unwrap();
    (info.end, info.reason)
}

#[test]
fn candidates_that_a_claim_does_not_take_are_forgotten() {
    let t = plain();
    granted(t.claim(0, &Claim::one("a", &["x", "y"])));
    assert!(t.resource("x").is_some());
    assert_eq!(t.resource("y"), None);
    t.verify().unwrap();
}

#[test]
fn candidates_that_went_with_their_ticket_are_not_forgotten_twice() {
    // The ticket is granted within the very claim, by preemption, and does not take "z".
    let t = plain();
    granted(t.claim(0, &Claim { count: 2, preemptible: true, ..patient("a", &["x", "y", "z"]) }));
    let shared = Claim { count: 2, take: Take::Shared, ..patient("b", &["x", "y", "z"]) };
    granted(t.claim(1, &Claim { priority: 1, preempt: true, ..shared }));
    assert_eq!(t.resource("z"), None);
    t.verify().unwrap();

    // The ticket goes with the lease it was to hang on, which is the victim of the deadlock it makes.
    let t = table(DeadlockPolicy::Break, false);
    let parent = granted(t.claim(0, &Claim::one("a", &["x"])));
    let below = Claim { count: 2, parent: Some(parent), ..patient("a", &["x", "y"]) };
    let ticket = waiting(t.claim(1, &below));
    assert_eq!(t.ticket(ticket), Some(TicketState::Refused(Reason::ParentEnded)));
    assert_eq!(t.resource("y"), None);
    t.verify().unwrap();
}

#[test]
fn a_lease_renewed_for_ever_has_no_timer() {
    let t = plain();
    let id = granted(t.claim(0, &Claim { ttl: 5, ..Claim::one("a", &["x"]) }));
    assert_eq!(t.renew(1, id, Some(FOREVER)), Ok(FOREVER));
    t.verify().unwrap();
    t.advance(1000).unwrap();
    assert_eq!(t.state(id, 1000), Some(LeaseState::Held));
    assert_eq!(t.lease(id).unwrap().ttl, FOREVER);
}

#[test]
fn nothing_is_granted_below_a_parent_past_its_end() {
    let t = plain();
    granted(t.claim(0, &Claim { ttl: 5, ..Claim::one("c", &["x"]) }));
    let parent = granted(t.claim(0, &Claim { ttl: 6, ..Claim::one("b", &["p"]) }));
    let ticket = waiting(t.claim(0, &Claim { parent: Some(parent), ..patient("b", &["x"]) }));
    t.advance(9).unwrap();
    assert_eq!(end_and_reason(&t, parent), (6, Some(Reason::TimedOut)));
    assert_eq!(t.ticket(ticket), Some(TicketState::Refused(Reason::ParentEnded)));
    assert_eq!(t.held(), 0);
    t.verify().unwrap();
}

#[test]
fn a_child_that_goes_with_its_parent_does_not_name_an_old_revoker() {
    for notice in [0, 5] {
        let t = plain();
        let parent = granted(t.claim(0, &Claim::one("a", &["x"])));
        let below = Claim { parent: Some(parent), ..Claim::one("a", &["y"]) };
        let child = granted(t.claim(0, &below));
        t.revoke(0, child, Reason::Operator, "operator", 20).unwrap();
        assert_eq!(t.lease(child).unwrap().revoker.as_deref(), Some("operator"));
        t.revoke(1, parent, Reason::Quota, "accountant", notice).unwrap();
        let info = t.lease(child).unwrap();
        assert_eq!((info.end, info.reason), (1 + notice, Some(Reason::ParentRevoked)));
        assert_eq!(info.revoker, None, "notice {notice}");
        assert_eq!(t.lease(parent).unwrap().revoker.as_deref(), Some("accountant"));
        t.verify().unwrap();
    }
}

#[test]
fn release_during_notice_keeps_reason_and_revoker() {
    let t = plain();
    let id = granted(t.claim(0, &Claim::one("a", &["x"])));
    t.revoke(0, id, Reason::NodeDrain, "operator", 20).unwrap();
    t.release(1, id).unwrap();
    let info = t.lease(id).unwrap();
    assert_eq!((info.state, info.end), (LeaseState::Revoked, 1));
    assert_eq!((info.reason, info.revoker.as_deref()), (Some(Reason::NodeDrain), Some("operator")));
    assert!(info.acknowledged && !info.revoking);
    assert_eq!((t.revocations(), t.count(Reason::NodeDrain), t.count(Reason::Released)), (1, 1, 0));
    t.verify().unwrap();
}

#[test]
fn priorities_are_brought_up_to_date_after_a_grant() {
    let t = plain();
    let r = t.declare(0, "r", 1, 0).unwrap();
    t.set_health(0, r, Health::Draining).unwrap();
    let low = waiting(t.claim(0, &Claim { priority: -1, ..patient("a", &["r"]) }));
    let high = waiting(t.claim(0, &Claim { priority: 2, ..patient("a", &["r"]) }));
    let other = waiting(t.claim(0, &Claim { priority: 2, ..patient("b", &["r"]) }));
    t.set_health(1, r, Health::Healthy).unwrap();
    lease_of(&t, high);
    // Now "a" makes "b" wait and inherits its priority, and it came first.
    assert_eq!((t.place(low), t.place(other)), (Some(1), Some(2)));
}

#[test]
fn a_soft_deadlock_may_come_from_wants() {
    let t = plain();
    granted(t.claim(0, &Claim::one("a", &["x"])));
    granted(t.claim(0, &Claim::one("d", &["y"])));
    t.want(0, "a", "y").unwrap();
    t.want(0, "d", "x").unwrap();
    assert_eq!(t.find_deadlocks(0).unwrap().len(), 1);
    waiting(t.claim(1, &Claim { count: 2, ..patient("b", &["x", "z"]) }));
    // Nothing keeps it from "z" but the order.
    granted(t.claim(2, &patient("e", &["z"])));
}

#[test]
fn a_want_taken_back_can_leave_a_soft_deadlock() {
    let t = plain();
    granted(t.claim(0, &Claim::one("w", &["q"])));
    let both = granted(t.claim(0, &Claim { count: 2, ..Claim::one("a", &["y", "y2"]) }));
    t.want(0, "a", "q").unwrap();
    let first = waiting(t.claim(0, &Claim { count: 2, ..patient("e", &["q", "z"]) }));
    let kept_back = waiting(t.claim(0, &Claim { count: 2, ..patient("w", &["y", "z"]) }));
    let last = waiting(t.claim(0, &patient("g", &["y2"])));
    assert_eq!(t.find_deadlocks(0).unwrap().len(), 1);
    t.unwant(1, "a", "q").unwrap();
    assert_eq!(t.find_deadlocks(1).unwrap().len(), 0);
    // "w" has what "e" waits for, and stands behind it for "z": it may overtake from here on.
    t.release(2, both).unwrap();
    assert!(lease_of(&t, kept_back) < lease_of(&t, last), "served in the order of the line");
    assert_eq!(t.ticket(first), Some(TicketState::Waiting));
}

#[test]
fn a_holder_that_is_only_remembered_wants_nothing() {
    let t = table(DeadlockPolicy::Break, true);
    let old = granted(t.claim(0, &Claim::one("a", &["b"])));
    t.release(1, old).unwrap();
    // "b" holds the namesake of "a" and wants its own, which is free.
    granted(t.claim(2, &Claim::one("b", &["a"])));
    assert_eq!(t.find_deadlocks(3), Ok(Vec::new()));
    t.verify().unwrap();
}

#[test]
fn a_child_granted_under_notice_gets_that_notice() {
    let t = plain();
    let parent = granted(t.claim(0, &Claim::one("a", &["x"])));
    t.revoke(0, parent, Reason::Operator, "operator", 10).unwrap();
    let child = granted(t.claim(1, &Claim { parent: Some(parent), ..Claim::one("a", &["y"]) }));
    let info = t.lease(child).unwrap();
    assert!(info.revoking);
    assert_eq!((info.end, info.reason, info.revoker), (10, Some(Reason::ParentRevoked), None));
    let mut events = Vec::new();
    t.events_since(2, &mut events);
    let told: Vec<What> = events.into_iter().map(|event| event.what).collect();
    let notice = What::Revoking { lease: child, reason: Reason::ParentRevoked, until: 10 };
    assert_eq!(told, [What::Granted { lease: child, ticket: None }, notice]);
    assert_eq!(t.state(child, 10), Some(LeaseState::Revoked));
    t.advance(10).unwrap();
    assert_eq!(t.state(child, 10), Some(LeaseState::Revoked));
}

#[test]
fn a_spare_lease_past_its_end_is_not_taken_back() {
    let t = plain();
    granted(t.claim(0, &Claim { ttl: 5, ..Claim::one("a", &["x"]) }));
    let spare = granted(t.claim(0, &Claim { ttl: 7, spare: true, ..Claim::one("b", &["y"]) }));
    let grace = granted(t.claim(0, &Claim { spare: true, grace: 3, ..Claim::one("b", &["z"]) }));
    let ticket = waiting(t.claim(0, &Claim { count: 2, ..patient("c", &["x", "y"]) }));
    assert_eq!(end_and_reason(&t, spare), (7, None), "x is not to be had");
    assert_eq!(t.state(spare, 8), Some(LeaseState::Expired));
    t.advance(10).unwrap();
    assert_eq!(end_and_reason(&t, spare), (7, Some(Reason::TimedOut)));
    assert_eq!(t.lease(lease_of(&t, ticket)).unwrap().granted_at, 10);
    assert_eq!(end_and_reason(&t, grace), (FOREVER, None));
    assert_eq!(t.revocations(), 0);
}

#[test]
fn a_victim_that_comes_back_is_not_the_youngest_again() {
    let t = table(DeadlockPolicy::Break, false);
    let a0 = granted(t.claim(0, &Claim::one("a", &["g0"])));
    let x1 = granted(t.claim(0, &Claim::one("x", &["g1"])));
    waiting(t.claim(1, &patient("x", &["g0"])));
    let a1 = granted(t.claim(2, &patient("a", &["g1"])));
    assert_eq!(end_and_reason(&t, x1), (2, Some(Reason::DeadlockVictim)));

    let y5 = granted(t.claim(3, &Claim::one("y", &["g5"])));
    let again = waiting(t.claim(4, &patient("x", &["g1"])));
    t.release(5, a1).unwrap();
    t.release(5, a0).unwrap();
    let x1 = lease_of(&t, again);
    assert!(x1 > y5, "by its id it is the youngest");
    let x5 = waiting(t.claim(6, &patient("x", &["g5"])));
    waiting(t.claim(7, &patient("y", &["g1"])));
    assert_eq!(end_and_reason(&t, y5), (7, Some(Reason::DeadlockVictim)));
    assert_eq!(t.state(x1, 7), Some(LeaseState::Held));
    lease_of(&t, x5);
    t.verify().unwrap();
}

#[test]
fn a_ticket_that_nobody_collected_is_not_forgotten() {
    // So few records that the ten tickets to come cannot all have one of their own.
    let limits = Limits { leases: 64, tickets: 4, resources: 64, history: 4 };
    let t: Table<Arrays> = new_table(Settings { limits, ..Settings::default() });
    let first = granted(t.claim(0, &Claim::one("a", &["x"])));
    let ticket = waiting(t.claim(0, &patient("b", &["x"])));
    t.release(1, first).unwrap();
    let lease = lease_of(&t, ticket);

    let mut held = granted(t.claim(1, &Claim::one("c", &["y"])));
    let mut collected = Vec::new();
    for now in 2..12 {
        let next = waiting(t.claim(now, &patient("c", &["y"])));
        t.release(now, held).unwrap();
        held = lease_of(&t, next);
        t.collect(next);
        collected.push(next);
    }
    assert_eq!(t.ticket(ticket), Some(TicketState::Granted(lease)));
    assert_eq!(t.ticket(collected[0]), None, "that one is forgotten");
    for newer in &collected[6..] {
        lease_of(&t, *newer);
    }
    t.collect(ticket);
    t.verify().unwrap();
}

#[test]
fn a_resource_that_is_waited_for_keeps_its_size() {
    let t = plain();
    let id = t.declare(0, "r", 1, 0).unwrap();
    t.set_health(0, id, Health::Draining).unwrap();
    waiting(t.claim(0, &patient("a", &["r"])));
    assert_eq!(t.declare(1, "r", 2, 0), Err(Error::InUse));
    assert_eq!(t.declare(1, "r", 1, 0), Ok(id));
}

/// A lease that goes with its parent, for a candidate that then does not fit, must stay gone if another candidate has taken it before.
#[test]
fn what_one_candidate_took_stays_taken_when_another_gives_up() {
    let t = new_table(Settings::default());
    t.declare(0, "r1", 1, 0).unwrap();
    t.declare(0, "r2", 1, 10).unwrap();
    t.declare(0, "r3", 2, 0).unwrap();
    let grant = |claim: Claim<'_>| match t.claim(0, &claim) {
        Ok(Outcome::Granted(id)) => id,
        other => panic!("{other:?}"),
    };
    let memory = Take::Amount { slots: 0, memory: 5 };
    let p = grant(Claim { spare: true, take: memory, ..Claim::one("p", &["r2"]) });
    grant(Claim::one("q", &["r2"]));
    let c =
        grant(Claim { spare: true, parent: Some(p), count: 2, ..Claim::one("c", &["r1", "r3"]) });
    let e = grant(Claim { spare: true, ..Claim::one("e", &["r3"]) });
    let two = Claim { count: 2, wait: FOREVER, ..Claim::one("job", &["r1", "r2", "r3"]) };
    grant(two);
    assert_eq!(t.lease(c).unwrap().reason, Some(Reason::SpareReclaimed));
    assert_eq!(t.lease(e).unwrap().state, LeaseState::Held, "its slot was not needed");
    t.verify().unwrap();
}
