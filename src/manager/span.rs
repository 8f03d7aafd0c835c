//! [`Span`]: a length of time as callers give it.

use std::time::Duration;

use super::LeaseManager;
use crate::home::Home;
use crate::home::clock::Clock;
use crate::table::{Error, FOREVER, Time};

/// A length of time: a number of ticks for a manager that counts ticks, a duration for any other.
///
/// Methods take `impl Into<Span>`, so a [`Duration`] or a number will do. The wrong one for the
/// clock is [`Error::WrongClock`].
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

impl Span {
    #[inline(always)]
    fn measure(self, clock: &Clock) -> Result<Time, Error> {
        match (self, clock.is_real()) {
            (Span::Units(units), _) => Ok(units),
            (Span::Ticks(ticks), false) => Ok(ticks),
            (Span::Real(duration), true) => {
                let micros = duration.as_nanos().div_ceil(1000);
                Time::try_from(micros).map_err(|_| Error::TimeTooLarge)
            }
            (Span::Forever, _) => Ok(FOREVER),
            (Span::Zero, _) => Ok(0),
            _ => Err(Error::WrongClock),
        }
    }
}

impl LeaseManager {
    /// The span in the unit of this manager's clock.
    #[inline(always)]
    pub(crate) fn measure(&self, span: impl Into<Span>) -> Result<Time, Error> {
        span.into().measure(self.home().clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_of_other_clock_is_wrong_clock() {
        let ticks = Clock::Ticks(7.into());
        assert_eq!(Span::from(5).measure(&ticks), Ok(5));
        assert_eq!(Span::from(Duration::from_secs(1)).measure(&ticks), Err(Error::WrongClock));
        assert_eq!(Span::from(5).measure(&Clock::Real), Err(Error::WrongClock));
        assert_eq!(Span::from(Duration::from_nanos(1001)).measure(&Clock::Real), Ok(2));
        assert_eq!(Span::from(Duration::MAX).measure(&Clock::Real), Err(Error::TimeTooLarge));
        assert_eq!(Span::Forever.measure(&Clock::Real), Ok(FOREVER));
    }
}
