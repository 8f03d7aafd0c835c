//! `etcd.grants`: how many leases 32 threads are granted in a second, each of which claims a device
//! and gives it back, again and again, in one process or in several.
//!
//! Beside them: how many bare transactions the same threads make, each on a key of its own. A
//! process has as many connections for them as it has members.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use ternlease::inventory::Declared;
use ternlease::{GpuPool, PoolOptions};

use crate::etcd::{Cluster, open, url};
use crate::etcd_bare::{Bare, connect};
use crate::etcd_client::client::Engine;
use crate::etcd_renew::REVISION;
use crate::etcd_table::Goal;
use crate::host_place::{Place, Problem, Worker};
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::Bench;

/// In all processes together.
pub const CLIENTS: usize = 32;

/// What a process tells instead of how often its threads succeeded.
const FAILED: u64 = u64::MAX;

/// The tasks of the processes.
const OURS: u32 = 0;
const BARE: u32 = 1;

struct Crowd {
    name: &'static str,
    what: &'static str,
    processes: usize,
    tables: usize,
    /// In each table: pools of one machine each.
    pools: usize,
    /// In each pool.
    devices: u32,
    /// Of the bare transactions in a second.
    goal: f64,
}

const CROWDS: [Crowd; 6] = [
    Crowd {
        name: "etcd.grants_4x8_32devices",
        what: "grants/s, 4 processes x 8 threads, 32 devices",
        processes: 4,
        tables: 1,
        pools: 1,
        devices: 32,
        goal: 0.9,
    },
    Crowd {
        name: "etcd.grants_4x8_4devices",
        what: "grants/s, 4 processes x 8 threads, 4 devices",
        processes: 4,
        tables: 1,
        pools: 1,
        devices: 4,
        goal: 0.25,
    },
    Crowd {
        name: "etcd.grants_1x32",
        what: "grants/s, 1 process x 32 threads, 32 devices",
        processes: 1,
        tables: 1,
        pools: 1,
        devices: 32,
        goal: 1.3,
    },
    Crowd {
        name: "etcd.grants_32x1",
        what: "grants/s, 32 processes x 1 thread, 32 devices",
        processes: 32,
        tables: 1,
        pools: 1,
        devices: 32,
        goal: 0.12,
    },
    // Threads of a process share a member here, and so the entries of its log.
    Crowd {
        name: "etcd.grants_8pools",
        what: "grants/s, 4 x 8, 8 pools of 4 in one table",
        processes: 4,
        tables: 1,
        pools: 8,
        devices: 4,
        goal: 0.9,
    },
    // Here each thread has a member of its own: no command shares an entry with another.
    Crowd {
        name: "etcd.grants_8tables",
        what: "grants/s, 4 x 8, 8 pools of 4 in 8 tables",
        processes: 4,
        tables: 8,
        pools: 1,
        devices: 4,
        goal: 0.9,
    },
];

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    for crowd in &CROWDS {
        let name = cluster.line(crowd.name);
        if bench.wants(&name)
            && let Err(problem) = compare(bench, cluster, &name, crowd)
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
    crowd: &Crowd,
) -> Result<(), Problem> {
    let &Crowd { processes, tables, pools, devices, .. } = crowd;
    let place = Place::new()?;
    let shape = format!("{processes} {tables} {pools} {devices}");
    let argument = format!("{} {} {shape}", cluster.endpoint(), crowd.name);
    let worker = |number: usize| place.worker("etcd_clients", number + 1, &argument);
    let _workers: Vec<Worker> = (0..processes).map(worker).collect::<Result<_, _>>()?;
    let line = place.line(0);
    line.finished(processes as u32)?;
    let round = |task: u32, milliseconds: u64| -> Result<f64, Problem> {
        line.task.set(task);
        line.amount.store(milliseconds, Ordering::Relaxed);
        let start = wall_now();
        line.begin();
        line.finished(processes as u32)?;
        let seconds = (wall_now() - start) as f64 / 1e9;
        let told = |number| place.line(number + 1).told.load(Ordering::Acquire);
        let done: Vec<u64> = (0..processes).map(told).collect();
        match done.contains(&FAILED) {
            true => Err("a client failed".into()),
            false => Ok(done.iter().sum::<u64>() as f64 / seconds),
        }
    };
    let milliseconds = if bench.quick { 300 } else { 700 };
    // Watches begin, and caches fill.
    round(OURS, 200)?;
    round(BARE, 100)?;
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut per_entry = Vec::new();
    // An odd number: the middle of an even one would be the better of two.
    for turn in 0..if bench.quick { 3 } else { 5 } {
        let order = if turn % 2 == 0 { [OURS, BARE] } else { [BARE, OURS] };
        for task in order {
            let (before, start) = (cluster.count(REVISION)?, wall_now());
            let rate = round(task, milliseconds)?;
            let seconds = (wall_now() - start) as f64 / 1e9;
            let revisions = (cluster.count(REVISION)? - before) / seconds;
            if task == OURS {
                ours.push(rate);
                // A grant and its release are two.
                per_entry.push(rate * 2.0 / revisions);
            } else {
                bare.push(rate);
            }
        }
        ratios.push(ours[turn] / bare[turn]);
    }
    let ratio = median(ratios);
    let rounds = ours.len();
    let sample = Sample::once(median(ours), median(bare), Unit::PerSecond);
    bench.line(name, Sample { ratio: Some(ratio), rounds, ..sample });
    bench.note(name, &format!("{:.1} commands in an entry of the log", median(per_entry)));
    cluster.table.judged(crowd.what, ratio, Goal::AtLeast(crowd.goal));
    Ok(())
}

/// What one thread of a process works with.
struct Client {
    pool: GpuPool,
    /// The pool is the machine's of this name.
    node: String,
    bare: Bare,
}

impl Client {
    fn once(&mut self, task: u32) -> Result<(), Problem> {
        match task {
            OURS => {
                let claim = self.pool.claim().on_node(&self.node);
                Ok(claim.wait()?.ok_or("the pool is empty")?.release()?)
            }
            _ => self.bare.txn(),
        }
    }
}

fn node(pool: usize) -> String {
    format!("n{pool}")
}

/// One of the processes: a few threads, which begin and end together.
pub fn clients(place: &Place, number: usize, argument: &str) -> Result<(), Problem> {
    let words: Vec<&str> = argument.split(' ').collect();
    let &[endpoint, table, processes, tables, pools, devices] = words.as_slice() else {
        return Err("no such crowd".into());
    };
    let (tables, pools): (usize, usize) = (tables.parse()?, pools.parse()?);
    let (each, devices) = (CLIENTS / processes.parse::<usize>()?, devices.parse()?);
    let member = |number: usize| -> Result<(Vec<GpuPool>, Arc<Engine>), Problem> {
        let manager = open(&url(endpoint, &format!("{table}-{number}")))?;
        let machine = |pool| -> Result<GpuPool, Problem> {
            let options = PoolOptions::of(Declared::fake(devices)).node(node(pool));
            Ok(GpuPool::on_with(&manager, options)?)
        };
        let machines: Vec<GpuPool> = (0..pools).map(machine).collect::<Result<_, _>>()?;
        Ok((machines, connect(endpoint)?))
    };
    let members: Vec<_> = (0..tables).map(member).collect::<Result<_, _>>()?;
    let client = |thread: usize| {
        let ((machines, engine), pool) = (&members[thread % tables], thread % pools);
        let bare = Bare::new(engine, &thread.to_string());
        Client { pool: machines[pool].clone(), node: node(pool), bare }
    };
    let mut clients: Vec<Client> = (0..each).map(client).collect();
    let (line, own) = (place.line(0), place.line(number));
    line.serve(|| {
        let task = line.task.get();
        let end = wall_now() + line.amount.load(Ordering::Relaxed) * 1_000_000;
        let (done, together) = (AtomicU64::new(0), Barrier::new(each));
        std::thread::scope(|scope| {
            for client in &mut clients {
                let (done, together) = (&done, &together);
                scope.spawn(move || {
                    together.wait();
                    while wall_now() < end {
                        if let Err(error) = client.once(task) {
                            eprintln!("etcd: {error}");
                            return done.store(FAILED, Ordering::Relaxed);
                        }
                        // One that has failed stays so.
                        let more = |done: u64| (done != FAILED).then_some(done + 1);
                        let _ = done.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
                    }
                });
            }
        });
        own.told.store(done.into_inner(), Ordering::Release);
        Ok(())
    })
}
