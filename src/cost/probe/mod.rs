//! Measures how fast this machine is, within a time that is set beforehand.
//!
//! Each step does its work in slices that are shorter than what a scheduler gives a thread at once, and many of them: one that was
//! interrupted is one of many. What the machine can do is what one of ten slices reached.

mod class;
mod estimate;
mod fma;
mod memory;
mod passes;
mod slices;
mod team;

use std::time::{Duration, Instant};

use super::rates::Rates;
use class::class_rates;
pub(super) use estimate::{estimated, example};
use memory::Arrays;

/// What is measured, and how much of it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being measured now, in words.
    pub step: &'static str,
    /// How many steps are done.
    pub done: u32,
    /// How many there are.
    pub of: u32,
}

/// What a probe may use.
pub(super) struct Limits {
    /// When the time begins, and how long it is.
    pub begun: Instant,
    pub budget: Duration,
    /// On how many threads.
    pub threads: u32,
    /// How many bytes of memory.
    pub memory: u64,
    /// The largest cache of the processor.
    pub cache: u64,
    pub mhz: u32,
}

const STEPS: u32 = 5;

/// The whole is divided into so many parts; steps below say how many of them they get.
const PARTS: u32 = 100;

/// Measures all rates. What there is no time for is estimated.
pub(super) fn measure(limits: &Limits, progress: &mut dyn FnMut(Progress)) -> Rates {
    // The end of a step, counted from the beginning: what one leaves over, the next has.
    let until = |parts: u32| limits.begun + limits.budget * parts / PARTS;
    let mut done = 0;
    let mut tell = |step| {
        progress(Progress { step, done, of: STEPS });
        done += 1;
    };
    let mut rates = estimated(limits.threads, limits.mhz);
    tell("arithmetic");
    rates.flop64 = fma::one(fma::Width::Eight, until(4)).unwrap_or(rates.flop64);
    rates.flop32 = fma::one(fma::Width::Four, until(7)).unwrap_or(rates.flop32);
    tell("arithmetic, all cores");
    rates.flop64_all = fma::all(limits.threads, until(11)).unwrap_or(rates.flop64_all);
    tell("sorting, hashing, reading text");
    class_rates(&mut rates, &until);
    tell("memory");
    if let Some(arrays) = Arrays::new(limits, until(58)) {
        arrays.measure(&mut rates, &until);
    }
    tell("done");
    rates
}
