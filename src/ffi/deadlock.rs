//! Deadlocks: who waits for whom in a circle.
//!
//! A deadlock is reported exactly if there is one. Each comes with everybody who is stuck, a proof, and
//! the lease whose revocation breaks it at the least cost.
//!
//!     tern_deadlocks_t *found = NULL;
//!     size_t count = 0;
//!     tern_deadlocks_find(manager, &found, &count, &err);
//!     for (size_t i = 0; i < count; i++) {
//!         tern_lease_t victim;
//!         tern_deadlocks_victim(found, i, &victim, &err);
//!         tern_lease_revoke(manager, victim, TERN_REASON_DEADLOCK_VICTIM, NULL, 0, 0, NULL, &err);
//!     }
//!     tern_deadlocks_close(found);

use std::ffi::c_char;

use super::boundary::{close, with};
use super::error::{Failure, tern_error_t};
use super::handle::{Closed, Handle, Object};
use super::lease::tern_lease_t;
use super::manager::{more_if, tern_manager_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{inline_name, name, put, required};
use super::ticket::{listed_name, tern_name_t, tern_ticket_t};
use crate::LeaseManager;
use crate::table::{Deadlock, Wait};

/// Deadlocks as they were when they were looked for.
pub struct tern_deadlocks_t {
    _private: [u8; 0],
}

/// One step of a proof: a worker waits for a lease, which the worker of the next step holds, and the last waits for
/// the first. Make it with tern_wait_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_wait_t {
    /// sizeof(tern_wait_t)
    pub struct_size: usize,
    /// By which claim it waits; 0: by a declared want.
    pub ticket: tern_ticket_t,
    /// For which lease.
    pub lease: tern_lease_t,
    /// Who waits.
    pub worker: [c_char; 256],
}

// SAFETY: integers only; 3 times 8 and 256 bytes have no padding.
unsafe impl Plain for tern_wait_t {}

type Deadlocks = Vec<Deadlock>;

impl Object for Deadlocks {
    type Opaque = tern_deadlocks_t;
    const KIND: u32 = 0x7e41_0003;

    fn closed() -> &'static Closed<Self> {
        static CLOSED: Closed<Deadlocks> = Closed::new();
        &CLOSED
    }

    fn poison(&self) {}

    fn finish(&self) {}
}

/// Looks for deadlocks; how many there are goes to `count`, which may be NULL.
/// Close the answer with tern_deadlocks_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_deadlocks_find(
    manager: *const tern_manager_t,
    deadlocks: *mut *mut tern_deadlocks_t,
    count: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(deadlocks, "deadlocks")?;
            let found = manager.find_deadlocks()?;
            put(count, found.len());
            deadlocks.write_unaligned(Handle::open(found));
            Ok(TERN_OK)
        })
    }
}

/// Closes the answer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_deadlocks_close(deadlocks: *mut tern_deadlocks_t) {
    // SAFETY: the caller's contract.
    unsafe { close::<Deadlocks>(deadlocks) }
}

fn at(deadlocks: &Deadlocks, index: usize) -> Result<&Deadlock, Failure> {
    let beyond = || Failure::argument(TERN_ERR_BAD_VALUE, "index", "is beyond the last deadlock");
    deadlocks.get(index).ok_or_else(beyond)
}

/// The lease whose revocation breaks the deadlock at the least cost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_deadlocks_victim(
    deadlocks: *const tern_deadlocks_t,
    index: usize,
    victim: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(deadlocks, err, |deadlocks: &Deadlocks| {
            required(victim, "victim")?;
            victim.write_unaligned(at(deadlocks, index)?.victim.0);
            Ok(TERN_OK)
        })
    }
}

/// Everybody who is stuck because of the deadlock, by name, sorted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_deadlocks_stuck(
    deadlocks: *const tern_deadlocks_t,
    index: usize,
    names: *mut tern_name_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(deadlocks, err, |deadlocks: &Deadlocks| {
            let stuck: Vec<tern_name_t> =
                at(deadlocks, index)?.stuck.iter().map(|name| listed_name(name)).collect();
            more_if(!sized::store_list(names, capacity, needed, &stuck, "names")?)
        })
    }
}

/// The proof: each waits for a lease of the next, the last for one of the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_deadlocks_cycle(
    deadlocks: *const tern_deadlocks_t,
    index: usize,
    waits: *mut tern_wait_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    let convert = |wait: &Wait| tern_wait_t {
        struct_size: 0,
        ticket: wait.ticket.map_or(0, |ticket| ticket.0),
        lease: wait.lease.0,
        worker: inline_name(&wait.worker),
    };
    // SAFETY: the caller's contract.
    unsafe {
        with(deadlocks, err, |deadlocks: &Deadlocks| {
            let cycle: Vec<tern_wait_t> = at(deadlocks, index)?.cycle.iter().map(convert).collect();
            more_if(!sized::store_list(waits, capacity, needed, &cycle, "waits")?)
        })
    }
}

/// Declares that a holder cannot go on without a resource, without claiming it. Only deadlock
/// detection looks at it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_want(
    manager: *const tern_manager_t,
    holder: *const c_char,
    holder_len: usize,
    resource: *const c_char,
    resource_len: usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let holder = name(holder, holder_len, "holder")?;
            manager.want(holder, name(resource, resource_len, "resource")?)?;
            Ok(TERN_OK)
        })
    }
}

/// Takes back what tern_manager_want() declared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_unwant(
    manager: *const tern_manager_t,
    holder: *const c_char,
    holder_len: usize,
    resource: *const c_char,
    resource_len: usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let holder = name(holder, holder_len, "holder")?;
            manager.unwant(holder, name(resource, resource_len, "resource")?)?;
            Ok(TERN_OK)
        })
    }
}
