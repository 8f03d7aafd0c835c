//! [`FnCost`]: what a computation needs, in four whole numbers.

use std::ops::Add;

use super::task::{Kind, Task};

/// What a computation needs. The same on every machine, in every build and in every language, so that it may be part of a cache key.
///
/// Each number is exact up to `u64::MAX`, which means "this much or more": nothing wraps around, and nothing panics.
///
/// ```
/// use ternlease::FnCost;
///
/// const SORT: FnCost = FnCost::sort(1_000_000, 64, 64_000_000);
/// assert_eq!(SORT.flops, 200_000_000);
/// let load_and_sort = FnCost::copy(64_000_000) + SORT;
/// assert_eq!(load_and_sort.mem_bytes, 64_000_000 + SORT.mem_bytes);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FnCost {
    /// Operations, of whatever sort the computation is made of.
    pub flops: u64,
    /// Bytes that go to and from memory.
    pub mem_bytes: u64,
    /// Bytes of memory in use at one time, at most.
    pub peak_mem: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
}

impl FnCost {
    /// What costs nothing and has no result. To begin a sum with.
    pub const ZERO: FnCost = FnCost::new(0, 0, 0, 0);

    /// These four. For a sort of computation that none of the others describes.
    pub const fn new(flops: u64, mem_bytes: u64, peak_mem: u64, result_bytes: u64) -> Self {
        FnCost { flops, mem_bytes, peak_mem, result_bytes }
    }

    /// Reading `bytes` once, from end to end. A result of so many bytes comes out of it: a sum, or the matches of a search.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let sum = FnCost::scan(1_000_000, 8);
    /// assert_eq!((sum.flops, sum.mem_bytes, sum.peak_mem), (125_000, 1_000_000, 1_000_000));
    /// ```
    pub const fn scan(bytes: u64, result_bytes: u64) -> Self {
        Self::new(bytes / 8, bytes, bytes, result_bytes)
    }

    /// Sorting so many items by comparison. The work grows with their number times its logarithm.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let sort = FnCost::sort(1000, 8, 8000);
    /// assert_eq!(sort.flops, 10 * 1000 * 10); // ten rounds, ten operations each
    /// assert_eq!(sort.peak_mem, 8000);
    /// ```
    pub const fn sort(items: u64, item_bytes: u64, result_bytes: u64) -> Self {
        let rounds = rounds(items);
        let size = items.saturating_mul(item_bytes);
        let compared = items.saturating_mul(rounds).saturating_mul(10);
        Self::new(compared, size.saturating_mul(rounds), size, result_bytes)
    }

    /// Hashing `bytes` into 32. It needs little memory, however much there is to hash.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let hash = FnCost::hash(1_000_000);
    /// assert_eq!((hash.flops, hash.peak_mem, hash.result_bytes), (2_000_000, 4096, 32));
    /// ```
    pub const fn hash(bytes: u64) -> Self {
        Self::new(bytes.saturating_mul(2), bytes, 4096, 32)
    }

    /// Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers. The result is given apart, as it may be more or less than the product:
    /// its trace, for example.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let product = FnCost::matmul(100, 200, 300, 100 * 200 * 8);
    /// assert_eq!(product.flops, 2 * 100 * 200 * 300);
    /// ```
    pub const fn matmul(m: u64, n: u64, k: u64, result_bytes: u64) -> Self {
        let flops = m.saturating_mul(n).saturating_mul(k).saturating_mul(2);
        let cells = m.saturating_mul(k).saturating_add(k.saturating_mul(n));
        let bytes = cells.saturating_add(m.saturating_mul(n)).saturating_mul(8);
        Self::new(flops, bytes, bytes, result_bytes)
    }

    /// Reading so many rows, doing so many operations with each, and writing them. All rows count as in memory at one time.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let rows = FnCost::etl(1000, 256, 100, 8);
    /// assert_eq!((rows.flops, rows.mem_bytes), (100_000, 2 * 256_000));
    /// ```
    pub const fn etl(rows: u64, row_bytes: u64, ops_per_row: u64, result_bytes: u64) -> Self {
        let size = rows.saturating_mul(row_bytes);
        Self::new(rows.saturating_mul(ops_per_row), size.saturating_mul(2), size, result_bytes)
    }

    /// Copying `bytes`. No operation and no memory beside them: what it takes is the way to and from memory.
    pub const fn copy(bytes: u64) -> Self {
        Self::new(0, bytes, 0, bytes)
    }

    /// This, then the next one, whose result it is. Also written `+`. Work adds up; of memory the larger counts.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let both = FnCost::scan(1000, 8).then(FnCost::hash(8));
    /// assert_eq!(both, FnCost::scan(1000, 8) + FnCost::hash(8));
    /// assert_eq!((both.peak_mem, both.result_bytes), (4096, 32));
    /// ```
    pub const fn then(self, next: FnCost) -> Self {
        FnCost {
            flops: self.flops.saturating_add(next.flops),
            mem_bytes: self.mem_bytes.saturating_add(next.mem_bytes),
            peak_mem: larger(self.peak_mem, next.peak_mem),
            result_bytes: next.result_bytes,
        }
    }

    /// This beside another, each on processors of its own. The longer of both counts; memory and results add up.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let both = FnCost::scan(1000, 8).par(FnCost::scan(4000, 8));
    /// assert_eq!((both.mem_bytes, both.peak_mem, both.result_bytes), (4000, 5000, 16));
    /// ```
    pub const fn par(self, other: FnCost) -> Self {
        FnCost {
            flops: larger(self.flops, other.flops),
            mem_bytes: larger(self.mem_bytes, other.mem_bytes),
            peak_mem: self.peak_mem.saturating_add(other.peak_mem),
            result_bytes: self.result_bytes.saturating_add(other.result_bytes),
        }
    }

    /// This beside another on the same processors: everything adds up. Nothing is gained by it but that both are done.
    pub const fn both(self, other: FnCost) -> Self {
        FnCost {
            flops: self.flops.saturating_add(other.flops),
            mem_bytes: self.mem_bytes.saturating_add(other.mem_bytes),
            peak_mem: self.peak_mem.saturating_add(other.peak_mem),
            result_bytes: self.result_bytes.saturating_add(other.result_bytes),
        }
    }

    /// This so many times, one after the other, of which the last result counts. Zero times is no work, and still the memory and the result.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let ten = FnCost::hash(1000).repeat(10);
    /// assert_eq!((ten.flops, ten.result_bytes), (20_000, 32));
    /// ```
    pub const fn repeat(self, times: u64) -> Self {
        FnCost {
            flops: self.flops.saturating_mul(times),
            mem_bytes: self.mem_bytes.saturating_mul(times),
            ..self
        }
    }

    /// Operations per byte that goes to or from memory; infinite if none does. Above [`MachCap::ridge_point`](super::MachCap::ridge_point)
    /// arithmetic is what takes the time, below it memory.
    pub fn intensity(&self) -> f64 {
        match self.mem_bytes {
            0 => f64::INFINITY,
            bytes => self.flops as f64 / bytes as f64,
        }
    }

    /// The cost with what sort of work it is, which a prediction needs and a cache key does not. Without it predictions are rough.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind};
    ///
    /// let task = FnCost::hash(1000).kind(Kind::Hash).threads(2);
    /// assert_eq!(task.cost, FnCost::hash(1000));
    /// ```
    pub const fn kind(self, kind: Kind) -> Task {
        Task::new(self).kind(kind)
    }

    /// The four numbers, each little-endian, to be hashed into a key. The same on every machine and in every language.
    ///
    /// ```
    /// use ternlease::FnCost;
    ///
    /// let bytes = FnCost::new(1, 2, 3, 4).to_bytes();
    /// assert_eq!((bytes[0], bytes[8], bytes[16], bytes[24]), (1, 2, 3, 4));
    /// ```
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let fields = [self.flops, self.mem_bytes, self.peak_mem, self.result_bytes];
        for (to, field) in bytes.chunks_exact_mut(8).zip(fields) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }
}

impl Add for FnCost {
    type Output = FnCost;

    fn add(self, next: FnCost) -> FnCost {
        self.then(next)
    }
}

const fn larger(a: u64, b: u64) -> u64 {
    if a > b { a } else { b }
}

/// How often a sort goes over its items: the logarithm to base 2, rounded up, and at least once.
const fn rounds(items: u64) -> u64 {
    match items {
        0 | 1 => 1,
        items => (u64::BITS - (items - 1).leading_zeros()) as u64,
    }
}
