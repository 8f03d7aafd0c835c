//! Leases that hang on leases, records that serve one lease after another, the choice among islands and nodes, and what lists tell. Each by an example.

mod common;

use common::{granted, patient, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

/// A table that soon uses its records again.
fn small() -> Table<Arrays> {
    let limits = Limits { leases: 40, tickets: 8, resources: 44, history: 1 };
    new_table(Settings { limits, ..Settings::default() })
}

/// Which record a lease is in.
fn record(t: &Table<Arrays>, lease: LeaseId) -> u64 {
    lease.0 & t.memory().index_mask()
}

/// So many leases on resources of their own; chained: each hangs on the one before.
fn take(t: &Table<Arrays>, kind: &str, count: u32, grace: Time, chained: bool) -> Vec<LeaseId> {
    let mut leases: Vec<LeaseId> = Vec::new();
    for nth in 0..count {
        let parent = leases.last().copied().filter(|_| chained);
        let name = format!("{kind} {nth}");
        leases.push(granted(t.claim(0, &Claim { parent, grace, ..Claim::one("w", &[&name]) })));
        t.verify().unwrap();
    }
    leases
}

#[test]
fn a_lease_in_the_record_of_a_child_is_a_root() {
    for grace in [0, 5] {
        let t = small();
        let chain = take(&t, "chain", MAX_DEPTH, 0, true);
        let deepest = record(&t, chain[MAX_DEPTH as usize - 1]);
        t.release(0, chain[0]).unwrap();
        let roots = take(&t, "root", MAX_DEPTH, grace, false);
        assert!(roots.iter().any(|&root| record(&t, root) == deepest), "no record is used again");
        for (nth, &root) in roots.iter().enumerate() {
            assert_eq!(t.lease(root).unwrap().parent, None);
            let name = format!("child {nth}");
            let names = [name.as_str()];
            let child = Claim { parent: Some(root), ..Claim::one("w", &names) };
            assert_eq!(t.lease(granted(t.claim(0, &child))).unwrap().parent, Some(root));
            t.verify().unwrap();
        }
    }
}

#[test]
fn a_lease_has_no_grace_of_the_one_before_it_in_its_record() {
    let t = small();
    let graceful = Claim { spare: true, grace: 9, ..Claim::one("a", &["x"]) };
    let before = granted(t.claim(0, &graceful));
    t.release(0, before).unwrap();
    let other = granted(t.claim(0, &Claim::one("a", &["y"])));
    t.release(0, other).unwrap();
    let spare = granted(t.claim(0, &Claim { grace: 0, ..graceful }));
    assert_eq!(record(&t, spare), record(&t, before));
    let child = Claim { parent: Some(spare), ..Claim::one("a", &["z"]) };
    granted(t.claim(0, &child));
    granted(t.claim(1, &patient("b", &["x"])));
    assert_eq!(t.state(spare, 1), Some(LeaseState::Revoked));
    assert!(t.held_by("a").is_empty());
    t.verify().unwrap();
}

#[test]
fn a_lease_has_no_age_of_the_one_before_it_in_its_record() {
    let t = small();
    let first = granted(t.claim(0, &Claim::one("k", &["x"])));
    let ticket = waiting(t.claim(0, &patient("k", &["x"])));
    let older = granted(t.claim(0, &Claim::one("q", &["y"])));
    t.release(0, first).unwrap();
    let before = common::lease_of(&t, ticket);
    t.release(0, before).unwrap();
    let other = granted(t.claim(0, &Claim::one("k", &["z"])));
    t.release(0, other).unwrap();
    let younger = granted(t.claim(0, &Claim::one("p", &["x"])));
    assert_eq!(record(&t, younger), record(&t, before));
    waiting(t.claim(0, &patient("p", &["y"])));
    waiting(t.claim(0, &patient("q", &["x"])));
    let deadlocks = t.find_deadlocks(0).unwrap();
    assert_eq!(deadlocks.len(), 1);
    assert_eq!((deadlocks[0].victim, older < younger), (younger, true));
}

#[test]
fn nothing_hangs_on_a_lease_that_was_told_to_be_over() {
    let t = small();
    let parent = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("a", &["x"]) }));
    assert_eq!(lease_state(t.memory(), parent, || 10), Some(LeaseState::Expired));
    let child = Claim { parent: Some(parent), ..patient("a", &["y"]) };
    assert_eq!(t.claim(5, &child), Err(Error::ParentNotHeld));
    t.verify().unwrap();
}

/// Whoever can go on gives back what hangs on its leases, too: nobody who waits for that is stuck.
#[test]
fn what_hangs_on_the_lease_of_one_who_can_go_on_comes_back() {
    let t = small();
    let free = granted(t.claim(0, &Claim::one("b", &["x"])));
    let root = granted(t.claim(0, &Claim::one("a", &["root"])));
    granted(t.claim(0, &Claim { parent: Some(root), ..Claim::one("a", &["y"]) }));
    granted(t.claim(0, &Claim::one("c", &["z"])));
    granted(t.claim(0, &Claim::one("d", &["w"])));
    waiting(t.claim(0, &patient("a", &["x"])));
    let saved = waiting(t.claim(0, &patient("c", &["y", "w"])));
    waiting(t.claim(0, &patient("d", &["z"])));
    assert_eq!(t.find_deadlocks(0), Ok(Vec::new()));
    // And so it goes.
    t.release(1, free).unwrap();
    t.release(2, root).unwrap();
    assert_eq!(t.lease(common::lease_of(&t, saved)).unwrap().takes[0].resource, "y");
    t.verify().unwrap();
}

/// Whatever the numbers of islands: a resource without one is an island of its own.
#[test]
fn a_resource_without_island_is_of_none_that_there_is() {
    let limits = Limits { leases: 8, tickets: 8, resources: 6, history: 1 };
    for island in 1..=limits.resources {
        let t = new_table(Settings { limits, ..Settings::default() });
        let names = ["a", "b", "c", "d", "e", "f"];
        let ids = names.map(|name| t.declare(0, name, 1, 0).unwrap());
        for &id in &ids[..2] {
            t.set_traits(0, id, Traits { island, ..Traits::default() }).unwrap();
        }
        let mut taken = Vec::new();
        for count in [1, 1, 1, 1, 2] {
            let lease = granted(t.claim(0, &Claim { count, ..Claim::one("w", &names) }));
            taken.extend(t.lease(lease).unwrap().takes.into_iter().map(|taken| taken.resource));
        }
        assert_eq!(taken, ["c", "d", "e", "f", "a", "b"], "island {island}");
    }
}

#[test]
fn if_no_island_is_large_enough_the_largest_comes_first() {
    let t = small();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    for (name, island) in names.into_iter().zip([1, 1, 2, 2, 2, 2, 3, 3, 3]) {
        let id = t.declare(0, name, 1, 0).unwrap();
        t.set_traits(0, id, Traits { island, ..Traits::default() }).unwrap();
    }
    // The two smaller ones would do as well.
    let lease = granted(t.claim(0, &Claim { count: 5, ..Claim::one("w", &names) }));
    let takes = t.lease(lease).unwrap().takes;
    assert!(takes.iter().map(|taken| taken.resource.as_str()).eq(["a", "c", "d", "e", "f"]));
}

#[test]
fn one_alone_comes_from_the_tightest_node_if_it_is_claimed_together() {
    let t = small();
    let names = ["g0", "g1", "g2"];
    let nodes = ["n0", "n1"].map(|name| t.declare(0, name, 1, 0).unwrap());
    for (name, node) in names.into_iter().zip([nodes[0], nodes[0], nodes[1]]) {
        let id = t.declare(0, name, 1, 0).unwrap();
        t.set_traits(0, id, Traits { node: Some(node), ..Traits::default() }).unwrap();
    }
    let took = |together| {
        let lease = granted(t.claim(0, &Claim { together, ..Claim::one("w", &names) }));
        t.lease(lease).unwrap().takes[0].resource.clone()
    };
    assert_eq!(took(true), "g2");
    assert_eq!(took(false), "g0");
}

#[test]
fn resources_that_are_forgotten_are_in_no_list() {
    let t = small();
    for name in ["x", "y", "z"] {
        let names = [name];
        let lease = granted(t.claim(0, &Claim::one("a", &names)));
        t.release(0, lease).unwrap();
        let known: Vec<String> = t.resources().into_iter().map(|resource| resource.name).collect();
        assert_eq!(known, [name], "the last one is remembered with its lease");
        t.verify().unwrap();
    }
}
