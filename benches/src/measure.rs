//! Clocks, and the turns in which two sides are measured.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Time this thread has spent on a processor, in nanoseconds. What others do on the machine hardly shows in it.
pub fn cpu_now() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Time passed, in nanoseconds.
pub fn wall_now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What reading the thread's clock twice costs by itself: a sizeable part of a short batch.
fn reading() -> f64 {
    static READING: OnceLock<f64> = OnceLock::new();
    *READING.get_or_init(|| {
        let once = |_| {
            let start = cpu_now();
            (cpu_now() - start) as f64
        };
        median((0..1001).map(once))
    })
}

/// Processor time of `work` per operation, in nanoseconds, where `work` is `operations` of them.
pub fn cpu(operations: usize, work: impl FnOnce()) -> f64 {
    let reading = reading();
    let start = cpu_now();
    work();
    let spent = (cpu_now() - start) as f64;
    (spent - reading).max(0.1) / operations as f64
}

/// The middle of the values; of an even number, the upper one of the two.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value below which this part of the values lies.
pub fn quantile(values: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * part) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Uses a value, so that computing it is not optimised away.
#[inline(always)]
pub fn keep<T>(value: T) {
    let _ = std::hint::black_box(value);
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
    Allocations,
    /// By how much something is wrong or too long: 1 is perfect.
    Factor,
    Percent,
    /// Of these, more is better.
    PerSecond,
}

/// One line of the report.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub ours: f64,
    pub peer: Option<f64>,
    pub ratio: Option<f64>,
    pub unit: Unit,
    pub rounds: usize,
}

impl Sample {
    /// From the figures of each round, in order.
    pub fn of_rounds(ours: &[f64], peer: &[f64]) -> Sample {
        let ratios = ours.iter().zip(peer).map(|(ours, peer)| peer / ours);
        Sample {
            ours: median(ours.iter().copied()),
            peer: Some(median(peer.iter().copied())),
            ratio: Some(median(ratios)),
            unit: Unit::Nanoseconds,
            rounds: ours.len(),
        }
    }

    /// Two figures that need no repetition.
    pub fn once(ours: f64, peer: f64, unit: Unit) -> Sample {
        Sample::beside(ours, Some(peer), unit)
    }

    /// The same, where the peer may have none.
    pub fn beside(ours: f64, peer: Option<f64>, unit: Unit) -> Sample {
        let ratio = |peer: f64| match unit {
            Unit::PerSecond => (peer > 0.0).then(|| ours / peer),
            _ => (ours > 0.0).then(|| peer / ours),
        };
        Sample { ours, peer, ratio: peer.and_then(ratio), unit, rounds: 1 }
    }
}

/// How long to go on.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub nanoseconds: u64,
    pub least_rounds: usize,
    pub most_rounds: usize,
}

impl Budget {
    /// Measures both sides in turns; each closure sets up, measures one batch, and tells nanoseconds per operation.
    pub fn compare(self, mut ours: impl FnMut() -> f64, mut peer: impl FnMut() -> f64) -> Sample {
        // Once for nothing: caches, branch predictors and the first touch of memory.
        ours();
        peer();
        let (mut our, mut their) = (Vec::new(), Vec::new());
        let start = wall_now();
        while self.goes_on(start, our.len()) {
            // Whoever goes second may find the caches in another state, so they take turns in that too.
            if our.len() % 2 == 0 {
                our.push(ours());
                their.push(peer());
            } else {
                their.push(peer());
                our.push(ours());
            }
        }
        Sample::of_rounds(&our, &their)
    }

    /// Measures ours alone, where the peer would take hours.
    pub fn alone(self, mut ours: impl FnMut() -> f64) -> Sample {
        ours();
        let mut rounds = Vec::new();
        let start = wall_now();
        while self.goes_on(start, rounds.len()) {
            rounds.push(ours());
        }
        Sample {
            ours: median(rounds.iter().copied()),
            peer: None,
            ratio: None,
            unit: Unit::Nanoseconds,
            rounds: rounds.len(),
        }
    }

    fn goes_on(self, start: u64, rounds: usize) -> bool {
        let in_time = wall_now() - start < self.nanoseconds;
        rounds < self.least_rounds || (in_time && rounds < self.most_rounds)
    }
}

/// Runs `work(0)`, `work(1)`… on threads of their own; nanoseconds until all are done.
pub fn on_threads(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let spans = spans(threads, work);
    let (start, end) = around(&spans);
    (end - start) as f64
}

/// Runs `work(0)` and `work(1)` on two threads at the same time; nanoseconds that each took, on average.
/// On a busy machine one thread may be kept from running until the other is done; such attempts measure nothing.
pub fn on_two_threads(work: impl Fn(usize) + Sync) -> f64 {
    const ATTEMPTS: usize = 50;
    for attempt in 1.. {
        let spans = spans(2, &work);
        let (start, end) = around(&spans);
        let sum = spans.iter().map(|span| span.1 - span.0).sum::<u64>() as f64;
        let together = sum / 2.0 > 0.8 * (end - start) as f64;
        if together || attempt == ATTEMPTS {
            return sum / 2.0;
        }
    }
    f64::NAN
}

/// From the first start to the last end.
fn around(spans: &[(u64, u64)]) -> (u64, u64) {
    let start = spans.iter().map(|span| span.0).min().unwrap_or(0);
    (start, spans.iter().map(|span| span.1).max().unwrap_or(0))
}

/// When each of the threads started and ended; they start at the same moment if the machine lets them.
fn spans(threads: usize, work: impl Fn(usize) + Sync) -> Vec<(u64, u64)> {
    let arrived = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let run = |thread: usize| {
            let (arrived, work) = (&arrived, &work);
            scope.spawn(move || {
                // Not a barrier that sleeps: the first to wake would be done before the last has woken.
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < threads {
                    std::thread::yield_now();
                }
                let start = wall_now();
                work(thread);
                (start, wall_now())
            })
        };
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("a measured thread failed")).collect()
    })
}
