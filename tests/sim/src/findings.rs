//! What simulated runs have found, each as short as possible; and faults that they must detect.

mod away;
mod controls;
mod log;

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
type Script = Box<dyn FnOnce(&Rc<Sim>, &Shared)>;

/// Runs a few machines until the first one ends.
fn run(seed: u64, machines: Vec<Script>) {
    run_with(Server::new(1_000_000), seed, machines);
}

fn run_with(server: Shared, seed: u64, machines: Vec<Script>) {
    let sim = Sim::new(seed, false);
    link::set_server(Some(server.clone()));
    let over = Rc::new(Cell::new(false));
    for (number, machine) in machines.into_iter().enumerate() {
        let (process, server, over) = (sim.add_process(1_000_000, 0), server.clone(), over.clone());
        let here = sim.clone();
        sim.start(process, "the main thread", move || {
            machine(&here, &server);
            over.set(over.get() || number == 0);
        });
    }
    assert!(sim.run(1_000_000, || over.get()) && over.get(), "it does not end");
    sim.end();
    link::set_server(None);
}

fn open() -> LeaseManager {
    crate::open(SHARED, Options::real()).unwrap_or_else(|error| panic!("{error}"))
}

/// The outcome of the claim was unknown, so it was repeated: and refused because of itself. A
/// release reported that the lease was already released.
#[test]
fn claim_of_unknown_outcome_is_not_repeated() {
    for silent in (1..40).map(|tenths| tenths * 150_000) {
        run(
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

/// An engine compacts its history: a process that was cut off meanwhile missed the end of another
/// one, and what that had was never released.
#[test]
fn missed_end_of_a_process_is_found() {
    run(
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

/// A process with a command always under way never ran its ticker, and released nothing of dead
/// ones.
#[test]
fn busy_process_releases_leases_of_the_dead() {
    run(
        1,
        vec![
            Box::new(|sim, _| {
                let manager = open();
                while manager.leases_on("b").is_empty() {
                    rt::sleep(Duration::from_millis(100));
                }
                sim.after(1, None, |sim| sim.kill(1));
                claim_repeatedly(&manager, 14);
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

/// Claims resources of its own and releases them, with pauses in between.
fn claim_with_pauses(manager: &LeaseManager, seconds: u64) {
    let until = rt::instant() + Duration::from_secs(seconds);
    while rt::instant() < until {
        let name = format!("a{}", rt::below(1 << 32));
        let lease = manager.acquire(&name, "holder", HOUR).unwrap();
        rt::sleep(Duration::from_micros(rt::below(2000)));
        manager.release(lease).unwrap();
        rt::sleep(Duration::from_micros(rt::below(2000)));
    }
}

/// Claims and releases in turns.
fn claim_repeatedly(manager: &LeaseManager, seconds: u64) {
    let until = rt::instant() + Duration::from_secs(seconds);
    while rt::instant() < until {
        let lease = manager.acquire("a", "holder", HOUR).unwrap();
        manager.release(lease).unwrap();
    }
}

/// The end of a process was reported so late that another one had its number: the release was
/// refused, and with it all commands of the same batch. Clients were told that the engine cannot be
/// reached.
#[test]
fn refused_release_does_not_fail_its_batch() {
    for seed in 1..6 {
        run(
            seed,
            vec![
                Box::new(move |sim, server| {
                    let manager = open();
                    rt::sleep(Duration::from_secs(1));
                    server.borrow_mut().faults = Faults { stale: 1000, ..Faults::default() };
                    sim.after(1, None, |sim| sim.kill(1));
                    let threads: Vec<_> = (0..3)
                        .map(|_| {
                            let manager = manager.clone();
                            sim.start(0, "one of many", move || claim_with_pauses(&manager, 14))
                        })
                        .collect();
                    let (_, this) = machine::inside().unwrap();
                    threads.into_iter().for_each(|other| sim.join(this, other));
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

/// A holder got no event when another process took its lease over and released it: it held the
/// lease for ever.
#[test]
fn renewal_by_other_owner_notifies_previous_owner() {
    let granted = Rc::new(Cell::new(None));
    let known = granted.clone();
    run(
        1,
        vec![
            Box::new(move |_, _| {
                let manager = open();
                let lease = manager.acquire("a", "holder", HOUR).unwrap();
                granted.set(Some(lease));
                rt::sleep(Duration::from_secs(1));
                assert_eq!(manager.state(lease), Some(LeaseState::Expired));
                let over = Error::NotHeld(LeaseState::Expired, Reason::Released);
                assert_eq!(manager.renew(lease), Err(over));
            }),
            Box::new(move |_, _| {
                let manager = open();
                while known.get().is_none() {
                    rt::sleep(Duration::from_millis(1));
                }
                let lease = known.get().unwrap();
                manager.renew(lease).unwrap();
                manager.release(lease).unwrap();
                rt::sleep(HOUR);
            }),
        ],
    );
}

/// A process left that had not read the entry that granted a child of its lease. It wrote no hint, and
/// marked its session as left: the holder of the child was not notified that the child had ended.
#[test]
fn session_that_leaves_notifies_the_holders_of_children() {
    let child = Rc::new(Cell::new(None));
    let known = child.clone();
    run(
        1,
        vec![
            Box::new(move |_, _| {
                let manager = open();
                while manager.leases_on("parent").is_empty() {
                    rt::sleep(Duration::from_millis(1));
                }
                // Until the other process does not follow the log any more.
                rt::sleep(Duration::from_secs(5));
                let parent = manager.leases_on("parent")[0];
                let lease = manager.claim("b").of(&["child"]).child_of(parent).try_now().unwrap();
                // An append returns the entry in front of it: one that is missed is known then.
                manager.acquire("other", "b", HOUR).unwrap();
                known.set(Some(lease));
                rt::sleep(Duration::from_secs(10));
                assert_eq!(manager.state(lease), Some(LeaseState::Expired));
            }),
            Box::new(move |_, _| {
                let manager = open();
                manager.acquire("parent", "holder", HOUR).unwrap();
                while child.get().is_none() {
                    rt::sleep(Duration::from_millis(1));
                }
                rt::sleep(Duration::from_secs(1));
                drop(manager);
                rt::sleep(HOUR);
            }),
        ],
    );
}

/// A process left while the engine was away, and its session ended meanwhile. It marked the session as
/// left without an end in the log: the other members ignored the end, and its lease was never free.
#[test]
fn session_that_ends_while_its_process_leaves_is_ended_by_others() {
    for silent in (5..60).map(|tenths| tenths * 100_000) {
        let leaves = Rc::new(Cell::new(false));
        let left = leaves.clone();
        run(
            1,
            vec![
                Box::new(move |sim, server| {
                    let manager = open();
                    while manager.leases_on("a").is_empty() {
                        rt::sleep(Duration::from_millis(1));
                    }
                    server.borrow_mut().cut_off(1, sim.now() + silent);
                    leaves.set(true);
                    rt::sleep(Duration::from_secs(30));
                    assert_eq!(manager.leases(), [], "away for {silent} us");
                }),
                Box::new(move |_, _| {
                    let manager = open();
                    manager.acquire("a", "holder", HOUR).unwrap();
                    while !left.get() {
                        rt::sleep(Duration::from_millis(1));
                    }
                    drop(manager);
                    rt::sleep(HOUR);
                }),
            ],
        );
    }
}

/// Many commands travel in one transaction, and each added the same condition: more than an engine
/// takes.
#[test]
fn three_hundred_claims_at_once_are_granted() {
    run(
        1,
        vec![Box::new(|sim, _| {
            let manager = open();
            let threads: Vec<_> = (0..300)
                .map(|number| {
                    let manager = manager.clone();
                    sim.start(0, "one of many", move || {
                        manager.acquire(&format!("a{number}"), "holder", HOUR).unwrap();
                    })
                })
                .collect();
            let (_, this) = machine::inside().unwrap();
            threads.into_iter().for_each(|other| sim.join(this, other));
            assert_eq!(manager.active_count(), 300);
        })],
    );
}

/// A holder is cut off, and another process waits. Does the first one report the lease as held when
/// the second one has it?
fn has_two_holders(server: Shared) -> bool {
    let (taken, both) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let (seen, answer) = (taken.clone(), both.clone());
    run_with(
        server,
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

/// An engine whose clock is within its bounds makes no two holders. One that ends sessions far too
/// soon does, and that is detected.
#[test]
fn engine_that_ends_sessions_early_is_detected() {
    let has_two_holders = |rate| has_two_holders(Server::new(rate));
    assert!(!has_two_holders(1_000_000) && !has_two_holders(1_009_000));
    assert!(has_two_holders(2_000_000));
}
