//! What runs have found wrong once, each as short as it can be told; and what must be found wrong.

mod away;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::link;
use super::machine::{self, Sim};
use super::plans::SHARED;
use super::server::{Faults, Server, Shared};
use ternlease::sim_api::rt;
use ternlease::table::{Error, LeaseState, Reason};
use ternlease::{LeaseManager, Options};

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
    crate::open(SHARED, Options::real()).unwrap_or_else(|error| panic!("{error}"))
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
                    matches!(claimed, Ok(_) | Err(Error::Unavailable)),
                    "{silent} us: {claimed:?}"
                );
                let released = manager.release(lease);
                let lost = matches!(released, Err(Error::NotHeld(_, Reason::EngineLost)));
                assert!(
                    lost || matches!(released, Ok(()) | Err(Error::Unavailable)),
                    "{released:?}"
                );
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
                    rt::sleep(Duration::from_millis(100));
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
                rt::sleep(HOUR);
            }),
        ],
    );
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
                    rt::sleep(Duration::from_millis(100));
                }
                sim.after(1, None, |sim| sim.kill(1));
                claim_for(&manager, 14);
                assert_eq!(manager.leases_on("b"), []);
            }),
            Box::new(|_, _| {
                let manager = open();
                manager.acquire("b", "holder", HOUR).unwrap();
                rt::sleep(HOUR);
            }),
        ],
    );
}

/// Claims what nobody else does, and releases it, with pauses in between.
fn pause_and_claim_for(manager: &LeaseManager, seconds: u64) {
    let until = rt::instant() + Duration::from_secs(seconds);
    while rt::instant() < until {
        let name = format!("a{}", rt::below(1 << 32));
        let lease = manager.acquire(&name, "holder", HOUR).unwrap();
        rt::sleep(Duration::from_micros(rt::below(2000)));
        manager.release(lease).unwrap();
        rt::sleep(Duration::from_micros(rt::below(2000)));
    }
}

/// Claims and releases, one after the other.
fn claim_for(manager: &LeaseManager, seconds: u64) {
    let until = rt::instant() + Duration::from_secs(seconds);
    while rt::instant() < until {
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
                    rt::sleep(Duration::from_secs(1));
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
                    rt::sleep(HOUR);
                }),
                Box::new(|_, _| {
                    rt::sleep(Duration::from_secs(5));
                    let manager = open();
                    manager.acquire("c", "heir", HOUR).unwrap();
                    rt::sleep(HOUR);
                }),
            ],
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
                rt::sleep(Duration::from_secs(1));
                assert_eq!(manager.state(lease), Some(LeaseState::Expired));
                let over = Error::NotHeld(LeaseState::Expired, Reason::Released);
                assert_eq!(manager.renew(lease), Err(over));
            }),
            Box::new(move |_, _| {
                let manager = open();
                while heard.get().is_none() {
                    rt::sleep(Duration::from_millis(1));
                }
                let lease = heard.get().unwrap();
                manager.renew(lease).unwrap();
                manager.release(lease).unwrap();
                rt::sleep(HOUR);
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
                rt::sleep(Duration::from_secs(2));
                server.borrow_mut().cut_off(0, sim.now() + 60_000_000);
                while !seen.get() {
                    rt::sleep(Duration::from_millis(1));
                }
                answer.set(manager.state(lease) == Some(LeaseState::Held));
            }),
            Box::new(move |_, _| {
                let manager = open();
                rt::sleep(Duration::from_secs(1));
                manager.claim("heir").of(&["a"]).ttl(HOUR).wait_for(HOUR).unwrap();
                taken.set(true);
                rt::sleep(HOUR);
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
