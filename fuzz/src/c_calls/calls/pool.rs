use std::ptr;

use super::manager::told_text;
use crate::c::*;
use crate::call::Call;
use crate::memory::{Place, Told};
use crate::world::Pool;

/// Options, and what they are made of. Devices that do not exist, or none.
struct Drawn {
    options: Told<tern_pool_options_t>,
    said: tern_pool_options_t,
    /// Alive until the call is over.
    _devices: Place,
}

fn draw(call: &mut Call, flags: u64) -> Drawn {
    const GOOD: [&[u8]; 4] = [b"fake:2", b"fake:4", b"fake:1", b"none"];
    const ODD: [&[u8]; 4] = [b"fake:", b"gpu0", b"fake:\xff", b"fake:2\0"];
    let choice = call.input.byte();
    let good = choice < 240;
    let list = if good { GOOD } else { ODD };
    let mut devices = Place::with(list[usize::from(choice) % list.len()]);
    let known = call.input.byte();
    let mut said_flags = u64::from(known) & flags;
    if known >= 248 {
        said_flags |= 1 << 40;
    }
    let time = |call: &mut Call| match call.input.byte() {
        0..=223 => 0,
        _ => call.input.span(),
    };
    let said = tern_pool_options_t {
        struct_size: 0,
        devices: devices.pointer(),
        devices_len: devices.bytes().len(),
        flags: said_flags,
        poll_us: time(call),
        drain_limit_us: time(call),
        recovery_us: time(call),
        slots: call.input.one_of(&[0, 1, 2, 4, u32::MAX]),
        clean_memory_mib: 0,
    };
    let options = match call.input.byte() {
        0..=251 => Told::draw(&mut call.input, &said),
        _ => Told::null(),
    };
    call.bad_if(options.is_bad());
    let whole = options.is_whole() && !options.is_null();
    call.bad_if(whole && (!good || said_flags > flags));
    Drawn { options, said, _devices: devices }
}

/// How many devices a pool has that is open.
#[track_caller]
fn capacity(pool: *mut tern_pool_t) -> usize {
    let mut count = 0;
    // SAFETY: the pool is open.
    let status = unsafe { tern_pool_capacity(pool, &mut count, ptr::null_mut()) };
    assert_eq!(status, TERN_OK);
    assert!(count <= 4);
    count as usize
}

/// On a table of its own, which is closed at once: it is a large one.
pub fn open(mut call: Call) {
    let mut drawn = draw(&mut call, TERN_POOL_CHECK_USE | TERN_POOL_BREAK_DEADLOCKS);
    let mut url = match call.input.byte() {
        0..=239 => Place::with(b"process:"),
        240..=247 => Place::with(b"disk:"),
        _ => Place::null(),
    };
    let url_len = if url.is_null() { 8 } else { url.bytes().len() };
    call.bad_if(url.is_null() || url.bytes() != b"process:");
    let mut pool = call.required();
    let options = drawn.options.pointer();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_pool_open(url.pointer(), url_len, options, pool.pointer(), call.err()) };
    drawn.options.check();
    url.check(0);
    let opened = pool.answer(status == TERN_OK);
    call.done(format_args!("tern_pool_open({:?}): {opened:?}", drawn.said), status);
    let Some(pool) = opened else { return };
    let (mut lease, none) = (0, ptr::null_mut());
    // SAFETY: the pool is open, and then closed.
    unsafe {
        let status = tern_pool_try_claim(pool, &mut lease, none);
        assert_eq!(status, if capacity(pool) == 0 { TERN_EMPTY } else { TERN_OK });
        tern_pool_close(pool);
        assert_eq!(tern_gpu_lease_release(pool, lease, none), TERN_ERR_CLOSED);
    }
    call.world.pools.closed.push(pool.cast());
}

pub fn on(mut call: Call) {
    if call.world.pools.is_full() {
        return;
    }
    let manager = call.on_manager();
    let mut drawn = draw(&mut call, TERN_POOL_CHECK_USE);
    let mut pool = call.required();
    // SAFETY: as above.
    let status =
        unsafe { tern_pool_on(manager, drawn.options.pointer(), pool.pointer(), call.err()) };
    drawn.options.check();
    let opened = pool.answer(status == TERN_OK);
    // Some devices may have been declared.
    call.changes_if(matches!(status, TERN_ERR_FULL | TERN_ERR_IN_USE));
    call.done(format_args!("tern_pool_on({manager:p}, {:?}): {opened:?}", drawn.said), status);
    if let Some(pointer) = opened {
        let ticks = call.ticks();
        call.world.pools.open.push(Pool::new(pointer, manager, ticks, capacity(pointer)));
    }
}

pub fn close(mut call: Call) {
    let pool = call.on_pool();
    match call.pool_place() {
        Some(place) => call.world.close_pool(place),
        // SAFETY: what is no pool, or none any more, is left alone.
        None => unsafe { tern_pool_close(pool) },
    }
}

/// Another manager on the same table, which is closed at once.
pub fn manager(mut call: Call) {
    let pool = call.on_pool();
    let mut manager = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_pool_manager(pool, manager.pointer(), call.err()) };
    let given = manager.answer(status == TERN_OK);
    if let Some(given) = given {
        let (mut resources, none) = (0, ptr::null_mut());
        // SAFETY: the manager is open, and then closed; no room is needed for nothing.
        unsafe {
            tern_manager_resources(given, ptr::null_mut(), 0, &mut resources, none);
            tern_manager_close(given);
            assert_eq!(tern_manager_tick(given, none), TERN_ERR_CLOSED);
        }
        call.world.managers.closed.push(given.cast());
        assert!(call.pool().is_some_and(|pool| pool.devices <= resources));
    }
    call.done(format_args!("tern_pool_manager({pool:p}): {given:?}"), status);
}

pub fn counters(mut call: Call) {
    let pool = call.on_pool();
    let pending = call.input.below(2) == 1;
    let mut out = call.required();
    let (to, err) = (out.pointer(), call.err());
    // SAFETY: as above.
    let status = unsafe {
        match pending {
            true => tern_pool_pending_claimers(pool, to, err),
            false => tern_pool_capacity(pool, to, err),
        }
    };
    let count = out.answer(status == TERN_OK);
    call.done(format_args!("counter of {pool:p}: {count:?}"), status);
    if let (Some(count), true, Some(manager)) = (count, call.ticks(), call.manager()) {
        assert!(!pending || count <= manager.seen.tickets.len() as u64);
    }
}

pub fn absence(mut call: Call) {
    let pool = call.on_pool();
    let (status, text) = told_text(&mut call, &[200, 0, 1, 2, 8], |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_pool_absence(pool, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_pool_absence({pool:p}): {text:?}"), status);
    if let (Some(text), Some(pool)) = (text, call.pool()) {
        assert_eq!(text.is_empty(), pool.devices != 0, "a reason where there are none");
    }
}
