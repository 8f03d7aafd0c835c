//! `etcd.renew`, `etcd.state`: what a holder does all the time, and what etcd has to do for it.

use std::hint::black_box;
use std::time::Duration;

use ternlease::LeaseManager;

use crate::etcd::{Cluster, open};
use crate::etcd_table::Goal;
use crate::host_place::Problem;
use crate::measure::{Sample, keep, wall_now};
use crate::report::Bench;

/// How often the store has changed.
pub const REVISION: &str = "etcd_debugging_mvcc_current_revision";

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    let url = cluster.url("renew");
    let (holder, other) = (open(&url)?, open(&url)?);
    let lease = holder.acquire("gpu", "worker", Duration::from_secs(3600))?;
    let renew = |manager: &LeaseManager| keep(black_box(manager).renew(black_box(lease)));
    let state = |manager: &LeaseManager| keep(black_box(manager).state(black_box(lease)));
    let lines: [(&str, &str, &dyn Fn()); 3] = [
        ("etcd.renew", "renewals", &|| renew(&holder)),
        ("etcd.state", "states of an own lease", &|| state(&holder)),
        ("etcd.state_of_others", "states of another's lease", &|| state(&other)),
    ];
    for (name, what, call) in lines {
        let name = cluster.line(name);
        if !bench.wants(&name) {
            continue;
        }
        let (mut ours, mut calls, mut writes) = (Vec::new(), 0, 0.0);
        for _ in 0..if bench.quick { 5 } else { 20 } {
            let before = cluster.count(REVISION)?;
            let (count, took) = each(call);
            writes += cluster.count(REVISION)? - before;
            calls += count;
            ours.push(took);
            cluster.peers.turn()?;
        }
        let peer = cluster.peers.take_turns();
        bench.line(&name, Sample::of_rounds(&ours, &peer));
        bench.note(&name, &format!("{calls} calls wrote {writes} times to etcd"));
        cluster.table.judged(&format!("revisions by {what}"), writes, Goal::AtMost(0.0));
    }
    Ok(())
}

/// Calls for some milliseconds: how often, and the nanoseconds of each.
fn each(call: &dyn Fn()) -> (usize, f64) {
    const ENOUGH: u64 = 10_000_000;
    const BATCH: usize = 16;
    let start = wall_now();
    let mut count = 0;
    while wall_now() - start < ENOUGH {
        (0..BATCH).for_each(|_| call());
        count += BATCH;
    }
    (count, (wall_now() - start) as f64 / count as f64)
}
