//! `pool.64waiters`: many want one slot, all the time. Wall time per claim.
//!
//! Left to themselves, waiters may get out of each other's way: each does all its claims before the next begins. In the lines
//! called `_in_line` the slot is held until all of them wait; as both sides serve in order, they then wait at every claim.

use std::sync::Arc;

use ternlease::{GpuClaim, GpuDevice, GpuLease, GpuPool, Vendor};
use tokio::runtime::Runtime;

use crate::measure::{on_threads, wall_now};
use crate::pool_peer::{SlotLease, SlotPool, block_on};
use crate::report::Bench;

const WAITERS: usize = 64;

/// A slot that many want.
trait Slot: Clone + Send + Sync + 'static {
    type Held;
    /// Takes the slot, which is free.
    fn take(&self) -> Self::Held;
    fn give(&self, held: Self::Held);
    fn waiting(&self) -> usize;
    /// Claims and releases so many times, as a thread.
    fn in_thread(&self, claims: usize);
    /// The same as a task.
    fn into_task(self, claims: usize) -> impl Future<Output = ()> + Send + 'static;
}

#[derive(Clone)]
struct Ours {
    pool: GpuPool,
    /// All waiters are one worker: it holds and waits at the same time.
    one_holder: bool,
}

impl Ours {
    fn new(one_holder: bool) -> Ours {
        Ours { pool: GpuPool::new(&[GpuDevice::new(Vendor::Nvidia, 0, "")]), one_holder }
    }

    fn claim(&self) -> GpuClaim<'_> {
        if self.one_holder { self.pool.claim().holder("worker") } else { self.pool.claim() }
    }
}

impl Slot for Ours {
    type Held = Option<GpuLease>;

    fn take(&self) -> Self::Held {
        self.pool.try_claim().expect("nobody has it")
    }

    fn give(&self, held: Self::Held) {
        drop(held);
    }

    fn waiting(&self) -> usize {
        self.pool.pending_claimers()
    }

    fn in_thread(&self, claims: usize) {
        for _ in 0..claims {
            drop(self.claim().wait().expect("waiting has no end"));
        }
    }

    async fn into_task(self, claims: usize) {
        for _ in 0..claims {
            drop(self.claim().await.expect("waiting has no end"));
        }
    }
}

impl Slot for Arc<SlotPool> {
    type Held = SlotLease;

    fn take(&self) -> SlotLease {
        self.try_claim().expect("nobody has it")
    }

    fn give(&self, held: SlotLease) {
        drop(held);
    }

    fn waiting(&self) -> usize {
        self.pending()
    }

    fn in_thread(&self, claims: usize) {
        for _ in 0..claims {
            drop(block_on(self.claim()));
        }
    }

    async fn into_task(self, claims: usize) {
        for _ in 0..claims {
            drop(self.claim().await);
        }
    }
}

pub fn run(bench: &mut Bench) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime with two threads");
    for (name, one_holder, in_line) in
        [("pool.64waiters_threads", false, false), ("pool.64waiters_threads_in_line", false, true)]
    {
        if bench.wants(name) {
            let claims = if bench.quick { 10 } else { 50 };
            let (ours, peer) = (Ours::new(one_holder), SlotPool::new(1));
            let sample = bench
                .budget()
                .compare(|| threads(&ours, claims, in_line), || threads(&peer, claims, in_line));
            bench.line(name, sample);
        }
    }
    for (name, one_holder, in_line) in [
        ("pool.64waiters_tasks", false, false),
        ("pool.64waiters_tasks_in_line", false, true),
        ("pool.64waiters_tasks_in_line_1holder", true, true),
    ] {
        if bench.wants(name) {
            let claims = if bench.quick { 50 } else { 200 };
            let (ours, peer) = (Ours::new(one_holder), SlotPool::new(1));
            let run = &runtime;
            let sample = bench.budget().compare(
                || tasks(run, &ours, claims, in_line),
                || tasks(run, &peer, claims, in_line),
            );
            bench.line(name, sample);
        }
    }
}

fn until_all_wait(slot: &impl Slot) {
    while slot.waiting() < WAITERS {
        std::thread::yield_now();
    }
}

/// Nanoseconds per claim, with as many threads as there are waiters.
fn threads<S: Slot>(slot: &S, claims: usize, in_line: bool) -> f64 {
    let all = (WAITERS * claims) as f64;
    if !in_line {
        return on_threads(WAITERS, |_| slot.in_thread(claims)) / all;
    }
    let held = slot.take();
    let start = std::thread::scope(|scope| {
        for _ in 0..WAITERS {
            scope.spawn(move || slot.in_thread(claims));
        }
        until_all_wait(slot);
        let start = wall_now();
        slot.give(held);
        start
    });
    (wall_now() - start) as f64 / all
}

/// Nanoseconds per claim, with as many tasks as there are waiters.
fn tasks<S: Slot>(runtime: &Runtime, slot: &S, claims: usize, in_line: bool) -> f64 {
    let held = in_line.then(|| slot.take());
    let mut start = wall_now();
    let spawn = |_| runtime.spawn(slot.clone().into_task(claims));
    let running: Vec<_> = (0..WAITERS).map(spawn).collect();
    if let Some(held) = held {
        until_all_wait(slot);
        start = wall_now();
        slot.give(held);
    }
    runtime.block_on(async {
        for task in running {
            task.await.expect("a measured task failed");
        }
    });
    (wall_now() - start) as f64 / (WAITERS * claims) as f64
}
