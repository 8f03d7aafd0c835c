//! `host.state`: asking for a lease that another process holds.

use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::{LeaseId, LeaseManager, LeaseState};

use crate::host_place::{Place, Problem};
use crate::measure::{Unit, cpu, keep};
use crate::report::{Bench, figure};

const BATCH: usize = 5_000;

/// With an end, the clock has to be looked at.
const LINES: [(&str, &str); 2] = [("host.state", "endless"), ("host.state_with_end", "ending")];

/// In nanoseconds.
const GOAL: f64 = 30.0;

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    for (name, kind) in LINES {
        if bench.wants(name) {
            one(bench, name, kind)?;
        }
    }
    Ok(())
}

fn one(bench: &mut Bench, name: &str, kind: &str) -> Result<(), Problem> {
    let place = Place::new()?;
    let manager = LeaseManager::open(&place.url())?;
    let line = place.line(0);
    let _holder = place.worker("holder", 0, kind)?;
    line.finished(1)?;
    let lease = LeaseId(line.told.load(Ordering::Acquire));
    if manager.state(lease) != Some(LeaseState::Held) {
        return Err("the lease of the other process is not to be seen".into());
    }
    // Nothing is faster than reading a word that the other process has written.
    let sample = bench.budget().compare(
        || cpu(BATCH, || (0..BATCH).for_each(|_| keep(manager.state(black_box(lease))))),
        || cpu(BATCH, || (0..BATCH).for_each(|_| keep(line.told.load(Ordering::Acquire)))),
    );
    bench.line(name, sample);
    let reached = if sample.ours <= GOAL { "reached" } else { "missed" };
    bench.note(name, &format!("goal: {} or less: {reached}", figure(GOAL, Unit::Nanoseconds)));
    Ok(())
}

/// Holds a lease until it is ended.
pub fn holder(place: &Place, number: usize, kind: &str) -> Result<(), Problem> {
    let manager = LeaseManager::open(&place.url())?;
    let lease = match kind {
        "endless" => manager.claim("holder").of(&["gpu"]).try_now()?,
        _ => manager.acquire("gpu", "holder", Duration::from_secs(3600))?,
    };
    let line = place.line(number);
    line.told.store(lease.0, Ordering::Release);
    line.serve(|| Ok(()))
}
