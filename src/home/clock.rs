//! The two clocks: real time that goes on while the machine sleeps, and ticks that a program counts itself.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::rt;
use crate::table::Time;

/// What a home takes for the time.
#[derive(Debug)]
pub(crate) enum Clock {
    /// Counted by `tick()`.
    Ticks(AtomicU64),
    /// Microseconds since the machine started, sleep included.
    Real,
    /// Microseconds that many machines count together: so many more than this one's own.
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

    /// One that shows the time that `now` tells.
    #[cfg(feature = "cluster")]
    pub fn shared(now: impl Fn() -> Time) -> Clock {
        // Whoever is interrupted between two clocks would stay behind all others: hardly ever twice.
        let ahead = (0..3).map(|_| now() as i64 - rt::since_boot() as i64);
        Clock::Shared(ahead.max().unwrap_or(0).into())
    }

    /// Somebody has seen this time: it does not go back behind it. What others say is never later than it is: so whoever's clock is
    /// ahead is followed, and nobody's runs faster than a clock does. By how much that moved it.
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
    fn ticks_now_is_count() {
        assert_eq!(Clock::Ticks(AtomicU64::new(7)).now(), 7);
    }

    #[test]
    fn real_time_does_not_go_back() {
        let first = Clock::Real.now();
        assert!(Clock::Real.now() >= first);
    }
}
