//! Looking: everything about leases, told by value.
//!
//! Lists go into an array of the caller's. `needed`, which may be NULL, gets how many there are;
//! TERN_MORE if that is more than `capacity`, of which as many are written as fit. A capacity of 0 only counts, and allows NULL. Of an
//! array of structs the first one's struct_size must be set; it goes for all.
//!
//!     tern_lease_info_t info = tern_lease_info_init();
//!     if (tern_lease_info(manager, lease, &info, &err) == TERN_OK && info.state == TERN_REVOKED)
//!         printf("revoked by %s: %s\n", info.revoker, tern_reason_name(info.reason));

use std::ffi::c_char;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::{more_if, tern_manager_t, time};
use super::reason;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::tern_trit_t;
use super::text::{inline_name, name, put, required};
use crate::LeaseManager;
use crate::table::{Error, LeaseId, LeaseInfo, Taken};

/// Everything about one lease. Make it with tern_lease_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_lease_info_t {
    /// sizeof(tern_lease_info_t)
    pub struct_size: usize,
    /// Its id, which is also its fencing token.
    pub lease: tern_lease_t,
    /// The lease it hangs on; 0: none.
    pub parent: tern_lease_t,
    /// How long it lasts without renewal.
    pub ttl: u64,
    /// When it was granted.
    pub granted_at: u64,
    /// While held: its end. Afterwards: when it ended.
    pub end: u64,
    /// TERN_REASON_…: why it ended, or will end if a notice is running; otherwise 0.
    pub reason: i32,
    /// Its own priority.
    pub priority: i32,
    /// How many resources it takes: tern_lease_takes() tells them.
    pub take_count: u32,
    /// TERN_LEASE_…
    pub flags: u32,
    /// TERN_HELD, TERN_EXPIRED or TERN_REVOKED.
    pub state: tern_trit_t,
    /// Zero.
    pub reserved: [u8; 7],
    /// Who holds or held it.
    pub holder: [c_char; 256],
    /// Who revoked it, as the caller that did so claimed; may be empty.
    pub revoker: [c_char; 256],
    /// The principal of the process that released, revoked or is revoking it: on one machine its
    /// user id. Only if `ender_process` is not 0.
    pub ender_principal: u32,
    /// The process that released, revoked or is revoking it; in a cluster the owner number of its
    /// session. 0: its owner did, or the table by itself.
    pub ender_process: u32,
}

// SAFETY: integers only; 6 times 8, 4 times 4, 8 times 1, 512 bytes and 2 times 4 have no padding.
unsafe impl Plain for tern_lease_info_t {}

/// The holder has been told that the lease will be revoked.
pub const TERN_LEASE_REVOKING: u32 = 1;
/// The lease is spare capacity.
pub const TERN_LEASE_SPARE: u32 = 2;
/// The lease may be preempted.
pub const TERN_LEASE_PREEMPTIBLE: u32 = 4;
/// Other shared leases may be beside it.
pub const TERN_LEASE_SHARED: u32 = 8;
/// The lease was revoked with notice, and its holder released it before that ended.
pub const TERN_LEASE_ACKNOWLEDGED: u32 = 16;

/// What a lease takes of one resource. Make it with tern_take_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_take_t {
    /// sizeof(tern_take_t)
    pub struct_size: usize,
    /// Slots of the resource.
    pub slots: u32,
    /// Memory of the resource in MiB.
    pub memory_mib: u32,
    /// Name of the resource.
    pub resource: [c_char; 256],
}

// SAFETY: integers only; 8 + 4 + 4 + 256 bytes have no padding.
unsafe impl Plain for tern_take_t {}

fn lease_info(info: &LeaseInfo) -> tern_lease_info_t {
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    tern_lease_info_t {
        struct_size: 0,
        lease: info.id.0,
        parent: info.parent.map_or(0, |parent| parent.0),
        ttl: time(info.ttl),
        granted_at: info.granted_at,
        end: time(info.end),
        reason: reason::code(info.reason),
        priority: info.priority.into(),
        take_count: info.takes.len() as u32,
        flags: flag(info.revoking, TERN_LEASE_REVOKING)
            | flag(info.spare, TERN_LEASE_SPARE)
            | flag(info.preemptible, TERN_LEASE_PREEMPTIBLE)
            | flag(info.shared, TERN_LEASE_SHARED)
            | flag(info.acknowledged, TERN_LEASE_ACKNOWLEDGED),
        state: info.state as tern_trit_t,
        reserved: [0; 7],
        holder: inline_name(&info.holder),
        revoker: inline_name(info.revoker.as_deref().unwrap_or_default()),
        ender_principal: info.ended_by.map_or(0, |actor| actor.principal),
        ender_process: info.ended_by.map_or(0, |actor| actor.process),
    }
}

fn take(taken: &Taken) -> tern_take_t {
    tern_take_t {
        struct_size: 0,
        slots: taken.slots,
        memory_mib: taken.memory,
        resource: inline_name(&taken.resource),
    }
}

/// Everything about a lease that is held or remembered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_info(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    info: *mut tern_lease_info_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let size = sized::room(info, "info")?;
            let found = manager.lease(LeaseId(lease)).ok_or(Error::UnknownLease)?;
            sized::store(info, size, &lease_info(&found));
            Ok(TERN_OK)
        })
    }
}

/// What a lease takes, or took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_takes(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    takes: *mut tern_take_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            sized::check_list(takes, capacity, "takes")?;
            let found = manager.lease(LeaseId(lease)).ok_or(Error::UnknownLease)?;
            let found: Vec<tern_take_t> = found.takes.iter().map(take).collect();
            more_if(!sized::store_list(takes, capacity, needed, &found, "takes")?)
        })
    }
}

/// Writes leases into a caller's array, which is there if it has a capacity.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn put_leases(
    to: *mut tern_lease_t,
    capacity: usize,
    needed: *mut usize,
    found: &[LeaseId],
) -> Result<tern_status_t, Failure> {
    // SAFETY: the caller's contract.
    unsafe {
        for (index, lease) in found.iter().take(capacity).enumerate() {
            to.add(index).write_unaligned(lease.0);
        }
        put(needed, found.len());
    }
    more_if(found.len() > capacity)
}

/// The leases a holder holds, oldest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_held_by(
    manager: *const tern_manager_t,
    holder: *const c_char,
    holder_len: usize,
    leases: *mut tern_lease_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            if capacity != 0 {
                required(leases, "leases")?;
            }
            let holder = name(holder, holder_len, "holder")?;
            put_leases(leases, capacity, needed, &manager.held_by(holder))
        })
    }
}

/// All held leases, oldest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_leases(
    manager: *const tern_manager_t,
    infos: *mut tern_lease_info_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let found: Vec<tern_lease_info_t> = manager.leases().iter().map(lease_info).collect();
            more_if(!sized::store_list(infos, capacity, needed, &found, "infos")?)
        })
    }
}
