//! What runs have found wrong once, each as short as it can be told.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::link;
use super::machine::Sim;
use super::server::{Faults, Server, Shared};
use super::tests::SHARED;
use crate::home::world;
use crate::table::{Error, Reason};
use crate::{LeaseManager, Options};

const HOUR: Duration = Duration::from_secs(3600);

/// What a machine does.
type Role = Box<dyn FnOnce(&Rc<Sim>, &Shared)>;

/// A few machines; the first one's end is the end of it all.
fn play(machines: Vec<Role>) {
    let sim = Sim::new(1, false);
    let server = Server::new(1_000_000);
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
        play(vec![Box::new(move |sim, server| {
            let manager = open();
            let lease = manager.acquire("a", "holder", HOUR).unwrap();
            server.borrow_mut().faults = Faults { unanswered: 1000, ..Faults::default() };
            let engine = server.clone();
            sim.after(silent, None, move |_| engine.borrow_mut().faults = Faults::default());
            let claimed = manager.acquire("b", "holder", HOUR);
            assert!(matches!(claimed, Ok(_) | Err(Error::System(_))), "{silent} us: {claimed:?}");
            let released = manager.release(lease);
            let lost = matches!(released, Err(Error::NotHeld(_, Reason::EngineLost)));
            assert!(lost || matches!(released, Ok(()) | Err(Error::System(_))), "{released:?}");
        })]);
    }
}

/// An engine forgets what happened long ago: who was away then never heard that a process had gone, and nobody gave back what it had.
#[test]
fn who_missed_that_somebody_went_finds_out() {
    play(vec![
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
    ]);
}
