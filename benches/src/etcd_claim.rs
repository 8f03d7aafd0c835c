//! `etcd.claim`, `etcd.release`: taking what is free and giving it back, when no other member wants
//! anything.

use crate::etcd::{Cluster, open};
use crate::host_place::Problem;
use crate::measure::{Sample, median, wall_now};
use crate::report::Bench;

/// So many claims are one turn.
const TURN: usize = 20;

/// In bare transactions.
const GOAL: f64 = 1.25;

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    let manager = open(&cluster.url("claim"))?;
    let ids = [manager.declare("gpu", 1, 0)?];
    let (mut claims, mut releases) = (Vec::new(), Vec::new());
    let mut ours = |counts: bool| -> Result<(), Problem> {
        let (mut claim, mut release) = (Vec::new(), Vec::new());
        for _ in 0..TURN {
            let start = wall_now();
            let lease = manager.claim("worker").of_declared(&ids).try_now()?;
            let held = wall_now();
            manager.release(lease)?;
            claim.push((held - start) as f64);
            release.push((wall_now() - held) as f64);
        }
        if counts {
            claims.push(median(claim));
            releases.push(median(release));
        }
        Ok(())
    };
    let turns = if bench.quick { 10 } else { 60 };
    // A table in use remembers as many ended leases as it may.
    for _ in 0..13 {
        ours(false)?;
    }
    for turn in 0..turns {
        if turn % 2 == 0 {
            ours(true)?;
            cluster.peers.turn()?;
        } else {
            cluster.peers.turn()?;
            ours(true)?;
        }
    }
    let peer = cluster.peers.take_turns();
    for (what, ours) in [("claim", &claims), ("release", &releases)] {
        let sample = Sample::of_rounds(ours, &peer);
        cluster.in_txns(bench, &format!("etcd.{what}"), what, sample, Some(GOAL));
    }
    moved(bench, cluster, || {
        let lease = manager.claim("worker").of_declared(&ids).try_now()?;
        Ok(manager.release(lease)?)
    })
}

/// What a grant and its release move, and what is kept of them, as the server counts it.
fn moved(
    bench: &Bench,
    cluster: &Cluster,
    grant: impl Fn() -> Result<(), Problem>,
) -> Result<(), Problem> {
    const GRANTS: usize = 256;
    let counts = || -> Result<[f64; 3], Problem> {
        Ok([
            cluster.count("etcd_debugging_mvcc_total_put_size_in_bytes")?,
            cluster.count("etcd_network_client_grpc_received_bytes_total")?,
            cluster.count("etcd_network_client_grpc_sent_bytes_total")?,
        ])
    };
    let before = counts()?;
    for _ in 0..GRANTS {
        grant()?;
    }
    let after = counts()?;
    let each: Vec<String> = before
        .iter()
        .zip(after)
        .map(|(before, after)| format!("{:.0}", (after - before) / GRANTS as f64))
        .collect();
    let text = format!(
        "a grant with its release puts {} bytes into etcd, sends it {}, and is sent {}",
        each[0], each[1], each[2]
    );
    bench.note(&cluster.line("etcd.claim"), &text);
    Ok(())
}
