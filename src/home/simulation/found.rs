//! What runs have found wrong once, each as short as it can be told; and what must be found wrong.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::link;
use super::machine::{self, Sim};
use super::server::{Faults, Server, Shared};
use super::tests::SHARED;
use crate::home::world;
use crate::table::{Error, LeaseState, Reason};
use crate::{LeaseManager, Options};

const HOUR: Duration = Duration::from_secs(3600);

/// What a machine does.
type Role = Box<dyn FnOnce(&Rc<Sim>, &Shared)>;

/// A few machines; the first one's end is the end of it all.
fn play(seed: u64, machines: Vec<Role>) {
    play_with(Server::new(1_000_000), seed, machines);
}

fn play_with(server: Shared, seed: u64, machines: Vec<Role>) {
    let sim = Sim::new(seed, false);
    link::serve(Some(server.clone()));
    let over = Rc::new(Cell::new(false));
    for (number, machine) in machines.into_iter().enumerate() {
        let (process, server, over) = (sim.add_process(1_000_000, 0), server.clone(), over.clone());
        let here = sim.clone();
        sim.start(process, "the main thread", move || {
            machine(&here, &server);
            over.set(over.get() || number == 0);
        });
    }
    assert!(sim.run(1_000_000, || over.get()) && over.get(), "it comes to no end");
    sim.end();
    link::serve(None);
}

fn open() -> LeaseManager {
    LeaseManager::open_with(SHARED, Options::real()).unwrap_or_else(|error| panic!("{error}"))
}

/// Nobody could tell whether the claim had come to count, so it was made again: and was refused because of itself. A release was told that somebody
/// else had been faster.
#[test]
fn what_may_have_been_done_is_not_done_again() {
    for silent in (1..40).map(|tenths| tenths * 150_000) {
        play(
            1,
            vec![Box::new(move |sim, server| {
                let manager = open();
                let lease = manager.acquire("a", "holder", HOUR).unwrap();
                server.borrow_mut().faults = Faults { unanswered: 1000, ..Faults::default() };
                let engine = server.clone();
                sim.after(silent, None, move |_| engine.borrow_mut().faults = Faults::default());
                let claimed = manager.acquire("b", "holder", HOUR);
                assert!(
                    matches!(claimed, Ok(_) | Err(Error::System(_))),
                    "{silent} us: {claimed:?}"
                );
                let released = manager.release(lease);
                let lost = matches!(released, Err(Error::NotHeld(_, Reason::EngineLost)));
                assert!(lost || matches!(released, Ok(()) | Err(Error::System(_))), "{released:?}");
            })],
        );
    }
}

/// An engine forgets what happened long ago: who was away then never heard that a process had gone, and nobody gave back what it had.
#[test]
fn who_missed_that_somebody_went_finds_out() {
    play(
        1,
        vec![
            Box::new(|sim, server| {
                let manager = open();
                let held = || manager.leases_on("a").first().copied();
                while held().is_none() {
                    world::sleep(Duration::from_millis(100));
                }
                server.borrow_mut().faults = Faults { missed: 1000, ..Faults::default() };
                sim.after(1, None, |sim| sim.kill(1));
                let taken =
                    manager.claim("heir").of(&["a"]).ttl(HOUR).wait_for(Duration::from_secs(60));
                assert!(taken.is_ok(), "{taken:?}");
            }),
            Box::new(|_, _| {
                let manager = open();
                manager.acquire("a", "holder", HOUR).unwrap();
                world::sleep(HOUR);
            }),
        ],
    );
}

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
                        world::sleep(Duration::from_millis(100));
                    }
                    server.borrow_mut().faults = Faults { stale: 1000, ..Faults::default() };
                    server.borrow_mut().cut_off(0, sim.now() + 8_000_000);
                    sim.after(1, None, |sim| sim.kill(1));
                    world::sleep(Duration::from_secs(30));
                    assert_eq!(manager.leases(), []);
                }),
                Box::new(|_, _| {
                    let manager = open();
                    manager.acquire("a", "holder", HOUR).unwrap();
                    world::sleep(HOUR);
                }),
            ],
        );
    }
}

/// Whoever asked for one thing after the other had always something under way: its keeper never had a moment to look at anything, and gave back nothing
/// of the dead.
#[test]
fn who_never_rests_gives_back_what_the_dead_had() {
    play(
        1,
        vec![
            Box::new(|sim, _| {
                let manager = open();
                while manager.leases_on("b").is_empty() {
                    world::sleep(Duration::from_millis(100));
                }
                sim.after(1, None, |sim| sim.kill(1));
                claim_for(&manager, 14);
                assert_eq!(manager.leases_on("b"), []);
            }),
            Box::new(|_, _| {
                let manager = open();
                manager.acquire("b", "holder", HOUR).unwrap();
                world::sleep(HOUR);
            }),
        ],
    );
}

/// Claims what nobody else does, and releases it, with pauses in between.
fn pause_and_claim_for(manager: &LeaseManager, seconds: u64) {
    let until = world::instant() + Duration::from_secs(seconds);
    while world::instant() < until {
        let name = format!("a{}", world::below(1 << 32));
        let lease = manager.acquire(&name, "holder", HOUR).unwrap();
        world::sleep(Duration::from_micros(world::below(2000)));
        manager.release(lease).unwrap();
        world::sleep(Duration::from_micros(world::below(2000)));
    }
}

/// Claims and releases, one after the other.
fn claim_for(manager: &LeaseManager, seconds: u64) {
    let until = world::instant() + Duration::from_secs(seconds);
    while world::instant() < until {
        let lease = manager.acquire("a", "holder", HOUR).unwrap();
        manager.release(lease).unwrap();
    }
}

/// News that a process had gone came so late that another had its number: what was to be given back must stay, and it took with it whatever else this
/// process asked for at that moment. Users were told that the engine could not be reached.
#[test]
fn what_others_ask_for_in_vain_harms_nobody() {
    for seed in 1..6 {
        play(
            seed,
            vec![
                Box::new(move |sim, server| {
                    let manager = open();
                    world::sleep(Duration::from_secs(1));
                    server.borrow_mut().faults = Faults { stale: 1000, ..Faults::default() };
                    sim.after(1, None, |sim| sim.kill(1));
                    let crowd: Vec<_> = (0..3)
                        .map(|_| {
                            let manager = manager.clone();
                            sim.start(0, "one of many", move || pause_and_claim_for(&manager, 14))
                        })
                        .collect();
                    let (_, this) = machine::inside().unwrap();
                    crowd.into_iter().for_each(|other| sim.join(this, other));
                }),
                Box::new(|_, _| {
                    let _manager = open();
                    world::sleep(HOUR);
                }),
                Box::new(|_, _| {
                    world::sleep(Duration::from_secs(5));
                    let manager = open();
                    manager.acquire("c", "heir", HOUR).unwrap();
                    world::sleep(HOUR);
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
                    world::sleep(Duration::from_secs(1));
                    let foreign = manager.leases_on("b")[0];
                    server.borrow_mut().cut_off(0, sim.now() + 4_000_000);
                    while manager.state(lease) == Some(LeaseState::Held) {
                        world::sleep(Duration::from_millis(1));
                    }
                    let again = loop {
                        for renewed in [manager.renew(lease), manager.renew_for(lease, HOUR)] {
                            let over = matches!(renewed, Err(Error::NotHeld(..)));
                            assert!(
                                over || matches!(renewed, Err(Error::System(_))),
                                "{renewed:?}"
                            );
                        }
                        let taken = manager.renew_for(foreign, HOUR);
                        if let Ok(lease) = manager.acquire("c", "holder", HOUR) {
                            break lease;
                        }
                        assert!(matches!(taken, Err(Error::System(_))), "{taken:?}");
                    };
                    assert_eq!(manager.state(again), Some(LeaseState::Held));
                    assert_eq!(manager.state(foreign), Some(LeaseState::Held));
                }),
                Box::new(|_, _| {
                    let manager = open();
                    manager.acquire("b", "another", HOUR).unwrap();
                    world::sleep(HOUR);
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
                    assert!(matches!(error, Error::System(_)), "{error:?}");
                    world::sleep(Duration::from_secs(15));
                    assert_eq!(manager.leases(), []);
                }
            })],
        );
    }
}

/// Who had a lease heard nothing of it when somebody else took it over, and gave it back: it held the lease for ever.
#[test]
fn who_is_relieved_of_a_lease_hears_of_it() {
    let told = Rc::new(Cell::new(None));
    let heard = told.clone();
    play(
        1,
        vec![
            Box::new(move |_, _| {
                let manager = open();
                let lease = manager.acquire("a", "holder", HOUR).unwrap();
                told.set(Some(lease));
                world::sleep(Duration::from_secs(1));
                assert_eq!(manager.state(lease), Some(LeaseState::Expired));
                let over = Error::NotHeld(LeaseState::Expired, Reason::Released);
                assert_eq!(manager.renew(lease), Err(over));
            }),
            Box::new(move |_, _| {
                let manager = open();
                while heard.get().is_none() {
                    world::sleep(Duration::from_millis(1));
                }
                let lease = heard.get().unwrap();
                manager.renew(lease).unwrap();
                manager.release(lease).unwrap();
                world::sleep(HOUR);
            }),
        ],
    );
}

/// What many ask for at the same moment travels together, and each brought the same condition along: more than an engine takes.
#[test]
fn many_can_ask_at_once() {
    play(
        1,
        vec![Box::new(|sim, _| {
            let manager = open();
            let crowd: Vec<_> = (0..300)
                .map(|number| {
                    let manager = manager.clone();
                    sim.start(0, "one of many", move || {
                        manager.acquire(&format!("a{number}"), "holder", HOUR).unwrap();
                    })
                })
                .collect();
            let (_, this) = machine::inside().unwrap();
            crowd.into_iter().for_each(|other| sim.join(this, other));
            assert_eq!(manager.active_count(), 300);
        })],
    );
}

/// Nobody heard of what was dropped while the engine was away: the claim stayed in line and got what nobody had asked for any more, and the lease lasted.
#[test]
fn what_is_dropped_while_the_engine_is_away_is_given_back() {
    const PATIENT: &str = "etcd://simulated/table?session_ttl=60&timeout=1";
    play(
        1,
        vec![Box::new(|sim, server| {
            let manager = LeaseManager::open_with(PATIENT, Options::real()).unwrap();
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            let claim = |resource| manager.claim("another").of(&[resource]).ttl(HOUR).enqueue();
            let [waiting, granted] = ["a", "b"].map(|resource| claim(resource).unwrap());
            let away = world::instant() + Duration::from_secs(20);
            server.borrow_mut().turn_away(0, sim.now() + 20_000_000);
            drop((waiting, granted));
            assert!(world::instant() < away, "it is answered before the engine is back");
            world::sleep(Duration::from_secs(30));
            manager.release(lease).unwrap();
            assert_eq!((manager.leases(), manager.tickets()), (vec![], vec![]));
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
                    world::sleep(Duration::from_secs(1));
                    server.borrow_mut().cut_off(1, sim.now() + 10_000_000);
                    world::sleep(Duration::from_secs(5));
                    let manager = open();
                    let lease = manager.acquire("a", "heir", Duration::from_secs(2)).unwrap();
                    told.set(Some(lease));
                    for _ in 0..40 {
                        world::sleep(Duration::from_millis(250));
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
                                world::sleep(Duration::from_micros(world::below(500)));
                            }
                        });
                    }
                    world::sleep(HOUR);
                }),
            ],
        );
    }
}

/// A holder is cut off, and another waits. Does the first still take the lease for its own when the second has it? The engine's clock counts so many
/// microseconds in a second.
fn two_hold(rate: u64) -> bool {
    let (taken, both) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (seen, answer) = (taken.clone(), both.clone());
    play_with(
        Server::new(rate),
        1,
        vec![
            Box::new(move |sim, server| {
                let manager = open();
                let lease = manager.acquire("a", "holder", HOUR).unwrap();
                world::sleep(Duration::from_secs(2));
                server.borrow_mut().cut_off(0, sim.now() + 60_000_000);
                while !seen.get() {
                    world::sleep(Duration::from_millis(1));
                }
                answer.set(manager.state(lease) == Some(LeaseState::Held));
            }),
            Box::new(move |_, _| {
                let manager = open();
                world::sleep(Duration::from_secs(1));
                manager.claim("heir").of(&["a"]).ttl(HOUR).wait_for(HOUR).unwrap();
                taken.set(true);
                world::sleep(HOUR);
            }),
        ],
    );
    both.get()
}

/// An engine whose clock is as bad as it may be makes no two holders; one that ends sessions far too soon does, and that is seen.
#[test]
fn a_hasty_engine_is_found_out() {
    assert!(!two_hold(1_000_000) && !two_hold(1_009_000));
    assert!(two_hold(2_000_000));
}
