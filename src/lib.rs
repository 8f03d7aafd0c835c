//! Share GPUs, and other scarce things, by leases: who may use it now, until when, and why not.
//!
//! A lease says that a holder may use something until a time. The library keeps a table of leases: in one process, or in a file that all
//! processes of a machine share. There is no daemon, and nothing to set up. A claim gets all it asks for or nothing, in order; what a killed
//! process held is free at once. Every answer is one of three: a lease is held (+1), expired (0) or revoked (-1), and a revoked one says why.
//!
//! ```
//! use ternlease::{GpuPool, PoolOptions};
//!
//! // GpuPool::open("host:")? finds the GPUs of this machine, and shares them with all its processes.
//! // Here: eight that do not exist, for this process alone.
//! let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:8")?)?;
//!
//! match pool.claim().holder("train-42").devices(2).min_memory(40_000).wait()? {
//!     Some(lease) => {
//!         let mut child = std::process::Command::new("true"); // python train.py
//!         lease.env()?.apply(&mut child); // CUDA_VISIBLE_DEVICES=0,1
//!         child.status()?;
//!     } // dropped: the next in line has the GPUs now
//!     None => println!("this machine has no GPU: compute on the CPU"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same for things with names, which is what is behind a pool:
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
//! # Where to look
//!
//! | I want to | use |
//! |---|---|
//! | have a GPU, or be told that there is none | [`GpuPool::open`], [`GpuPool::claim`] |
//! | have four that are linked, with 40 GB each | [`GpuClaim::devices`], [`GpuClaim::min_memory`] |
//! | start a program that sees its GPUs and no others | [`GpuLease::env`] |
//! | put several jobs on one GPU | [`PoolOptions::slots`], [`GpuClaim::slots`], [`GpuClaim::memory`] |
//! | see who has which, and how they are | [`GpuPool::snapshot_leases`], [`GpuPool::status`] |
//! | lock something that is no GPU | [`LeaseManager::acquire`] |
//! | have some of many, wait in line, go first | [`LeaseManager::claim`], [`ClaimBuilder`] |
//! | wait as a task, or in an event loop | `.await` on a claim, [`Ticket`], [`Ticket::fd`] |
//! | keep a lease for as long as the work takes | [`LeaseManager::renew`], [`GpuClaim::keep_alive`] |
//! | take a lease away, and say why | [`LeaseManager::revoke_with`], [`Reason`] |
//! | be told when mine is taken away | [`LeaseManager::watch`], [`GpuLease::on_change`] |
//! | fill gaps, and step back for others | [`ClaimBuilder::spare`], [`GpuClaim::spare`] |
//! | let urgent work take what others have | [`ClaimBuilder::preempt`], [`ClaimBuilder::preemptible`] |
//! | pass a lease on to other processes | [`LeaseManager::keep_for_children`], [`LeaseManager::hand_to`] |
//! | find deadlocks, or have them broken | [`LeaseManager::find_deadlocks`], [`DeadlockPolicy`] |
//! | see what happened, and count it | [`LeaseManager::events`], [`LeaseManager::metrics`] |
//! | take a GPU out of service | [`LeaseManager::set_health`], with [`GpuPool::key`] |
//! | know how long a claim would wait | [`GpuClaim::expected_wait`] |
//! | compute here, on a GPU, or fetch the result? | [`MachCap::verdict`], [`MachCap::advise`] |
//! | try it without a GPU, or without a clock | [`PoolOptions::from_spec`], [`Options::ticks`] |
//! | lease devices that the library does not know | [`Inventory`] |
//!
//! Pages that explain are in the [`guide`]: [concepts](crate::guide::concepts), [pools](crate::guide::pool),
//! [revocation](crate::guide::revocation), [deadlocks](crate::guide::deadlocks), [homes](crate::guide::homes),
//! [devices](crate::guide::inventory), [costs](crate::guide::cost). What is decided, exactly: [the rules](crate::guide::rules), which
//! [`table`] implements, a pure state machine. What can be relied on, and the test for each: [promises](crate::guide::promises).
//!
//! # Homes
//!
//! A home is where a table lives. A URL picks it; nothing else in a program changes.
//!
//! | URL | who shares the table | |
//! |---|---|---|
//! | `process:` | the threads of one process; each `open` makes a table | works |
//! | `host:`, `host:NAME`, `host:/PATH` | the processes of a machine | works on Linux |
//! | `etcd:` | machines | in the making, with the feature `cluster`; an [`OpenError`] without |
//!
//! # Threads, processes, tasks
//!
//! * **Threads.** Managers and pools are shared by reference or by cloning, and every call is thread-safe. The library starts threads of its own
//!   only where somebody has to look at the clock, at devices or at leases for others; they take no signals.
//! * **Fork.** A child must not use a manager or pool that was opened before the fork: open it again there. With `host:` every call says
//!   [`Error::Forked`]; with `process:` nothing notices. The leases stay with the parent.
//! * **Async.** A claim and a [`Ticket`] are futures for any executor, without a feature or a runtime. Dropping one withdraws the claim.
//! * **Panics.** No input makes the library panic. What is refused has changed nothing, and its [`Error`] says what to do instead.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `nvml` (default) | finds and watches NVIDIA's devices, by the library of their driver, which is loaded at run time if it is there |
//! | `capi` | the C functions. For `libternlease`; a Rust program does not need it |
//!
//! AMD's and Intel's devices need no feature. Tested on Linux, x86-64, with Rust 1.92 and newer. On other systems `host:` and file descriptors
//! are missing, and nothing has been tried.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(any(ternlease_sim, fuzzing, test), allow(missing_docs))]
#![deny(unsafe_code)]

#[cfg(all(test, not(loom)))]
extern crate self as ternlease;

#[cfg(all(feature = "cluster", not(target_os = "linux")))]
compile_error!("the feature `cluster` needs Linux so far");
#[cfg(all(ternlease_sim, not(feature = "cluster")))]
compile_error!("the simulator needs the feature `cluster`");

pub mod cost;
// The boundary to C takes raw pointers; each of its files says why what it does with them is right.
// Its page is for those who work on it, and leads to its private parts.
#[cfg(feature = "capi")]
#[allow(unsafe_code, rustdoc::private_intra_doc_links)]
pub mod ffi;
mod home;
// Loom tries it without the rest of the boundary, which has statics.
pub mod inventory;
pub mod manager;
pub mod memory;
pub mod pool;
#[cfg(all(loom, not(feature = "capi")))]
#[allow(unsafe_code, dead_code)]
#[path = "ffi/ring.rs"]
mod ring;
mod rt;
// Also for the unit tests that play the corpus of a fuzz target, which names this crate.
#[cfg(any(ternlease_sim, fuzzing, all(test, not(loom))))]
#[doc(hidden)]
pub mod sim_api;
#[forbid(unsafe_code)]
pub mod table;
// Zeroed memory needs the allocator's promise, which only unsafe code can take up.
#[allow(unsafe_code)]
mod zeroed;

#[doc(inline)]
pub use cost::{Advice, FnCost, Kind, MachCap, Task, Verdict};
#[doc(inline)]
pub use inventory::{GpuDevice, GpuSpeed, Inventory, PciAddress, Vendor};
#[cfg(feature = "nvml")]
#[doc(inline)]
pub use inventory::{Nvml, NvmlOptions};
#[doc(inline)]
pub use manager::{
    ClaimBuilder, ClusterInfo, EventReader, LeaseManager, Notice, OpenError, Options, Span, Ticket,
    TimeKind,
};
#[cfg(target_os = "linux")]
#[doc(inline)]
pub use manager::{HostInfo, Inherited, LockInfo, ProcessInfo, ProcessLife};
#[doc(inline)]
pub use pool::{
    DeviceStatus, Env, ExpectedWait, GpuClaim, GpuLease, GpuLeaseEntry, GpuPool, PoolError,
    PoolOptions, Rules,
};
#[doc(inline)]
pub use table::{
    Actor, Cancelled, Deadlock, DeadlockPolicy, Error, Event, FOREVER, Health, LeaseId, LeaseInfo,
    LeaseState, Limits, Outcome, Part, Reason, ReasonClass, ResourceId, ResourceInfo, Revoked,
    Take, Taken, TicketId, TicketInfo, TicketState, Time, Traits, Wait, What,
};

/// The pages of `docs/`, as they are: what explains, beside what describes. Here for readers; no code is in it.
///
/// Their code runs as documentation tests. Links from page to page are given here first, and so lead to modules instead of files.
#[cfg(any(doc, doctest))]
pub mod guide {
    macro_rules! page {
        ($(#[$meta:meta])* $name:ident, $text:expr) => {
            $(#[$meta])*
            #[doc = "[concepts.md]: crate::guide::concepts"]
            #[doc = "[pool.md]: crate::guide::pool"]
            #[doc = "[inventory.md]: crate::guide::inventory"]
            #[doc = "[revocation.md]: crate::guide::revocation"]
            #[doc = "[deadlocks.md]: crate::guide::deadlocks"]
            #[doc = "[homes.md]: crate::guide::homes"]
            #[doc = "[cluster.md]: crate::guide::cluster"]
            #[doc = "[cost.md]: crate::guide::cost"]
            #[doc = "[rules.md]: crate::guide::rules"]
            #[doc = "[promises.md]: crate::guide::promises"]
            #[doc = "[performance.md]: crate::guide::performance"]
            #[doc = ""]
            #[doc = $text]
            pub mod $name {}
        };
    }

    page!(concepts, include_str!("../docs/concepts.md"));
    page!(pool, include_str!("../docs/pool.md"));
    page!(inventory, include_str!("../docs/inventory.md"));
    page!(revocation, include_str!("../docs/revocation.md"));
    page!(deadlocks, include_str!("../docs/deadlocks.md"));
    page!(
        // Its code needs a table that processes can share; its text does not.
        #[cfg(any(target_os = "linux", not(doctest)))]
        #[cfg_attr(docsrs, doc(auto_cfg = false))]
        homes,
        include_str!("../docs/homes.md")
    );
    page!(cluster, include_str!("../docs/cluster.md"));
    page!(cost, include_str!("../docs/cost.md"));
    page!(rules, include_str!("../docs/rules.md"));
    page!(promises, include_str!("../docs/promises.md"));
    page!(performance, include_str!("../docs/performance.md"));
}

/// The code in README runs as documentation tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
