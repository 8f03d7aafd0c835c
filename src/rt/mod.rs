//! The runtime layer: clocks, locks, threads, parking and random numbers.
//!
//! A home reads the time, blocks or draws a random number only through this module. So the simulator
//! can replace it (`sim`), and a run depends on its seed alone. Atomics and the parts that loom
//! models are in [`atomic`].

pub(crate) mod atomic;
#[cfg(not(all(test, feature = "cluster", unix)))]
mod real;
#[cfg(all(test, feature = "cluster", unix))]
pub(crate) mod real;
pub(crate) mod thread;

#[cfg(all(test, feature = "cluster", unix))]
pub(crate) use crate::home::simulation::world::*;

#[cfg(not(all(test, feature = "cluster", unix)))]
pub(crate) use real::*;
