//! The same, of machines that were cut off or turned away.

use super::*;
use ternlease::table::{LeaseId, TicketId};

/// Who was cut off listens anew when it is back. It was just being told that a process had gone, where nobody listens any more: nobody gave back what the
/// dead had.
#[test]
fn who_comes_back_finds_out_who_went_meanwhile() {
    for seed in 1..6 {
        play(
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

/// The engine's clock is slow, so that the session lives on for the others. Its process has said that its lease is over: that stays so, however it is renewed, and it
/// takes over nothing of others until it has given back what it had.
#[test]
fn who_was_cut_off_renews_nothing() {
    for seed in 1..10 {
        play_with(
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

/// A claim was so long under way that its process had given it up, and all that it had with it. The session lived on, as the engine's clock was slow, and so
/// the claim came to count after all: nobody knew that.
#[test]
fn what_was_given_up_does_not_come_to_count() {
    for seed in 1..40 {
        play_with(
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
                // Now and then it is in time after all.
                if let Err(error) = manager.acquire("a", "holder", HOUR) {
                    assert!(matches!(error, Error::Unavailable), "{error:?}");
                    rt::sleep(Duration::from_secs(15));
                    assert_eq!(manager.leases(), []);
                }
            })],
        );
    }
}

/// Nobody heard of what was dropped while the engine was away: the claim stayed in line and got what nobody had asked for any more, and the lease lasted.
#[test]
fn what_is_dropped_while_the_engine_is_away_is_given_back() {
    const PATIENT: &str = "etcd://simulated/table?session_ttl=60&timeout=1";
    play(
        1,
        vec![Box::new(|sim, server| {
            let manager = crate::open(PATIENT, Options::real()).unwrap();
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            let claim = |resource| manager.claim("another").of(&[resource]).ttl(HOUR).enqueue();
            let [waiting, granted] = ["a", "b"].map(|resource| claim(resource).unwrap());
            let away = rt::instant() + Duration::from_secs(20);
            server.borrow_mut().turn_away(0, sim.now() + 20_000_000);
            drop((waiting, granted));
            assert!(rt::instant() < away, "it is answered before the engine is back");
            rt::sleep(Duration::from_secs(30));
            manager.release(lease).unwrap();
            assert_eq!((manager.leases(), manager.tickets()), (vec![], vec![]));
        })],
    );
}

/// Who named a claim that nobody has made while the engine was away was told that the table was damaged.
#[test]
fn what_nobody_has_is_unknown_wherever_the_engine_is() {
    const NOBODYS: [u64; 4] = [0, 1, 77, u64::MAX];
    play(
        1,
        vec![Box::new(|sim, server| {
            let manager = open();
            for id in NOBODYS {
                assert_eq!(manager.ticket_state(TicketId(id)), None);
                assert_eq!(manager.state(LeaseId(id)), None);
                assert_eq!(manager.cancel_ticket(TicketId(id)), Err(Error::UnknownTicket));
                assert_eq!(manager.release(LeaseId(id)), Err(Error::UnknownLease));
            }
            let back = rt::instant() + Duration::from_secs(10);
            server.borrow_mut().turn_away(0, sim.now() + 10_000_000);
            for id in NOBODYS {
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

/// Who comes back finds its number in use. Until it has another, and knows that it has, it took the leases of whoever has its number for its own, of which it
/// had heard of no renewal: it ended them before their time, and said that they were over.
#[test]
fn who_comes_back_ends_nothing_of_who_has_its_number() {
    for seed in 1..20 {
        let told = Rc::new(Cell::new(None));
        let heard = told.clone();
        play(
            seed,
            vec![
                Box::new(move |sim, server| {
                    rt::sleep(Duration::from_secs(1));
                    server.borrow_mut().cut_off(1, sim.now() + 10_000_000);
                    rt::sleep(Duration::from_secs(5));
                    let manager = open();
                    let lease = manager.acquire("a", "heir", Duration::from_secs(2)).unwrap();
                    told.set(Some(lease));
                    for _ in 0..40 {
                        rt::sleep(Duration::from_millis(250));
                        let renewed = manager.renew(lease);
                        assert!(renewed.is_ok(), "{renewed:?}");
                        assert_eq!(manager.leases_on("a"), [lease]);
                    }
                    // It does not leave before the end of it all.
                    std::mem::forget(manager);
                }),
                Box::new(move |sim, _| {
                    let manager = open();
                    for _ in 0..3 {
                        let (manager, heard) = (manager.clone(), heard.clone());
                        sim.start(1, "one who looks", move || {
                            loop {
                                manager.active_count();
                                let state = heard.get().and_then(|lease| manager.state(lease));
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
