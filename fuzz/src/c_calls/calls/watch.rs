use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;

use crate::c::*;
use crate::call::Call;
use crate::watch::{Watch, on_drop, on_notice};

pub fn watch(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let shape = call.input.byte();
    let callback: tern_watch_fn = if shape < 240 { Some(on_notice) } else { None };
    let drop: tern_drop_fn = if shape.is_multiple_of(2) { Some(on_drop) } else { None };
    call.bad_if(callback.is_none());
    let watch = Watch::new(manager, lease, drop.is_some());
    // SAFETY: the watch lives until the manager is closed.
    let status =
        unsafe { tern_lease_watch(manager, lease, callback, watch.cast(), drop, call.err()) };
    // SAFETY: as above.
    let user = unsafe { &*watch };
    user.accepted.store(status == TERN_OK, SeqCst);
    match call.manager() {
        Some(manager) => manager.watches.push(watch),
        None => {
            assert_ne!(status, TERN_OK);
            user.check_at_end();
            // SAFETY: `Watch::new` made it, and the library did not accept it.
            std::mem::drop(unsafe { Box::from_raw(watch) });
        }
    }
    call.done(format_args!("tern_lease_watch({manager:p}, {lease})"), status);
}

pub fn watch_fd(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let mut fd = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_lease_watch_fd(manager, lease, fd.pointer(), call.err()) };
    if let Some(fd) = fd.answer(status == TERN_OK) {
        // SAFETY: the descriptor is the caller's.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    call.done(format_args!("tern_lease_watch_fd({manager:p}, {lease})"), status);
}
