//! The rules of `docs/rules.md` that devices need: choice by islands, checks after use, failure. Each by an example.

mod common;

use common::{granted, lease_of, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::command::{DeviceListing, ListDevices};
use ternlease::table::*;

/// Devices `g0`, `g1`, …, each in the island of its place in the list; 0 is none.
fn devices(islands: &[u32]) -> (Table<Arrays>, Vec<ResourceId>) {
    let t = new_table(Settings::default());
    let ids = (0..islands.len()).map(|n| t.declare(0, &format!("g{n}"), 1, 0).unwrap());
    let ids: Vec<ResourceId> = ids.collect();
    for (&id, &island) in ids.iter().zip(islands) {
        t.set_traits(0, id, Traits { island, ..Traits::default() }).unwrap();
    }
    (t, ids)
}

fn claim<'a>(holder: &'a str, ids: &'a [ResourceId], count: u32) -> Claim<'a> {
    Claim {
        candidates: Candidates::Declared(ids),
        count,
        take: Take::Exclusive,
        ..Claim::one(holder, &[])
    }
}

fn names(t: &Table<Arrays>, lease: LeaseId) -> Vec<String> {
    t.lease(lease).unwrap().takes.into_iter().map(|taken| taken.resource).collect()
}

fn take(t: &Table<Arrays>, ids: &[ResourceId], count: u32) -> Vec<String> {
    names(t, granted(t.claim(0, &claim("w", ids, count))))
}

#[test]
fn without_islands_the_claims_order_decides() {
    let (t, mut ids) = devices(&[0, 0, 0]);
    ids.reverse();
    assert_eq!(take(&t, &ids, 2), ["g2", "g1"]);
}

#[test]
fn the_tightest_island_that_is_large_enough() {
    let (t, ids) = devices(&[1, 1, 1, 2, 2]);
    assert_eq!(take(&t, &ids, 2), ["g3", "g4"]);
    assert_eq!(take(&t, &ids, 1), ["g0"]);
}

#[test]
fn the_first_of_equal_islands_and_the_claims_order_within_it() {
    let (t, mut ids) = devices(&[1, 1, 2, 2]);
    ids.reverse();
    assert_eq!(take(&t, &ids, 2), ["g3", "g2"]);
}

#[test]
fn if_none_is_large_enough_the_largest_and_then_the_tightest_for_the_rest() {
    let (t, ids) = devices(&[1, 1, 2, 2, 2, 0]);
    assert_eq!(take(&t, &ids, 4), ["g2", "g3", "g4", "g5"]);
}

#[test]
fn only_what_fits_counts() {
    let (t, ids) = devices(&[1, 1, 1, 2, 2]);
    granted(t.claim(0, &claim("a", &ids[..1], 1)));
    // Two are left of the first island, as many as the second has: the first of equals.
    assert_eq!(take(&t, &ids, 2), ["g1", "g2"]);
}

#[test]
fn an_island_that_the_table_has_no_room_for_is_refused() {
    let (t, ids) = devices(&[1]);
    let traits = Traits { island: u32::MAX, checked: true, ..Traits::default() };
    assert_eq!(t.set_traits(0, ids[0], traits), Err(Error::UnknownIsland));
    assert_eq!(t.resource("g0").unwrap().traits, Traits { island: 1, ..Traits::default() });
}

fn checked(n: usize) -> (Table<Arrays>, Vec<ResourceId>) {
    let (t, ids) = devices(&vec![0; n]);
    for &id in &ids {
        t.set_traits(0, id, Traits { checked: true, ..Traits::default() }).unwrap();
    }
    (t, ids)
}

#[test]
fn a_checked_device_is_not_handed_on_before_somebody_has_looked() {
    let (t, ids) = checked(1);
    let first = granted(t.claim(0, &claim("a", &ids, 1)));
    let next = waiting(t.claim(0, &Claim { wait: FOREVER, ..claim("b", &ids, 1) }));
    t.release(1, first).unwrap();
    assert_eq!(t.ticket(next), Some(TicketState::Waiting));
    let info = t.resource("g0").unwrap();
    assert_eq!((info.health, info.cleaning), (Health::Draining, true));
    t.set_health(2, ids[0], Health::Healthy).unwrap();
    assert_eq!(t.ticket(next), Some(TicketState::Waiting), "an operator has not looked");
    t.set_evidence(2, ids[0], Health::Healthy, false).unwrap();
    assert_eq!(t.ticket(next), Some(TicketState::Waiting), "well, but is it unused?");
    t.set_evidence(2, ids[0], Health::Healthy, true).unwrap();
    lease_of(&t, next);
    assert!(!t.resource("g0").unwrap().cleaning);
    t.verify().unwrap();
}

#[test]
fn it_drains_with_the_last_of_several_leases_and_at_the_end_of_that() {
    let (t, ids) = checked(1);
    t.declare(0, "g0", 2, 0).unwrap();
    let part = |holder, ttl| Claim { take: Take::ONE_SLOT, ttl, ..claim(holder, &ids, 1) };
    let first = granted(t.claim(0, &part("a", FOREVER)));
    granted(t.claim(0, &part("b", 5)));
    t.release(1, first).unwrap();
    assert_eq!(t.resource("g0").unwrap().health, Health::Healthy);
    t.advance(9).unwrap();
    assert_eq!(t.resource("g0").unwrap().health, Health::Draining);
    let mut events = Vec::new();
    t.events_since(0, &mut events);
    let drained = events.iter().find(|event| matches!(event.what, What::Health { .. })).unwrap();
    assert_eq!(drained.at, 5, "when it ended, not when that was noticed");
}

#[test]
fn nobody_else_is_sent_away_while_a_device_is_on_its_way_back() {
    let (t, ids) = checked(2);
    let spare = |holder, ids| Claim { spare: true, ..claim(holder, ids, 1) };
    let one = granted(t.claim(0, &spare("a", &ids[..1])));
    let two = granted(t.claim(0, &spare("b", &ids[1..])));
    waiting(t.claim(1, &Claim { wait: FOREVER, ..claim("c", &ids, 1) }));
    let states = [one, two].map(|id| t.state(id, 1));
    assert_eq!(states, [Some(LeaseState::Revoked), Some(LeaseState::Held)]);
    t.advance(5).unwrap();
    assert_eq!(t.state(two, 5), Some(LeaseState::Held));
    // If it does not come back, the other one has to go.
    t.set_health(6, ids[0], Health::Failed).unwrap();
    assert_eq!(t.state(two, 6), Some(LeaseState::Revoked));
}

#[test]
fn a_device_that_fails_takes_its_leases_with_it_and_no_others() {
    let (t, ids) = devices(&[0, 0, 0]);
    let both = granted(t.claim(0, &claim("a", &ids[..2], 2)));
    let child = Claim { parent: Some(both), ..claim("a", &ids[2..], 1) };
    let child = granted(t.claim(0, &child));
    let next = waiting(t.claim(0, &Claim { wait: FOREVER, ..claim("b", &ids, 1) }));
    t.fail(3, ids[1], Reason::DeviceFault, "watch").unwrap();
    let info = t.lease(both).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::DeviceFault)));
    assert_eq!(info.revoker.as_deref(), Some("watch"));
    assert_eq!(t.lease(child).unwrap().reason, Some(Reason::ParentRevoked));
    assert_eq!(t.resource("g1").unwrap().health, Health::Failed);
    assert_eq!(names(&t, lease_of(&t, next)), ["g0"]);
    assert_eq!(
        t.fail(3, ids[0], Reason::Released, ""),
        Err(Error::NotARevocation(Reason::Released))
    );
    assert_eq!(t.fail(3, ids[0], Reason::DeviceFault, &"n".repeat(256)), Err(Error::NameTooLong));
    t.verify().unwrap();
}

#[test]
fn the_worse_of_what_is_said_and_what_is_seen_counts() {
    let (t, ids) = devices(&[0]);
    let health = || t.resource("g0").unwrap().health;
    t.set_evidence(0, ids[0], Health::Draining, true).unwrap();
    assert_eq!(health(), Health::Draining);
    t.set_health(0, ids[0], Health::Failed).unwrap();
    assert_eq!(health(), Health::Failed);
    t.set_evidence(0, ids[0], Health::Healthy, true).unwrap();
    assert_eq!(health(), Health::Failed, "what an operator said is his to take back");
    t.set_health(0, ids[0], Health::Healthy).unwrap();
    assert_eq!(health(), Health::Healthy);
    let mut events = Vec::new();
    t.events_since(0, &mut events);
    let told: Vec<Health> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Health { health, .. } => Some(health),
            _ => None,
        })
        .collect();
    assert_eq!(told, [Health::Draining, Health::Failed, Health::Healthy], "each change, once");
}

#[test]
fn what_is_checked_no_longer_waits_for_nobody() {
    let (t, ids) = checked(1);
    let lease = granted(t.claim(0, &claim("a", &ids, 1)));
    t.release(0, lease).unwrap();
    let next = waiting(t.claim(0, &Claim { wait: FOREVER, ..claim("b", &ids, 1) }));
    t.set_traits(1, ids[0], Traits::default()).unwrap();
    lease_of(&t, next);
}

#[test]
fn listing_with_a_device_that_cannot_be_declared_declares_none() {
    let t = new_table(Settings::default());
    let id = t.declare(0, "used", 1, 0).unwrap();
    granted(t.claim(0, &claim("w", &[id], 1)));
    let device = |resource, slots| DeviceListing {
        resource,
        slots: Some(slots),
        memory: 0,
        island: None,
        checked: false,
        evidence: None,
    };
    for (last, refusal) in [
        (device("used", 2), Error::InUse),
        (device("", 1), Error::EmptyName),
        (device("none", 0), Error::ZeroAmount),
    ] {
        let devices = [device("new", 1), last];
        let list = ListDevices { devices: &devices[..], node: None };
        assert_eq!(t.apply(Issuer::default(), &list, 1), Err(refusal));
        assert_eq!(t.resource("new"), None);
    }
    let list = ListDevices { devices: &[device("new", 1), device("used", 1)][..], node: None };
    assert_eq!(t.apply(Issuer::default(), &list, 1).map(|ids| ids[1]), Ok(id));
    t.verify().unwrap();
}
