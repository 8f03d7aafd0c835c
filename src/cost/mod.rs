//! What a computation costs, what a machine can do, and where the one should therefore be done.
//!
//! * [`FnCost`] says what a computation needs, in whole numbers that are the same everywhere.
//! * [`MachCap`] says what this machine can do, measured in a moment.
//! * [`Verdict`] puts both together: compute the result here, or fetch it.
//! * [`Advice`] knows the GPUs as well, and the line in front of them.
//!
//! Times are whole nanoseconds with a lower and an upper end ([`Estimate`]): the same bits in every build and language, and never a NaN.
//! What is not known is not invented, and an answer that rests on little says so ([`Verdict::decisive`]).
//!
//! ```
//! use ternlease::{FnCost, Kind, MachCap};
//!
//! let machine = MachCap::example(); // MachCap::read(".")? measures this one for 0.3 s
//! let task = FnCost::hash(10_000_000_000).kind(Kind::Hash);
//! assert_eq!(machine.verdict(task).to_string(), "fetch (saves 6.663s)");
//! ```

mod advice;
mod cache;
mod class;
mod decide;
mod fncost;
mod gpu;
mod json;
mod machine;
mod probe;
mod rates;
mod read;
mod report;
mod route;
mod system;
mod task;
mod time;
mod verdict;

pub use advice::{Advice, Choice};
pub use class::DeviceClass;
pub use fncost::FnCost;
pub use gpu::GpuRates;
pub use machine::{DiskRates, MachCap};
pub use probe::Progress;
pub use rates::{Bottleneck, Rate, Rates, Source};
pub use read::{ReadError, ReadOptions};
pub use route::{Route, RouteKnown};
pub use system::{Battery, Network};
pub use task::{Kind, Learned, Task};
pub use time::{Estimate, NEVER, nanoseconds};
pub use verdict::{Answer, Obstacle, Verdict};

/// The door by which a fuzzer comes to the file in which measurements are kept.
#[cfg(fuzzing)]
pub fn check_kept(text: &str) {
    cache::check(text);
}

#[cfg(test)]
mod tests;
