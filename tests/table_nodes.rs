//! The rules of `docs/rules.md` about nodes: several of one, which one, and what becomes of what is in a node that is lost. Each by an example.

mod common;

use common::{granted, lease_of, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::command::SetNode;
use ternlease::table::*;

/// Devices `g0`, `g1`, …, each of the node whose name is in its place; `-` is none.
fn devices(nodes: &str) -> (Table<Arrays>, Vec<ResourceId>) {
    let t = new_table(Settings::default());
    let mut ids = Vec::new();
    for (n, node) in nodes.chars().enumerate() {
        let id = t.declare(0, &format!("g{n}"), 1, 0).unwrap();
        if node != '-' {
            let node = Some(t.declare(0, &node.to_string(), 1, 0).unwrap());
            t.set_traits(0, id, Traits { node, ..Traits::default() }).unwrap();
        }
        ids.push(id);
    }
    (t, ids)
}

fn together<'a>(holder: &'a str, ids: &'a [ResourceId], count: u32) -> Claim<'a> {
    Claim { together: true, ..claim(holder, ids, count) }
}

fn claim<'a>(holder: &'a str, ids: &'a [ResourceId], count: u32) -> Claim<'a> {
    Claim {
        candidates: Candidates::Declared(ids),
        count,
        take: Take::Exclusive,
        ..Claim::one(holder, &[])
    }
}

fn patient(claim: Claim<'_>) -> Claim<'_> {
    Claim { wait: FOREVER, ..claim }
}

fn names(t: &Table<Arrays>, lease: LeaseId) -> Vec<String> {
    t.lease(lease).unwrap().takes.into_iter().map(|taken| taken.resource).collect()
}

fn take(t: &Table<Arrays>, ids: &[ResourceId], count: u32) -> Vec<String> {
    names(t, granted(t.claim(0, &together("w", ids, count))))
}

/// Somebody is on the node.
fn come_to(t: &Table<Arrays>, node: &str) -> LeaseId {
    granted(t.claim(t.now(), &Claim { take: Take::Shared, ..Claim::one("agent", &[node]) }))
}

#[test]
fn several_come_from_the_tightest_node_that_has_enough() {
    let (t, ids) = devices("aabbbcc");
    assert_eq!(take(&t, &ids, 3), ["g2", "g3", "g4"]);
    assert_eq!(take(&t, &ids, 1), ["g0"], "the first of equals");
    assert_eq!(take(&t, &ids, 1), ["g1"], "what is left of a broken node");
    assert_eq!(take(&t, &ids, 2), ["g5", "g6"]);
    assert_eq!(t.claim(0, &together("w", &ids, 1)), Err(Error::Busy));
}

#[test]
fn islands_count_within_the_node() {
    let (t, ids) = devices("aaaabbbbb");
    for (place, &id) in ids.iter().enumerate() {
        let traits = t.resource(&format!("g{place}")).unwrap().traits;
        t.set_traits(0, id, Traits { island: place as u32 / 2 % 2 + 1, ..traits }).unwrap();
    }
    granted(t.claim(0, &claim("x", &ids[..1], 1)));
    assert_eq!(take(&t, &ids, 2), ["g2", "g3"]);
}

#[test]
fn a_claim_that_does_not_care_takes_from_anywhere() {
    let (t, ids) = devices("abc");
    let lease = granted(t.claim(0, &claim("w", &ids, 3)));
    assert_eq!(names(&t, lease).len(), 3);
}

#[test]
fn what_no_node_can_ever_have_is_impossible_at_once() {
    let (t, ids) = devices("aabb");
    assert_eq!(t.claim(0, &patient(together("w", &ids, 3))), Err(Error::Impossible));
    // The amounts count, too.
    t.declare(0, "g0", 4, 0).unwrap();
    let large = Take::Amount { slots: 2, memory: 0 };
    let two = Claim { take: large, ..together("w", &ids, 2) };
    assert_eq!(t.claim(0, &patient(two)), Err(Error::Impossible));
    assert_eq!(names(&t, granted(t.claim(0, &Claim { count: 1, ..two }))), ["g0"]);
}

#[test]
fn what_is_of_no_node_is_of_one() {
    let (t, ids) = devices("--a");
    assert_eq!(take(&t, &ids, 2), ["g0", "g1"]);
}

#[test]
fn a_claim_waits_until_one_node_has_enough_and_holds_up_only_those_it_can_use() {
    let (t, ids) = devices("aabbc");
    let a = granted(t.claim(0, &claim("x", &ids[..1], 1)));
    let b = granted(t.claim(0, &claim("x", &ids[2..3], 1)));
    let two = waiting(t.claim(0, &patient(together("two", &ids, 2))));
    // g4 is alone on its node, so that the claim has nothing to do with it; of the others it may come to need each.
    assert_eq!(t.waiting_ticket(two).unwrap().candidates, ["g0", "g1", "g2", "g3"]);
    assert_eq!(t.claim(0, &claim("y", &ids[1..2], 1)), Err(Error::Busy));
    granted(t.claim(0, &claim("y", &ids[4..], 1)));
    t.release(1, b).unwrap();
    assert_eq!(names(&t, lease_of(&t, two)), ["g2", "g3"]);
    t.release(1, a).unwrap();
    t.verify().unwrap();
}

#[test]
fn names_that_a_claim_gives_in_vain_are_forgotten() {
    let (t, _) = devices("aa");
    let names = ["g0", "g1", "alone"];
    let two = Claim { count: 2, together: true, ..Claim::one("w", &names) };
    granted(t.claim(0, &two));
    assert_eq!(t.resource("alone"), None);
    let ticket = waiting(t.claim(0, &patient(Claim { holder: "v", ..two })));
    assert_eq!(t.waiting_ticket(ticket).unwrap().candidates, ["g0", "g1"]);
    assert_eq!(t.resource("alone"), None);
    t.verify().unwrap();
}

#[test]
fn nobody_is_sent_away_from_a_node_that_would_not_suffice() {
    let (t, ids) = devices("aaabbb");
    let filler = |place: usize| {
        let one = &ids[place..=place];
        granted(t.claim(0, &Claim { spare: true, ..claim("filler", one, 1) }))
    };
    // On a two could be had of three, on b all.
    granted(t.claim(0, &claim("x", &ids[..1], 1)));
    let stay = [filler(1), filler(2)];
    let go = [filler(3), filler(4), filler(5)];
    let three = granted(t.claim(0, &patient(together("three", &ids, 3))));
    assert_eq!(names(&t, three), ["g3", "g4", "g5"]);
    for lease in stay {
        assert_eq!(t.state(lease, 0), Some(LeaseState::Held));
    }
    for lease in go {
        assert_eq!(t.lease(lease).unwrap().reason, Some(Reason::SpareReclaimed));
    }
    // And where none would, nobody goes at all.
    let two = t.claim(0, &Claim { preempt: true, priority: 9, ..together("two", &ids[..3], 3) });
    assert_eq!(two, Err(Error::Busy));
    assert_eq!(t.count(Reason::SpareReclaimed), 3);
    t.verify().unwrap();
}

#[test]
fn the_node_goes_first_on_which_least_is_taken_away() {
    let (t, ids) = devices("aaabbb");
    for place in [0, 1, 2, 3] {
        let one = &ids[place..=place];
        granted(t.claim(0, &Claim { spare: true, ..claim("filler", one, 1) }));
    }
    let three = granted(t.claim(0, &patient(together("three", &ids, 3))));
    assert_eq!(names(&t, three), ["g3", "g4", "g5"]);
    assert_eq!(t.count(Reason::SpareReclaimed), 1);
}

#[test]
fn a_deadlock_is_shown_by_leases_that_stand_in_the_way_and_by_no_others() {
    let (t, ids) = devices("aaabbbc");
    let hold = |holder, place: usize| granted(t.claim(0, &claim(holder, &ids[place..=place], 1)));
    let (mine, _) = (hold("one", 0), hold("one", 3));
    // Of c, which it names first, the claim could never get two, whoever holds what is there.
    let (_alone, on_a, _on_b) = (hold("two", 6), hold("two", 1), hold("two", 4));
    let named = [ids[6], ids[1], ids[2], ids[4], ids[5]];
    waiting(t.claim(0, &patient(together("one", &named, 2))));
    assert_eq!(t.find_deadlocks(0).unwrap(), [], "two goes on, and gives back");
    waiting(t.claim(0, &patient(claim("two", &ids[..1], 1))));
    let found = t.find_deadlocks(0).unwrap();
    let leases: Vec<LeaseId> = found[0].cycle.iter().map(|wait| wait.lease).collect();
    assert_eq!((found.len(), leases), (1, vec![mine, on_a]));
    t.revoke(0, found[0].victim, Reason::DeadlockVictim, "", 0).unwrap();
    assert_eq!(t.find_deadlocks(0).unwrap(), []);
    assert_eq!(t.waiting(), 1, "and one of them goes on");
}

#[test]
fn a_node_that_is_lost_takes_along_what_is_in_it() {
    let (t, ids) = devices("aab");
    let (first, second) = (come_to(&t, "a"), come_to(&t, "a"));
    let lease = granted(t.claim(0, &claim("w", &ids[..1], 1)));
    let next = waiting(t.claim(0, &patient(claim("next", &ids[..1], 1))));
    t.release(1, first).unwrap();
    assert_eq!(t.state(lease, 1), Some(LeaseState::Held), "somebody is still there");
    t.end(2, second, Reason::HolderDied).unwrap();
    assert_eq!(t.lease(lease).unwrap().reason, Some(Reason::NodeDrain));
    assert_eq!(t.ticket(next), Some(TicketState::Waiting), "it is not handed on");
    let health = |name: &str| t.resource(name).unwrap().health;
    assert_eq!(["g0", "g1", "g2"].map(health), [Health::Failed, Health::Failed, Health::Healthy]);
    // It comes back.
    come_to(&t, "a");
    assert_eq!(t.ticket(next), Some(TicketState::Waiting), "nobody has looked yet");
    t.set_evidence(3, ids[0], Health::Healthy, true).unwrap();
    lease_of(&t, next);
    assert_eq!(health("g1"), Health::Failed);
    t.verify().unwrap();
}

#[test]
fn a_node_is_lost_with_its_last_owner_in_one_step() {
    let (t, ids) = devices("aa");
    let presence = Claim { take: Take::Shared, owner: 7, ..Claim::one("agent", &["a"]) };
    granted(t.claim(0, &presence));
    let own = granted(t.claim(0, &Claim { owner: 7, ..claim("w", &ids[..1], 1) }));
    let elsewhere = granted(t.claim(0, &Claim { owner: 8, ..claim("v", &ids[1..], 1) }));
    let next = waiting(t.claim(0, &patient(claim("next", &ids, 1))));
    t.reap(1, 7, Reason::HolderDied).unwrap();
    assert_eq!(t.lease(own).unwrap().reason, Some(Reason::HolderDied));
    assert_eq!(t.lease(elsewhere).unwrap().reason, Some(Reason::NodeDrain));
    assert_eq!(t.ticket(next), Some(TicketState::Waiting));
    t.verify().unwrap();
}

#[test]
fn the_node_of_what_is_in_use_stays() {
    let (t, ids) = devices("a-");
    let traits = t.resource("g0").unwrap().traits;
    let lease = granted(t.claim(0, &claim("w", &ids[..1], 1)));
    assert_eq!(t.set_traits(0, ids[0], Traits::default()), Err(Error::InUse));
    t.set_traits(0, ids[0], Traits { island: 1, ..traits }).unwrap();
    let waits = waiting(t.claim(0, &patient(claim("v", &ids[..1], 1))));
    t.release(0, lease).unwrap();
    t.release(0, lease_of(&t, waits)).unwrap();
    t.set_traits(0, ids[0], Traits::default()).unwrap();
    let only_used = t.claim(0, &Claim::one("w", &["used"]));
    granted(only_used);
    assert_eq!(t.resource_id("used"), None);
}

#[test]
fn nodes_that_are_lost_at_once_are_all_lost() {
    for nodes in ["ab", "abc"] {
        let (t, ids) = devices(nodes);
        for node in [["a"], ["b"], ["c"]].into_iter().take(nodes.len()) {
            let here = Claim { take: Take::Shared, owner: 5, ..Claim::one("agent", &node) };
            granted(t.claim(0, &here));
        }
        let held: Vec<LeaseId> =
            ids.iter().map(|id| granted(t.claim(0, &claim("w", &[*id], 1)))).collect();
        t.reap(1, 5, Reason::HolderDied).unwrap();
        for lease in held {
            assert_eq!(t.lease(lease).unwrap().reason, Some(Reason::NodeDrain));
        }
        t.verify().unwrap();
    }
}

#[test]
fn set_node_that_is_refused_declares_no_node() {
    let t = new_table(Settings::default());
    let set_node = SetNode { resource: "gpu", node: Some("node") };
    let apply = |now| t.apply(Issuer::default(), &set_node, now);
    t.declare(0, "gpu", 1, 0).unwrap();
    let lease = granted(t.claim(0, &Claim::one("a", &["gpu"])));
    assert_eq!(apply(1), Err(Error::InUse));
    assert_eq!(t.resource_id("node"), None);
    t.release(2, lease).unwrap();
    assert_eq!(apply(2), Ok(()));
    assert!(t.resource_id("node").is_some());
    t.verify().unwrap();
}
