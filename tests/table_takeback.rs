//! Taking leases away, by somebody's word or for others who wait; and the resources that they are on.

mod common;

use common::{granted, hold, lease_of, patient, table, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn small(limits: Limits) -> Table<Arrays> {
    new_table(Settings { limits, ..Settings::default() })
}

fn spare(t: &Table<Arrays>, resource: &str) -> LeaseId {
    let names = [resource];
    let claim = Claim { spare: true, grace: 5, ..Claim::one("spare", &names) };
    granted(t.claim(t.now(), &claim))
}

fn is_told_to_go(t: &Table<Arrays>, lease: LeaseId) -> bool {
    t.verify().unwrap();
    t.lease(lease).unwrap().revoking
}

fn reason(t: &Table<Arrays>, lease: LeaseId) -> Option<Reason> {
    t.lease(lease).unwrap().reason
}

// Revocation

#[test]
fn an_end_that_somebody_was_told_of_is_not_undone_by_a_notice() {
    for notice in [1, 20] {
        let t = table();
        let parent = hold(&t, "a", "x");
        let below = Claim { parent: Some(parent), ttl: 10, ..Claim::one("a", &["y"]) };
        let child = granted(t.claim(0, &below));
        // To a clock that is ahead of the table's.
        assert_eq!(lease_state(t.memory(), child, || 12), Some(LeaseState::Expired));
        t.revoke(5, parent, Reason::Operator, "", notice).unwrap();
        assert_eq!(lease_state(t.memory(), child, || 6), Some(LeaseState::Expired));
        let over = Error::NotHeld(LeaseState::Expired, Reason::TimedOut);
        assert_eq!(t.renew(5, child, None), Err(over), "notice {notice}");
        let info = t.lease(child).unwrap();
        assert_eq!((info.end, info.reason), (10, Some(Reason::TimedOut)));
        t.verify().unwrap();
    }
}

#[test]
fn an_end_that_somebody_was_told_of_is_not_told_otherwise_when_its_owner_dies() {
    let t = table();
    let id = granted(t.claim(0, &Claim { owner: 7, ..Claim::one("a", &["x"]) }));
    t.revoke(0, id, Reason::Operator, "", 10).unwrap();
    assert_eq!(lease_state(t.memory(), id, || 12), Some(LeaseState::Revoked));
    assert_eq!(t.reap(5, 7, Reason::HolderDied), Ok(Reaped { leases: 1, tickets: 0 }));
    assert_eq!(lease_state(t.memory(), id, || 6), Some(LeaseState::Revoked));
    assert_eq!(reason(&t, id), Some(Reason::Operator));
    t.verify().unwrap();
}

#[test]
fn who_is_revoked_at_once_by_nobody_in_particular_names_no_earlier_revoker() {
    let t = table();
    let id = hold(&t, "a", "x");
    t.revoke(0, id, Reason::NodeDrain, "operator", 20).unwrap();
    assert_eq!(t.revoke(1, id, Reason::Quota, "", 0), Ok(Revoked::AtOnce));
    let info = t.lease(id).unwrap();
    assert_eq!((info.end, info.reason, info.revoker), (1, Some(Reason::Quota), None));
    t.verify().unwrap();
}

#[test]
fn whoever_calls_a_lease_a_victim_gives_its_age_to_its_holder() {
    for notice in [0, 1] {
        let t = table();
        let old = hold(&t, "a", "x");
        hold(&t, "b", "y");
        let first = waiting(t.claim(0, &patient("c", &["y"])));
        t.revoke(0, old, Reason::DeadlockVictim, "", notice).unwrap();
        let back = waiting(t.claim(0, &patient("a", &["y"])));
        assert_eq!((t.place(back), t.place(first)), (Some(1), Some(2)), "notice {notice}");
    }
}

#[test]
fn a_revoker_is_named_as_long_as_there_is_room_for_its_name() {
    // Room for 11 pieces of names; two are used by the holder and the resource.
    let t = small(Limits { leases: 2, tickets: 1, resources: 1, history: 1 });
    t.declare(0, "r", 2, 0).unwrap();
    let [one, other] = [hold(&t, "holder", "r"), hold(&t, "holder", "r")];
    let long = "x".repeat(MAX_NAME);
    let refused = t.revoke(0, one, Reason::Operator, &format!("{long}x"), 90);
    assert_eq!(refused, Err(Error::NameTooLong));
    assert_eq!(t.revoke(0, one, Reason::Operator, &long, 90), Ok(Revoked::Notified(90)));
    assert_eq!(t.lease(one).unwrap().revoker.as_deref(), Some(&*long));

    // One piece is left, and this takes two.
    let full = Err(Error::Full(Part::Names));
    assert_eq!(t.revoke(0, other, Reason::Operator, &long[..33], 80), full);
    assert!(!is_told_to_go(&t, other));
    t.revoke(0, other, Reason::Operator, "b", 80).unwrap();
    assert_eq!(t.revoke(0, other, Reason::Operator, "c", 70), full);
    assert_eq!(t.lease(other).unwrap().revoker.as_deref(), Some("b"));
    // What is known already needs none, nor does nobody.
    t.revoke(0, other, Reason::Operator, "", 60).unwrap();
    t.revoke(0, other, Reason::Operator, "c", 50).unwrap();
    t.revoke(0, other, Reason::Operator, "holder", 0).unwrap();
    assert_eq!(t.lease(other).unwrap().revoker.as_deref(), Some("holder"));
    t.verify().unwrap();
}

#[test]
fn a_notice_holds_however_often_its_lease_is_renewed() {
    let t = table();
    let id = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("a", &["x"]) }));
    t.revoke(0, id, Reason::Operator, "", 25).unwrap();
    for (now, end) in [(5, 15), (12, 22), (18, 25), (20, 25), (22, 25)] {
        assert_eq!(renew_quickly(t.memory(), id, now), None, "the notice has a say");
        assert_eq!(t.renew(now, id, None), Ok(end));
        let then = if end == 25 { LeaseState::Revoked } else { LeaseState::Expired };
        assert_eq!(t.state(id, end), Some(then));
    }
    assert_eq!(lease_state(t.memory(), id, || 24), Some(LeaseState::Held));
    assert_eq!(lease_state(t.memory(), id, || 25), Some(LeaseState::Revoked));
    t.advance(30).unwrap();
    let info = t.lease(id).unwrap();
    assert_eq!((info.end, info.reason), (25, Some(Reason::Operator)));
}

#[test]
fn a_parent_has_a_say_however_often_its_child_is_renewed() {
    let t = table();
    let parent = granted(t.claim(0, &Claim { ttl: 20, ..Claim::one("a", &["x"]) }));
    let below = Claim { parent: Some(parent), ttl: 8, ..Claim::one("a", &["y"]) };
    let child = granted(t.claim(0, &below));
    for (now, end) in [(2, 10), (5, 13), (10, 18), (15, 20)] {
        assert_eq!(renew_quickly(t.memory(), child, now), None);
        assert_eq!(t.renew(now, child, None), Ok(end));
    }
}

/// What to do is said by the class, in the words of the error.
#[test]
fn each_reason_says_what_to_do() {
    use ReasonClass::*;
    let classes = [Contention, Limit, Conduct, Resource, Authority, Ended, Refused];
    for reason in Reason::ALL {
        let class = classes[reason.code() as usize / 100 - 1];
        assert_eq!(reason.class(), class);
        assert_eq!(reason.is_revocation(), !matches!(class, Ended | Refused));
        let advice = match class {
            Contention => "claim again",
            Limit => "claim again, as a newcomer",
            Conduct => "back off, and look at what the holder does",
            Resource => "claim something else",
            Authority => "stop, and ask who did it",
            _ => "claim again if it is still needed",
        };
        let text = Error::NotHeld(LeaseState::Revoked, *reason).to_string();
        assert_eq!(text, format!("the lease was revoked ({reason}): {advice}"));
    }
}

#[test]
fn each_reason_has_a_counter_of_its_own() {
    let t = table();
    for (nth, reason) in Reason::ALL.iter().enumerate() {
        let id = hold(&t, "a", "x");
        let ended = match (reason.is_revocation(), reason.class()) {
            (true, _) => t.revoke(0, id, *reason, "", 0).map(drop),
            (_, ReasonClass::Ended) => t.end(0, id, *reason),
            _ => {
                t.release(0, id).unwrap();
                continue;
            }
        };
        assert_eq!(ended, Ok(()));
        let before = Reason::ALL[..nth].iter().map(|earlier| t.count(*earlier));
        assert!(before.eq(std::iter::repeat_n(1, nth)), "{reason}");
        assert_eq!(t.count(*reason), 1, "{reason}");
    }
}

// Taking back

#[test]
fn spare_leases_go_first_then_the_lowest_priority_then_the_youngest() {
    let t = table();
    t.declare(0, "g", 5, 0).unwrap();
    let take = |spare: bool, priority| {
        let preemptible = !spare;
        granted(t.claim(0, &Claim { spare, preemptible, priority, ..Claim::one("a", &["g"]) }))
    };
    let [old, young] = [take(false, 2), take(false, 2)];
    let low = take(false, 1);
    let spare = take(true, 5);
    let lower = take(false, -1);
    for victim in [spare, lower, low, young, old] {
        let held = t.held();
        let urgent = Claim { preempt: true, priority: 9, ..patient("urgent", &["g"]) };
        granted(t.claim(0, &urgent));
        assert_eq!(t.state(victim, 0), Some(LeaseState::Revoked));
        assert_eq!(t.held(), held, "one is enough");
    }
    assert_eq!(t.count(Reason::SpareReclaimed), 1);
    assert_eq!(t.count(Reason::Preempted), 4);
}

#[test]
fn the_grace_of_a_lease_that_is_forgotten_is_forgotten_too() {
    let t = small(Limits { leases: 4, tickets: 4, resources: 4, history: 1 });
    let graceful = spare(&t, "x");
    t.release(0, graceful).unwrap();
    let other = hold(&t, "a", "y");
    t.release(0, other).unwrap();
    assert_eq!(t.lease(graceful), None);
    let abrupt = granted(t.claim(0, &Claim { spare: true, ..Claim::one("spare", &["x"]) }));
    granted(t.claim(0, &patient("job", &["x"])));
    assert_eq!(reason(&t, abrupt), Some(Reason::SpareReclaimed));
}

#[test]
fn nothing_is_taken_back_for_a_claim_that_must_wait_for_an_earlier_one() {
    // The earlier claim needs "y" and what is not to be had. The later one, for "y" alone, conflicts with it unless both only take shares.
    for (earlier, later, goes) in [
        (Take::ONE_SLOT, Take::ONE_SLOT, false),
        (Take::ONE_SLOT, Take::Shared, false),
        (Take::Shared, Take::ONE_SLOT, false),
        (Take::Shared, Take::Shared, true),
    ] {
        let t = table();
        hold(&t, "firm", "x");
        let lease = spare(&t, "y");
        let both = Claim { count: 2, take: earlier, ..patient("first", &["x", "y"]) };
        waiting(t.claim(0, &both));
        assert!(!is_told_to_go(&t, lease), "it would not help");
        waiting(t.claim(0, &Claim { take: later, ..patient("second", &["y"]) }));
        assert_eq!(is_told_to_go(&t, lease), goes, "{earlier:?} {later:?}");
    }
}

#[test]
fn only_what_is_on_its_way_back_counts_as_there() {
    let with = |change: fn(&Table<Arrays>, ResourceId)| {
        let t = table();
        let d = t.declare(0, "d", 1, 0).unwrap();
        t.set_traits(0, d, Traits { checked: true, ..Traits::default() }).unwrap();
        let lease = spare(&t, "s");
        change(&t, d);
        waiting(t.claim(0, &patient("job", &["d", "s"])));
        is_told_to_go(&t, lease)
    };
    assert!(with(|t, d| t.set_evidence(0, d, Health::Draining, false).unwrap()));
    assert!(with(|t, d| t.set_evidence(0, d, Health::Failed, false).unwrap()));
    assert!(with(|t, d| t.set_health(0, d, Health::Draining).unwrap()));
    // It is being cleaned after its last lease.
    assert!(!with(|t, _| t.release(0, hold(t, "a", "d")).unwrap()));
}

#[test]
fn what_is_taken_back_for_several_together_is_of_one_node() {
    let t = table();
    let names = ["a1", "a2", "b1", "b2"];
    for name in names {
        let id = t.declare(0, name, 1, 0).unwrap();
        let node = Some(t.declare(0, &name[..1], 1, 0).unwrap());
        t.set_traits(0, id, Traits { node, ..Traits::default() }).unwrap();
    }
    hold(&t, "firm", "a2");
    let lease = spare(&t, "b1");
    let two = Claim { count: 2, together: true, ..patient("job", &names) };
    let ticket = waiting(t.claim(0, &two));
    assert!(is_told_to_go(&t, lease), "one of each node is free, but only one node can be emptied");
    t.advance(5).unwrap();
    let takes = t.lease(lease_of(&t, ticket)).unwrap().takes;
    assert_eq!([&*takes[0].resource, &*takes[1].resource], ["b1", "b2"]);
}

#[test]
fn what_a_leaving_child_holds_is_not_given_back_twice() {
    let t = table();
    for name in ["p", "c"] {
        t.declare(0, name, 2, 0).unwrap();
    }
    let parent = spare(&t, "p");
    let below = Claim { parent: Some(parent), ..Claim::one("spare", &["c"]) };
    let child = granted(t.claim(0, &below));
    hold(&t, "firm", "c");
    t.revoke(0, child, Reason::Operator, "", 50).unwrap();
    let all = Take::Amount { slots: 2, memory: 0 };
    waiting(t.claim(0, &Claim { count: 2, take: all, ..patient("job", &["p", "c"]) }));
    assert!(!is_told_to_go(&t, parent), "half of \"c\" is not to be had");
}

// Resources

#[test]
fn of_the_largest_resource_no_more_is_given_out_than_there_is() {
    const ALL: u32 = u32::MAX;
    for (slots, memory) in [(ALL, 0), (0, ALL), (ALL, ALL)] {
        let t = table();
        t.declare(0, "x", ALL, ALL).unwrap();
        let claim = |take| t.claim(0, &Claim { take, ..Claim::one("a", &["x"]) });
        let all = granted(claim(Take::Amount { slots, memory }));
        for (slots, memory) in [(slots.min(1), memory.min(1)), (slots, memory)] {
            assert_eq!(claim(Take::Amount { slots, memory }), Err(Error::Busy));
        }
        assert_eq!(claim(Take::Exclusive), Err(Error::Busy));
        t.release(0, all).unwrap();
        granted(claim(Take::Exclusive));
        assert_eq!(claim(Take::ONE_SLOT), Err(Error::Busy));
        t.verify().unwrap();
    }
}

#[test]
fn ids_of_a_larger_table_are_of_no_resource_here() {
    let (large, t) = (table(), small(Limits { leases: 4, tickets: 4, resources: 2, history: 4 }));
    for n in 0..6 {
        let id = large.declare(0, &format!("r{n}"), 1, 0).unwrap();
        if n < 2 {
            assert_eq!(t.declare(0, &format!("r{n}"), 1, 0), Ok(id));
            continue;
        }
        let ids = [id];
        let claim = Claim { candidates: Candidates::Declared(&ids), ..Claim::one("a", &[]) };
        assert_eq!(t.claim(0, &claim), Err(Error::UnknownResource));
        assert_eq!(t.set_health(0, id, Health::Failed), Err(Error::UnknownResource));
        assert_eq!(t.verify(), Ok(()));
    }
}

#[test]
fn the_last_island_and_the_last_resource_are_two_islands() {
    let names = ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"];
    let t = small(Limits { leases: 8, tickets: 8, resources: 8, history: 8 });
    for (place, name) in names.iter().enumerate() {
        let id = t.declare(0, name, 1, 0).unwrap();
        let island = if place < 2 { 8 } else { 0 };
        t.set_traits(0, id, Traits { island, ..Traits::default() }).unwrap();
        let too_large = Traits { island: 9, ..Traits::default() };
        assert_eq!(t.set_traits(0, id, too_large), Err(Error::UnknownIsland));
    }
    let mut backwards = names;
    backwards.reverse();
    let take = |count| {
        let lease = granted(t.claim(0, &Claim { count, ..Claim::one("a", &backwards) }));
        let takes = t.lease(lease).unwrap().takes;
        takes.into_iter().map(|taken| taken.resource).collect::<Vec<_>>()
    };
    assert_eq!(take(1), ["r8"], "rather than break an island");
    assert_eq!(take(2), ["r2", "r1"], "these are linked");
    assert_eq!(take(4), ["r7", "r6", "r5", "r4"]);
    t.verify().unwrap();
}

#[test]
fn who_counts_as_an_island_may_change() {
    let t = table();
    let names = ["a", "b", "c"];
    let ids = names.map(|name| t.declare(0, name, 1, 0).unwrap());
    let island = |id, island| t.set_traits(0, id, Traits { island, ..Traits::default() }).unwrap();
    let first_of_two = || {
        let lease = granted(t.claim(0, &Claim { count: 2, ..Claim::one("w", &names) }));
        let takes = t.lease(lease).unwrap().takes;
        t.release(0, lease).unwrap();
        takes.into_iter().map(|taken| taken.resource).collect::<String>()
    };
    assert_eq!(first_of_two(), "ab");
    island(ids[1], 1);
    island(ids[2], 1);
    assert_eq!(first_of_two(), "bc");
    island(ids[1], 0);
    assert_eq!(first_of_two(), "ab");
    island(ids[2], 0);
    assert_eq!(first_of_two(), "ab");
}
