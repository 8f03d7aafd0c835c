//! Managers and pools of one process on one URL share a member: a session, a connection and a
//! replica. Each of them still owns what it was granted.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::sync::Barrier;
use std::time::Duration;

use etcd::{Etcd, until};
use ternlease::{
    Error, GpuPool, LeaseId, LeaseManager, LeaseState, Outcome, PoolOptions, Reason, TicketId,
    TicketState,
};

const MINUTE: Duration = Duration::from_secs(60);

fn url(etcd: &Etcd, name: &str, options: &str) -> String {
    format!("etcd://{}/{name}?session_ttl=60{options}", etcd.authority())
}

fn open(url: &str) -> LeaseManager {
    LeaseManager::open(url).unwrap_or_else(|error| panic!("{error}"))
}

/// A claim that waits, by its id: it keeps no handle open.
fn wait_for(manager: &LeaseManager, resource: &str) -> TicketId {
    match manager.claim("waiter").of(&[resource]).ttl(MINUTE).submit() {
        Ok(Outcome::Waiting(ticket)) => ticket,
        other => panic!("{resource} is free: {other:?}"),
    }
}

fn reason(manager: &LeaseManager, lease: LeaseId) -> Option<Reason> {
    manager.lease(lease).and_then(|lease| lease.reason)
}

#[test]
fn managers_and_pools_on_one_url_share_a_session() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "shared", "");
    let (one, other) = (open(&url), open(&url));
    let pool = GpuPool::open_with(&url, PoolOptions::from_spec("fake:1").unwrap()).unwrap();
    etcd.assert_sessions("shared", 1);
    let lease = one.acquire("disk0", "one", MINUTE).unwrap();
    assert_eq!(other.acquire("disk0", "other", MINUTE), Err(Error::Busy));
    assert_eq!(other.state(lease), Some(LeaseState::Held));
    assert!(pool.try_claim().unwrap().is_some());
    one.verify().unwrap();
}

#[test]
fn close_of_a_handle_ends_its_own_leases_and_tickets() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "own", "");
    let (one, other) = (open(&url), open(&url));
    let process = open(&format!("{url}&member=own"));
    etcd.assert_sessions("own", 2);
    let first = one.acquire("gpu0", "one", MINUTE).unwrap();
    let second = other.acquire("gpu1", "other", MINUTE).unwrap();
    wait_for(&one, "gpu1");
    let of_other = wait_for(&other, "gpu0");
    assert_eq!(process.pending_claimers(), 2);

    drop(one);
    assert_eq!(reason(&process, first), Some(Reason::Released));
    assert_eq!(process.pending_claimers(), 0);
    let Ok(TicketState::Granted(served)) = other.wait_for_ticket(of_other, Some(MINUTE)) else {
        panic!("it waits for nothing");
    };
    assert_eq!(process.leases_on("gpu0"), [served]);
    for lease in [second, served] {
        assert_eq!(other.state(lease), Some(LeaseState::Held));
        assert!(other.renew(lease).is_ok());
    }
    etcd.assert_sessions("own", 2);
    process.verify().unwrap();
}

/// A ticket that was served counts as its lease, also if its reply was not collected.
#[test]
fn close_of_a_handle_ends_what_its_tickets_were_granted() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "served", "");
    let (one, other) = (open(&url), open(&url));
    let first = other.acquire("gpu0", "other", MINUTE).unwrap();
    let second = other.acquire("gpu1", "other", MINUTE).unwrap();
    let collected = wait_for(&one, "gpu0");
    wait_for(&one, "gpu1");
    other.release(first).unwrap();
    one.wait_for_ticket(collected, Some(MINUTE)).unwrap();
    other.release(second).unwrap();
    assert_eq!(other.active_count(), 2);
    drop(one);
    assert_eq!(other.active_count(), 0);
    other.verify().unwrap();
}

#[test]
fn last_close_leaves() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "last", "");
    let (one, other) = (open(&url), open(&url));
    let process = open(&format!("{url}&member=own"));
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    other.acquire("gpu1", "other", MINUTE).unwrap();
    drop(other);
    etcd.assert_sessions("last", 2);
    drop(one);
    etcd.assert_sessions("last", 1);
    assert_eq!(process.active_count(), 0);
    assert_eq!(reason(&process, lease), Some(Reason::Released));
    process.acquire("gpu0", "process", MINUTE).unwrap();
    drop(process);
    etcd.assert_sessions("last", 0);
}

#[test]
fn other_options_give_another_session() {
    let Some(etcd) = Etcd::start() else { return };
    let plain = open(&url(&etcd, "options", ""));
    let patient = open(&url(&etcd, "options", "&timeout=9"));
    etcd.assert_sessions("options", 2);
    let own = || open(&url(&etcd, "options", "&member=own"));
    let (first, second) = (own(), own());
    etcd.assert_sessions("options", 4);
    let lease = plain.acquire("gpu0", "plain", MINUTE).unwrap();
    drop((patient, first, second));
    etcd.assert_sessions("options", 1);
    assert_eq!(plain.state(lease), Some(LeaseState::Held));
}

/// Runs `check` in a forked child, which ends without unwinding or drops.
fn in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has one thread, and no call in a forked child takes a lock of the library,
    // which another thread may have had. The C library keeps its allocator usable.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!passed.unwrap_or(false))) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: waits for a child of this process, and the place is valid.
    unsafe { libc::waitpid(child, &mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn forked_child_has_no_member() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "fork", "");
    let (one, other) = (open(&url), open(&url));
    let lease = one.acquire("gpu0", "parent", MINUTE).unwrap();
    let passed = in_child(|| {
        let forked = [
            one.acquire("gpu1", "child", MINUTE).err(),
            one.release(lease).err(),
            other.renew(lease).err(),
            other.claim("child").of(&["gpu1"]).enqueue().err(),
        ];
        // Does not end the session of the parent.
        drop(one.clone());
        forked == [Some(Error::Forked); 4]
    });
    assert!(passed, "the child uses the member of its parent");
    etcd.assert_sessions("fork", 1);
    assert_eq!(other.state(lease), Some(LeaseState::Held));
    assert_eq!(other.leases_on("gpu1"), []);
    one.release(lease).unwrap();
    // A handle that is opened now still finds the member.
    let third = open(&url);
    etcd.assert_sessions("fork", 1);
    drop((one, other, third));
    etcd.assert_sessions("fork", 0);
}

#[test]
fn threads_that_open_at_once_share_a_session() {
    let Some(etcd) = Etcd::start() else { return };
    for round in 0..5 {
        let name = format!("race{round}");
        let url = url(&etcd, &name, "");
        let barrier = Barrier::new(3);
        std::thread::scope(|scope| {
            let opening = || {
                barrier.wait();
                open(&url)
            };
            let threads = [(); 3].map(|()| scope.spawn(opening));
            let managers = threads.map(|thread| thread.join().unwrap());
            etcd.assert_sessions(&name, 1);
            let lease = managers[0].acquire("gpu0", "one", MINUTE).unwrap();
            assert_eq!(managers[1].state(lease), Some(LeaseState::Held));
            assert_eq!(managers[2].acquire("gpu0", "other", MINUTE), Err(Error::Busy));
        });
        etcd.assert_sessions(&name, 0);
    }
}

#[test]
fn handle_opened_while_the_last_one_closes_works() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "closing", "");
    for _ in 0..20 {
        let first = open(&url);
        let old = first.acquire("gpu0", "first", MINUTE).unwrap();
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                drop(first);
            });
            barrier.wait();
            let second = open(&url);
            let lease =
                until("the first has closed", || second.acquire("gpu0", "second", MINUTE).ok());
            assert!(lease > old);
            assert_eq!(second.state(lease), Some(LeaseState::Held));
        });
        etcd.assert_sessions("closing", 0);
    }
}
