//! A client that is stopped for longer than its session lasts: on waking it is told at once that what it had is over, and goes on without a restart.
#![cfg(all(target_os = "linux", feature = "cluster"))]

mod cluster_history;
#[path = "common/cluster_worker.rs"]
mod cluster_worker;
#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/fence.rs"]
mod fence;
#[path = "common/host.rs"]
mod host;

use std::time::Duration;

use cluster_history::now;
use etcd::{Etcd, until};
use host::Process;
use ternlease::{LeaseId, LeaseManager, LeaseState};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((role, words)) = host::role() {
        cluster_worker::work(&role, &words);
    }
}

fn url(etcd: &Etcd, name: &str, session: u32) -> String {
    format!("etcd://{}/{name}?session_ttl={session}&timeout=2&member=own", etcd.authority())
}

fn open(url: &str) -> LeaseManager {
    LeaseManager::open(url).unwrap_or_else(|error| panic!("{error}"))
}

fn worker(url: &str) -> Process {
    let process = Process::start("obey", &[url, "-"]);
    assert_eq!(process.line(), "open");
    process
}

/// What it is told after waking, whoever has taken its lease meanwhile, or nobody.
fn wakes_to_nothing(etcd: &Etcd, rival: bool) {
    let name = if rival { "rival" } else { "alone" };
    let observer = open(&url(etcd, name, 60));
    let mut sleeper = worker(&url(etcd, name, 2));
    let lease = sleeper.lease("acquire gpu0");
    let other = sleeper.lease("acquire gpu1");
    sleeper.stop();
    // It is its first question: nobody asks before.
    sleeper.say(&format!("state {}", lease.0));
    let taken = match rival {
        true => observer.claim("rival").of(&["gpu0"]).ttl(MINUTE).wait().unwrap(),
        false => {
            until("it is over for the others", || {
                (observer.state(lease) != Some(LeaseState::Held)).then_some(lease)
            });
            lease
        }
    };
    sleeper.go_on();
    assert_eq!(sleeper.line(), "Some(Expired)");
    assert_eq!(sleeper.ask(&format!("state {}", other.0)), "Some(Expired)");
    for lost in [lease, other] {
        let renewed = sleeper.ask(&format!("renew {}", lost.0));
        assert!(renewed.starts_with("Err(NotHeld(Expired"), "{renewed}");
    }
    let next = until("it has a lease again", || {
        let told = sleeper.ask("acquire gpu2");
        told.strip_prefix("lease ").map(|id| LeaseId(id.parse().unwrap()))
    });
    assert!(next > taken.max(other));
    assert_eq!(sleeper.ask(&format!("state {}", next.0)), "Some(Held)");
    assert_eq!(sleeper.ask(&format!("state {}", lease.0)), "Some(Expired)");
    for lost in [lease, other] {
        assert_eq!(sleeper.ask(&format!("reason {}", lost.0)), "Some(EngineLost)");
        assert_eq!(sleeper.ask(&format!("renew {}", lost.0)), "Err(NotHeld(Expired, EngineLost))");
    }
    if rival {
        assert_eq!(observer.state(taken), Some(LeaseState::Held));
    }
    observer.verify().unwrap();
}

#[test]
fn who_wakes_too_late_has_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    wakes_to_nothing(&etcd, false);
}

#[test]
fn who_wakes_too_late_has_nothing_while_another_has_it() {
    let Some(etcd) = Etcd::start() else { return };
    wakes_to_nothing(&etcd, true);
}

/// It looks without a pause. No look that it began after the others had its lease says that it is held.
#[test]
fn no_look_after_waking_says_held() {
    let Some(etcd) = Etcd::start() else { return };
    let observer = open(&url(&etcd, "looks", 60));
    let mut sleeper = worker(&url(&etcd, "looks", 2));
    for _ in 0..3 {
        let lease = until("it has the lease", || {
            let told = sleeper.ask("acquire gpu0");
            told.strip_prefix("lease ").map(|id| LeaseId(id.parse().unwrap()))
        });
        assert_eq!(sleeper.ask(&format!("watch {}", lease.0)), "watching");
        sleeper.stop();
        let stopped = now();
        let taken = observer.claim("rival").of(&["gpu0"]).ttl(MINUTE).wait().unwrap();
        sleeper.go_on();
        let told = sleeper.line();
        let (held, state) = told.split_once(' ').unwrap();
        assert_eq!(state, "Some(Expired)");
        assert!(held.parse::<u64>().unwrap() < stopped, "{told}, stopped at {stopped}");
        observer.release(taken).unwrap();
    }
}

/// A pause that is shorter than the session costs nothing.
#[test]
fn who_wakes_in_time_has_lost_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let observer = open(&url(&etcd, "short", 60));
    let mut sleeper = worker(&url(&etcd, "short", 60));
    let lease = sleeper.lease("acquire gpu0");
    sleeper.stop();
    for _ in 0..20 {
        let other = observer.acquire("gpu1", "other", MINUTE).unwrap();
        observer.release(other).unwrap();
    }
    sleeper.go_on();
    assert_eq!(sleeper.ask(&format!("state {}", lease.0)), "Some(Held)");
    assert_eq!(sleeper.ask(&format!("renew {}", lease.0)), "Ok(())");
    assert_eq!(observer.leases_on("gpu0"), [lease]);
}
