//! An engine that is away: for less than the time of a session nobody loses anything; for longer, what was held is over and says why, whoever waits is
//! answered, and everything goes on by itself when the engine does.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/wires.rs"]
mod wires;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use etcd::{Etcd, PATIENCE, until};
use ternlease::{Error, GpuPool, LeaseId, LeaseManager, LeaseState, Outcome, PoolOptions, Reason};
use wires::Wire;

/// Longer than any of these tests: no lease runs out.
const HOUR: Duration = Duration::from_secs(3600);

fn open(etcd: &Etcd, name: &str, session: u32) -> LeaseManager {
    let url =
        format!("etcd://{}/{name}?session_ttl={session}&timeout=1&member=own", etcd.authority());
    // A machine that has much to do answers late.
    until("it opens", || LeaseManager::open(&url).inspect_err(|error| eprintln!("{error}")).ok())
}

/// Somebody in a thread of their own who asks for a resource; where the answer comes.
fn waiter(
    manager: &LeaseManager,
    resource: &'static str,
    patience: Option<Duration>,
) -> Receiver<Result<LeaseId, Error>> {
    let (tell, answer) = channel();
    let manager = manager.clone();
    std::thread::spawn(move || {
        let names = [resource];
        let claim = manager.claim("waiter").of(&names).ttl(HOUR);
        // The test may be over.
        let _ = tell.send(match patience {
            Some(patience) => claim.wait_for(patience),
            None => claim.wait(),
        });
    });
    answer
}

fn are(manager: &LeaseManager, leases: &[LeaseId], state: LeaseState) -> bool {
    manager.states(leases).iter().all(|found| *found == Some(state))
}

#[track_caller]
fn assert_all(manager: &LeaseManager, leases: &[LeaseId], state: LeaseState) {
    let states = manager.states(leases);
    assert!(states.iter().all(|found| *found == Some(state)), "{states:?}");
}

fn many(manager: &LeaseManager, name: &str) -> Vec<LeaseId> {
    let acquire = |number| manager.acquire(&format!("{name}{number}"), name, HOUR).unwrap();
    (0..30).map(acquire).collect()
}

#[test]
fn away_for_a_while_nobody_loses_anything() {
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    let (one, other) = (open(&etcd, "while", 60), open(&etcd, "while", 60));
    etcd.assert_sessions("while", 2);
    let (first, second) = (many(&one, "one"), many(&other, "other"));
    let waits = waiter(&other, "one0", None);
    until("it waits", || (one.pending_claimers() == 1).then_some(()));
    // Most of the servers are gone: the rest can do nothing.
    for server in [0, 1] {
        etcd.kill(server);
    }
    until("it is noticed", || one.jeopardy());
    // Who asks now is answered when it is known what became of it.
    let asks = waiter(&one, "free", Some(HOUR));
    assert_all(&one, &first, LeaseState::Held);
    assert_all(&other, &second, LeaseState::Held);
    for server in [0, 1] {
        etcd.launch(server);
    }
    asks.recv_timeout(PATIENCE).expect("an answer").unwrap();
    until("it is back", || one.jeopardy().is_none().then_some(()));
    assert_all(&one, &first, LeaseState::Held);
    assert_all(&other, &second, LeaseState::Held);
    for (manager, leases) in [(&one, &first), (&other, &second)] {
        for lease in leases {
            until("it is renewed", || manager.renew(*lease).ok());
        }
    }
    until("it is released", || one.release(first[0]).ok());
    let served = waits.recv_timeout(PATIENCE).expect("an answer").unwrap();
    assert!(served > first[0]);
    one.verify().unwrap();
}

#[test]
fn away_for_long_all_is_over_and_begins_again() {
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    let (one, other) = (open(&etcd, "long", 3), open(&etcd, "long", 3));
    etcd.assert_sessions("long", 2);
    let (first, second) = (many(&one, "one"), many(&other, "other"));
    let patient = waiter(&other, "one0", None);
    let impatient = waiter(&other, "one1", Some(Duration::from_secs(5)));
    let own = waiter(&one, "one2", None);
    until("they wait", || (one.pending_claimers() == 3).then_some(()));
    for server in [0, 1] {
        etcd.kill(server);
    }
    until("it is over", || are(&one, &first, LeaseState::Expired).then_some(()));
    until("it is over", || are(&other, &second, LeaseState::Expired).then_some(()));
    for lease in &first {
        let refused = one.renew(*lease);
        assert!(
            matches!(refused, Err(Error::Unavailable | Error::NotHeld(LeaseState::Expired, _))),
            "{refused:?}"
        );
    }
    assert!(matches!(one.acquire("free", "one", HOUR), Err(Error::Unavailable)));
    // In its patience, and while the engine is away.
    let answer = impatient.recv_timeout(PATIENCE).expect("an answer");
    assert!(matches!(answer, Err(Error::Unavailable | Error::Refused(_))), "{answer:?}");
    for server in [0, 1] {
        etcd.launch(server);
    }
    let next = until("it is back", || {
        assert_all(&one, &first, LeaseState::Expired);
        one.acquire("free", "one", HOUR).ok()
    });
    until("it is back", || other.acquire("also free", "other", HOUR).ok());
    assert!(first.iter().chain(&second).all(|lease| *lease < next));
    for (manager, leases) in [(&one, &first), (&other, &second)] {
        for lease in leases {
            assert_eq!(manager.state(*lease), Some(LeaseState::Expired));
            let info = manager.lease(*lease).unwrap();
            assert_eq!(info.reason, Some(Reason::EngineLost), "{info:?}");
        }
    }
    // Those who waited are answered: they have it, or are told that they do not wait any more.
    for answer in [patient, own] {
        let answer = answer.recv_timeout(PATIENCE).expect("an answer");
        assert!(
            matches!(answer, Ok(_) | Err(Error::Unavailable | Error::Refused(_))),
            "{answer:?}"
        );
    }
    one.verify().unwrap();
    other.verify().unwrap();
}

/// Somebody who waits and whose engine never comes back is answered within the patience, not left hanging.
#[test]
fn who_waits_for_an_engine_that_is_gone_is_answered() {
    let Some(mut etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd, "gone", 3), open(&etcd, "gone", 3));
    let lease = one.acquire("gpu0", "one", HOUR).unwrap();
    let limited = waiter(&other, "gpu0", Some(Duration::from_secs(8)));
    let unlimited = waiter(&other, "gpu0", None);
    until("they wait", || (one.pending_claimers() == 2).then_some(()));
    etcd.kill(0);
    for answer in [limited, unlimited] {
        let answer = answer.recv_timeout(PATIENCE).expect("an answer");
        assert!(matches!(answer, Err(Error::Unavailable | Error::Refused(_))), "{answer:?}");
    }
    assert_eq!(one.state(lease), Some(LeaseState::Expired));
    // Who comes now is told at once, or after the time of a request or two.
    for patience in [Some(Duration::from_secs(1)), None] {
        let answer = waiter(&other, "gpu0", patience).recv_timeout(PATIENCE).expect("an answer");
        assert!(matches!(answer, Err(Error::Unavailable | Error::Refused(_))), "{answer:?}");
    }
}

/// Nobody asks what becomes of what is dropped: it is given back when the engine is there again.
#[test]
fn what_is_dropped_meanwhile_is_given_back() {
    let Some(mut etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/dropped?session_ttl=60&timeout=1&member=own", etcd.authority());
    let options = PoolOptions::from_spec("fake:1").unwrap();
    let pool = GpuPool::open_with(&url, options).unwrap();
    let lease = pool.claim().wait().unwrap().expect("there is a device");
    let manager = pool.manager();
    let ticket = manager.claim("waiter").of(&["other"]).ttl(HOUR).enqueue().unwrap();
    // By their ids, as programs in C have them.
    let number = manager.acquire("third", "one", HOUR).unwrap();
    let claim = manager.claim("waiter").of(&["third"]).ttl(HOUR).submit().unwrap();
    let Outcome::Waiting(claim) = claim else { panic!("it is taken") };
    etcd.kill(0);
    drop((lease, ticket));
    assert!(matches!(manager.release(number), Err(Error::Unavailable)));
    assert!(matches!(manager.cancel_ticket(claim), Err(Error::Unavailable)));
    etcd.launch(0);
    let again = until("it is free", || pool.try_claim().ok().flatten());
    for other in ["other", "third"] {
        until("so is the other", || manager.claim("next").of(&[other]).try_now().ok());
    }
    assert_eq!(again.state(), Some(LeaseState::Held));
    assert_eq!(manager.lease(number).unwrap().reason, Some(Reason::Released));
    assert_eq!(manager.pending_claimers(), 0);
}

/// A process that was cut off for so long that the others gave it up: all is as with a new one when it can be reached again, jeopardy included.
#[test]
fn who_was_given_up_begins_again() {
    let Some(etcd) = Etcd::start() else { return };
    let wire = Wire::to(etcd.client(0));
    let url = format!("etcd://{}/given-up?session_ttl=3&timeout=1&member=own", wire.address);
    let cut_off = until("it opens", || LeaseManager::open(&url).ok());
    let other = open(&etcd, "given-up", 3);
    let lease = cut_off.acquire("gpu0", "one", HOUR).unwrap();
    wire.cut();
    until("it is noticed", || cut_off.jeopardy());
    let next = other.claim("other").of(&["gpu0"]).wait().unwrap();
    assert_eq!(other.lease(lease).unwrap().reason, Some(Reason::HolderDied));
    assert_eq!(cut_off.state(lease), Some(LeaseState::Expired));
    wire.mend();
    until("it is back", || cut_off.acquire("free", "one", HOUR).ok());
    assert_eq!(cut_off.jeopardy(), None);
    assert_eq!(cut_off.lease(lease).unwrap().reason, Some(Reason::EngineLost));
    assert_eq!(cut_off.state(next), Some(LeaseState::Held));
}
