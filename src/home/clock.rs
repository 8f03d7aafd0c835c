//! The clocks of homes: real time, and ticks that a program counts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::rt;
use crate::table::Time;

#[derive(Debug)]
pub(crate) enum Clock {
    /// Counted by `tick()`.
    Ticks(AtomicU64),
    /// Microseconds since the machine started, sleep included.
    Real,
    /// Microseconds that many machines count together: `since_boot` plus this offset.
    #[cfg(feature = "cluster")]
    Shared(std::sync::atomic::AtomicI64),
}

impl Clock {
    #[inline(always)]
    pub fn now(&self) -> Time {
        match self {
            Clock::Ticks(count) => count.load(Ordering::Acquire),
            Clock::Real => rt::since_boot(),
            #[cfg(feature = "cluster")]
            Clock::Shared(ahead) => {
                rt::since_boot().saturating_add_signed(ahead.load(Ordering::Acquire))
            }
        }
    }

    /// A clock that agrees with `now`.
    #[cfg(feature = "cluster")]
    pub fn shared(now: impl Fn() -> Time) -> Clock {
        // An interruption between the two reads makes the offset too small: the largest of three
        // counts.
        let ahead = (0..3).map(|_| now() as i64 - rt::since_boot() as i64);
        Clock::Shared(ahead.max().unwrap_or(0).into())
    }

    /// Another machine has reported this time: the clock does not stay behind it. No machine
    /// reports a time later than its own clock, so the clock follows the fastest one and runs no
    /// faster. Returns by how much the clock moved.
    #[cfg(feature = "cluster")]
    pub fn at_least(&self, time: Time) -> Time {
        let Clock::Shared(ahead) = self else { return 0 };
        let needed = time as i64 - rt::since_boot() as i64;
        let before = ahead.fetch_max(needed, Ordering::AcqRel);
        Time::try_from(needed - before).unwrap_or(0)
    }

    #[inline(always)]
    pub fn is_real(&self) -> bool {
        !matches!(self, Clock::Ticks(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_of_ticks_shows_their_count() {
        assert_eq!(Clock::Ticks(AtomicU64::new(7)).now(), 7);
    }

    #[test]
    fn real_clock_read_again_is_not_earlier() {
        let first = Clock::Real.now();
        assert!(Clock::Real.now() >= first);
    }
}
