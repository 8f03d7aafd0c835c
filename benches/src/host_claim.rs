//! `host.acquire+release`, `host.claim_1of8+release`, `host.pool_claim+release`: taking what is free and giving it back, beside lock files.

use std::hint::black_box;
use std::time::Duration;

use ternlease::{GpuDevice, GpuPool, LeaseManager, ResourceId, Vendor};

use crate::host::line_with_goal;
use crate::host_filelock::FileLock;
use crate::host_locks::{LockFile, scan};
use crate::host_place::{Place, Problem};
use crate::measure::{Sample, cpu, keep};
use crate::report::Bench;

const BATCH: usize = 1_000;
const DEVICES: usize = 8;

/// What is measured on our side.
#[derive(Clone, Copy)]
enum Ours {
    /// One resource, by name.
    Acquire,
    /// One of eight resources, by their ids.
    Claim,
    /// One of eight devices of a pool.
    PoolClaim,
}

/// What is measured beside it.
#[derive(Clone, Copy)]
enum Peer {
    /// Locks a file that is held open.
    Lock,
    OpenLockClose,
    /// Tries eight files; seven are locked.
    Scan,
}

/// With the ratio that we want. Where the peer has to scan, seven of ours are busy, too.
const LINES: [(&str, Ours, Peer, f64); 7] = [
    ("host.acquire+release_vs_flock", Ours::Acquire, Peer::Lock, 5.0),
    ("host.acquire+release_vs_open_flock", Ours::Acquire, Peer::OpenLockClose, 15.0),
    ("host.claim_1of8+release_vs_flock", Ours::Claim, Peer::Lock, 5.0),
    ("host.claim_1of8+release_vs_open_flock", Ours::Claim, Peer::OpenLockClose, 15.0),
    ("host.claim_1of8+release_vs_scan", Ours::Claim, Peer::Scan, 100.0),
    ("host.pool_claim+release_vs_flock", Ours::PoolClaim, Peer::Lock, 5.0),
    ("host.pool_claim+release_vs_scan", Ours::PoolClaim, Peer::Scan, 100.0),
];

const FILELOCK: &str = "host.acquire+release_vs_filelock";

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    for (name, ours, peer, goal) in LINES {
        if bench.wants(name) {
            let sample = compare(bench, ours, peer)?;
            line_with_goal(bench, name, sample, goal);
        }
    }
    if bench.wants(FILELOCK) {
        beside_filelock(bench)?;
    }
    Ok(())
}

/// Our side: a table of its own.
struct Table {
    manager: LeaseManager,
    ids: Vec<ResourceId>,
    pool: GpuPool,
}

impl Table {
    fn new(place: &Place) -> Result<Table, Problem> {
        let manager = LeaseManager::open(&place.url())?;
        let declare = |i| manager.declare(&format!("gpu{i}"), 1, 0);
        let ids = (0..DEVICES).map(declare).collect::<Result<_, _>>()?;
        let devices: Vec<GpuDevice> =
            (0..DEVICES as u32).map(|i| GpuDevice::new(Vendor::Nvidia, i, "benchmark")).collect();
        let pool = GpuPool::on(&manager, &devices)?;
        Ok(Table { manager, ids, pool })
    }

    /// Takes all but one, until the end.
    fn busy(&self) -> Result<(), Problem> {
        for _ in 1..DEVICES {
            self.manager.claim("busy").of_declared(&self.ids).try_now()?;
            self.pool.try_claim()?.ok_or("a pool without devices")?.into_id();
        }
        Ok(())
    }

    #[inline(always)]
    fn acquire(&self) {
        let lease = black_box(&self.manager).acquire("gpu", "worker", Duration::from_secs(60));
        keep(lease.and_then(|id| self.manager.release(black_box(id))));
    }

    #[inline(always)]
    fn claim(&self) {
        let lease = black_box(&self.manager).claim("worker").of_declared(&self.ids).try_now();
        keep(lease.and_then(|id| self.manager.release(black_box(id))));
    }

    #[inline(always)]
    fn pool_claim(&self) {
        keep(black_box(&self.pool).try_claim());
    }
}

fn batch(work: impl Fn()) -> f64 {
    cpu(BATCH, || (0..BATCH).for_each(|_| work()))
}

fn compare(bench: &Bench, ours: Ours, peer: Peer) -> Result<Sample, Problem> {
    let place = Place::new()?;
    let table = Table::new(&place)?;
    let files = LockFile::several(&place, DEVICES)?;
    // By other descriptors than those that are tried.
    let others = LockFile::several(&place, DEVICES - 1)?;
    if matches!(peer, Peer::Scan) {
        table.busy()?;
        others.iter().for_each(LockFile::lock);
    }
    let ours = || match ours {
        Ours::Acquire => batch(|| table.acquire()),
        Ours::Claim => batch(|| table.claim()),
        Ours::PoolClaim => batch(|| table.pool_claim()),
    };
    let peer = || match peer {
        Peer::Lock => batch(|| {
            keep(files[0].try_lock());
            files[0].unlock();
        }),
        Peer::OpenLockClose => batch(|| keep(files[0].open_lock_close())),
        Peer::Scan => batch(|| keep(scan(&files))),
    };
    // A table in use remembers as many ended leases as it may.
    (0..3).for_each(|_| keep(ours()));
    Ok(bench.budget().compare(ours, peer))
}

fn beside_filelock(bench: &mut Bench) -> Result<(), Problem> {
    let place = Place::new()?;
    let table = Table::new(&place)?;
    let mut peer = match FileLock::start(&place) {
        Ok(peer) => peer,
        Err(problem) => {
            bench.note(FILELOCK, &format!("not measured: {problem}"));
            return Ok(());
        }
    };
    (0..3).for_each(|_| keep(batch(|| table.acquire())));
    let sample = bench.budget().compare(|| batch(|| table.acquire()), || peer.measure());
    line_with_goal(bench, FILELOCK, sample, 500.0);
    Ok(())
}
