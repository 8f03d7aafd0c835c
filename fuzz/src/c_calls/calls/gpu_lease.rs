use std::ptr;

use super::info::listed_leases;
use super::manager::told_text;
use crate::c::*;
use crate::call::Call;

/// How many devices a lease has that is surely remembered.
#[track_caller]
pub fn count_devices(pool: *mut tern_pool_t, lease: u64) -> usize {
    let (mut count, none) = (0, ptr::null_mut());
    // SAFETY: the pool is open; no room is needed for nothing.
    let status =
        unsafe { tern_gpu_lease_devices(pool, lease, ptr::null_mut(), 0, &mut count, none) };
    assert_eq!(status, TERN_MORE);
    count
}

pub fn devices(mut call: Call) {
    let pool = call.on_pool();
    let lease = call.lease();
    // Places are as wide as leases.
    let (status, places) = listed_leases(&mut call, |to, capacity, needed, err| {
        // SAFETY: whatever is not NULL lives until the call returns.
        unsafe { tern_gpu_lease_devices(pool, lease, to.cast(), capacity, needed, err) }
    });
    call.done(format_args!("tern_gpu_lease_devices({pool:p}, {lease}): {places:?}"), status);
    if let (Some(places), Some(pool)) = (places, call.pool()) {
        assert!(places.iter().all(|&place| (place as usize) < pool.devices));
    }
}

pub fn env(mut call: Call) {
    let pool = call.on_pool();
    let lease = call.lease();
    let flags = call.input.one_of(&[0, 1, 0, 2, 1 << 31]);
    call.bad_if(flags > 1);
    let (status, text) = told_text(&mut call, &[200, 0, 1, 20], |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_gpu_lease_env(pool, lease, flags, to, capacity, needed, err) }
    });
    let what = format_args!("tern_gpu_lease_env({pool:p}, {lease}, {flags}): {text:?}");
    call.done(what, status);
    assert!(text.is_none_or(|text| text.starts_with("CUDA_DEVICE_ORDER=PCI_BUS_ID\n")));
}

pub fn release(mut call: Call) {
    let pool = call.on_pool();
    let lease = call.lease();
    // SAFETY: as above.
    let status = unsafe { tern_gpu_lease_release(pool, lease, call.err()) };
    call.done(format_args!("tern_gpu_lease_release({pool:p}, {lease})"), status);
    if let (TERN_OK, Some(manager)) = (status, call.manager()) {
        assert_ne!(manager.lease_state(lease), 1, "given back, and held");
    }
}

pub fn keep_alive(mut call: Call) {
    let pool = call.on_pool();
    let lease = call.lease();
    let ticks = call.pool().is_some_and(|pool| pool.ticks);
    call.bad_if(ticks);
    // SAFETY: as above.
    let status = unsafe { tern_gpu_lease_keep_alive(pool, lease, call.err()) };
    call.done(format_args!("tern_gpu_lease_keep_alive({pool:p}, {lease})"), status);
}
