//! Cost: what a computation needs.
//!
//! A cost is four numbers and nothing else: an identity, which is the same on every machine, in every language and in every version, and
//! so may be part of the key of a cache. It therefore has no struct_size, is exactly 32 bytes long, and is passed by value; a cost of
//! one's own making is an initializer. The functions here only calculate: they need no handle, cannot fail, and may be called from anywhere.
//! No number wraps around: UINT64_MAX means "this much or more".
//!
//!     tern_cost_t load = tern_cost_copy(64000000);
//!     tern_cost_t sort = tern_cost_sort(1000000, 64, 64000000);
//!     tern_cost_t both = tern_cost_then(load, sort);
//!     tern_cost_t own = { .flops = 2000, .mem_bytes = 800, .peak_mem = 400, .result_bytes = 8 };
//!     both = tern_cost_then(both, tern_cost_repeat(own, 1000));

use crate::FnCost;
use crate::cost::{Estimate, NEVER, nanoseconds};

/// What a computation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct tern_cost_t {
    /// Operations, of whatever sort the computation is made of.
    pub flops: u64,
    /// Bytes that go to and from memory.
    pub mem_bytes: u64,
    /// Bytes of memory in use at one time, at most.
    pub peak_mem: u64,
    /// Bytes of the result.
    pub result_bytes: u64,
}

/// A length of time in nanoseconds, as far as it is known: most likely `mid`, and rarely outside `lo` and `hi`. What cannot be done, or
/// never ends, has TERN_NEVER in all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct tern_estimate_t {
    /// If all goes well.
    pub lo: u64,
    /// Most likely.
    pub mid: u64,
    /// If it does not.
    pub hi: u64,
}

impl From<FnCost> for tern_cost_t {
    fn from(cost: FnCost) -> Self {
        let FnCost { flops, mem_bytes, peak_mem, result_bytes } = cost;
        tern_cost_t { flops, mem_bytes, peak_mem, result_bytes }
    }
}

impl From<tern_cost_t> for FnCost {
    fn from(cost: tern_cost_t) -> Self {
        FnCost::new(cost.flops, cost.mem_bytes, cost.peak_mem, cost.result_bytes)
    }
}

impl From<Estimate> for tern_estimate_t {
    fn from(estimate: Estimate) -> Self {
        let Estimate { lo, mid, hi } = estimate;
        tern_estimate_t { lo, mid, hi }
    }
}

/// A time that there may not be.
pub(super) fn estimate(time: Option<Estimate>) -> tern_estimate_t {
    time.unwrap_or(Estimate::exactly(NEVER)).into()
}

/// Reading `bytes` once, from end to end.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_scan(bytes: u64, result_bytes: u64) -> tern_cost_t {
    FnCost::scan(bytes, result_bytes).into()
}

/// Sorting so many items by comparison.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_sort(items: u64, item_bytes: u64, result_bytes: u64) -> tern_cost_t {
    FnCost::sort(items, item_bytes, result_bytes).into()
}

/// Hashing `bytes` into 32.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_hash(bytes: u64) -> tern_cost_t {
    FnCost::hash(bytes).into()
}

/// Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_matmul(m: u64, n: u64, k: u64, result_bytes: u64) -> tern_cost_t {
    FnCost::matmul(m, n, k, result_bytes).into()
}

/// Reading so many rows, doing so many operations with each, and writing them.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_etl(
    rows: u64,
    row_bytes: u64,
    ops_per_row: u64,
    result_bytes: u64,
) -> tern_cost_t {
    FnCost::etl(rows, row_bytes, ops_per_row, result_bytes).into()
}

/// Copying `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_copy(bytes: u64) -> tern_cost_t {
    FnCost::copy(bytes).into()
}

/// The first, then the next one, whose result it is.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_then(first: tern_cost_t, next: tern_cost_t) -> tern_cost_t {
    FnCost::from(first).then(next.into()).into()
}

/// One beside another, each on processors of its own.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_par(one: tern_cost_t, other: tern_cost_t) -> tern_cost_t {
    FnCost::from(one).par(other.into()).into()
}

/// One beside another on the same processors: everything adds up.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_both(one: tern_cost_t, other: tern_cost_t) -> tern_cost_t {
    FnCost::from(one).both(other.into()).into()
}

/// The same so many times, one after the other, of which the last result counts.
#[unsafe(no_mangle)]
pub extern "C" fn tern_cost_repeat(cost: tern_cost_t, times: u64) -> tern_cost_t {
    FnCost::from(cost).repeat(times).into()
}

/// How long `work` takes at `rate` per second, in nanoseconds, rounded up. TERN_NEVER if the work has no end (it is UINT64_MAX), nothing does
/// it, or it takes longer than can be said.
#[unsafe(no_mangle)]
pub extern "C" fn tern_nanoseconds(work: u64, rate: u64) -> u64 {
    nanoseconds(work, rate)
}
