//! Lease: the right to use a resource for a while.
//!
//! A lease is a number, never a pointer: it can be copied, stored, and sent to another process or to
//! whatever it protects. Numbers only grow and are never used again, so a lease is also its own fencing token. Using one that is over is a
//! status, whatever has happened meanwhile.
//!
//!     tern_lease_t lease;
//!     tern_status_t status = tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("trainer"),
//!                                               30 * TERN_SECOND, &lease, &err);
//!     if (status != TERN_OK)
//!         die(err.message);
//!     while (work_to_do() && tern_lease_renew(manager, lease, NULL, &err) == TERN_OK)
//!         work_for_ten_seconds();
//!     tern_lease_release(manager, lease, NULL);

use std::ffi::c_char;

use super::boundary::{UNKNOWN, with};
use super::error::{Failure, tern_error_t};
use super::manager::{span, tern_manager_t, time};
use super::status::tern_status_t::{self, *};
use super::text::{array, name, put, required};
use super::{reason, tern_trit_t};
use crate::table::{Error, LeaseId, Reason, Revoked};
use crate::{LeaseManager, Span};

/// Names one lease for ever. 0 is none.
pub type tern_lease_t = u64;

/// A lease on one slot of a resource, now or not at all: TERN_BUSY. The resource comes into being with
/// one slot if it was not declared. The lease lasts for `ttl` unless it is renewed. A holder that has the only
/// slot already is busy with itself: leases do not nest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_acquire(
    manager: *const tern_manager_t,
    resource: *const c_char,
    resource_len: usize,
    holder: *const c_char,
    holder_len: usize,
    ttl: u64,
    lease: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(lease, "lease")?;
            let resource = name(resource, resource_len, "resource")?;
            let holder = name(holder, holder_len, "holder")?;
            lease.write_unaligned(manager.acquire(resource, holder, span(ttl))?.0);
            Ok(TERN_OK)
        })
    }
}

/// The state of a lease: TERN_HELD, TERN_EXPIRED or TERN_REVOKED; TERN_TRIT_UNKNOWN if the call failed
/// or nothing is remembered of it. Compare with these: not every answer that is not 0 is held. Takes no lock, and never says held
/// once the end has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_state(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    err: *mut tern_error_t,
) -> tern_trit_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| match manager.state(LeaseId(lease)) {
            Some(state) => Ok(state as tern_trit_t),
            None => Err(Error::UnknownLease.into()),
        })
    }
}

/// Moves the end of a lease to now + its ttl. The new end goes to `end`, which may be NULL.
/// TERN_ERR_NOT_HELD if the lease is over: stop using what it protects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_renew(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    end: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            put(end, time(manager.renew(LeaseId(lease))?));
            Ok(TERN_OK)
        })
    }
}

/// As tern_lease_renew(), with another ttl from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_renew_for(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    ttl: u64,
    end: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            put(end, time(manager.renew_for(LeaseId(lease), span(ttl))?));
            Ok(TERN_OK)
        })
    }
}

/// The states of several leases in one call, each as tern_lease_state() tells it; `states` has room for `count`. For callers
/// to whom each call costs more than its answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_states(
    manager: *const tern_manager_t,
    leases: *const tern_lease_t,
    count: usize,
    states: *mut tern_trit_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let leases = array(leases.cast::<LeaseId>(), count, "leases")?;
            if !leases.is_empty() {
                required(states, "states")?;
            }
            let mut to = states;
            manager.each_state(leases, |state| {
                to.write(state.map_or(UNKNOWN, |state| state as tern_trit_t));
                to = to.add(1);
            });
            Ok(TERN_OK)
        })
    }
}

/// Renews several leases in one call, each as tern_lease_renew() does. How many were renewed goes to `renewed`, which may be
/// NULL; those that are over are passed over, and tern_lease_states() tells which.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_renew_all(
    manager: *const tern_manager_t,
    leases: *const tern_lease_t,
    count: usize,
    renewed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let leases = array(leases.cast::<LeaseId>(), count, "leases")?;
            put(renewed, manager.renew_all(leases));
            Ok(TERN_OK)
        })
    }
}

/// Gives a lease back. Whoever is first in line has what it frees before this returns. TERN_ERR_NOT_HELD if it was over
/// already, TERN_ERR_UNKNOWN_LEASE if nothing is remembered of it. TERN_ERR_SYSTEM if machines share the table and its engine
/// cannot be reached: it is given back as soon as it can be, so destructors may ignore that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_release(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            manager.release(LeaseId(lease))?;
            Ok(TERN_OK)
        })
    }
}

/// Takes a lease away. `reason` is a TERN_REASON_…, 0 for TERN_REASON_OPERATOR; `by` says who does it and may be empty.
/// With a `notice` the holder keeps the lease for so long, to save its work; 0 is at once, and a notice must end. `at`, which
/// may be NULL, gets the time from which the lease is revoked.
/// TERN_UNCHANGED if a notice was running that ends no later; then `at` gets its end. TERN_ERR_NOT_HELD if the lease was over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_revoke(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    reason: i32,
    by: *const c_char,
    by_len: usize,
    notice: u64,
    at: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let reason = match reason {
                0 => Reason::Operator,
                code => reason::from_code(code).ok_or_else(|| {
                    Failure::argument(TERN_ERR_BAD_VALUE, "reason", "is none that is known")
                })?,
            };
            let by = name(by, by_len, "by")?;
            let notice: Span = span(notice);
            match manager.revoke_with(LeaseId(lease), reason, by, notice)? {
                Revoked::AtOnce if at.is_null() => {}
                Revoked::AtOnce => {
                    put(at, manager.lease(LeaseId(lease)).map_or(0, |info| info.end))
                }
                Revoked::Notified(end) => put(at, time(end)),
                Revoked::AlreadyNotified(end) => {
                    put(at, time(end));
                    let text = "a notice was running already and ends no later";
                    return Err(Failure::new(TERN_UNCHANGED, text));
                }
            }
            Ok(TERN_OK)
        })
    }
}
