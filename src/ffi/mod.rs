//! The C boundary: `include/ternlease.h` is made from this module. No rule lives here, only conversion.
//!
//! One file per type; the header has a section for each, with the file's own words, and C++ class and C test bear the same name.
//!
//! Conventions, which `docs/c-abi.md` explains to users:
//!
//! * `tern_<type>_<verb>(self, inputs…, outputs…, tern_error_t *err)`. `const` means shared.
//! * Handles ([`handle`]) are pointers, leases and tickets are numbers. A handle that is NULL, of another kind, closed, poisoned or
//!   from before a fork is a status.
//! * Every function goes through [`boundary`], the only place that catches panics. A panic poisons the handle. (Those that only calculate
//!   or name things have nothing to catch.)
//! * Every pointer is checked for NULL. Outputs are written on success only; `err` whenever the status is not `TERN_OK`.
//! * Text ([`text`]) comes in as pointer and length and is not kept; it goes out into the caller's buffer.
//! * Structs ([`sized`]) begin with their size: shorter ones count as filled up with zeros, longer ones are accepted if the rest is zero.
//! * Enumerations come in as integers and are checked.
//!
//! # Safety
//! All functions here share one contract: a pointer that is not NULL points to what its type says, for as long as its length says, for the
//! time of the call; a handle was given out by the library; closing a handle is the last thing that is done with it, and no other call
//! with it runs at that time. `SAFETY: the caller's contract` refers to this.
// The contract is the one above; the documentation of each function goes into the header, for readers of C.
#![allow(clippy::missing_safety_doc)]
// C has no builders.
#![allow(clippy::too_many_arguments)]
// Types bear their C names.
#![allow(non_camel_case_types)]

// A panic must be a status, not the end of a CUDA server.
#[cfg(panic = "abort")]
compile_error!("the C library must be built with panic = \"unwind\"");

mod boundary;
mod handle;
mod ring;
mod sized;
mod text;

pub mod advice;
pub mod claim;
pub mod cost;
pub mod counters;
pub mod deadlock;
pub mod device;
pub mod error;
pub mod estimate;
pub mod event;
pub mod gpu_claim;
pub mod gpu_lease;
pub mod host;
pub mod info;
pub mod lease;
pub mod machine;
pub mod machine_info;
pub mod manager;
pub mod pool;
pub mod rate;
pub mod reason;
pub mod resource;
pub mod route;
pub mod speed;
pub mod status;
pub mod task;
pub mod ticket;
pub mod verdict;
pub mod version;
pub mod watch;

#[cfg(feature = "capi-test")]
pub mod fault;

/// How a claim, a lease or anything else that has three states answers: +1, 0 or -1.
pub type tern_trit_t = i8;
