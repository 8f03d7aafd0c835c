//! The two clocks: real time that goes on while the machine sleeps, and ticks that a program counts itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::rt;
use crate::table::{Error, FOREVER, Time};

/// A length of time as people give it: a number of ticks for a manager that counts ticks, a duration for any other.
///
/// Methods take `impl Into<Span>`, so a [`Duration`] or a number will do. The wrong one for the clock is [`Error::WrongClock`].
///
/// ```
/// use std::time::Duration;
/// use ternlease::{LeaseManager, Options, Span};
///
/// assert_eq!(Span::from(5), Span::Ticks(5));
/// assert_eq!(Span::from(Duration::ZERO), Span::Real(Duration::ZERO));
///
/// // Fits every clock:
/// let manager = LeaseManager::with(Options::ticks());
/// manager.acquire("gpu0", "trainer", Span::Forever)?;
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// So many ticks.
    Ticks(u64),
    /// So many units of the manager's own clock, whichever it is: ticks or microseconds.
    Units(u64),
    /// So much real time; a fraction of a microsecond counts as a whole one.
    Real(Duration),
    /// Without end, by any clock.
    Forever,
    /// Nothing, by any clock.
    Zero,
}

impl From<u64> for Span {
    fn from(ticks: u64) -> Self {
        Span::Ticks(ticks)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Span::Real(duration)
    }
}

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

    /// The span in this clock's unit.
    #[inline(always)]
    pub fn measure(&self, span: Span) -> Result<Time, Error> {
        match (span, self) {
            (Span::Units(units), _) => Ok(units),
            (Span::Ticks(ticks), Clock::Ticks(_)) => Ok(ticks),
            (Span::Real(duration), clock) if clock.is_real() => {
                let micros = duration.as_nanos().div_ceil(1000);
                Time::try_from(micros).map_err(|_| Error::TimeTooLarge)
            }
            (Span::Forever, _) => Ok(FOREVER),
            (Span::Zero, _) => Ok(0),
            _ => Err(Error::WrongClock),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_measured_by_the_right_clock_only() {
        let ticks = Clock::Ticks(AtomicU64::new(7));
        assert_eq!(ticks.now(), 7);
        assert_eq!(ticks.measure(5.into()), Ok(5));
        assert_eq!(ticks.measure(Duration::from_secs(1).into()), Err(Error::WrongClock));
        assert_eq!(Clock::Real.measure(5.into()), Err(Error::WrongClock));
        assert_eq!(Clock::Real.measure(Duration::from_nanos(1001).into()), Ok(2));
        assert_eq!(Clock::Real.measure(Duration::MAX.into()), Err(Error::TimeTooLarge));
        assert_eq!(Clock::Real.measure(Span::Forever), Ok(FOREVER));
    }

    #[test]
    fn real_time_does_not_go_back() {
        let first = Clock::Real.now();
        assert!(Clock::Real.now() >= first);
    }
}
