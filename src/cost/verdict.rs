//! [`Verdict`]: compute a result here, or fetch it?

use std::fmt;

use super::json::object;
use super::rates::Bottleneck;
use super::time::Estimate;

/// What to do about a result that somebody else may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Fetch it: +1.
    Fetch,
    /// It makes no difference: 0.
    BreakEven,
    /// Compute it here: -1.
    Compute,
    /// Neither can be done here. Not a trit.
    Impossible,
}

/// Why something cannot be done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// It needs more memory than one computation may take here.
    Memory,
    /// It never ends.
    Endless,
    /// There is no network.
    Network,
    /// There is no room for the result.
    Disk,
    /// There is no device that the claim could get.
    NoDevice,
    /// It needs more memory than the devices of the claim have.
    DeviceMemory,
    /// The devices of the claim do not say how fast they are, or how much memory they have.
    DeviceSpeed,
}

impl Obstacle {
    /// In words, as in "must compute (…)".
    pub const fn words(self) -> &'static str {
        match self {
            Obstacle::Memory => "insufficient RAM",
            Obstacle::Endless => "computing never ends",
            Obstacle::Network => "no network",
            Obstacle::Disk => "insufficient disk",
            Obstacle::NoDevice => "no device",
            Obstacle::DeviceMemory => "insufficient device memory",
            Obstacle::DeviceSpeed => "unknown device",
        }
    }
}

/// Compute a result here or fetch it: the answer, and all that it rests on. Times are whole nanoseconds. [`MachCap::verdict`](super::MachCap::verdict)
/// gives it.
///
/// ```
/// use ternlease::{FnCost, Kind, MachCap};
///
/// let mut machine = MachCap::example();
/// let task = FnCost::sort(1_000_000, 64, 64_000_000).kind(Kind::Sort);
/// let verdict = machine.verdict(task);
/// assert_eq!((verdict.trit(), verdict.words().as_str()), (Some(-1), "compute"));
/// assert!(!verdict.decisive); // begin with both, and take what comes first
///
/// machine.route = None; // the network is gone
/// assert_eq!(machine.verdict(task).words(), "must compute (no network)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// What to do.
    pub answer: Answer,
    /// How long computing takes, or why it cannot be done.
    pub t_compute: Result<Estimate, Obstacle>,
    /// How long fetching takes with all that belongs to it: asking, two round trips, the bytes, and keeping the result.
    pub t_fetch: Result<Estimate, Obstacle>,
    /// How long keeping the result takes.
    pub t_store: Estimate,
    /// There is room to keep the result.
    pub can_store: bool,
    /// What computing would wait for.
    pub bottleneck: Bottleneck,
    /// The better way is better even if it goes badly and the other one well. Otherwise begin with both, and take what comes first.
    pub decisive: bool,
    /// How much the owner of such a machine would rather not compute on it, in thousandths: no part of any of the times.
    pub bias_permille: u32,
}

impl Verdict {
    /// +1 fetch, 0 break even, -1 compute; `None` if neither can be done.
    pub fn trit(&self) -> Option<i8> {
        match self.answer {
            Answer::Fetch => Some(1),
            Answer::BreakEven => Some(0),
            Answer::Compute => Some(-1),
            Answer::Impossible => None,
        }
    }

    /// Seconds that fetching saves; negative if it costs some. Infinite if only one of the two can be done; `None` if neither. Never a NaN.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let task = FnCost::hash(10_000_000_000).kind(Kind::Hash);
    /// let score = MachCap::example().verdict(task).score().unwrap();
    /// assert_eq!(format!("{score:.3}"), "6.663");
    /// ```
    pub fn score(&self) -> Option<f64> {
        match (self.t_compute, self.t_fetch) {
            (Err(_), Err(_)) => None,
            (Err(_), Ok(_)) => Some(f64::INFINITY),
            (Ok(_), Err(_)) => Some(f64::NEG_INFINITY),
            (Ok(compute), Ok(fetch)) => Some(difference(compute.mid, fetch.mid) as f64 / 1e9),
        }
    }

    /// As [`Self::score`], in whole nanoseconds. `i64::MAX` and `i64::MIN` stand for what is infinite, and for nothing else.
    pub fn score_ns(&self) -> Option<i64> {
        match (self.t_compute, self.t_fetch) {
            (Err(_), Err(_)) => None,
            (Err(_), Ok(_)) => Some(i64::MAX),
            (Ok(_), Err(_)) => Some(i64::MIN),
            (Ok(compute), Ok(fetch)) => Some(finite(difference(compute.mid, fetch.mid))),
        }
    }

    /// Can it be computed here?
    pub fn can_compute(&self) -> bool {
        self.t_compute.is_ok()
    }

    /// Can it be fetched?
    pub fn can_fetch(&self) -> bool {
        self.t_fetch.is_ok()
    }

    /// Is fetching better?
    pub fn should_fetch(&self) -> bool {
        self.answer == Answer::Fetch
    }

    /// Is computing as good or better?
    pub fn should_compute(&self) -> bool {
        matches!(self.answer, Answer::Compute | Answer::BreakEven)
    }

    /// The answer in words: "fetch", "compute", "break-even", "must fetch (insufficient RAM)", "must compute (no network)",
    /// "impossible (insufficient RAM, no network)".
    pub fn words(&self) -> String {
        match (self.answer, self.t_compute, self.t_fetch) {
            (_, Err(compute), Err(fetch)) => {
                format!("impossible ({}, {})", compute.words(), fetch.words())
            }
            (_, Err(obstacle), Ok(_)) => format!("must fetch ({})", obstacle.words()),
            (_, Ok(_), Err(obstacle)) => format!("must compute ({})", obstacle.words()),
            (Answer::Fetch, ..) => "fetch".to_owned(),
            (Answer::Compute, ..) => "compute".to_owned(),
            (Answer::BreakEven | Answer::Impossible, ..) => "break-even".to_owned(),
        }
    }

    /// As JSON. What cannot be done has no time, and a reason beside it.
    pub fn to_json(&self) -> String {
        object(|o| {
            o.text("answer", &self.words());
            o.optional("trit", self.trit());
            o.float("score", self.score().unwrap_or(f64::INFINITY));
            for (name, reason, time) in [
                ("t_compute", "why_not_compute", self.t_compute),
                ("t_fetch", "why_not_fetch", self.t_fetch),
            ] {
                o.float(name, time.map_or(f64::INFINITY, Estimate::seconds));
                if let Err(obstacle) = time {
                    o.text(reason, obstacle.words());
                }
            }
            o.float("t_store", self.t_store.seconds());
            o.text("bottleneck", self.bottleneck.name());
            o.boolean("can_compute", self.can_compute());
            o.boolean("can_store", self.can_store);
            o.boolean("can_fetch", self.can_fetch());
            o.boolean("decisive", self.decisive);
            o.float("bias", f64::from(self.bias_permille) / 1000.0);
        })
    }
}

/// `fetch (saves 2.300s)`
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())?;
        match self.score() {
            Some(score) if score != 0.0 && score.is_finite() => {
                write!(f, " (saves {:.3}s)", score.abs())
            }
            _ => Ok(()),
        }
    }
}

/// What is too long to be said is as long as can be said, and still finite.
pub(super) fn finite(nanoseconds: i128) -> i64 {
    nanoseconds.clamp(i128::from(i64::MIN + 1), i128::from(i64::MAX - 1)) as i64
}

/// Of two lengths of time.
pub(super) fn difference(a: u64, b: u64) -> i128 {
    i128::from(a) - i128::from(b)
}
