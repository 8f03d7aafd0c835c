//! The behaviours that the `ternary-lease` crate documents, under the same names, with the one
//! correction: a revoked lease is -1, and an id that nobody gave out is unknown.

use ternlease::{Error, LeaseId, LeaseManager, LeaseState};

fn acquire(leases: &LeaseManager, resource: &str, holder: &str, ttl: u64) -> LeaseId {
    leases.acquire(resource, holder, ttl).expect("nothing is refused in an open house")
}

#[test]
fn acquire_held() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "gpu0", "worker1", 10);
    assert_eq!(leases.state(id), Some(LeaseState::Held));
    assert_eq!(LeaseState::Held as i8, 1);
}

#[test]
fn expiry() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "gpu0", "worker1", 2);
    leases.tick();
    assert_eq!(leases.state(id), Some(LeaseState::Held));
    leases.tick();
    assert_eq!(leases.state(id), Some(LeaseState::Expired));
    assert_eq!(LeaseState::Expired as i8, 0);
    assert_eq!(leases.tick_count(), 2);
}

#[test]
fn renew() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "gpu0", "w", 3);
    leases.tick();
    leases.tick();
    assert_eq!(leases.renew(id), Ok(5));
    leases.tick();
    leases.tick();
    assert_eq!(leases.state(id), Some(LeaseState::Held));
    leases.tick();
    assert_eq!(leases.state(id), Some(LeaseState::Expired));
}

/// The correction: there it reported expired.
#[test]
fn revoke() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "gpu0", "w", 10);
    leases.revoke(id).unwrap();
    assert_eq!(leases.state(id), Some(LeaseState::Revoked));
    assert_eq!(LeaseState::Revoked as i8, -1);
    assert_eq!(leases.revocations(), 1);
}

/// There a second revocation counted again, and one of an expired lease succeeded.
#[test]
fn revoking_what_has_ended_changes_nothing() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "gpu0", "w", 1);
    leases.tick();
    assert!(matches!(leases.revoke(id), Err(Error::NotHeld(LeaseState::Expired, _))));
    assert_eq!(leases.state(id), Some(LeaseState::Expired));
    let other = acquire(&leases, "gpu0", "w", 1);
    leases.revoke(other).unwrap();
    assert!(matches!(leases.revoke(other), Err(Error::NotHeld(LeaseState::Revoked, _))));
    assert_eq!(leases.revocations(), 1);
}

/// There an unknown id was called revoked.
#[test]
fn unknown_is_unknown() {
    let leases = LeaseManager::new();
    for id in [0, 1, 7, u64::MAX] {
        assert_eq!(leases.state(LeaseId(id)), None);
        assert_eq!(leases.renew(LeaseId(id)), Err(Error::UnknownLease));
        assert_eq!(leases.revoke(LeaseId(id)), Err(Error::UnknownLease));
    }
    assert_eq!(leases.revocations(), 0);
}

#[test]
fn deadlock_detection() {
    let leases = LeaseManager::new();
    acquire(&leases, "B", "A", 10);
    assert!(leases.find_deadlocks().unwrap().is_empty());
    acquire(&leases, "A", "B", 10);
    assert_eq!(leases.find_deadlocks().unwrap().len(), 1);
}

/// There only pairs were found.
#[test]
fn deadlocks_of_any_length() {
    let leases = LeaseManager::new();
    let names = ["A", "B", "C", "D", "E"];
    for (i, holder) in names.iter().enumerate() {
        acquire(&leases, names[(i + 1) % names.len()], holder, 10);
    }
    let deadlocks = leases.find_deadlocks().unwrap();
    assert_eq!(deadlocks.len(), 1);
    assert_eq!(deadlocks[0].cycle.len(), 5);
    assert_eq!(deadlocks[0].stuck, names);
}

#[test]
fn held_by() {
    let leases = LeaseManager::new();
    let first = acquire(&leases, "gpu0", "w1", 10);
    let second = acquire(&leases, "gpu1", "w1", 10);
    acquire(&leases, "gpu2", "w2", 10);
    assert_eq!(leases.held_by("w1"), [first, second]);
    assert_eq!(leases.held_by("w2").len(), 1);
    assert_eq!(leases.held_by("nobody"), []);
}

#[test]
fn active_count() {
    let leases = LeaseManager::new();
    acquire(&leases, "g0", "w", 1);
    acquire(&leases, "g1", "w", 10);
    leases.tick();
    assert_eq!(leases.active_count(), 1);
}

#[test]
fn renew_expired_fails() {
    let leases = LeaseManager::new();
    let id = acquire(&leases, "g0", "w", 1);
    leases.tick();
    assert!(matches!(leases.renew(id), Err(Error::NotHeld(LeaseState::Expired, _))));
}

#[test]
fn any_number_of_holders_on_a_name() {
    let leases = LeaseManager::new();
    let ids: Vec<LeaseId> =
        (0..50).map(|i| acquire(&leases, "gpu0", &format!("w{i}"), 5)).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(leases.active_count(), 50);
}
