//! The host home: one table for all processes of a machine, in a file that they map.
//!
//! `docs/homes.md` says what users must know. Every file here opens with its data structure, its
//! locking rule and its invariants:
//!
//! * `home`: commands, queries and waits, and the ticker
//! * `shared_file`: which file, how it is made, mapped and checked; `layout`: what is in it
//! * `lock`: a robust lock between processes; `journal`: what rolls back the command of a dead
//!   owner
//! * `liveness`: which processes use the file, and which of them live
//! * `event_count`: notifications between processes; `futex`: how threads sleep
#![allow(unsafe_code)]

mod event_count;
mod futex;
mod home;
mod info;
#[cfg(all(test, loom))]
mod interleavings;
mod journal;
mod layout;
mod leaked_list;
mod liveness;
mod lock;
mod shared_file;

use std::time::Duration;

pub(crate) use home::HostHome;
pub use info::{HostInfo, Life as ProcessLife, LockInfo, ProcessInfo};
pub(crate) use journal::Journal;
use liveness::Attachment;
pub use liveness::Inherited;
pub(crate) use shared_file::HostPath;

/// How often a process checks that its file is in place.
const FILE_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number under which the table knows the process in a slot.
fn owner_of(slot: usize) -> u16 {
    slot as u16 + 1
}

/// The real user of this process.
pub(crate) fn real_user() -> u32 {
    // SAFETY: cannot fail, takes and changes nothing.
    unsafe { libc::getuid() }
}
