//! Managers on a table of any home get random commands, and so does the model of `tests/model`: answers, events, counters and all that can be
//! seen must agree after each of them, whichever manager was asked and whichever looks.
//!
//! `TERN_STEPS=10000` makes it longer, `TERN_SEED=42` replays one episode.

mod beside;
mod deed;
pub mod managers;
mod seen;

use std::env;
use std::fmt::Write;

use crate::model::generate::{Rng, World};
use crate::model::tally::Tally;
use beside::Beside;
use managers::Home;

/// At least so often per 10,000 deeds.
const MINIMA: &[(&str, u64)] = &[
    ("granted at once", 800),
    ("granted from line", 500),
    ("granted by overtaking", 100),
    ("soft deadlock cured", 100),
    ("hard deadlock broken", 100),
    ("age taken over from a victim", 80),
    ("deadlock reported", 30),
    ("child ended with its parent", 50),
    ("child granted under notice", 5),
    ("renewed late", 10),
    ("health changed", 5),
    ("notice DEADLOCK_VICTIM", 30),
    ("notice PREEMPTED", 10),
    ("notice SPARE_RECLAIMED", 25),
    ("notice PARENT_REVOKED", 20),
    ("ended DEADLOCK_VICTIM", 100),
    ("ended PREEMPTED", 10),
    ("ended SPARE_RECLAIMED", 30),
    ("ended OPERATOR", 10),
    ("ended PARENT_REVOKED", 20),
    ("ended TIMED_OUT", 30),
    ("ended RELEASED", 600),
    ("refused WAIT_TIMED_OUT", 15),
    ("refused CANCELLED", 100),
    ("refused PARENT_ENDED", 25),
    ("answer AtOnce", 100),
    ("answer Notified", 100),
    ("answer AlreadyNotified", 8),
    ("answer Left", 80),
    ("answer WasGranted", 8),
    ("error Busy", 200),
    ("error Impossible", 250),
    ("error NotHeld", 100),
    ("error ParentNotHeld", 40),
    ("error TimeTooLarge", 50),
    ("error UnknownLease", 80),
    ("error UnknownTicket", 80),
];

/// The same, where processes come and go.
const MINIMA_SHARED: &[(&str, u64)] =
    &[("claim of a dead owner", 5), ("lease of a dead owner", 10)];

fn episode(home: &Home, seed: u64) -> Result<Tally, String> {
    let mut rng = Rng(seed);
    let world = World::new(&mut rng);
    let mut beside = Beside::new(home, &world, seed);
    let mut deeds = Vec::new();
    for nth in 0..world.length {
        let deed = deed::next(&mut rng, &world, &beside.model, nth, home);
        deeds.push(deed.clone());
        beside.step(&deed).map_err(|text| {
            let mut report = format!("TERN_SEED={seed}\n{:?}\n", world.settings);
            for deed in &deeds {
                writeln!(report, "  {deed:?}").expect("a string takes it");
            }
            format!("{report}{text}")
        })?;
    }
    let mut tally = beside.tally;
    tally.episode(&beside.model);
    Ok(tally)
}

fn number(name: &str) -> Option<u64> {
    env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

pub fn play(home: &Home, steps: u64) {
    if let Some(seed) = number("TERN_SEED") {
        println!("{}", episode(home, seed).unwrap_or_else(|report| panic!("{report}")));
        return;
    }
    let steps = number("TERN_STEPS").unwrap_or(steps);
    let mut total = Tally::default();
    let mut seeds = Rng(1);
    while total.commands < steps {
        total.merge(episode(home, seeds.next()).unwrap_or_else(|report| panic!("{report}")));
    }
    println!("{total}");
    let shared = if home.is_shared() { MINIMA_SHARED } else { &[] };
    for (what, minimum) in MINIMA.iter().chain(shared) {
        let (wanted, found) = (minimum * total.commands / 10_000, total.get(what));
        // What is rare may be missing in a short run.
        assert!(found >= wanted || wanted < 5, "{what}: {found} times, expected {wanted}");
    }
}
