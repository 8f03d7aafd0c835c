//! `pool.OP`: taking one of some devices and giving it back, uncontended.

use std::hint::black_box;
use std::sync::Arc;

use ternlease::{ClaimBuilder, LeaseManager, Options, ResourceId};

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

/// What is measured: `BATCH` times in a row, on our side and on the peer's.
type Ours = fn(&Devices);
type Peer = fn(&Arc<SlotPool>);

fn try_claims(devices: &Devices) {
    for _ in 0..BATCH {
        black_box(devices).try_claim_and_release();
    }
}

fn try_claims_by_name(devices: &Devices) {
    let names = devices.names();
    for _ in 0..BATCH {
        black_box(devices).try_claim_and_release_by_name(black_box(&names));
    }
}

fn ready_claims(devices: &Devices) {
    for _ in 0..BATCH {
        let claimed = ready(black_box(devices).claim().into_future());
        keep(claimed.and_then(|id| devices.manager.release(black_box(id))));
    }
}

fn try_claims_of_peer(pool: &Arc<SlotPool>) {
    for _ in 0..BATCH {
        keep(black_box(pool).try_claim());
    }
}

fn ready_claims_of_peer(pool: &Arc<SlotPool>) {
    for _ in 0..BATCH {
        keep(ready(black_box(pool).claim()));
    }
}

/// Name, devices, how many of them are busy all the time, and what is done.
const LINES: [(&str, usize, usize, Ours, Peer); 5] = [
    ("pool.try_claim+release", 8, 0, try_claims, try_claims_of_peer),
    ("pool.try_claim+release_1device", 1, 0, try_claims, try_claims_of_peer),
    ("pool.try_claim+release_15of16busy", 16, 15, try_claims, try_claims_of_peer),
    ("pool.try_claim+release_by_name", 8, 0, try_claims_by_name, try_claims_of_peer),
    ("pool.claim_ready+release", 8, 0, ready_claims, ready_claims_of_peer),
];

pub fn run(bench: &mut Bench) {
    for (name, devices, busy, ours, peer) in LINES {
        if bench.wants(name) {
            let sample = compare(bench, &Devices::real(devices), busy, ours, peer);
            bench.line(name, sample);
            let ticks = compare(bench, &Devices::ticks(devices), busy, ours, peer);
            let text = format!(
                "counting ticks instead of reading the clock: ours={} ratio={:.2}",
                figure(ticks.ours, Unit::Nanoseconds),
                ticks.ratio.unwrap_or(f64::NAN)
            );
            bench.note(name, &text);
        }
    }
}

fn compare(bench: &Bench, devices: &Devices, busy: usize, ours: Ours, peer: Peer) -> Sample {
    let pool = SlotPool::new(devices.ids.len());
    for _ in 0..busy {
        devices.claim().try_now().expect("there are more devices than busy ones");
    }
    let _taken: Vec<_> = (0..busy).map(|_| pool.try_claim()).collect();
    // A manager in use remembers as many ended leases as it may.
    (0..3).for_each(|_| ours(devices));
    bench.budget().compare(|| cpu(BATCH, || ours(devices)), || cpu(BATCH, || peer(&pool)))
}
