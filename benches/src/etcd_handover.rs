//! `etcd.hand_over`: how long after a release in one process the claim of another returns, which waits.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::LeaseManager;

use crate::etcd::{Cluster, line_in_txns, open};
use crate::host_place::{Line, Place, Problem, spin_until};
use crate::measure::{Sample, median, quantile, wall_now};
use crate::report::Bench;

/// So many are one turn.
const TURN: usize = 10;

/// In bare transactions, in the middle: one for the release, and one for the other side to hear of it.
const GOAL: f64 = 2.0;

/// Long enough for whoever is about to wait to do so, and for etcd to have nothing to do.
const QUIET: Duration = Duration::from_millis(5);

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    let place = Place::new()?;
    let url = cluster.url("hand_over");
    let giver = open(&url)?;
    let _waiter = place.worker("etcd_waiter", 0, &url)?;
    place.line(0).finished(1)?;
    let mut times = Vec::new();
    for turn in 0..if bench.quick { 5 } else { 30 } {
        if turn % 2 == 0 {
            cluster.peers.turn()?;
        }
        for _ in 0..TURN {
            times.push(hand_over(&giver, place.line(0))?);
        }
        if turn % 2 == 1 {
            cluster.peers.turn()?;
        }
    }
    // Half of the turns are enough for the middle of a steady thing.
    let txn = median(cluster.peers.take_turns(bench, &cluster.line("etcd.hand_over_p50")));
    for (name, part, goal) in
        [("etcd.hand_over_p50", 0.5, Some(GOAL)), ("etcd.hand_over_p90", 0.9, None)]
    {
        let ours = quantile(times.iter().copied(), part);
        let sample = Sample { rounds: times.len(), ..Sample::of_rounds(&[ours], &[txn]) };
        line_in_txns(bench, &cluster.line(name), sample, goal);
    }
    Ok(())
}

/// Nanoseconds from giving to having.
fn hand_over(giver: &LeaseManager, line: &Line) -> Result<f64, Problem> {
    let lease = giver.claim("giver").of(&["gpu"]).try_now()?;
    line.begin();
    spin_until(|| giver.pending_claimers() > 0)?;
    std::thread::sleep(QUIET);
    let given = wall_now();
    giver.release(lease)?;
    line.finished(1)?;
    Ok(line.told.load(Ordering::Acquire).saturating_sub(given) as f64)
}

/// The process that is given to.
pub fn waiter(place: &Place, number: usize, url: &str) -> Result<(), Problem> {
    let manager = open(url)?;
    let line = place.line(number);
    line.serve(|| {
        let lease = manager.claim("waiter").of(&["gpu"]).wait()?;
        line.told.store(wall_now(), Ordering::Release);
        Ok(manager.release(lease)?)
    })
}
