//! [`Task`]: a cost with what else a prediction needs.

use super::FnCost;
use super::time::{Estimate, NEVER, narrow};

/// What sort of work a cost is made of, and so by which of a machine's rates it is measured.
///
/// Two computations with the same four numbers may differ by ten times. The kind tells them apart.
///
/// ```
/// use ternlease::{FnCost, Kind, MachCap};
///
/// let machine = MachCap::example();
/// let cost = FnCost::hash(1_000_000);
/// let by_kind = machine.compute_time(cost.kind(Kind::Hash));
/// assert!(by_kind.mid > 5 * machine.compute_time(cost).mid); // SHA-256 is no plain arithmetic
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Kind {
    /// Nobody said: the longer of calculating at full speed and of moving the bytes.
    #[default]
    Roofline,
    /// Dense arithmetic with 8-byte floating-point numbers, by a good library: [`FnCost::matmul`].
    Dense64,
    /// The same with 4-byte ones.
    Dense32,
    /// Reading memory from end to end, as fast as it comes: [`FnCost::scan`] by a good library, sums, searches.
    Stream,
    /// Copying memory: [`FnCost::copy`].
    Copy,
    /// A few operations for each row, one after the other: [`FnCost::etl`].
    Rows,
    /// Rows of text that are taken apart: [`FnCost::etl`] of CSV or JSON.
    Parse,
    /// Sorting by comparison: [`FnCost::sort`].
    Sort,
    /// SHA-256: [`FnCost::hash`]. For other functions, teach a [`Learned`].
    Hash,
    /// Looking at each byte by a plain loop: [`FnCost::scan`] as most programs do it.
    Bytes,
}

impl Kind {
    /// All there are, in the order of their numbers in C.
    pub const ALL: [Kind; 10] = [
        Kind::Roofline,
        Kind::Dense64,
        Kind::Dense32,
        Kind::Stream,
        Kind::Copy,
        Kind::Rows,
        Kind::Parse,
        Kind::Sort,
        Kind::Hash,
        Kind::Bytes,
    ];

    /// The name in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Roofline => "roofline",
            Kind::Dense64 => "dense64",
            Kind::Dense32 => "dense32",
            Kind::Stream => "stream",
            Kind::Copy => "copy",
            Kind::Rows => "rows",
            Kind::Parse => "parse",
            Kind::Sort => "sort",
            Kind::Hash => "hash",
            Kind::Bytes => "bytes",
        }
    }
}

/// A cost, and what else a prediction needs to know: what sort of work it is, on how many threads, from how much input, and what earlier runs
/// taught. A bare [`FnCost`] is a task of one thread of which nothing else is known.
///
/// ```
/// use ternlease::{FnCost, Kind, Task};
///
/// let task: Task = FnCost::matmul(1000, 1000, 1000, 8_000_000).kind(Kind::Dense64).threads(4);
/// assert_eq!(task.input_bytes(), 24_000_000); // as nobody said otherwise
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task {
    /// What it needs.
    pub cost: FnCost,
    /// What sort of work that is.
    pub kind: Kind,
    /// On how many threads it runs; more than the machine has are as many as it has.
    pub threads: u32,
    /// How many bytes it reads, if somebody said.
    pub input: Option<u64>,
    /// What earlier runs taught.
    pub learned: Learned,
}

impl Task {
    /// One thread of work of which nothing is known but its cost.
    pub const fn new(cost: FnCost) -> Self {
        Task { cost, kind: Kind::Roofline, threads: 1, input: None, learned: Learned::NOTHING }
    }

    /// Of this sort.
    pub const fn kind(self, kind: Kind) -> Self {
        Task { kind, ..self }
    }

    /// On so many threads. More than the machine has are as many as it has.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let machine = MachCap::example();
    /// let task = FnCost::matmul(2000, 2000, 2000, 8).kind(Kind::Dense64);
    /// let (one, four) = (machine.compute_time(task), machine.compute_time(task.threads(4)));
    /// assert!(four.mid < one.mid / 3);
    /// ```
    pub const fn threads(self, threads: u32) -> Self {
        Task { threads, ..self }
    }

    /// From so many bytes, which must get to a GPU before it can begin there.
    pub const fn input(self, bytes: u64) -> Self {
        Task { input: Some(bytes), ..self }
    }

    /// How many bytes it reads. If nobody said: all that it has in memory, or all that passes through if it keeps nothing.
    pub const fn input_bytes(&self) -> u64 {
        match (self.input, self.kind) {
            (Some(bytes), _) => bytes,
            (None, Kind::Stream | Kind::Copy | Kind::Hash | Kind::Bytes) => self.cost.mem_bytes,
            (None, _) => self.cost.peak_mem,
        }
    }

    /// With what earlier runs taught. See [`Learned`].
    pub const fn learned(self, learned: Learned) -> Self {
        Task { learned, ..self }
    }
}

impl From<FnCost> for Task {
    fn from(cost: FnCost) -> Self {
        Task::new(cost)
    }
}

/// By how much predictions for one function are wrong on one machine. No description of a function says how well it is written;
/// two or three runs do. Keep one for each function, with its results or its name. Give it to a task with [`Task::learned`].
///
/// ```
/// use ternlease::cost::Learned;
///
/// let mut learned = Learned::NOTHING;
/// learned.record(1_000_000, 3_000_000); // predicted and measured nanoseconds
/// assert_eq!(learned.permille(), 3000);
/// learned.record(1_000_000, 3_000_000);
/// assert_eq!((learned.runs(), learned.permille()), (2, 3000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Learned {
    runs: u32,
    permille: u32,
}

impl Learned {
    /// No run has been measured.
    pub const NOTHING: Learned = Learned { runs: 0, permille: 1000 };

    /// Beyond this a measurement was of something else.
    const SMALLEST: u64 = 1;
    const LARGEST: u64 = 1_000_000_000;

    /// What was kept from an earlier [`Self::runs`] and [`Self::permille`]. What makes no sense is [`Self::NOTHING`].
    pub const fn restored(runs: u32, permille: u32) -> Self {
        match (runs, permille) {
            (0, _) | (_, 0) => Self::NOTHING,
            (runs, permille) => Learned { runs, permille },
        }
    }

    /// A run was predicted to take so many nanoseconds, **without** anything learned, and took so many. The first run counts in full; after that each
    /// new one counts as much as all before it, as ratios do: twice too long and twice too short are no error.
    ///
    /// What it was predicted to take without anything learned, [`MachCap::untaught_time`](super::MachCap::untaught_time) says. Numbers that make
    /// no sense teach nothing.
    ///
    /// ```
    /// use ternlease::cost::Learned;
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let machine = MachCap::example();
    /// let task = FnCost::etl(1_000_000, 256, 100, 0).kind(Kind::Parse);
    /// let mut learned = Learned::NOTHING;
    /// learned.record(machine.untaught_time(task), 900_000_000); // it took 0.9 s
    /// let next = machine.compute_time(task.learned(learned)).seconds();
    /// assert!((0.89..0.91).contains(&next));
    /// ```
    pub fn record(&mut self, predicted: u64, measured: u64) {
        if matches!(predicted, 0 | NEVER) || matches!(measured, 0 | NEVER) {
            return;
        }
        let ratio = narrow(measured as u128 * 1000 / predicted as u128);
        let ratio = ratio.clamp(Self::SMALLEST, Self::LARGEST);
        let permille = match self.runs {
            0 => ratio,
            _ => (self.permille as u64 * ratio).isqrt().max(1),
        };
        // At most the larger of two numbers that fit.
        self.permille = permille as u32;
        self.runs = self.runs.saturating_add(1);
    }

    /// How many runs were measured.
    pub const fn runs(&self) -> u32 {
        self.runs
    }

    /// How long runs take, in thousandths of what is predicted without this.
    pub const fn permille(&self) -> u32 {
        self.permille
    }

    /// What is learned, applied to a prediction that may be wrong by so many thousandths.
    pub(super) const fn apply(&self, predicted: u64, otherwise: u32) -> Estimate {
        let spread = match self.runs {
            0 => otherwise,
            1 => ONCE,
            _ => REPEATED,
        };
        Estimate::around(super::time::scaled(predicted, self.permille as u64), spread)
    }
}

impl Default for Learned {
    fn default() -> Self {
        Self::NOTHING
    }
}

/// How far apart runs of the same function are, in thousandths: after one that was measured, and after several.
const ONCE: u32 = 1250;
const REPEATED: u32 = 1140;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_measurements_teach_nothing() {
        let mut learned = Learned::NOTHING;
        for (predicted, measured) in [(0, 5), (5, 0), (NEVER, 5), (5, NEVER), (0, 0)] {
            learned.record(predicted, measured);
        }
        assert_eq!(learned, Learned::NOTHING);
        learned.record(1, NEVER - 1);
        learned.record(NEVER - 1, 1);
        assert!(learned.permille() >= 1);
        assert_eq!(Learned::restored(3, 0), Learned::NOTHING);
        assert_eq!(Learned::restored(3, 2000).permille(), 2000);
    }

    #[test]
    fn what_changed_is_learned_anew() {
        let mut learned = Learned::NOTHING;
        learned.record(1000, 1000);
        for _ in 0..5 {
            learned.record(1000, 8000);
        }
        assert!((6500..=8000).contains(&learned.permille()), "{learned:?}");
    }
}
