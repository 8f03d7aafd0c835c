//! What a computation costs, what a machine can do, and where the one should therefore be done.
//!
//! * [`FnCost`] says what a computation needs, in whole numbers that are the same everywhere.
//! * [`MachCap`] says what this machine can do, measured in a moment.
//! * [`Verdict`] puts both together: compute the result here, or fetch it.
//! * [`Advice`] knows the GPUs as well, and the line in front of them.

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

#[cfg(test)]
mod tests;
