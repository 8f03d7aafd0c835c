use super::info::{listed, listed_leases};
use crate::c::*;
use crate::call::Call;

/// Which of them, mostly one that there is.
fn place(call: &mut Call) -> usize {
    let count = call.pool().map_or(0, |pool| pool.devices);
    let place = match call.input.byte() {
        good @ 0..=231 => usize::from(good) % count.max(1),
        odd => [count, usize::MAX, 1 << 32][usize::from(odd) % 3],
    };
    call.bad_if(place >= count);
    place
}

pub fn device(mut call: Call) {
    let pool = call.on_pool();
    let place = place(&mut call);
    let mut device = call.one_struct::<tern_device_t>();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_pool_device(pool, place, device.pointer(), call.err()) };
    let told = device.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_pool_device({pool:p}, {place})"), status);
    if let (true, Some(told)) = (device.is_whole(), told.first()) {
        assert_eq!((told.vendor, told.index as usize), (TERN_VENDOR_NVIDIA, place));
        assert!(told.key[0] != 0 && told.key[255] == 0 && told.name[255] == 0);
    }
}

pub fn speed(mut call: Call) {
    let pool = call.on_pool();
    let place = place(&mut call);
    let mut speed = call.one_struct::<tern_device_speed_t>();
    // SAFETY: as above.
    let status = unsafe { tern_pool_device_speed(pool, place, speed.pointer(), call.err()) };
    let told = speed.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_pool_device_speed({pool:p}, {place})"), status);
    if let (true, Some(told)) = (speed.is_whole(), told.first()) {
        assert!(told.flop64 != 0 && told.memory != 0 && told.known != 0);
    }
}

/// `TERN_VENDOR_NVIDIA`.
const TERN_VENDOR_NVIDIA: i32 = tern_vendor_t::TERN_VENDOR_NVIDIA as i32;

#[track_caller]
fn check(status: &tern_device_status_t) {
    assert!(status.health.abs() <= 1 && status.reserved == [0; 7] && status.trouble[511] == 0);
    assert_eq!((status.lease != 0), status.lease_count != 0);
    assert!(status.leased_slots <= status.slots && status.squatter_count == 0);
    assert_eq!((status.seen_us, status.known), (u64::MAX, 0), "nobody watches it");
}

pub fn status(mut call: Call) {
    let pool = call.on_pool();
    let place = place(&mut call);
    let mut status = call.one_struct::<tern_device_status_t>();
    // SAFETY: as above.
    let answer = unsafe { tern_pool_device_status(pool, place, status.pointer(), call.err()) };
    let told = status.answers(usize::from(answer == TERN_OK));
    call.done(format_args!("tern_pool_device_status({pool:p}, {place})"), answer);
    if status.is_whole() {
        told.iter().for_each(check);
    }
}

pub fn snapshot(mut call: Call) {
    let pool = call.on_pool();
    let mut statuses = call.structs::<tern_device_status_t>();
    let mut needed = call.optional();
    let (to, capacity) = (statuses.pointer(), statuses.capacity());
    // SAFETY: as above.
    let status = unsafe { tern_pool_snapshot(pool, to, capacity, needed.pointer(), call.err()) };
    let (told, count) = listed(&statuses, &needed, status);
    call.done(format_args!("tern_pool_snapshot({pool:p}, {capacity}): {count:?}"), status);
    if let (Some(count), Some(pool)) = (count, call.pool()) {
        assert_eq!(count, pool.devices);
    }
    if statuses.is_whole() {
        told.iter().for_each(check);
    }
}

pub fn leases_on(mut call: Call) {
    let pool = call.on_pool();
    let place = place(&mut call);
    let (status, leases) = listed_leases(&mut call, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_pool_leases_on(pool, place, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_pool_leases_on({pool:p}, {place}): {leases:?}"), status);
    if let (true, Some(manager)) = (call.ticks(), call.manager()) {
        for lease in leases.unwrap_or_default() {
            assert!(manager.held(lease).is_some(), "only what is held is listed");
        }
    }
}

pub fn squatters(mut call: Call) {
    let pool = call.on_pool();
    let place = place(&mut call);
    let mut processes = call.structs::<tern_process_t>();
    let mut needed = call.optional();
    let (to, capacity) = (processes.pointer(), processes.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_pool_squatters(pool, place, to, capacity, needed.pointer(), call.err()) };
    let (_, count) = listed(&processes, &needed, status);
    call.done(format_args!("tern_pool_squatters({pool:p}, {place}): {count:?}"), status);
    assert!(count.is_none_or(|count| count == 0), "nobody is on devices that do not exist");
}
