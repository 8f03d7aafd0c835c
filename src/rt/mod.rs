//! The runtime layer: clocks, locks, threads, parking and random numbers.
//!
//! A home reads the time, blocks or draws a random number only through this module. `real` asks the
//! machine. With `--cfg ternlease_sim` the simulator takes its place (`simulated`), so that a run
//! depends on its seed alone. Atomics, and the parts that loom models, are in [`atomic`].

pub(crate) mod atomic;
mod real;
#[cfg(ternlease_sim)]
pub mod simulated;
pub(crate) mod thread;

#[cfg(not(ternlease_sim))]
pub(crate) use real::*;
#[cfg(ternlease_sim)]
pub(crate) use simulated::*;
