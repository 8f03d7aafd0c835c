//! A table on etcd: what one manager does the others see, as on every other home.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::sync::Arc;
use std::time::Duration;

use etcd::{Etcd, until};
use ternlease::{Error, LeaseManager, LeaseState, Reason};

const MINUTE: Duration = Duration::from_secs(60);

fn open(etcd: &Etcd, name: &str) -> LeaseManager {
    open_for(etcd, name, 10)
}

fn open_for(etcd: &Etcd, name: &str, session: u32) -> LeaseManager {
    let url =
        format!("etcd://{}/{name}?session_ttl={session}&timeout=5&member=own", etcd.authority());
    // A machine that has much to do answers late.
    until("it opens", || LeaseManager::open(&url).inspect_err(|error| eprintln!("{error}")).ok())
}

#[test]
fn a_lease_of_one_is_seen_waited_for_and_revoked_by_another() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "basics"), open(&etcd, "basics"));
    etcd.assert_sessions("basics", 2);
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    assert_eq!(one.state(lease), Some(LeaseState::Held));
    assert_eq!(other.acquire("gpu0", "other", MINUTE), Err(Error::Busy));
    assert_eq!(other.leases_on("gpu0"), [lease]);
    assert_eq!(other.lease(lease).unwrap().holder, "one");

    let waits = std::thread::spawn({
        let other = other.clone();
        move || other.claim("other").of(&["gpu0"]).ttl(MINUTE).wait()
    });
    until("it waits", || (one.pending_claimers() == 1).then_some(()));
    one.release(lease).unwrap();
    let next = waits.join().unwrap().unwrap();
    assert!(next > lease);
    assert_eq!(one.leases_on("gpu0"), [next]);

    one.revoke_with(next, Reason::Operator, "ops", Duration::ZERO).unwrap();
    until("it is told", || (other.state(next) == Some(LeaseState::Revoked)).then_some(()));
    assert_eq!(other.renew(next), Err(Error::NotHeld(LeaseState::Revoked, Reason::Operator)));
    one.verify().unwrap();
}

#[test]
fn what_a_process_had_is_free_when_it_closes() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "closing"), open(&etcd, "closing"));
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    drop(one);
    until("it is free", || other.acquire("gpu0", "other", MINUTE).ok());
    assert_eq!(other.state(lease), Some(LeaseState::Expired));
}

#[test]
fn many_threads_of_many_managers_exclude_each_other() {
    let Some(etcd) = Etcd::start() else { return };
    let inside = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let managers: Vec<LeaseManager> = (0..3).map(|_| open(&etcd, "storm")).collect();
    etcd.assert_sessions("storm", 3);
    std::thread::scope(|scope| {
        for (number, manager) in managers.iter().enumerate() {
            for thread in 0..4 {
                let inside = inside.clone();
                scope.spawn(move || {
                    for _ in 0..10 {
                        let name = format!("{number}.{thread}");
                        let lease = manager.claim(&name).of(&["gpu0"]).ttl(MINUTE).wait().unwrap();
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        manager.release(lease).unwrap();
                    }
                });
            }
        }
    });
    assert_eq!(managers[0].active_count(), 0);
    managers.iter().for_each(|manager| manager.verify().unwrap());
}

#[test]
fn an_engine_that_comes_back_in_time_costs_no_lease() {
    let Some(mut etcd) = Etcd::start() else { return };
    let manager = open(&etcd, "restart");
    let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
    etcd.kill(0);
    until("it is noticed", || manager.jeopardy());
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    assert!(manager.renew(lease).is_ok());
    etcd.restart(0);
    until("it is over", || manager.jeopardy().is_none().then_some(()));
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    assert_eq!(open(&etcd, "restart").leases_on("gpu0"), [lease]);
}

/// Whatever the engine says later, what was once said to be over stays so; and the manager goes on as soon as the engine does.
#[test]
fn an_engine_that_stays_away_ends_leases_and_is_found_again() {
    let Some(mut etcd) = Etcd::start() else { return };
    let manager = open_for(&etcd, "away", 3);
    let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
    let waits = std::thread::spawn({
        let manager = manager.clone();
        move || manager.claim("two").of(&["gpu0"]).wait()
    });
    until("it waits", || (manager.pending_claimers() == 1).then_some(()));
    etcd.kill(0);
    // While the engine is still away.
    assert_eq!(waits.join().unwrap(), Err(Error::Refused(Reason::EngineLost)));
    until("it is over", || (manager.state(lease) == Some(LeaseState::Expired)).then_some(()));
    assert!(matches!(manager.acquire("gpu1", "one", MINUTE), Err(Error::Unavailable)));
    etcd.restart(0);
    let next = until("there is one again", || {
        assert_eq!(manager.state(lease), Some(LeaseState::Expired));
        manager.acquire("gpu0", "one", MINUTE).ok()
    });
    assert!(next > lease);
    assert_eq!(manager.state(next), Some(LeaseState::Held));
    assert_eq!(manager.lease(lease).unwrap().reason, Some(Reason::EngineLost));
    assert_eq!(manager.jeopardy(), None);
}

#[test]
fn another_leader_takes_over() {
    let Some(etcd) = Etcd::cluster(3) else { return };
    let (one, other) = (open(&etcd, "leaders"), open(&etcd, "leaders"));
    etcd.assert_sessions("leaders", 2);
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    let first = etcd.leader();
    etcd.stop(first);
    until("it goes on", || one.renew(lease).ok());
    assert_eq!(until("it is seen", || other.leases_on("gpu0").first().copied()), lease);
    etcd.cont(first);
    one.release(lease).unwrap();
    assert!(until("it is free", || other.acquire("gpu0", "other", MINUTE).ok()) > lease);
}

/// Many changes: old ones are removed, and who comes late has the same table.
#[test]
fn the_history_in_the_engine_stays_short() {
    let Some(etcd) = Etcd::start() else { return };
    let manager = open(&etcd, "long");
    for _ in 0..400 {
        let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
        manager.release(lease).unwrap();
    }
    let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
    let late = open(&etcd, "long");
    assert_eq!(late.leases_on("gpu0"), [lease]);
    assert_eq!(late.count(Reason::Released), 400);
    late.verify().unwrap();
}

/// What others can see of a table's changes: how often etcd's data have changed.
fn writes_during(etcd: &Etcd, work: impl FnOnce()) -> i64 {
    let before = etcd.revision();
    work();
    etcd.revision() - before
}

/// The time of a lease is counted by the process that has it: to renew it costs no message, and all see when it is over.
#[test]
fn renewals_write_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "renewals"), open(&etcd, "renewals"));
    let leases: Vec<_> =
        (0..10).map(|gpu| one.acquire(&format!("gpu{gpu}"), "one", MINUTE).unwrap()).collect();
    let renew = || {
        for _ in 0..100 {
            assert_eq!(one.renew_all(&leases), leases.len());
        }
    };
    assert_eq!(writes_during(&etcd, renew), 0);
    assert!(leases.iter().all(|lease| other.state(*lease) == Some(LeaseState::Held)));
}

#[test]
fn a_lease_that_is_not_renewed_ends_for_all() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "ttl"), open(&etcd, "ttl"));
    let short = one.acquire("gpu0", "one", Duration::from_millis(300)).unwrap();
    let long = one.acquire("gpu1", "one", MINUTE).unwrap();
    let next = other.claim("other").of(&["gpu0"]).ttl(MINUTE).wait().unwrap();
    assert_eq!(one.state(short), Some(LeaseState::Expired));
    assert_eq!(other.lease(short).unwrap().reason, Some(Reason::TimedOut));
    assert_eq!(one.state(long), Some(LeaseState::Held));
    assert_eq!(one.state(next), Some(LeaseState::Held));
    assert_eq!(one.renew(short), Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut)));
}

/// A claim that was served by somebody else has its time counted where it was made.
#[test]
fn what_was_waited_for_ends_in_time_too() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "served"), open(&etcd, "served"));
    let first = one.acquire("gpu0", "one", MINUTE).unwrap();
    let waits = std::thread::spawn({
        let other = other.clone();
        move || other.claim("other").of(&["gpu0"]).ttl(Duration::from_millis(300)).wait()
    });
    until("it waits", || (one.pending_claimers() == 1).then_some(()));
    one.release(first).unwrap();
    let second = waits.join().unwrap().unwrap();
    until("it is over", || (one.state(second) == Some(LeaseState::Expired)).then_some(()));
    assert_eq!(one.lease(second).unwrap().reason, Some(Reason::TimedOut));
    assert_eq!(other.state(second), Some(LeaseState::Expired));
}

/// Whoever renews a lease has it from then on.
#[test]
fn a_lease_can_be_renewed_by_another_process() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "given"), open(&etcd, "given"));
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    other.renew(lease).unwrap();
    let renew = || assert!(other.renew(lease).is_ok());
    assert_eq!(writes_during(&etcd, renew), 0);
    drop(one);
    until("its first process is gone", || (other.active_count() == 1).then_some(()));
    assert_eq!(other.state(lease), Some(LeaseState::Held));
}

/// That somebody was told of a ticket is told to the others without another change: otherwise none of them could ever forget it.
#[test]
fn tickets_that_were_told_of_can_be_forgotten() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "told"), open(&etcd, "told"));
    let first = one.acquire("gpu0", "one", 60 * MINUTE).unwrap();
    let waits = std::thread::spawn({
        let other = other.clone();
        move || other.claim("other").of(&["gpu0"]).ttl(60 * MINUTE).wait()
    });
    until("it waits", || (one.pending_claimers() == 1).then_some(()));
    one.release(first).unwrap();
    let served = etcd.revision();
    waits.join().unwrap().unwrap();
    until("the others are told", || (etcd.revision() > served).then_some(()));
}
