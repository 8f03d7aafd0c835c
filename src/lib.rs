//! Leases on GPUs and other scarce things: who may use it now, until when, and why not.
//!
//! Every answer is one of three: a lease is held (+1), expired (0) or revoked (-1).
//!
//! ```
//! use ternlease::{LeaseManager, LeaseState};
//! use std::time::Duration;
//!
//! let manager = LeaseManager::open("process:")?;
//! let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(30))?;
//! assert_eq!(manager.state(lease), Some(LeaseState::Held));
//! manager.revoke(lease)?;
//! assert_eq!(manager.state(lease), Some(LeaseState::Revoked));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`LeaseManager`] has leases on named resources: claims of some of many, waiting in line, priorities,
//!   revocation with reason and notice, deadlock detection, and a history of events.
//! * [`GpuPool`] has leases on the GPUs of a machine: found, claimed in order, watched.
//! * [`MachCap`] knows what this machine can do, and says whether to compute a result here or to fetch it.
//! * [`table`] is the pure state machine behind it; `docs/rules.md` says exactly what it decides.
#![deny(unsafe_code)]

pub mod cost;
// The boundary to C takes raw pointers; each of its files says why what it does with them is right.
#[cfg(feature = "capi")]
#[allow(unsafe_code)]
pub mod ffi;
pub mod home;
pub mod inventory;
pub mod manager;
pub mod pool;
#[forbid(unsafe_code)]
pub mod table;
// Zeroed memory needs the allocator's promise, which only unsafe code can take up.
#[allow(unsafe_code)]
mod zeroed;

pub use cost::{Advice, FnCost, Kind, MachCap, Task, Verdict};
#[cfg(target_os = "linux")]
pub use home::host::{HostInfo, Inherited, LockInfo, ProcessInfo, ProcessLife};
pub use inventory::{GpuDevice, GpuSpeed, Inventory, PciAddress, Vendor};
#[cfg(feature = "nvml")]
pub use inventory::{Nvml, NvmlOptions};
pub use manager::{
    ClaimBuilder, EventReader, LeaseManager, Notice, OpenError, Options, Span, Ticket, TimeKind,
};
pub use pool::{
    DeviceStatus, Env, ExpectedWait, GpuClaim, GpuLease, GpuLeaseEntry, GpuPool, PoolError,
    PoolOptions, Rules,
};
pub use table::{
    Cancelled, Deadlock, DeadlockPolicy, Error, Event, FOREVER, Health, LeaseId, LeaseInfo,
    LeaseState, Limits, Outcome, Part, Reason, ReasonClass, ResourceId, ResourceInfo, Revoked,
    Take, Taken, TicketId, TicketInfo, TicketState, Time, Traits, Wait, What,
};

/// The code in README and docs runs as documentation tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/concepts.md")]
    mod concepts {}
    #[doc = include_str!("../docs/revocation.md")]
    mod revocation {}
    #[doc = include_str!("../docs/pool.md")]
    mod pool {}
    #[doc = include_str!("../docs/deadlocks.md")]
    mod deadlocks {}
    #[doc = include_str!("../docs/cost.md")]
    mod cost {}
    #[doc = include_str!("../docs/inventory.md")]
    mod inventory {}
    #[cfg(target_os = "linux")]
    #[doc = include_str!("../docs/homes.md")]
    mod homes {}
}
