//! Lengths of time as whole nanoseconds: the same bits in every build and language, and never a NaN.

/// What never ends.
pub const NEVER: u64 = u64::MAX;

/// How long `work` takes at `rate` per second, in nanoseconds, rounded up. [`NEVER`] if the work has no end (it is `u64::MAX`), nothing does it, or it
/// takes longer than can be said.
///
/// ```
/// use ternlease::cost::{NEVER, nanoseconds};
///
/// assert_eq!(nanoseconds(2_000_000_000, 178_740_000_000), 11_189_438);
/// assert_eq!(nanoseconds(0, 0), 0);
/// assert_eq!(nanoseconds(1, 0), NEVER);
/// ```
pub const fn nanoseconds(work: u64, rate: u64) -> u64 {
    match (work, rate) {
        (0, _) => 0,
        (u64::MAX, _) | (_, 0) => NEVER,
        // At most 2^64 times 10^9, which is less than 2^94.
        _ => narrow((work as u128 * 1_000_000_000).div_ceil(rate as u128)),
    }
}

/// A thousandth of `permille` times a length of time; what never ends does not end sooner.
pub(super) const fn scaled(nanoseconds: u64, permille: u64) -> u64 {
    match nanoseconds {
        NEVER => NEVER,
        finite => narrow(finite as u128 * permille as u128 / 1000),
    }
}

pub(super) const fn narrow(wide: u128) -> u64 {
    if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 }
}

/// The rate of as much work at the one rate as at the other: times add up, rates do not.
pub(super) const fn mean_rate(a: u64, b: u64) -> u64 {
    let (a, b) = (a as u128, b as u128);
    // Both are less than 2^64, their product less than 2^128.
    match (a + b).div_ceil(2) {
        0 => 0,
        half => narrow(a * b / half),
    }
}

/// A length of time in nanoseconds, as far as it is known: most likely `mid`, and rarely outside `lo` and `hi`.
///
/// ```
/// use ternlease::cost::Estimate;
///
/// let rough = Estimate::around(1000, 2000); // up to twice as long, or half
/// assert_eq!(rough, Estimate { lo: 500, mid: 1000, hi: 2000 });
/// let with_start = Estimate::exactly(50).then(rough);
/// assert_eq!((with_start.mid, with_start.hi), (1050, 2050));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Estimate {
    /// If all goes well.
    pub lo: u64,
    /// Most likely.
    pub mid: u64,
    /// If it does not.
    pub hi: u64,
}

impl Estimate {
    /// No time at all.
    pub const ZERO: Estimate = Estimate { lo: 0, mid: 0, hi: 0 };

    /// Around a length of time, up to so many thousandths of it, and down to as small a part.
    pub const fn around(mid: u64, permille: u32) -> Self {
        let permille = if permille < 1000 { 1000 } else { permille };
        let lo = match mid {
            NEVER => NEVER,
            finite => narrow(finite as u128 * 1000 / permille as u128),
        };
        Estimate { lo, mid, hi: scaled(mid, permille as u64) }
    }

    /// A length of time that is exact.
    pub const fn exactly(nanoseconds: u64) -> Self {
        Estimate { lo: nanoseconds, mid: nanoseconds, hi: nanoseconds }
    }

    /// This, and then the other. What never ends does not end sooner by that.
    pub const fn then(self, other: Estimate) -> Self {
        Estimate {
            lo: self.lo.saturating_add(other.lo),
            mid: self.mid.saturating_add(other.mid),
            hi: self.hi.saturating_add(other.hi),
        }
    }

    /// Whichever of the two takes longer.
    pub fn longer(self, other: Estimate) -> Self {
        Estimate {
            lo: self.lo.max(other.lo),
            mid: self.mid.max(other.mid),
            hi: self.hi.max(other.hi),
        }
    }

    /// The most likely length in seconds. Infinite if it never ends, and never a NaN.
    pub fn seconds(self) -> f64 {
        seconds(self.mid)
    }
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    match nanoseconds {
        NEVER => f64::INFINITY,
        finite => finite as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_and_clamped() {
        const MAX: u64 = u64::MAX;
        for (work, rate, expected) in [
            (0, 0, 0),
            (1, 0, MAX),
            (1, 1_000_000_000, 1),
            (1, 1_000_000_001, 1),
            (2_000_000_000, 178_740_000_000, 11_189_438),
            (MAX, 1, MAX),
            (MAX, MAX, MAX),
            (MAX - 1, MAX, 1_000_000_000),
            (MAX - 1, 1_000_000_000, MAX - 1),
            (MAX - 1, 999_999_999, MAX),
            (18_446_744_073, 1, 18_446_744_073_000_000_000),
            (18_446_744_074, 1, MAX),
        ] {
            assert_eq!(nanoseconds(work, rate), expected, "{work} at {rate} per second");
        }
    }

    #[test]
    fn the_mean_of_rates_is_nearer_to_the_slower() {
        assert_eq!(mean_rate(10, 30), 15);
        assert_eq!((mean_rate(0, 0), mean_rate(0, 7)), (0, 0));
        assert_eq!(mean_rate(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn an_estimate_lies_between_its_ends() {
        for mid in [0, 1, 999, 1_000_000, NEVER - 1, NEVER] {
            for permille in [0, 1000, 1141, 2000, u32::MAX] {
                let estimate = Estimate::around(mid, permille);
                assert!(estimate.lo <= mid && mid <= estimate.hi, "{estimate:?}");
            }
        }
        assert_eq!(Estimate::around(NEVER, 1141), Estimate::exactly(NEVER));
        assert_eq!(Estimate::exactly(NEVER).seconds(), f64::INFINITY);
    }
}
