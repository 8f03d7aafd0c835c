//! How fast memory is: arrays that no cache holds, in chunks one after the other, by one thread and by all together.

use std::time::Instant;

use parking_lot::Mutex;

use super::slices::{Slices, repeat};
use super::team::{Together, each};
use super::{Limits, passes};
use crate::cost::rates::{Rate, Rates, Source};

/// Numbers in a chunk: 1 MiB.
const CHUNK: usize = 1 << 17;
const CHUNK_BYTES: u64 = (CHUNK * size_of::<f64>()) as u64;
/// All arrays together. Three times the largest cache is enough that it does not show; more takes only time to get.
const MOST: u64 = 192 << 20;
const LEAST: u64 = 48 << 20;

/// Three arrays of one thread, and where it is in them.
struct Share {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    at: usize,
    /// How often it went through them.
    rounds: usize,
}

impl Share {
    /// Gets and touches the memory, as far as time and the system allow; at least one chunk of each array.
    fn new(chunks: usize, until: Instant) -> Option<Self> {
        let mut share = Share { a: Vec::new(), b: Vec::new(), c: Vec::new(), at: 0, rounds: 0 };
        for array in share.arrays() {
            array.try_reserve_exact(chunks * CHUNK).ok()?;
            passes::advise_huge_pages(array);
        }
        for chunk in 1..=chunks {
            if chunk > 1 && Instant::now() >= until {
                break;
            }
            share.arrays().into_iter().for_each(|array| array.resize(chunk * CHUNK, 1.0));
        }
        Some(share)
    }

    fn arrays(&mut self) -> [&mut Vec<f64>; 3] {
        [&mut self.a, &mut self.b, &mut self.c]
    }

    /// The next chunk of each array, after the last the first again.
    fn next(&mut self) -> (&mut [f64], &[f64], &[f64]) {
        let (from, to) = self.advance();
        (&mut self.a[from..to], &self.b[from..to], &self.c[from..to])
    }

    /// The next chunk of one array, after its last the first of the next one: a cache may well hold one of them, and shall not hold all.
    fn next_of_one(&mut self) -> &[f64] {
        let array = self.rounds % 3;
        let (from, to) = self.advance();
        &self.arrays()[array][from..to]
    }

    /// Where the chunk is that is next; then the one after it is.
    fn advance(&mut self) -> (usize, usize) {
        let from = self.at;
        let to = from + CHUNK;
        let last = to + CHUNK > self.a.len();
        (self.at, self.rounds) =
            if last { (0, self.rounds.wrapping_add(1)) } else { (to, self.rounds) };
        (from, to)
    }
}

/// What is done with a chunk, and how many of its bytes that counts for.
#[derive(Clone, Copy)]
enum Pass {
    Read,
    Triad,
    Copy,
}

impl Pass {
    fn bytes(self) -> u64 {
        match self {
            Pass::Read | Pass::Copy => CHUNK_BYTES,
            Pass::Triad => 3 * CHUNK_BYTES,
        }
    }

    fn over(self, share: &mut Share) {
        match self {
            Pass::Read => passes::read(share.next_of_one()),
            Pass::Triad => {
                let (a, b, c) = share.next();
                passes::triad(a, b, c);
            }
            Pass::Copy => {
                let (a, b, _) = share.next();
                a.copy_from_slice(b);
            }
        }
    }
}

/// The memory that is measured, a part for each thread.
pub(super) struct Arrays {
    shares: Vec<Mutex<Share>>,
    /// A cache may hold so much of them that it shows.
    small: bool,
}

impl Arrays {
    /// `None` if the system does not give what the limits allow.
    pub fn new(limits: &Limits, until: Instant) -> Option<Self> {
        let threads = limits.threads.max(1);
        let wanted = limits.cache.saturating_mul(3).clamp(LEAST, MOST).min(limits.memory);
        let chunks = wanted / CHUNK_BYTES / 3 / u64::from(threads);
        if chunks == 0 || !passes::TELL_OF_THE_MACHINE {
            return None;
        }
        let shares = each(threads, |_| Share::new(chunks as usize, until))?;
        let numbers: usize = shares.iter().map(|share| share.a.len() * 3).sum();
        let small = ((numbers * size_of::<f64>()) as u64) < limits.cache.saturating_mul(2);
        Some(Arrays { shares: shares.into_iter().map(Mutex::new).collect(), small })
    }

    pub fn measure(&self, rates: &mut Rates, until: &dyn Fn(u32) -> Instant) {
        for (pass, end, one) in [
            (Pass::Read, 66, &mut rates.read),
            (Pass::Triad, 72, &mut rates.triad),
            (Pass::Copy, 78, &mut rates.copy),
        ] {
            *one = self.one(pass, until(end)).unwrap_or(*one);
        }
        for (pass, end, one, all) in [
            (Pass::Read, 85, rates.read, &mut rates.read_all),
            (Pass::Triad, 93, rates.triad, &mut rates.triad_all),
            (Pass::Copy, 100, rates.copy, &mut rates.copy_all),
        ] {
            // Many reach what one reaches, and more than that all together only if they were seen to.
            let seen = self.all(pass, until(end)).unwrap_or(one);
            *all = if seen.per_second < one.per_second { one } else { seen };
        }
    }

    /// By one thread, through all arrays.
    fn one(&self, pass: Pass, until: Instant) -> Option<Rate> {
        let mut turn = self.shares.iter().cycle();
        let slice = || {
            if let Some(share) = turn.next() {
                pass.over(&mut share.lock());
            }
        };
        repeat(until, pass.bytes(), slice).map(|rate| self.judged(rate))
    }

    /// By all threads, each through its own arrays. So much at a time that beginning together takes no part of it.
    fn all(&self, pass: Pass, until: Instant) -> Option<Rate> {
        const CHUNKS: u64 = 4;
        let threads = self.shares.len() as u32;
        let together = Together::new(threads);
        let work = pass.bytes().saturating_mul(CHUNKS).saturating_mul(threads.into());
        let measured = each(threads, |number| {
            let mut share = self.shares[number as usize].lock();
            let mut slices = Slices::default();
            let slice = || (0..CHUNKS).for_each(|_| pass.over(&mut share));
            together.run(until, slice, |took| slices.add(work, took));
            Some(slices)
        })?;
        let mut slices = Slices::default();
        measured.into_iter().for_each(|part| slices.join(part));
        slices.rate().map(|rate| self.judged(rate))
    }

    fn judged(&self, rate: Rate) -> Rate {
        match self.small {
            // The best of them were those that a cache served.
            true => Rate { source: Source::Rough, per_second: rate.usual, ..rate },
            false => rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn reading_goes_through_all_arrays_before_it_comes_back() {
        const CHUNKS: usize = 4;
        let mut share = Share::new(CHUNKS, Instant::now() + Duration::from_secs(3600)).unwrap();
        let mut round = || -> HashSet<usize> {
            (0..3 * CHUNKS).map(|_| share.next_of_one().as_ptr() as usize).collect()
        };
        let first = round();
        assert_eq!(first.len(), 3 * CHUNKS, "some chunk was read twice");
        assert_eq!(round(), first);
    }
}
