//! A process that is stopped, or killed, while it has the lock of a shared table.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::time::Duration;

use host::{PATIENCE, Place, Process, until};
use ternlease::{Error, LeaseManager, LeaseState, What};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((_, words)) = host::role() {
        host_worker::work(&words[0]);
    }
}

/// A process that was stopped at an instant at which it had the lock.
fn caught(place: &Place, manager: &LeaseManager) -> Process {
    let mut process = Process::worker(place);
    process.say("churn other");
    until("it never has the lock", || {
        process.stop();
        let lock = manager.host().unwrap().lock;
        let has_it = lock.is_some_and(|lock| lock.process == process.pid());
        if !has_it {
            process.go_on();
        }
        has_it
    });
    process
}

#[test]
fn a_process_that_stops_itself_at_rest_holds_nobody_up() {
    let place = Place::new();
    let manager = place.open();
    let mut process = Process::worker(&place);
    process.say("churn-and-stop other");
    for _ in 0..200 {
        process.await_stop();
        let lease = manager.acquire("gpu0", "me", HOUR).expect("nobody has the lock");
        manager.release(lease).unwrap();
        process.go_on();
    }
    manager.verify().unwrap();
}

#[test]
fn a_stopped_process_with_the_lock_holds_nobody_up_for_ever() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "me", HOUR).unwrap();
    let leaver = place.open();
    leaver.acquire("gpu1", "leaver", HOUR).unwrap();
    let (mut waiter, mut forker) = (Process::worker(&place), Process::worker(&place));
    let kept = forker.lease("acquire gpu5");
    waiter.say("wait gpu0 3000");
    until("it does not wait", || manager.pending_claimers() == 1);
    let stopped = caught(&place, &manager);
    let stuck = Error::Stuck(stopped.pid());
    assert_eq!(manager.acquire("gpu2", "me", HOUR), Err(stuck));
    let impatient = manager.claim("me").of(&["gpu0"]).wait_for(Duration::from_millis(100));
    assert_eq!(impatient, Err(stuck));
    assert_eq!(manager.release(lease), Err(stuck));
    assert_eq!(forker.ask("acquire gpu6"), format!("{stuck:?}"));
    // Whoever waited already comes back, by whatever came first.
    let answer = waiter.line();
    assert!(answer.contains("Stuck") || answer.contains("WaitTimedOut"), "{answer}");
    // What needs no lock goes on.
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    manager.renew(lease).unwrap();
    let refused = LeaseManager::open(&place.url()).unwrap_err().to_string();
    assert!(refused.contains("does not go on"), "{refused}");
    drop(leaver);
    stopped.go_on();
    // A child is told that it is one, and not what its parent was told.
    assert_eq!(forker.ask(&format!("fork {}", kept.0)), "forked");
    let (child, answer) =
        forker.line().split_once(' ').map(|(a, b)| (a.parse(), b.to_owned())).unwrap();
    host::send(child.unwrap(), libc::SIGKILL);
    host::lease_in(&answer);
    until("it does not go on", || manager.release(lease).is_ok());
    // Who left meanwhile could not say so, and has nothing all the same.
    manager.claim("me").of(&["gpu1"]).wait_for(PATIENCE).unwrap();
    waiter.lease("wait gpu0");
    manager.verify().unwrap();
    assert!(!manager.host().unwrap().corrupt);
}

#[test]
fn what_a_process_had_begun_when_it_was_killed_is_undone() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "me", HOUR).unwrap();
    let mut reader = manager.events(0);
    until("none is killed in the middle of a change", || {
        let mut killed = caught(&place, &manager);
        killed.kill();
        let got = manager.claim("me").of(&["other"]).wait_for(PATIENCE).unwrap();
        manager.release(got).unwrap();
        manager.verify().unwrap();
        let undone = What::RolledBack { process: killed.pid() };
        let found = reader.any(|event| event.what == undone);
        assert_eq!(found, manager.host().unwrap().roll_backs != 0);
        found
    });
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    assert_eq!(manager.leases().len(), 1);
}
