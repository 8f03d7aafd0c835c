//! Resource: what leases are on.
//!
//! A resource comes into being with one slot when it is first used, or is declared with more.

use std::ffi::c_char;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::info::put_leases;
use super::lease::tern_lease_t;
use super::manager::{more_if, tern_manager_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::tern_trit_t;
use super::text::{inline_name, name, put, required};
use crate::LeaseManager;
use crate::table::{Error, Health, ResourceInfo};

/// A declared resource, for claims that spare looking up its name. 0 is none.
pub type tern_resource_t = u32;

/// What there is of a resource, and what is taken. Make it with tern_resource_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_resource_info_t {
    /// sizeof(tern_resource_info_t)
    pub struct_size: usize,
    /// How many slots it has.
    pub slots: u32,
    /// How much memory it has, in MiB.
    pub memory_mib: u32,
    /// Slots that are taken.
    pub used_slots: u32,
    /// Memory that is taken.
    pub used_memory_mib: u32,
    /// Shared leases on it.
    pub shared: u32,
    /// TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    pub health: tern_trit_t,
    /// 1: declared, not just used.
    pub declared: u8,
    /// Zero.
    pub reserved: [u8; 2],
    /// Its name.
    pub name: [c_char; 256],
}

// SAFETY: integers only; 8 + 5 times 4 + 4 times 1 + 256 bytes have no padding.
unsafe impl Plain for tern_resource_info_t {}

fn resource_info(found: &ResourceInfo) -> tern_resource_info_t {
    tern_resource_info_t {
        struct_size: 0,
        slots: found.slots,
        memory_mib: found.memory,
        used_slots: found.used_slots,
        used_memory_mib: found.used_memory,
        shared: found.shared,
        health: found.health as tern_trit_t,
        declared: found.declared.into(),
        reserved: [0; 2],
        name: inline_name(&found.name),
    }
}

/// Makes a resource with so many slots and so much memory, or changes the size of one that is not in use (the size that it has is
/// no change).
/// Its number goes to `resource`, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_resource_declare(
    manager: *const tern_manager_t,
    resource_name: *const c_char,
    resource_name_len: usize,
    slots: u32,
    memory_mib: u32,
    resource: *mut tern_resource_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let named = name(resource_name, resource_name_len, "resource_name")?;
            put(resource, manager.declare(named, slots, memory_mib)?.0);
            Ok(TERN_OK)
        })
    }
}

/// Says how a declared resource is: TERN_HEALTHY, TERN_DRAINING or TERN_FAILED. One that is not healthy keeps its leases
/// and gets no new ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_resource_set_health(
    manager: *const tern_manager_t,
    resource_name: *const c_char,
    resource_name_len: usize,
    health: tern_trit_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let health = match health {
                1 => Health::Healthy,
                0 => Health::Draining,
                -1 => Health::Failed,
                _ => {
                    let problem = "is none of healthy, draining and failed";
                    return Err(Failure::argument(TERN_ERR_BAD_VALUE, "health", problem));
                }
            };
            let named = name(resource_name, resource_name_len, "resource_name")?;
            manager.set_health(named, health)?;
            Ok(TERN_OK)
        })
    }
}

/// What there is of a resource, and what is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_resource_info(
    manager: *const tern_manager_t,
    resource_name: *const c_char,
    resource_name_len: usize,
    info: *mut tern_resource_info_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let size = sized::room(info, "info")?;
            let named = name(resource_name, resource_name_len, "resource_name")?;
            let found = manager.resource(named).ok_or(Error::UnknownResource)?;
            sized::store(info, size, &resource_info(&found));
            Ok(TERN_OK)
        })
    }
}

/// All resources that are declared or in use, by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_resources(
    manager: *const tern_manager_t,
    infos: *mut tern_resource_info_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let found: Vec<tern_resource_info_t> =
                manager.resources().iter().map(resource_info).collect();
            more_if(!sized::store_list(infos, capacity, needed, &found, "infos")?)
        })
    }
}

/// The leases on a resource, oldest first: who has what a claim waits for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_resource_leases(
    manager: *const tern_manager_t,
    resource_name: *const c_char,
    resource_name_len: usize,
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
            let named = name(resource_name, resource_name_len, "resource_name")?;
            put_leases(leases, capacity, needed, &manager.leases_on(named))
        })
    }
}
