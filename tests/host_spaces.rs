//! Processes in different PID namespaces, as in containers, that share a table: their numbers are the same, and they are not taken for one another.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::process::Command;
use std::time::Duration;

use host::{Place, Process, until};
use ternlease::{Error, LeaseManager, ProcessLife, Reason, What};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((_, words)) = host::role() {
        host_worker::work(&words[0]);
    }
}

/// How to start a process as the first one of a namespace; `None` if that is not permitted here.
fn in_a_space() -> Option<Vec<&'static str>> {
    let plain = ["unshare", "--pid", "--mount", "--fork", "--kill-child=SIGKILL"];
    let as_user = [&plain[..], &["--user", "--map-root-user"]].concat();
    let works = |line: &[&str]| {
        let tried = Command::new(line[0]).args(&line[1..]).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = [plain.to_vec(), as_user].into_iter().find(|line| works(line));
    if found.is_none() {
        println!("skipped: this machine permits no new PID namespaces");
        assert!(std::env::var_os("CI").is_none(), "needed where all is tested");
    }
    found
}

fn waiting(manager: &LeaseManager, count: usize) {
    until("nobody waits", || manager.pending_claimers() == count);
}

#[test]
fn equal_numbers_in_two_spaces_are_two_processes() {
    let Some(space) = in_a_space() else { return };
    let place = Place::new();
    let manager = place.open();
    let [mut first, mut second] = [(); 2].map(|()| Process::worker_under(&space, &place));
    let with_number_one = |manager: &LeaseManager| {
        let processes = manager.host().unwrap().processes;
        let ones = processes.iter().filter(|process| process.process == 1);
        ones.map(|process| (process.life, process.leases)).collect::<Vec<_>>()
    };
    let lease = first.lease("acquire gpu0");
    let processes = manager.host().unwrap().processes;
    let here = processes.iter().filter(|process| process.here).map(|process| process.process);
    assert_eq!(here.collect::<Vec<_>>(), [std::process::id()], "others have no number here");
    assert_eq!(with_number_one(&manager), [(ProcessLife::Lives, 1), (ProcessLife::Lives, 0)]);
    assert_eq!(second.ask("acquire gpu0"), "Busy");
    assert_eq!(manager.acquire("gpu0", "me", HOUR), Err(Error::Busy));
    // A number that two have names neither.
    let own = manager.acquire("gpu1", "me", HOUR).unwrap();
    assert_eq!(manager.hand_to(own, 1), Err(Error::UnknownProcess));

    // First come, first served, wherever they come from.
    second.say("wait gpu0");
    waiting(&manager, 1);
    let ours = manager.claim("me").of(&["gpu0"]).enqueue().unwrap();
    assert_eq!(first.ask("queue gpu0"), "queued");
    assert_eq!(first.ask(&format!("release {}", lease.0)), "Ok(())");
    let next = host::lease_in(&second.line());
    assert_eq!(ours.place(), Some(1));
    assert_eq!(second.ask(&format!("release {}", next.0)), "Ok(())");
    manager.release(ours.wait().unwrap()).unwrap();
    let last = first.lease("collect gpu0");

    // What one leaves behind when its space ends goes to one in another.
    second.say("wait gpu0");
    waiting(&manager, 1);
    first.kill();
    host::lease_in(&second.line());
    assert_eq!(with_number_one(&manager), [(ProcessLife::Lives, 1)]);
    let events = manager.events_since(0).0;
    let died = What::Died { process: 1, leases: 1, tickets: 0 };
    assert!(events.iter().any(|event| event.what == died));
    assert!(events.iter().any(|event| matches!(event.what,
        What::Ended { lease, reason: Reason::HolderDied, .. } if lease == last)));
    // Now there is only one of that number.
    assert_eq!(manager.hand_to(own, 1), Ok(()));
    manager.verify().unwrap();
}

#[test]
fn forked_children_of_equal_numbers_are_two_processes() {
    let Some(space) = in_a_space() else { return };
    let place = Place::new();
    let manager = place.open();
    let mut spaces = [(); 2].map(|()| Process::worker_under(&space, &place));
    let mut children = Vec::new();
    for (index, parent) in spaces.iter_mut().enumerate() {
        let lease = parent.lease(&format!("acquire gpu{index}"));
        assert_eq!(parent.ask(&format!("fork {}", lease.0)), "forked");
        children.push(parent.line());
    }
    let numbers = children.iter().map(|child| child.split_once(' ').unwrap());
    let (numbers, answers): (Vec<_>, Vec<_>) = numbers.unzip();
    assert_eq!(numbers[0], numbers[1], "each is the next of its space");
    assert!(answers[0].starts_with("lease"));
    assert_eq!(answers[1], "Busy");
    // The end of a space is the end of all that is in it.
    let ticket = manager.claim("me").of(&["child"]).enqueue().unwrap();
    spaces[0].kill();
    ticket.wait().unwrap();
    manager.claim("me").of(&["gpu0"]).wait_for(host::PATIENCE).unwrap();
    assert_eq!(manager.acquire("gpu1", "me", HOUR), Err(Error::Busy));
}
