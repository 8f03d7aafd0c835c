//! The runtime layer: clocks, locks, threads, parking and random numbers.
//!
//! A home reads the time, blocks or draws a random number only through this module. `real` asks the
//! machine. With `--cfg ternlease_sim` the simulator takes its place (`simulated`), so that a run
//! depends on its seed alone. With `--cfg loom` the code that has a loom model takes threads and
//! locks from `loom`, and all code its atomics.

pub(crate) mod atomic;
#[cfg(loom)]
pub(crate) mod loom;
mod real;
#[cfg(ternlease_sim)]
pub mod simulated;
pub(crate) mod thread;

#[cfg(not(ternlease_sim))]
pub(crate) use real::*;
#[cfg(ternlease_sim)]
pub(crate) use simulated::*;
