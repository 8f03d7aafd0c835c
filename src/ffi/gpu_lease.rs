//! GPU lease: the devices of a lease, and how to use them.
//!
//! A program that uses CUDA itself asks for its devices and finds each by its PCI address; one that starts others gives them an
//! environment.
//!
//!     size_t place;
//!     tern_device_t device = tern_device_init();
//!     if (tern_gpu_lease_devices(pool, lease, &place, 1, NULL, &err) == TERN_OK &&
//!         tern_pool_device(pool, place, &device, &err) == TERN_OK)
//!         printf("on %s at %s\n", device.name, device.pci);

use std::ffi::c_char;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::more_if;
use super::pool::tern_pool_t;
use super::status::tern_status_t::{self, *};
use super::text::{put, put_text, required};
use crate::table::LeaseId;
use crate::{Env, GpuLease, GpuPool};

/// Name devices by their UUIDs, where they have one.
pub const TERN_ENV_BY_UUID: u32 = 1;

/// The places of a lease's devices in the pool, in the pool's order; also of a lease that is over, while it is remembered.
/// TERN_ERR_UNKNOWN_LEASE if it is not, or has no device of this pool. `needed` as for all lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_gpu_lease_devices(
    pool: *const tern_pool_t,
    lease: tern_lease_t,
    places: *mut usize,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            if capacity != 0 {
                required(places, "places")?;
            }
            let found = GpuLease::view(pool, LeaseId(lease))?.places();
            for (index, place) in found.iter().take(capacity).enumerate() {
                places.add(index).write_unaligned(*place);
            }
            put(needed, found.len());
            more_if(found.len() > capacity)
        })
    }
}

/// What a child needs in its environment to see the devices of a lease and no others, line by line: "NAME=value" is to be set, "NAME" alone
/// to be removed. NVIDIA's devices go by number in the order of PCI addresses, unless `flags` has TERN_ENV_BY_UUID; parts of
/// devices always by UUID. `needed` as in tern_manager_metrics(), TERN_ERR_UNKNOWN_LEASE as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_gpu_lease_env(
    pool: *const tern_pool_t,
    lease: tern_lease_t,
    flags: u32,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            if capacity != 0 {
                required(buffer, "buffer")?;
            }
            if flags & !TERN_ENV_BY_UUID != 0 {
                return Err(Failure::argument(TERN_ERR_BAD_VALUE, "flags", "has unknown bits"));
            }
            let lease = GpuLease::view(pool, LeaseId(lease))?;
            let env = match flags & TERN_ENV_BY_UUID {
                0 => lease.env()?,
                _ => lease.env_by_uuid()?,
            };
            more_if(!put_text(buffer, capacity, needed, &lines(&env), "buffer")?)
        })
    }
}

fn lines(env: &Env) -> String {
    let set = env.set.iter().map(|(name, value)| format!("{name}={value}\n"));
    let removed = env.remove.iter().map(|name| format!("{name}\n"));
    set.chain(removed).collect()
}

/// Gives devices back. As tern_lease_release(), for those who have a pool and no manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_gpu_lease_release(
    pool: *const tern_pool_t,
    lease: tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            pool.manager().release(LeaseId(lease))?;
            Ok(TERN_OK)
        })
    }
}

/// A thread of the library's own renews the lease from now on, in time, while it is held and the pool is open. As
/// TERN_CLAIM_KEEP_ALIVE, for leases that came by a ticket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_gpu_lease_keep_alive(
    pool: *const tern_pool_t,
    lease: tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            if !pool.manager().has_real_time() {
                let problem = "cannot be kept alive by a manager that counts ticks";
                return Err(Failure::argument(TERN_ERR_BAD_VALUE, "lease", problem));
            }
            pool.keep_alive(LeaseId(lease))?;
            Ok(TERN_OK)
        })
    }
}
