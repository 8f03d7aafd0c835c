//! `etcd.grants`: how many leases 32 clients are granted in a second, each of which claims a device and gives it back, again and again.
//!
//! A client is a thread with a manager of its own: a connection, a thread that talks to etcd, and a copy of the table. They are in four processes.
//! Beside them: how many bare transactions as many clients of etcd make, each on a key that nobody else has; a grant with its release takes two.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::etcd::{Cluster, open};
use crate::host_place::{Place, Problem, Worker};
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::Bench;

const CLIENTS: usize = 32;
const PROCESSES: usize = 4;

/// What a process tells instead of how many leases its clients were granted.
const FAILED: u64 = u64::MAX;

/// What is measured: pools, and devices in each.
const LINES: [(&str, usize, usize); 3] = [
    // One device for each client: nobody waits in line, but all change one table.
    ("etcd.grants_1pool", 1, CLIENTS),
    ("etcd.grants_1pool_4devices", 1, 4),
    ("etcd.grants_8pools", 8, CLIENTS / 8),
];

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    for (name, pools, devices) in LINES {
        let name = cluster.line(name);
        if bench.wants(&name)
            && let Err(problem) = compare(bench, cluster, &name, pools, devices)
        {
            bench.note(&name, &format!("not measured: {problem}"));
        }
    }
    Ok(())
}

fn compare(
    bench: &mut Bench,
    cluster: &mut Cluster,
    name: &str,
    pools: usize,
    devices: usize,
) -> Result<(), Problem> {
    let place = Place::new()?;
    for pool in 0..pools {
        let manager = open(&cluster.url(&table(pools, devices, pool)))?;
        for device in 0..devices {
            manager.declare(&device_name(device), 1, 0)?;
        }
    }
    let worker = |number: usize| -> Result<Worker, Problem> {
        let base = cluster.url("");
        place.worker("etcd_clients", number + 1, &format!("{base} {pools} {devices}"))
    };
    let _workers: Vec<Worker> = (0..PROCESSES).map(worker).collect::<Result<_, _>>()?;
    let line = place.line(0);
    line.finished(PROCESSES as u32)?;
    let milliseconds = if bench.quick { 500 } else { 2_000 };
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..if bench.quick { 2 } else { 4 } {
        line.amount.store(milliseconds, Ordering::Relaxed);
        let start = wall_now();
        line.begin();
        line.finished(PROCESSES as u32)?;
        let seconds = (wall_now() - start) as f64 / 1e9;
        let told = |number| place.line(number + 1).told.load(Ordering::Acquire);
        let granted: Vec<u64> = (0..PROCESSES).map(told).collect();
        if granted.contains(&FAILED) {
            return Err("a client failed".into());
        }
        ours.push(granted.iter().sum::<u64>() as f64 / seconds);
        peer.extend(cluster.peers.rate(CLIENTS, milliseconds)?);
    }
    let peer = (!peer.is_empty()).then(|| median(peer));
    bench.line(name, Sample::beside(median(ours), peer, Unit::PerSecond));
    let each = CLIENTS / PROCESSES;
    let text = format!("{CLIENTS} managers: {PROCESSES} processes with {each} threads each");
    bench.note(name, &format!("{text}; {devices} devices in each pool"));
    Ok(())
}

/// Each line has tables of its own.
fn table(pools: usize, devices: usize, pool: usize) -> String {
    format!("grants-{pools}-{devices}-{pool}")
}

fn device_name(number: usize) -> String {
    format!("gpu{number}")
}

/// One of the processes: a few clients, which begin and end together.
pub fn clients(place: &Place, number: usize, argument: &str) -> Result<(), Problem> {
    let words: Vec<&str> = argument.split(' ').collect();
    let &[base, pools, devices] = words.as_slice() else { return Err("no such crowd".into()) };
    let (pools, devices): (usize, usize) = (pools.parse()?, devices.parse()?);
    let names: Vec<String> = (0..devices).map(device_name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let each = CLIENTS / PROCESSES;
    let managers: Vec<_> = ((number - 1) * each..number * each)
        .map(|client| open(&format!("{base}{}", table(pools, devices, client % pools))))
        .collect::<Result<_, _>>()?;
    let (line, own) = (place.line(0), place.line(number));
    line.serve(|| {
        let end = wall_now() + line.amount.load(Ordering::Relaxed) * 1_000_000;
        let (granted, together) = (AtomicU64::new(0), Barrier::new(each));
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (client, manager) in managers.iter().enumerate() {
                let (names, granted, failed) = (&names, &granted, &failed);
                let together = &together;
                scope.spawn(move || {
                    let holder = format!("client{number}.{client}");
                    together.wait();
                    while wall_now() < end {
                        let lease = manager.claim(&holder).of(names).wait();
                        match lease.and_then(|lease| manager.release(lease)) {
                            Ok(()) => granted.fetch_add(1, Ordering::Relaxed),
                            Err(error) => {
                                eprintln!("etcd: {holder}: {error}");
                                return failed.store(true, Ordering::Relaxed);
                            }
                        };
                    }
                });
            }
        });
        let told = if failed.into_inner() { FAILED } else { granted.into_inner() };
        own.told.store(told, Ordering::Release);
        Ok(())
    })
}
