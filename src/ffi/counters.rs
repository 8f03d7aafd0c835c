//! Counters: how much there is, and how much has happened.
//!
//!     uint64_t held = 0;
//!     tern_manager_active_count(manager, &held, &err);

use std::ffi::c_char;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::manager::{more_if, tern_manager_t};
use super::reason;
use super::status::tern_status_t::{self, *};
use super::text::{put_text, required};
use crate::LeaseManager;

/// Answers with a number.
///
/// # Safety
/// The caller's contract.
unsafe fn answer(
    manager: *const tern_manager_t,
    to: *mut u64,
    err: *mut tern_error_t,
    ask: impl FnOnce(&LeaseManager) -> Result<u64, Failure>,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(to, "count")?;
            to.write_unaligned(ask(manager)?);
            Ok(TERN_OK)
        })
    }
}

/// The time by the manager's clock: ticks so far, or microseconds since the machine started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_tick_count(
    manager: *const tern_manager_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe { answer(manager, count, err, |manager| Ok(manager.tick_count())) }
}

/// How many leases are held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_active_count(
    manager: *const tern_manager_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe { answer(manager, count, err, |manager| Ok(manager.active_count() as u64)) }
}

/// How many claims wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_pending_claimers(
    manager: *const tern_manager_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe { answer(manager, count, err, |manager| Ok(manager.pending_claimers() as u64)) }
}

/// How many leases were revoked so far; each counts once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_revocations(
    manager: *const tern_manager_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe { answer(manager, count, err, |manager| Ok(manager.revocations())) }
}

/// How many leases ended, or claims were refused, for this reason so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_count(
    manager: *const tern_manager_t,
    reason: i32,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        answer(manager, count, err, |manager| {
            let unknown = Failure::argument(TERN_ERR_BAD_VALUE, "reason", "is none that is known");
            Ok(manager.count(reason::from_code(reason).ok_or(unknown)?))
        })
    }
}

/// The counters as text, in the format that Prometheus reads. `needed`, which may be NULL, gets the
/// capacity that it needs, with the final zero; TERN_MORE if there is less. A capacity of 0 only asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_metrics(
    manager: *const tern_manager_t,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            more_if(!put_text(buffer, capacity, needed, &manager.metrics(), "buffer")?)
        })
    }
}
