//! A simulated machine: its state and its clocks.

use std::time::Duration;

use super::machine::TrueTime;

pub(super) struct Node {
    pub alive: bool,
    pub paused_until: TrueTime,
    /// How many microseconds its clock counts in a true second.
    rate: u64,
    boot: u64,
    /// By how many microseconds its wall clock is ahead.
    offset: i64,
}

impl Node {
    pub fn new(rate: u64, boot: u64, offset: i64) -> Node {
        Node { alive: true, paused_until: 0, rate, boot, offset }
    }

    /// Its clock, in microseconds.
    pub fn clock(&self, now: TrueTime) -> u64 {
        self.boot + (u128::from(now) * u128::from(self.rate) / 1_000_000) as u64
    }

    /// Its wall clock, in microseconds since 1970.
    pub fn wall_clock(&self, now: TrueTime) -> u64 {
        (1_700_000_000_000_000 + now).saturating_add_signed(self.offset)
    }

    /// Sets its wall clock forward, or back if `by` is negative, by so many microseconds.
    pub fn shift_wall_clock(&mut self, by: i64) {
        self.offset += by;
    }

    /// How much true time passes while its clock counts `time`; `None` if that does not fit.
    pub fn true_duration(&self, time: Duration) -> Option<u64> {
        let micros = (time.as_secs() < 1 << 32).then(|| time.as_nanos().div_ceil(1000))?;
        Some((micros * 1_000_000).div_ceil(u128::from(self.rate)) as u64)
    }
}
