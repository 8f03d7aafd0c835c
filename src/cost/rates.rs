//! How fast a processor does the different sorts of work, and how long a task therefore takes.

use super::time::{nanoseconds, narrow};
use super::{Kind, Task};

/// Where a figure comes from, and so how far it may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Measured, often enough.
    Measured,
    /// Measured, but less often than needed, or with arrays that may have stayed in a cache.
    Rough,
    /// Worked out from what the processor says of itself.
    Estimated,
}

impl Source {
    pub(super) const ALL: [Source; 3] = [Source::Measured, Source::Rough, Source::Estimated];

    /// The name in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::Rough => "rough",
            Source::Estimated => "estimated",
        }
    }

    /// By how much a prediction may be wrong, in thousandths.
    const fn spread(self) -> u32 {
        match self {
            Source::Measured => 1414,
            Source::Rough => 1700,
            Source::Estimated => 2000,
        }
    }

    fn worse(self, other: Source) -> Source {
        match (self, other) {
            (Source::Estimated, _) | (_, Source::Estimated) => Source::Estimated,
            (Source::Rough, _) | (_, Source::Rough) => Source::Rough,
            _ => Source::Measured,
        }
    }
}

/// How much of something is done in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// What the machine can do: nine of ten measurements gave less.
    pub per_second: u64,
    /// What it did while it was measured, beside everything else that it was doing: the middle one.
    pub usual: u64,
    /// How far measurements lay apart, in thousandths: the middle half of them, beside the middle one.
    pub spread_permille: u32,
    /// Where it comes from.
    pub source: Source,
}

impl Rate {
    /// A figure that nobody measured.
    pub const fn estimated(per_second: u64) -> Self {
        Rate { per_second, usual: per_second, spread_permille: 0, source: Source::Estimated }
    }

    pub(super) const fn times(self, factor: u64) -> Self {
        Rate {
            per_second: self.per_second.saturating_mul(factor),
            usual: self.usual.saturating_mul(factor),
            ..self
        }
    }
}

/// How fast a processor is. Operations or bytes per second; of one thread, or of all that this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rates {
    /// Floating-point operations with 8-byte numbers, one thread.
    pub flop64: Rate,
    /// The same, all threads.
    pub flop64_all: Rate,
    /// Floating-point operations with 4-byte numbers, one thread.
    pub flop32: Rate,
    /// Bytes read from memory, one thread.
    pub read: Rate,
    /// The same, all threads.
    pub read_all: Rate,
    /// Bytes of `a = b + s * c` in memory, one thread: two arrays read, one written.
    pub triad: Rate,
    /// The same, all threads.
    pub triad_all: Rate,
    /// Bytes copied in memory, one thread.
    pub copy: Rate,
    /// The same, all threads.
    pub copy_all: Rate,
    /// Plain operations on whole numbers, one thread.
    pub scalar: Rate,
    /// Bytes of text taken apart, one thread.
    pub parse: Rate,
    /// Bytes put through SHA-256, one thread.
    pub hash: Rate,
    /// Operations of a sort, as [`FnCost::sort`](super::FnCost::sort) counts them, one thread.
    pub compare: Rate,
    /// Bytes that a sort moves, as counted there, one thread.
    pub shift: Rate,
    /// Bytes that a plain loop looks at, one thread.
    pub bytes: Rate,
}

/// Which part of a machine a task keeps waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bottleneck {
    /// Its arithmetic.
    Compute,
    /// Its memory.
    Memory,
    /// None: there is nothing to do.
    None,
}

impl Bottleneck {
    /// The name in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::Compute => "compute",
            Bottleneck::Memory => "memory",
            Bottleneck::None => "none",
        }
    }
}

/// How long a task takes by the rates alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prediction {
    pub nanoseconds: u64,
    pub bottleneck: Bottleneck,
    /// By how much it may be wrong, in thousandths.
    pub spread: u32,
}

/// What good libraries reach of the arithmetic that a processor has, in thousandths.
const REACHED: u128 = 800;

impl Rates {
    /// All of them, with their names, in an order that stays.
    pub(super) fn named_mut(&mut self) -> [(&'static str, &mut Rate); 15] {
        [
            ("flop64", &mut self.flop64),
            ("flop64_all", &mut self.flop64_all),
            ("flop32", &mut self.flop32),
            ("read", &mut self.read),
            ("read_all", &mut self.read_all),
            ("triad", &mut self.triad),
            ("triad_all", &mut self.triad_all),
            ("copy", &mut self.copy),
            ("copy_all", &mut self.copy_all),
            ("scalar", &mut self.scalar),
            ("parse", &mut self.parse),
            ("hash", &mut self.hash),
            ("compare", &mut self.compare),
            ("shift", &mut self.shift),
            ("bytes", &mut self.bytes),
        ]
    }

    /// All of them, with their names, in an order that stays.
    ///
    /// ```
    /// for (name, rate) in ternlease::MachCap::example().rates.named() {
    ///     println!("{name}: {} per second, {}", rate.per_second, rate.source.name());
    /// }
    /// ```
    pub fn named(&self) -> [(&'static str, Rate); 15] {
        let mut copy = *self;
        copy.named_mut().map(|(name, rate)| (name, *rate))
    }

    /// The rates of each kind of work: of its operations, and of its bytes, with so many threads of the cores there are.
    fn of(&self, kind: Kind, threads: u64) -> (Option<Rate>, Option<Rate>) {
        let own = |rate: Rate| Some(rate.times(threads));
        let shared = |one: Rate, all: Rate| match threads {
            0 | 1 => Some(one),
            _ if one.per_second.saturating_mul(threads) < all.per_second => own(one),
            _ => Some(all),
        };
        let triad = shared(self.triad, self.triad_all);
        let reached = |rate: Rate| Rate {
            per_second: narrow(rate.per_second as u128 * REACHED / 1000),
            ..rate
        };
        match kind {
            Kind::Roofline => (own(self.flop64), triad),
            Kind::Dense64 => (own(reached(self.flop64)), triad),
            Kind::Dense32 => (own(reached(self.flop32)), triad),
            Kind::Stream => (None, shared(self.read, self.read_all)),
            Kind::Copy => (None, shared(self.copy, self.copy_all)),
            // A byte that is copied is read and written, and counts twice in a cost.
            Kind::Rows => (own(self.scalar), shared(self.copy.times(2), self.copy_all.times(2))),
            Kind::Parse => (None, own(self.parse.times(2))),
            Kind::Sort => (own(self.compare), own(self.shift)),
            Kind::Hash => (None, own(self.hash)),
            Kind::Bytes => (None, own(self.bytes)),
        }
    }

    /// How long a task takes on a machine with so many cores, whatever was learned.
    pub(super) fn predict(&self, task: &Task, cores: u32) -> Prediction {
        let threads = task.threads.clamp(1, cores.max(1));
        let (flops, bytes) = self.of(task.kind, threads.into());
        let time = |work, rate: Option<Rate>| rate.map_or(0, |r| nanoseconds(work, r.per_second));
        let (compute, memory) = (time(task.cost.flops, flops), time(task.cost.mem_bytes, bytes));
        let nanoseconds = match task.kind {
            // It compares, moves, and compares again.
            Kind::Sort => compute.saturating_add(memory),
            _ => compute.max(memory),
        };
        let bottleneck = match (compute, memory) {
            (0, 0) => Bottleneck::None,
            (compute, memory) if compute > memory => Bottleneck::Compute,
            // Their rates count bytes, but are those of the processor's arithmetic on each byte.
            _ if matches!(task.kind, Kind::Hash | Kind::Parse | Kind::Bytes) => Bottleneck::Compute,
            _ => Bottleneck::Memory,
        };
        let source = |rate: Option<Rate>| rate.map_or(Source::Measured, |rate| rate.source);
        let known = match task.kind {
            // One that nobody described is a guess, however well the machine was measured.
            Kind::Roofline => Source::Estimated,
            _ => source(flops).worse(source(bytes)),
        };
        Prediction { nanoseconds, bottleneck, spread: known.spread() }
    }
}
