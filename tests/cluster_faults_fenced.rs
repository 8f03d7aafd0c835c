//! A client that is stopped between its look at a lease and its use of it cannot know that it has lost it: the resource does, by the lease's id. Without
//! that the check reports what happens.
#![cfg(all(target_os = "linux", feature = "cluster"))]

mod cluster_history;
#[path = "common/cluster_storm.rs"]
mod cluster_storm;
#[path = "common/cluster_worker.rs"]
mod cluster_worker;
#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/fence.rs"]
mod fence;
#[path = "common/host.rs"]
mod host;

use cluster_storm::Storm;
use etcd::Etcd;
use fence::{Attempt, Fenced, check_fence};
use host::Process;
use ternlease::LeaseId;

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((role, words)) = host::role() {
        cluster_worker::work(&role, &words);
    }
}

fn url(etcd: &Etcd, session: u32) -> String {
    format!("etcd://{}/fenced?session_ttl={session}&timeout=2&member=own", etcd.authority())
}

/// A client looks, is stopped for longer than its session, and writes; meanwhile another one got the lease and has written. What the resource saw.
fn late_write(etcd: &Etcd, fence: bool) -> Vec<Attempt> {
    let socket = etcd.directory().join("fence");
    let fenced = Fenced::new(&socket, fence);
    let start = || {
        let socket = socket.display().to_string();
        let process = Process::start("obey", &[&url(etcd, 2), &socket]);
        assert_eq!(process.line(), "open");
        process
    };
    let (mut late, mut other) = (start(), start());
    let first = late.lease("acquire gpu0");
    let write = |LeaseId(id): LeaseId| format!("write gpu0 {id}");
    assert_eq!(late.ask(&write(first)), "accepted");
    assert_eq!(late.ask(&format!("state {}", first.0)), "Some(Held)");
    late.stop();
    let second = other.lease("wait gpu0");
    assert!(second > first);
    assert_eq!(other.ask(&write(second)), "accepted");
    // It has looked already, and does not look again.
    late.say(&write(first));
    late.go_on();
    let expected = if fence { "refused" } else { "accepted" };
    assert_eq!(late.line(), expected);
    assert_eq!(late.ask(&format!("state {}", first.0)), "Some(Expired)");
    assert_eq!(other.ask(&write(second)), "accepted");
    fenced.writes()
}

#[test]
fn a_fence_keeps_out_who_comes_too_late() {
    let Some(etcd) = Etcd::start() else { return };
    assert_eq!(check_fence(&late_write(&etcd, true)), Ok(()));
}

/// The test of the test.
#[test]
fn without_a_fence_the_check_finds_what_came_too_late() {
    let Some(etcd) = Etcd::start() else { return };
    let why = check_fence(&late_write(&etcd, false)).expect_err("nobody kept it out");
    assert!(why.contains("was accepted after"), "{why}");
}

/// Processes that claim and write at random and are stopped at any instant for longer than their sessions last: what they are told afterwards is right, and
/// the resource keeps out what is late.
#[test]
fn clients_that_are_stopped_at_any_time_do_no_harm() {
    let Some(etcd) = Etcd::start() else { return };
    let storm = Storm::start(&etcd, &vec![url(&etcd, 2); 3]);
    for stopped in [0, 1, 2, 0, 1, 2] {
        storm.all_go_on("they begin");
        storm.workers[stopped].stop();
        let others: Vec<usize> = (0..3).filter(|&it| it != stopped).collect();
        // Whatever the other had is free when its session is over: else nothing would go on for long.
        for _ in 0..3 {
            storm.go_on("the others go on", &others);
        }
        storm.workers[stopped].go_on();
    }
    storm.all_go_on("all are back");
    storm.end(&url(&etcd, 2));
}
