//! `pool.OP`: taking one of some devices and giving it back, uncontended.

use std::hint::black_box;
use std::sync::Arc;

use ternlease::{ClaimBuilder, GpuDevice, GpuPool, LeaseManager, Options, ResourceId, Vendor};

use crate::measure::{Sample, Unit, cpu, keep};
use crate::pool_peer::{SlotPool, ready};
use crate::report::{Bench, figure};

/// Our side: a manager with declared devices, all of which serve any claim.
pub struct Devices {
    pub manager: LeaseManager,
    names: Vec<String>,
    ids: Vec<ResourceId>,
}

impl Devices {
    /// With the real clock, as programs have it. (Reading that clock costs about as much as the lock.)
    pub fn real(n: usize) -> Devices {
        Devices::of(LeaseManager::open("process:").expect("this home always opens"), n)
    }

    /// With a clock that costs nothing to read, to tell what the clock makes of the figures.
    pub fn ticks(n: usize) -> Devices {
        Devices::of(LeaseManager::with(Options::ticks()), n)
    }

    fn of(manager: LeaseManager, n: usize) -> Devices {
        let names: Vec<String> = (0..n).map(|i| format!("gpu{i}")).collect();
        let declare = |name: &String| manager.declare(name, 1, 0).expect("room for some devices");
        let ids = names.iter().map(declare).collect();
        Devices { manager, names, ids }
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// One of the devices, by id: the peer knows its slots by number, too.
    #[inline(always)]
    pub fn claim(&self) -> ClaimBuilder<'_> {
        self.manager.claim("worker").of_declared(&self.ids)
    }

    #[inline(always)]
    pub fn try_claim_and_release(&self) {
        let claimed = self.claim().try_now();
        keep(claimed.and_then(|id| self.manager.release(black_box(id))));
    }

    #[inline(always)]
    pub fn try_claim_and_release_by_name(&self, names: &[&str]) {
        let claimed = self.manager.claim("worker").of(names).try_now();
        keep(claimed.and_then(|id| self.manager.release(black_box(id))));
    }
}

const BATCH: usize = 1_000;

/// So many devices, in islands of eight if they are to be linked.
fn devices(n: u32, linked: bool) -> Vec<GpuDevice> {
    let island = |index| linked.then_some(index / 8);
    let device = |index| GpuDevice {
        island: island(index),
        ..GpuDevice::new(Vendor::Nvidia, index, "benchmark")
    };
    (0..n).map(device).collect()
}

/// With a clock that costs nothing to read, to tell what the clock makes of the figures.
fn pool_by_ticks(devices: &[GpuDevice]) -> GpuPool {
    let manager = LeaseManager::with(Options::ticks());
    GpuPool::on(&manager, devices).expect("room for some devices")
}

/// What is measured, on our side and on the peer's.
type Ours = fn(&GpuPool);
type Peer = fn(&Arc<SlotPool>);

fn try_claim(pool: &GpuPool) {
    keep(black_box(pool).try_claim());
}

fn ready_claim(pool: &GpuPool) {
    keep(ready(black_box(pool).claim().into_future()));
}

fn try_claim_of_peer(pool: &Arc<SlotPool>) {
    keep(black_box(pool).try_claim());
}

fn ready_claim_of_peer(pool: &Arc<SlotPool>) {
    keep(ready(black_box(pool).claim()));
}

/// Name, devices, how many of them are busy all the time, and what is done.
const LINES: [(&str, u32, u32, Ours, Peer); 4] = [
    ("pool.try_claim+release", 8, 0, try_claim, try_claim_of_peer),
    ("pool.try_claim+release_1device", 1, 0, try_claim, try_claim_of_peer),
    ("pool.try_claim+release_15of16busy", 16, 15, try_claim, try_claim_of_peer),
    ("pool.claim_ready+release", 8, 0, ready_claim, ready_claim_of_peer),
];

pub fn run(bench: &mut Bench) {
    for (name, n, busy, ours, peer) in LINES {
        if bench.wants(name) {
            let devices = devices(n, false);
            let sample = compare(bench, &GpuPool::new(&devices), busy, ours, peer);
            bench.line(name, sample);
            let ticks = compare(bench, &pool_by_ticks(&devices), busy, ours, peer);
            let text = format!(
                "counting ticks instead of reading the clock: ours={} ratio={:.2}",
                figure(ticks.ours, Unit::Nanoseconds),
                ticks.ratio.unwrap_or(f64::NAN)
            );
            bench.note(name, &text);
        }
    }
    by_name(bench);
    four_of_64(bench);
}

/// A claim on a manager that names its candidates.
fn by_name(bench: &mut Bench) {
    let name = "pool.manager_claim+release_by_name";
    if !bench.wants(name) {
        return;
    }
    let (devices, pool) = (Devices::real(8), SlotPool::new(8));
    let names = devices.names();
    let ours = || black_box(&devices).try_claim_and_release_by_name(black_box(&names));
    let sample = in_turns(bench, ours, || try_claim_of_peer(&pool));
    bench.line(name, sample);
}

/// Four linked devices of 64, all or nothing. The peer knows neither: it takes four, one after the other.
fn four_of_64(bench: &mut Bench) {
    let name = "pool.claim_4of64_linked";
    if !bench.wants(name) {
        return;
    }
    let (ours, peer) = (GpuPool::new(&devices(64, true)), SlotPool::new(64));
    let sample = in_turns(
        bench,
        || keep(black_box(&ours).claim().devices(4).try_now()),
        || keep([(); 4].map(|()| black_box(&peer).try_claim())),
    );
    bench.line(name, sample);
}

fn compare(bench: &Bench, pool: &GpuPool, busy: u32, ours: Ours, peer: Peer) -> Sample {
    let slots = SlotPool::new(pool.capacity());
    let _busy: Vec<_> = (0..busy).map(|_| (pool.try_claim(), slots.try_claim())).collect();
    in_turns(bench, || ours(pool), || peer(&slots))
}

fn in_turns(bench: &Bench, ours: impl Fn(), peer: impl Fn()) -> Sample {
    let batch = |work: &dyn Fn()| (0..BATCH).for_each(|_| work());
    // A manager in use remembers as many ended leases as it may.
    (0..3).for_each(|_| batch(&ours));
    bench.budget().compare(|| cpu(BATCH, || batch(&ours)), || cpu(BATCH, || batch(&peer)))
}
