//! `etcd.hand_over`: how long after a release in one process the claim of another returns, which
//! waits.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::LeaseManager;

use crate::etcd::{Cluster, open};
use crate::host_place::{Line, Place, Problem, spin_until};
use crate::measure::{Sample, median, quantile, wall_now};
use crate::report::Bench;

/// In bare transactions, in the middle, when neither side has had a pause.
const GOAL: f64 = 1.7;

/// Long enough for etcd to have nothing to do.
const QUIET: Duration = Duration::from_millis(5);

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    let place = Place::new()?;
    let url = cluster.url("hand_over");
    let giver = open(&url)?;
    let _waiter = place.worker("etcd_waiter", 0, &url)?;
    let line = place.line(0);
    line.finished(1)?;
    let (mut busy, mut idle, mut idle_txns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..if bench.quick { 50 } else { 200 } {
        // Processors and servers that had nothing to do are slower at first, for a bare transaction
        // as well: each side is measured after a pause, and right after other transactions.
        busy.push(hand_over(&giver, line, || cluster.peers.turn())?);
        let pause = || {
            std::thread::sleep(QUIET);
            Ok(())
        };
        idle.push(hand_over(&giver, line, pause)?);
        std::thread::sleep(QUIET);
        idle_txns.push(cluster.peers.once()?);
    }
    let txn = median(cluster.peers.take_turns());
    let (idle, idle_txn) = (median(idle), median(idle_txns));
    let rounds = busy.len();
    let p50 = median(busy.iter().copied());
    for (name, what, ours, peer, goal) in [
        ("p50", "hand-over to another process, p50", p50, txn, Some(GOAL)),
        ("p90", "the same, p90", quantile(busy, 0.9), txn, None),
        ("idle", "the same after a pause, in Txns after a pause", idle, idle_txn, None),
        ("idle_busy", "the same after a pause, in Txns without", idle, txn, None),
    ] {
        let sample = Sample { rounds, ..Sample::of_rounds(&[ours], &[peer]) };
        cluster.in_txns(bench, &format!("etcd.hand_over_{name}"), what, sample, goal);
    }
    Ok(())
}

/// Nanoseconds from giving to having. What happens while the other process waits takes as long as
/// that needs to begin to follow the log.
fn hand_over(
    giver: &LeaseManager,
    line: &Line,
    mut meanwhile: impl FnMut() -> Result<(), Problem>,
) -> Result<f64, Problem> {
    let lease = giver.claim("giver").of(&["gpu"]).try_now()?;
    line.begin();
    spin_until(|| giver.pending_claimers() > 0)?;
    meanwhile()?;
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
