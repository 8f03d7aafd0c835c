//! `pool.handover`: how long after a release on one thread the claim of another, which sleeps, returns.
//! No primitive can be faster than the kernel wakes a thread, so a bare futex is measured beside both.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::measure::{Sample, Unit, quantile, wall_now};
use crate::pool::Devices;
use crate::pool_peer::{SlotPool, block_on};
use crate::report::Bench;

/// Something one thread can wait for and another can give.
trait Handover: Sync {
    /// Makes the next wait block.
    fn take(&self);
    /// Does somebody wait? (It may be on its way to sleep still.)
    fn awaited(&self) -> bool;
    fn give(&self);
    /// Blocks until it is given; the time at which that was known.
    fn wait(&self) -> u64;
}

struct OurSlot {
    devices: Devices,
    held: AtomicU64,
}

impl OurSlot {
    fn claim(&self) -> ternlease::LeaseId {
        self.devices.claim().wait().expect("waiting has no end")
    }
}

impl Handover for OurSlot {
    fn take(&self) {
        self.held.store(self.claim().0, Ordering::Relaxed);
    }
    fn awaited(&self) -> bool {
        self.devices.manager.pending_claimers() > 0
    }
    fn give(&self) {
        let id = ternlease::LeaseId(self.held.load(Ordering::Relaxed));
        self.devices.manager.release(id).expect("it is held");
    }
    fn wait(&self) -> u64 {
        let id = self.claim();
        let now = wall_now();
        self.devices.manager.release(id).expect("it was just granted");
        now
    }
}

struct PeerSlot {
    pool: Arc<SlotPool>,
    held: parking_lot::Mutex<Option<crate::pool_peer::SlotLease>>,
}

impl Handover for PeerSlot {
    fn take(&self) {
        *self.held.lock() = self.pool.try_claim();
    }
    fn awaited(&self) -> bool {
        self.pool.pending() > 0
    }
    fn give(&self) {
        let lease = self.held.lock().take();
        drop(lease);
    }
    fn wait(&self) -> u64 {
        let lease = block_on(self.pool.claim());
        let now = wall_now();
        drop(lease);
        now
    }
}

#[derive(Default)]
struct Futex {
    word: AtomicU32,
    awaited: AtomicBool,
}

impl Handover for Futex {
    fn take(&self) {
        self.word.store(0, Ordering::Release);
    }
    fn awaited(&self) -> bool {
        self.awaited.load(Ordering::Acquire)
    }
    fn give(&self) {
        self.word.store(1, Ordering::Release);
        let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as `self`.
        unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), wake, 1) };
    }
    fn wait(&self) -> u64 {
        self.awaited.store(true, Ordering::Release);
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        while self.word.load(Ordering::Acquire) == 0 {
            let no_timeout = ptr::null::<libc::timespec>();
            // SAFETY: the word lives as long as `self`, and no timeout is allowed.
            unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), wait, 0, no_timeout) };
        }
        let now = wall_now();
        self.awaited.store(false, Ordering::Release);
        now
    }
}

fn spin_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::hint::spin_loop();
    }
}

/// Latencies of so many hand-overs from this thread to another.
fn block(slot: &dyn Handover, count: usize) -> Vec<f64> {
    /// After this long a thread that was about to sleep is asleep.
    const ASLEEP: u64 = 40_000;
    let (turn, told) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=count as u64 {
                spin_until(|| turn.load(Ordering::Acquire) == round);
                told.store(slot.wait(), Ordering::Release);
            }
        });
        let hand_over = |round: u64| {
            slot.take();
            told.store(0, Ordering::Relaxed);
            turn.store(round, Ordering::Release);
            spin_until(|| slot.awaited());
            let since = wall_now();
            spin_until(|| wall_now() - since > ASLEEP);
            let given = wall_now();
            slot.give();
            spin_until(|| told.load(Ordering::Acquire) != 0);
            told.load(Ordering::Acquire).saturating_sub(given) as f64
        };
        (1..=count as u64).map(hand_over).collect()
    })
}

pub fn run(bench: &mut Bench) {
    const NAMES: [&str; 4] = [
        "pool.handover_p50",
        "pool.handover_p99",
        "pool.handover_p50_vs_futex",
        "pool.handover_p99_vs_futex",
    ];
    if !NAMES.iter().any(|name| bench.wants(name)) {
        return;
    }
    let ours = OurSlot { devices: Devices::real(1), held: AtomicU64::new(0) };
    let peer = PeerSlot { pool: SlotPool::new(1), held: parking_lot::Mutex::new(None) };
    let futex = Futex::default();
    let sides: [&dyn Handover; 3] = [&ours, &peer, &futex];
    let (blocks, each) = if bench.quick { (10, 50) } else { (60, 50) };
    let mut latencies = [(); 3].map(|()| Vec::new());
    for round in 0..blocks {
        // In turns, each side first as often as the others.
        for turn in 0..3 {
            let side = (round + turn) % 3;
            latencies[side].push(block(sides[side], each));
        }
    }
    let [ours, peer, futex] = &latencies;
    for (name, other, part) in [
        (NAMES[0], peer, 0.5),
        (NAMES[1], peer, 0.99),
        (NAMES[2], futex, 0.5),
        (NAMES[3], futex, 0.99),
    ] {
        if bench.wants(name) {
            bench.line(name, at(ours, other, part));
        }
    }
}

/// The middle is compared block by block; what is rare needs all of them.
pub fn at(ours: &[Vec<f64>], other: &[Vec<f64>], part: f64) -> Sample {
    if part == 0.5 {
        let middles = |blocks: &[Vec<f64>]| -> Vec<f64> {
            blocks.iter().map(|block| quantile(block.iter().copied(), part)).collect()
        };
        return Sample::of_rounds(&middles(ours), &middles(other));
    }
    let all = |blocks: &[Vec<f64>]| quantile(blocks.iter().flatten().copied(), part);
    let once = Sample::once(all(ours), all(other), Unit::Nanoseconds);
    Sample { rounds: ours.len(), ..once }
}
