//! `host.handover`: how long after a release in one process the claim of another, which sleeps, returns.
//! Nothing is faster than the kernel wakes a thread, so a bare futex in shared memory is measured beside it.
//!
//! Where both run makes a great difference: waking another processor takes several times as long as changing places on one.

use std::sync::atomic::Ordering;

use ternlease::{LeaseId, LeaseManager};

use crate::handover::at;
use crate::host::line_with_goal;
use crate::host_place::{Line, Place, Problem, await_sleep, processors, run_on, spin_until};
use crate::measure::wall_now;
use crate::report::Bench;

const OURS: u32 = 0;
const FUTEX: u32 = 1;

/// The line on whose `task` the bare futex sleeps.
const FUTEX_LINE: usize = 1;

/// Names for the middle and for what is rare: on two processors, and on one.
const NAMES: [[&str; 2]; 2] = [
    ["host.handover_p50_vs_futex", "host.handover_p99_vs_futex"],
    ["host.handover_1core_p50_vs_futex", "host.handover_1core_p99_vs_futex"],
];

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    let all = processors();
    for (names, receiver) in NAMES.iter().zip([1, 0]) {
        if !names.iter().any(|name| bench.wants(name)) {
            continue;
        }
        let (Some(&giver), Some(receiver)) = (all.first(), all.get(receiver)) else {
            bench.note(names[0], "not measured: there is one processor");
            continue;
        };
        run_on(&[giver]);
        let measured = between(bench, names, *receiver);
        run_on(&all);
        measured?;
    }
    Ok(())
}

/// From this process to one on that processor.
fn between(bench: &mut Bench, names: &[&str; 2], processor: usize) -> Result<(), Problem> {
    let place = Place::new()?;
    let giver = Giver { manager: LeaseManager::open(&place.url())?, place: &place };
    let _receiver = place.worker("receiver", 0, &processor.to_string())?;
    place.line(0).finished(1)?;
    let (blocks, each) = if bench.quick { (10, 50) } else { (60, 50) };
    let mut latencies = [(); 2].map(|()| Vec::new());
    for round in 0..blocks {
        // In turns, each side first as often as the other.
        for turn in 0..2 {
            let side = (round + turn) % 2;
            let block: Result<Vec<f64>, Problem> =
                (0..each).map(|_| giver.hand_over(side)).collect();
            latencies[side as usize].push(block?);
        }
    }
    let [ours, futex] = &latencies;
    for (name, part) in names.iter().zip([0.5, 0.99]) {
        if bench.wants(name) {
            let sample = at(ours, futex, part);
            if part == 0.5 {
                // 1.2 times as long at most.
                line_with_goal(bench, name, sample, 0.83);
            } else {
                bench.line(name, sample);
            }
        }
    }
    Ok(())
}

/// The side that gives.
struct Giver<'a> {
    manager: LeaseManager,
    place: &'a Place,
}

impl Giver<'_> {
    /// Nanoseconds from giving to having.
    fn hand_over(&self, side: u32) -> Result<f64, Problem> {
        let (line, futex) = (self.place.line(0), self.place.line(FUTEX_LINE));
        let mut lease = None;
        match side {
            OURS => lease = Some(self.manager.claim("giver").of(&["gpu"]).try_now()?),
            _ => futex.task.set(0),
        }
        line.task.set(side);
        line.waits.set(0);
        line.begin();
        match side {
            OURS => spin_until(|| self.manager.pending_claimers() > 0)?,
            _ => spin_until(|| line.waits.get() != 0)?,
        }
        await_sleep();
        let given = wall_now();
        match lease {
            Some(lease) => self.manager.release(lease)?,
            None => {
                futex.task.set(1);
                futex.task.wake(1);
            }
        }
        line.finished(1)?;
        Ok(line.told.load(Ordering::Acquire).saturating_sub(given) as f64)
    }
}

/// The process that is given to.
pub fn receiver(place: &Place, number: usize, processor: &str) -> Result<(), Problem> {
    run_on(&[processor.parse()?]);
    let manager = LeaseManager::open(&place.url())?;
    let (line, futex) = (place.line(number), place.line(FUTEX_LINE));
    line.serve(|| {
        if line.task.get() == FUTEX {
            line.waits.set(1);
            while futex.task.get() == 0 {
                futex.task.sleep(0, None);
            }
            tell(line);
        } else {
            let lease: LeaseId = manager.claim("receiver").of(&["gpu"]).wait()?;
            tell(line);
            manager.release(lease)?;
        }
        Ok(())
    })
}

fn tell(line: &Line) {
    line.told.store(wall_now(), Ordering::Release);
}
