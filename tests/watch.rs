//! Being called when something happens to a lease.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ternlease::{Error, LeaseId, LeaseManager, LeaseState, Limits, Notice, Options, Reason};

fn watch(manager: &LeaseManager, lease: LeaseId) -> Receiver<Notice> {
    let (tell, told) = mpsc::channel();
    manager.watch(lease, move |notice| tell.send(*notice).unwrap()).unwrap();
    told
}

fn real() -> LeaseManager {
    LeaseManager::open("process:").unwrap()
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn notice_then_end_then_nothing() {
    let manager = real();
    let lease = manager.acquire("gpu0", "a", HOUR).unwrap();
    let told = watch(&manager, lease);
    manager.revoke_with(lease, Reason::Quota, "ops", HOUR).unwrap();
    let notice = told.recv().unwrap();
    assert_eq!((notice.state, notice.reason), (Some(LeaseState::Held), Some(Reason::Quota)));
    assert_eq!(notice.at, manager.lease(lease).unwrap().end);
    // A notice that ends earlier is told, too.
    manager.revoke_with(lease, Reason::Quota, "ops", Duration::from_secs(60)).unwrap();
    assert!(told.recv().unwrap().at < notice.at);
    manager.release(lease).unwrap();
    let end = told.recv().unwrap();
    assert_eq!((end.lease, end.state), (lease, Some(LeaseState::Revoked)));
    assert_eq!(end.reason, Some(Reason::Quota));
    // The callback is gone, and its sender with it.
    assert!(told.recv().is_err());
}

#[test]
fn running_out_is_told_though_nobody_calls() {
    let manager = real();
    let lease = manager.acquire("gpu0", "a", Duration::from_millis(20)).unwrap();
    let told = watch(&manager, lease);
    assert_eq!(told.recv().unwrap().reason, Some(Reason::TimedOut));
}

#[test]
fn several_watch_one_lease_and_one_watches_several() {
    let leases = LeaseManager::new();
    let (a, b) = (leases.acquire("x", "p", 5).unwrap(), leases.acquire("y", "p", 5).unwrap());
    let (first, second, other) = (watch(&leases, a), watch(&leases, a), watch(&leases, b));
    leases.revoke(a).unwrap();
    for told in [first, second] {
        assert_eq!(told.recv().unwrap().state, Some(LeaseState::Revoked));
    }
    assert!(other.try_recv().is_err());
    leases.revoke(b).unwrap();
    assert_eq!(other.recv().unwrap().lease, b);
}

#[test]
fn what_is_over_or_unknown_cannot_be_watched() {
    let leases = LeaseManager::new();
    let lease = leases.acquire("x", "p", 5).unwrap();
    leases.revoke(lease).unwrap();
    let over = Error::NotHeld(LeaseState::Revoked, Reason::Operator);
    assert_eq!(leases.watch(lease, |_| {}), Err(over));
    assert_eq!(leases.watch(LeaseId(12345), |_| {}), Err(Error::UnknownLease));
}

#[test]
fn nothing_is_lost_when_the_history_is_too_short() {
    let limits = Limits { history: 4, ..Limits::default() };
    let manager = LeaseManager::with(Options::ticks().limits(limits));
    let lease = manager.acquire("mine", "p", 1000).unwrap();
    let (tell, told) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    manager
        .watch(lease, move |notice| {
            tell.send(*notice).unwrap();
            // Held up until the history has gone round.
            let _ = gate.recv();
        })
        .unwrap();
    manager.revoke_with(lease, Reason::Quota, "", ternlease::Span::Ticks(10)).unwrap();
    assert_eq!(told.recv().unwrap().state, Some(LeaseState::Held));
    manager.revoke(lease).unwrap();
    for _ in 0..20 {
        let id = manager.acquire("other", "q", 5).unwrap();
        manager.release(id).unwrap();
    }
    drop(go);
    // Its event is overwritten and its record forgotten: that it is over is told all the same.
    assert_eq!(told.recv().unwrap().state, None);
    assert!(told.recv().is_err());
}

#[test]
fn a_callback_that_panics_harms_nobody_else() {
    let leases = LeaseManager::new();
    let (bad, good) = (leases.acquire("x", "p", 5).unwrap(), leases.acquire("y", "p", 5).unwrap());
    leases.watch(bad, |_| panic!("on purpose, for a test")).unwrap();
    let told = watch(&leases, good);
    leases.revoke(bad).unwrap();
    leases.revoke(good).unwrap();
    assert_eq!(told.recv().unwrap().lease, good);
}

#[test]
fn closing_ends_the_callbacks_without_calling_them() {
    let manager = real();
    let lease = manager.acquire("gpu0", "a", HOUR).unwrap();
    let told = watch(&manager, lease);
    drop(manager);
    assert!(told.recv().is_err());
}
