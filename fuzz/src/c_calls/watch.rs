//! Being called by the library.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use crate::c::*;
use crate::manager::UNKNOWN;

/// The user data of one watch.
pub struct Watch {
    manager: *mut tern_manager_t,
    lease: u64,
    has_drop: bool,
    /// Did the library accept it? It may call before it says so.
    pub accepted: AtomicBool,
    over: AtomicBool,
    calls: AtomicU32,
    drops: AtomicU32,
}

impl Watch {
    pub fn new(manager: *mut tern_manager_t, lease: u64, has_drop: bool) -> *mut Watch {
        Box::into_raw(Box::new(Watch {
            manager,
            lease,
            has_drop,
            accepted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            calls: AtomicU32::new(0),
            drops: AtomicU32::new(0),
        }))
    }

    /// The library has no use for it any more.
    pub fn check_at_end(&self) {
        let accepted = self.accepted.load(SeqCst);
        let drops = u32::from(accepted && self.has_drop);
        assert_eq!(self.drops.load(SeqCst), drops, "dropped once, or never");
        assert!(accepted || self.calls.load(SeqCst) == 0, "called, but refused");
    }
}

pub unsafe extern "C" fn on_notice(
    user: *mut c_void,
    lease: u64,
    state: i8,
    reason: i32,
    _at: u64,
) {
    // SAFETY: `user` is a watch, which is freed after its manager was closed.
    let watch = unsafe { &*user.cast::<Watch>() };
    assert_eq!(lease, watch.lease);
    assert_eq!(watch.drops.load(SeqCst), 0, "called after it was dropped");
    assert!(!watch.over.swap(state != 1, SeqCst), "called after the lease was over");
    assert!([1, 0, -1, UNKNOWN].contains(&state) && (reason != 0 || state == UNKNOWN));
    watch.calls.fetch_add(1, SeqCst);
    // SAFETY: a callback may use the manager; while that is being closed, its handle says so.
    let now = unsafe { tern_lease_state(watch.manager, lease, ptr::null_mut()) };
    assert!(state == 1 || now != 1, "told that the lease is over, and it is held");
}

pub unsafe extern "C" fn on_drop(user: *mut c_void) {
    // SAFETY: as above.
    let watch = unsafe { &*user.cast::<Watch>() };
    assert_eq!(watch.drops.fetch_add(1, SeqCst), 0, "dropped twice");
}
