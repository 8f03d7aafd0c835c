//! The same, of machines that were cut off or refused.

use super::*;
use ternlease::table::{LeaseId, TicketId};

/// A process that was cut off starts new watches when it is back. The end of another process was
/// reported to an old watch: what the dead process had was never released.
#[test]
fn reconnected_process_finds_processes_that_ended() {
    for seed in 1..6 {
        run(
            seed,
            vec![
                Box::new(|sim, server| {
                    let manager = open();
                    while manager.leases_on("a").is_empty() {
                        rt::sleep(Duration::from_millis(100));
                    }
                    server.borrow_mut().faults = Faults { stale: 1000, ..Faults::default() };
                    server.borrow_mut().cut_off(0, sim.now() + 8_000_000);
                    sim.after(1, None, |sim| sim.kill(1));
                    rt::sleep(Duration::from_secs(30));
                    assert_eq!(manager.leases(), []);
                }),
                Box::new(|_, _| {
                    let manager = open();
                    manager.acquire("a", "holder", HOUR).unwrap();
                    rt::sleep(HOUR);
                }),
            ],
        );
    }
}

/// The engine's clock is slow, so that the session goes on for others. Its process has reported its
/// lease as over: that stays so, however often it renews, and it takes no lease over until it has
/// released all of its own.
#[test]
fn process_that_was_cut_off_renews_no_lease() {
    for seed in 1..10 {
        run_with(
            Server::new(500_000),
            seed,
            vec![
                Box::new(|sim, server| {
                    let manager = open();
                    let lease = manager.acquire("a", "holder", HOUR).unwrap();
                    rt::sleep(Duration::from_secs(1));
                    let foreign = manager.leases_on("b")[0];
                    server.borrow_mut().cut_off(0, sim.now() + 4_000_000);
                    while manager.state(lease) == Some(LeaseState::Held) {
                        rt::sleep(Duration::from_millis(1));
                    }
                    let again = loop {
                        for renewed in [manager.renew(lease), manager.renew_for(lease, HOUR)] {
                            let over = matches!(renewed, Err(Error::NotHeld(..)));
                            assert!(
                                over || matches!(renewed, Err(Error::Unavailable)),
                                "{renewed:?}"
                            );
                        }
                        let taken = manager.renew_for(foreign, HOUR);
                        if let Ok(lease) = manager.acquire("c", "holder", HOUR) {
                            break lease;
                        }
                        assert!(matches!(taken, Err(Error::Unavailable)), "{taken:?}");
                    };
                    assert_eq!(manager.state(again), Some(LeaseState::Held));
                    assert_eq!(manager.state(foreign), Some(LeaseState::Held));
                }),
                Box::new(|_, _| {
                    let manager = open();
                    manager.acquire("b", "another", HOUR).unwrap();
                    rt::sleep(HOUR);
                }),
            ],
        );
    }
}

/// A claim was under way for so long that its process had given up its session and all leases. The
/// session went on, as the engine's clock was slow, and the claim was committed after all: it was
/// never reported.
#[test]
fn claim_of_a_session_given_up_is_not_granted() {
    for seed in 1..40 {
        run_with(
            Server::new(300_000),
            seed,
            vec![Box::new(|sim, server| {
                let manager = open();
                server.borrow_mut().faults = Faults { late: 1000, ..Faults::default() };
                for (after, faults) in [
                    (1, Faults { lost: 1000, ..Faults::default() }),
                    (4_000_000, Faults::default()),
                ] {
                    let engine = server.clone();
                    sim.after(after, None, move |_| engine.borrow_mut().faults = faults);
                }
                // It may be in time after all.
                if let Err(error) = manager.acquire("a", "holder", HOUR) {
                    assert!(matches!(error, Error::Unavailable), "{error:?}");
                    rt::sleep(Duration::from_secs(15));
                    assert_eq!(manager.leases(), []);
                }
            })],
        );
    }
}

/// What was dropped while the engine was away was not reported to it: the claim was granted later,
/// and the lease lasted.
#[test]
fn handles_dropped_while_engine_is_away_are_released() {
    const PATIENT: &str = "etcd://simulated/table?session_ttl=60&timeout=1";
    run(
        1,
        vec![Box::new(|sim, server| {
            let manager = crate::open(PATIENT, Options::real()).unwrap();
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            let claim = |resource| manager.claim("another").of(&[resource]).ttl(HOUR).enqueue();
            let [waiting, granted] = ["a", "b"].map(|resource| claim(resource).unwrap());
            let away = rt::instant() + Duration::from_secs(20);
            server.borrow_mut().refuse_connections(0, sim.now() + 20_000_000);
            drop((waiting, granted));
            assert!(rt::instant() < away, "it is answered before the engine is back");
            rt::sleep(Duration::from_secs(30));
            manager.release(lease).unwrap();
            assert_eq!((manager.leases(), manager.tickets()), (vec![], vec![]));
        })],
    );
}

/// A ticket that does not exist was reported as a damaged table while the engine was away.
#[test]
fn unknown_id_is_unknown_with_and_without_engine() {
    const UNKNOWN: [u64; 4] = [0, 1, 77, u64::MAX];
    run(
        1,
        vec![Box::new(|sim, server| {
            let manager = open();
            for id in UNKNOWN {
                assert_eq!(manager.ticket_state(TicketId(id)), None);
                assert_eq!(manager.state(LeaseId(id)), None);
                assert_eq!(manager.cancel_ticket(TicketId(id)), Err(Error::UnknownTicket));
                assert_eq!(manager.release(LeaseId(id)), Err(Error::UnknownLease));
            }
            let back = rt::instant() + Duration::from_secs(10);
            server.borrow_mut().refuse_connections(0, sim.now() + 10_000_000);
            for id in UNKNOWN {
                assert_eq!(manager.ticket_state(TicketId(id)), None);
                assert_eq!(manager.state(LeaseId(id)), None);
                let cancelled = manager.cancel_ticket(TicketId(id));
                assert!(matches!(cancelled, Err(Error::Unavailable)), "{cancelled:?}");
                let released = manager.release(LeaseId(id));
                assert!(matches!(released, Err(Error::Unavailable)), "{released:?}");
            }
            assert!(rt::instant() < back, "it is answered before the engine is back");
            rt::sleep(Duration::from_secs(20));
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            assert_eq!(manager.leases_on("a"), [lease]);
        })],
    );
}

/// A process that comes back finds its number in use. Until it had another, it took the leases of
/// the new owner of the number for its own, without their renewals: it ended them early.
#[test]
fn reconnected_process_ends_no_lease_of_its_reused_number() {
    for seed in 1..20 {
        let granted = Rc::new(Cell::new(None));
        let known = granted.clone();
        run(
            seed,
            vec![
                Box::new(move |sim, server| {
                    rt::sleep(Duration::from_secs(1));
                    server.borrow_mut().cut_off(1, sim.now() + 10_000_000);
                    rt::sleep(Duration::from_secs(5));
                    let manager = open();
                    let lease = manager.acquire("a", "heir", Duration::from_secs(2)).unwrap();
                    granted.set(Some(lease));
                    for _ in 0..40 {
                        rt::sleep(Duration::from_millis(250));
                        let renewed = manager.renew(lease);
                        assert!(renewed.is_ok(), "{renewed:?}");
                        assert_eq!(manager.leases_on("a"), [lease]);
                    }
                    // The manager must not leave before the end of the run.
                    std::mem::forget(manager);
                }),
                Box::new(move |sim, _| {
                    let manager = open();
                    for _ in 0..3 {
                        let (manager, known) = (manager.clone(), known.clone());
                        sim.start(1, "an observer", move || {
                            loop {
                                manager.active_count();
                                let state = known.get().and_then(|lease| manager.state(lease));
                                assert!(
                                    matches!(state, None | Some(LeaseState::Held)),
                                    "{state:?}"
                                );
                                rt::sleep(Duration::from_micros(rt::below(500)));
                            }
                        });
                    }
                    rt::sleep(HOUR);
                }),
            ],
        );
    }
}
