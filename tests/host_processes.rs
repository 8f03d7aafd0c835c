//! Processes that share a table: what one does the others see; what one leaves behind when it dies, is forked or stopped.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::time::Duration;

use host::{Place, Process, send, until};
use ternlease::{Error, LeaseManager, LeaseState, ProcessLife, Reason, What};

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((_, words)) = host::role() {
        host_worker::work(&words[0]);
    }
}

/// The reason for which a lease ended, by the history.
fn end_of(manager: &LeaseManager, lease: ternlease::LeaseId) -> Option<Reason> {
    manager.events_since(0).0.into_iter().find_map(|event| match event.what {
        What::Ended { lease: ended, reason, .. } if ended == lease => Some(reason),
        _ => None,
    })
}

fn waiting(manager: &LeaseManager, count: usize) {
    until("nobody waits", || manager.pending_claimers() == count);
}

/// How many dead processes were found so far, by now.
fn deaths(manager: &LeaseManager) -> u64 {
    // Whoever looks finds them.
    manager.verify().unwrap();
    manager.host().unwrap().deaths
}

#[test]
fn what_a_killed_holder_had_goes_to_the_first_in_line() {
    let place = Place::new();
    let manager = place.open();
    let (mut holder, mut waiter) = (Process::worker(&place), Process::worker(&place));
    let lost = holder.lease("acquire gpu0");
    assert_eq!(waiter.ask("acquire gpu0"), "Busy");
    waiter.say("wait gpu0");
    waiting(&manager, 1);
    holder.kill();
    let got = host::lease_in(&waiter.line());
    assert_eq!(waiter.ask(&format!("state {}", got.0)), "Some(Held)");
    assert_eq!(manager.state(lost), Some(LeaseState::Expired));
    assert_eq!(end_of(&manager, lost), Some(Reason::HolderDied));
    let died = What::Died { process: holder.pid(), leases: 1, tickets: 0 };
    assert!(manager.events_since(0).0.iter().any(|event| event.what == died));
    assert_eq!(manager.host().unwrap().deaths, 1);
    manager.verify().unwrap();
}

#[test]
fn a_holder_that_is_killed_while_nobody_looks_has_nothing_when_somebody_does() {
    let place = Place::new();
    let mut holder = Process::worker(&place);
    holder.lease("acquire gpu0");
    holder.kill();
    // Nobody was there to see it.
    let manager = place.open();
    manager.acquire("gpu0", "me", Duration::from_secs(60)).unwrap();
    manager.verify().unwrap();
}

#[test]
fn a_killed_waiter_leaves_no_hole_in_the_line() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "me", Duration::from_secs(3600)).unwrap();
    let mut waiters: Vec<Process> = Vec::new();
    for count in 1..=3 {
        waiters.push(Process::worker(&place));
        waiters[count - 1].say("wait gpu0");
        waiting(&manager, count);
    }
    waiters[0].kill();
    waiting(&manager, 2);
    let died = What::Died { process: waiters[0].pid(), leases: 0, tickets: 1 };
    assert!(manager.events_since(0).0.iter().any(|event| event.what == died));
    manager.release(lease).unwrap();
    let second = host::lease_in(&waiters[1].line());
    assert_eq!(waiters[1].ask(&format!("release {}", second.0)), "Ok(())");
    host::lease_in(&waiters[2].line());
    manager.verify().unwrap();
}

#[test]
fn a_process_that_leaves_gives_back_what_it_had() {
    let place = Place::new();
    let manager = place.open();
    let other = place.open();
    let lease = other.acquire("gpu0", "other", Duration::from_secs(3600)).unwrap();
    let ticket = manager.claim("me").of(&["gpu0"]).enqueue().unwrap();
    drop(other);
    ticket.wait().unwrap();
    assert_eq!(end_of(&manager, lease), Some(Reason::Released));
    assert_eq!(manager.host().unwrap().processes.len(), 1);
}

#[test]
fn a_forked_child_has_nothing_of_its_parents() {
    let place = Place::new();
    let manager = place.open();
    let (mut parent, mut waiter) = (Process::worker(&place), Process::worker(&place));
    let lease = parent.lease("acquire gpu0");
    assert_eq!(parent.ask(&format!("fork {}", lease.0)), "forked");
    let child = parent.line();
    let (child, own) = child.split_once(' ').unwrap();
    let (child, own) = (child.parse().unwrap(), host::lease_in(own));
    // What the child tried changed nothing for its parent.
    assert_eq!(parent.ask(&format!("state {}", lease.0)), "Some(Held)");
    assert_eq!(manager.host().unwrap().processes.len(), 4);
    waiter.say("wait gpu0");
    waiting(&manager, 1);
    parent.kill();
    // The child lives, and that does not keep its parent's lease; and it keeps its own.
    host::lease_in(&waiter.line());
    assert_eq!(manager.state(own), Some(LeaseState::Held));
    send(child, libc::SIGKILL);
    until("the child's lease goes with it", || deaths(&manager) == 2);
    assert_eq!(end_of(&manager, own), Some(Reason::HolderDied));
    manager.verify().unwrap();
}

#[test]
fn a_lease_that_is_kept_for_children_ends_with_the_last_of_them() {
    let place = Place::new();
    let manager = place.open();
    let mut wrapper = Process::worker(&place);
    let (kept, own) = (wrapper.lease("acquire gpu0"), wrapper.lease("acquire gpu1"));
    let child: u32 = wrapper.ask(&format!("keep {}", kept.0)).parse().unwrap();
    let tree = |life| manager.host().unwrap().processes.iter().any(|process| process.life == life);
    assert!(tree(ProcessLife::Tree));
    let ticket = manager.claim("me").of(&["gpu1"]).enqueue().unwrap();
    wrapper.kill();
    // What was not kept has gone with the wrapper, what was kept has not.
    ticket.wait().unwrap();
    assert_eq!(end_of(&manager, own), Some(Reason::HolderDied));
    assert_eq!(manager.state(kept), Some(LeaseState::Held));
    assert_eq!(manager.acquire("gpu0", "me", Duration::from_secs(60)), Err(Error::Busy));
    let ticket = manager.claim("me").of(&["gpu0"]).enqueue().unwrap();
    send(child, libc::SIGKILL);
    ticket.wait().unwrap();
    assert_eq!(end_of(&manager, kept), Some(Reason::HolderDied));
    assert!(!tree(ProcessLife::Tree));
    manager.verify().unwrap();
}

#[test]
fn a_lease_that_was_kept_for_children_and_given_back_is_no_death() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "me", Duration::from_secs(60)).unwrap();
    let kept = manager.keep_for_children(lease).unwrap();
    manager.release(lease).unwrap();
    assert_eq!(manager.host().unwrap().processes.len(), 2);
    drop(kept);
    until("its place is free", || manager.host().unwrap().processes.len() == 1);
    assert_eq!(deaths(&manager), 0);
    let (events, _) = manager.events_since(0);
    assert!(events.iter().all(|event| !matches!(event.what, What::Died { .. })), "{events:?}");
}

#[test]
fn a_lease_that_was_handed_on_ends_with_its_new_owner() {
    let place = Place::new();
    let manager = place.open();
    let (mut giver, mut taker) = (Process::worker(&place), Process::worker(&place));
    let lease = giver.lease("acquire gpu0");
    assert_eq!(giver.ask(&format!("hand {} 1", lease.0)), "Err(UnknownProcess)");
    assert_eq!(giver.ask(&format!("hand {} {}", lease.0, taker.pid())), "Ok(())");
    giver.kill();
    until("its giver is reaped", || deaths(&manager) == 1);
    assert_eq!(taker.ask(&format!("renew {}", lease.0)), "Ok(())");
    assert_eq!(manager.acquire("gpu0", "me", Duration::from_secs(60)), Err(Error::Busy));
    taker.kill();
    manager.claim("me").of(&["gpu0"]).wait_for(host::PATIENCE).unwrap();
    assert_eq!(end_of(&manager, lease), Some(Reason::HolderDied));
}

#[test]
fn who_uses_the_file_is_told() {
    let place = Place::new();
    let manager = place.open();
    let mut worker = Process::worker(&place);
    worker.lease("acquire gpu0");
    worker.lease("acquire gpu1");
    worker.say("wait gpu0 3600000");
    waiting(&manager, 1);
    let info = manager.host().unwrap();
    assert_eq!(info.path, place.0);
    assert_eq!(info.bytes, std::fs::metadata(&place.0).unwrap().len());
    assert_eq!((info.roll_backs, info.deaths, info.corrupt), (0, 0, false));
    let counts: Vec<_> = info
        .processes
        .iter()
        .map(|process| (process.process, process.life, process.leases, process.tickets))
        .collect();
    let me = (std::process::id(), ProcessLife::Lives, 0, 0);
    assert_eq!(counts, [me, (worker.pid(), ProcessLife::Lives, 2, 1)]);
    // A second manager of this process is one more user.
    let second = place.open();
    assert_eq!(manager.host().unwrap().processes.len(), 3);
    let lease = second.acquire("gpu2", "second", Duration::from_secs(60)).unwrap();
    assert_eq!(manager.acquire("gpu2", "first", Duration::from_secs(60)), Err(Error::Busy));
    let ticket = manager.claim("first").of(&["gpu2"]).enqueue().unwrap();
    second.release(lease).unwrap();
    let lease = ticket.wait().unwrap();
    // Both have the number of this process: it does not matter which of them gets it.
    manager.hand_to(lease, std::process::id()).unwrap();
}

#[test]
fn a_release_wakes_whoever_waits_in_another_process_however_it_waits() {
    let place = Place::new();
    let manager = place.open();
    for way in ["collect", "await", "poll"] {
        let mut waiter = Process::worker(&place);
        let lease = manager.acquire("gpu0", "me", Duration::from_secs(3600)).unwrap();
        assert_eq!(waiter.ask("queue gpu0"), "queued");
        waiter.say(&format!("{way} gpu0"));
        let owner = |p: &ternlease::ProcessInfo| p.process == waiter.pid();
        assert_eq!(manager.host().unwrap().processes.iter().find(|p| owner(p)).unwrap().tickets, 1);
        assert_eq!(waiter.line_within(Duration::from_millis(300)), None, "{way}");
        manager.release(lease).unwrap();
        host::lease_in(&waiter.line());
    }
    let mut reader = Process::worker(&place);
    assert_eq!(reader.ask("listen"), "listening");
    let lease = manager.acquire("gpu1", "me", Duration::from_secs(60)).unwrap();
    assert_eq!(reader.line(), format!("Granted {{ lease: {lease:?}, ticket: None }}"));
}
