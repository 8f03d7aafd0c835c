//! Sessions that are kept, lost and in between.

use super::messages::{LeaseRevokeRequest, LeaseTimeToLiveRequest};
use super::*;
use crate::home::clock::Clock;

fn held(session: &Session) -> Op {
    Op::Put { key: b"held".to_vec(), value: b"1".to_vec(), lease: session.id(), previous: false }
}

#[test]
fn a_session_is_kept_for_several_times_its_length() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let (tell, told) = listening();
    let session = engine.session(Duration::from_secs(3), tell).unwrap();
    engine.txn(always(vec![held(&session)]), LONG).unwrap();
    let end = session.deadline() + 3 * 3_000_000;
    until("the session was kept", || Some(()).filter(|()| session.deadline() > end));
    assert_eq!(get(&engine, "held").as_deref(), Some("1"));
    assert!(told.try_iter().all(|news| news != SessionNews::Lost));
    session.revoke().unwrap();
    assert_eq!(get(&engine, "held"), None);
}

#[test]
fn a_session_that_ends_behind_its_back_is_lost() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let (tell, told) = listening();
    let session = engine.session(Duration::from_secs(5), tell).unwrap();
    call(&engine, LeaseRevokeRequest { id: session.id() }).unwrap();
    assert_eq!(next(&told), SessionNews::Lost);
    assert_eq!(session.deadline(), 0);
    // That it is gone already is what was wanted.
    session.revoke().unwrap();
}

#[test]
fn the_deadline_is_never_later_than_the_servers() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let other = engine_of(&etcd);
    // The server does not grant so short a one, and what it grants counts.
    let session = engine.session(Duration::from_millis(300), |_| {}).unwrap();
    engine.txn(always(vec![held(&session)]), LONG).unwrap();
    let first = session.deadline();
    until("it was renewed twice", || {
        let deadline = session.deadline();
        let left = call(&other, LeaseTimeToLiveRequest { id: session.id() }).unwrap();
        assert_eq!(left.granted_ttl, 2);
        // It lives for less than one second more than it says, counted from a moment that is over.
        let server = Clock::Real.now() + (left.ttl as u64 + 1) * 1_000_000;
        assert!(deadline < server);
        Some(()).filter(|()| deadline > first + 1_500_000)
    });
    // Nobody renews it any more.
    engine.close();
    let deadline = session.deadline();
    until("the server lets it go", || get(&other, "held").is_none().then_some(()));
    assert!(Clock::Real.now() >= deadline);
}

#[test]
fn a_session_is_in_jeopardy_while_its_server_is_silent() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let (tell, told) = listening();
    let session = engine.session(Duration::from_secs(12), tell).unwrap();
    etcd.stop(0);
    let SessionNews::Jeopardy { since, .. } = next(&told) else { panic!() };
    assert!(since < session.deadline());
    etcd.cont(0);
    assert_eq!(next(&told), SessionNews::Safe);
    assert!(session.deadline() > since);
}

#[test]
fn a_session_survives_the_leader_and_the_server_that_it_talks_to() {
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    let engine = engine_of(&etcd);
    let (tell, told) = listening();
    let session = engine.session(Duration::from_secs(10), tell).unwrap();
    engine.txn(always(vec![held(&session)]), LONG).unwrap();
    let await_renewal = |etcd: &mut Etcd, harm: fn(&mut Etcd, usize), leader: usize| {
        let before = session.deadline();
        harm(etcd, leader);
        until("it is renewed", || Some(()).filter(|()| session.deadline() > before + 3_000_000));
    };
    let leader = etcd.leader();
    await_renewal(&mut etcd, |etcd, leader| etcd.stop(leader), leader);
    etcd.cont(leader);
    for index in 0..3 {
        await_renewal(&mut etcd, |etcd, index| etcd.kill(index), index);
        etcd.restart(index);
    }
    assert_eq!(get(&engine, "held").as_deref(), Some("1"));
    assert!(told.try_iter().all(|news| news != SessionNews::Lost));
}
