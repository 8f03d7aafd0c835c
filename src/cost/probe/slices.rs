//! Short measurements, many of them, and what they say together.

use std::time::{Duration, Instant};

use crate::cost::rates::{Rate, Source};

/// Fewer are no measurement.
const FEWEST: usize = 3;
/// With fewer it is a rough one.
const ENOUGH: usize = 8;
/// More do not help.
const MOST: usize = 4096;

/// A slice is to take about so long: much longer than a look at the clock, much shorter than a turn of the scheduler.
pub(super) const SLICE: Duration = Duration::from_micros(200);

/// Work per second, as each of many slices found it.
#[derive(Debug, Default)]
pub(super) struct Slices(Vec<u64>);

impl Slices {
    pub fn add(&mut self, work: u64, took: Duration) {
        let nanoseconds = took.as_nanos().max(1);
        let rate = u128::from(work) * 1_000_000_000 / nanoseconds;
        self.0.push(u64::try_from(rate).unwrap_or(u64::MAX));
    }

    pub fn join(&mut self, others: Slices) {
        self.0.extend(others.0);
    }

    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// What they say; nothing if they are too few.
    pub fn rate(mut self) -> Option<Rate> {
        let count = self.0.len();
        if count < FEWEST {
            return None;
        }
        self.0.sort_unstable();
        let at = |permille: usize| self.0[(count - 1) * permille / 1000];
        let usual = at(500).max(1);
        let apart = u128::from(at(750) - at(250)) * 1000 / u128::from(usual);
        Some(Rate {
            per_second: at(900),
            usual,
            spread_permille: u32::try_from(apart).unwrap_or(u32::MAX),
            source: if count < ENOUGH { Source::Rough } else { Source::Measured },
        })
    }
}

/// Repeats something that does `work` until the time is up.
pub(super) fn repeat(until: Instant, work: u64, mut slice: impl FnMut()) -> Option<Rate> {
    let mut slices = Slices::default();
    let mut before = Instant::now();
    while before < until && !slices.is_full() {
        slice();
        let after = Instant::now();
        slices.add(work, after - before);
        before = after;
    }
    slices.rate()
}

/// How often something must be done to fill a slice. `once` does it so many times.
pub(super) fn fill(until: Instant, mut once: impl FnMut(u64)) -> u64 {
    let mut times = 1;
    loop {
        let begun = Instant::now();
        once(times);
        let took = begun.elapsed();
        if took >= SLICE / 2 || Instant::now() >= until || times >= 1 << 40 {
            let wanted = SLICE.as_nanos() * u128::from(times) / took.as_nanos().max(1);
            return u64::try_from(wanted).unwrap_or(u64::MAX).clamp(1, times.saturating_mul(4));
        }
        times *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slice_that_was_interrupted_changes_little() {
        let mut slices = Slices::default();
        for _ in 0..19 {
            slices.add(1000, Duration::from_micros(1));
        }
        slices.add(1000, Duration::from_secs(1));
        let rate = slices.rate().unwrap();
        assert_eq!((rate.per_second, rate.usual), (1_000_000_000, 1_000_000_000));
        assert_eq!((rate.spread_permille, rate.source), (0, Source::Measured));
    }

    #[test]
    fn few_slices_are_rough_and_fewer_say_nothing() {
        let of = |count| {
            let mut slices = Slices::default();
            (0..count).for_each(|_| slices.add(10, Duration::ZERO));
            slices.rate()
        };
        assert_eq!(of(2), None);
        assert_eq!(of(3).unwrap().source, Source::Rough);
        assert_eq!(of(8).unwrap().source, Source::Measured);
    }
}
