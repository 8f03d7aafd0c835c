//! Watch: being called when something happens to a lease.
//!
//! The calls come from a thread of the library's own, one after the other, while the library holds no
//! lock: a callback may use the manager, even close it, but others wait while it runs. It must not throw an exception or jump out.
//! Programs that would rather not be called read events, or give the descriptor of tern_lease_watch_fd() to an event loop.
//!
//!     static void on_notice(void *user, tern_lease_t lease, tern_trit_t state,
//!                           int32_t reason, uint64_t at)
//!     {
//!         printf("lease %" PRIu64 ": %s\n", lease, tern_reason_name(reason));
//!         if (state == TERN_HELD)
//!             save_work_until(user, at);   // a notice: revoked at that time
//!         else
//!             stop_using_the_gpu(user);    // over
//!     }
//!     static void begin(tern_manager_t *manager, tern_lease_t lease, void *job)
//!     {
//!         tern_lease_watch(manager, lease, on_notice, job, NULL, NULL);
//!     }

use std::ffi::{c_int, c_void};

use super::boundary::{UNKNOWN, with};
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::{tern_manager_t, time};
use super::status::tern_status_t::{self, *};
use super::text::required;
use super::{reason, tern_trit_t};
use crate::LeaseManager;
use crate::manager::Notice;
use crate::table::LeaseId;

/// Is called with what tern_lease_watch() was given. `state` TERN_HELD: the lease will be revoked at time `at`.
/// Otherwise it is over since then; TERN_TRIT_UNKNOWN if by now nothing else is remembered of it.
pub type tern_watch_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        lease: tern_lease_t,
        state: tern_trit_t,
        reason: i32,
        at: u64,
    ),
>;

/// Is called once when the library no longer needs `user`.
pub type tern_drop_fn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// What belongs to the caller and comes back to it.
struct User {
    data: *mut c_void,
    drop: tern_drop_fn,
}

// SAFETY: the pointer is only handed back, and by the caller's contract that may happen on another thread.
unsafe impl Send for User {}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: the caller gave this function for this pointer; it is called once.
            unsafe { drop(self.data) }
        }
    }
}

impl User {
    /// A method, so that a closure takes the whole of it and not only the pointer.
    fn data(&self) -> *mut c_void {
        self.data
    }
}

/// Calls `callback` when the lease gets a notice of its revocation (again if that comes to end earlier),
/// and when it is over for whatever reason; then never again. `drop`, which may be NULL, is called
/// after the last call, or when the manager is closed. If this does not return TERN_OK, neither will be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_watch(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    callback: tern_watch_fn,
    user: *mut c_void,
    drop: tern_drop_fn,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let callback = callback.ok_or_else(|| Failure::null("callback"))?;
            manager.prepare_watch(LeaseId(lease))?;
            let user = User { data: user, drop };
            manager.add_watch(LeaseId(lease), move |notice: &Notice| {
                let state = notice.state.map_or(UNKNOWN, |state| state as tern_trit_t);
                let reason = reason::code(notice.reason);
                // The caller gave this function for this pointer.
                callback(user.data(), notice.lease.0, state, reason, time(notice.at));
            });
            Ok(TERN_OK)
        })
    }
}

/// A descriptor that becomes readable when tern_lease_watch() would call: with a notice, and when the lease is over; and when the
/// manager is closed. It is the caller's, who closes it; reading eight bytes makes it unreadable until the next time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_watch_fd(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    fd: *mut c_int,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(fd, "fd")?;
            #[cfg(target_os = "linux")]
            {
                use std::os::fd::IntoRawFd;
                fd.write_unaligned(manager.watch_fd(LeaseId(lease))?.into_raw_fd());
                Ok(TERN_OK)
            }
            #[cfg(not(target_os = "linux"))]
            {
                let _ = (manager, lease);
                Err(Failure::new(TERN_ERR_UNSUPPORTED, "descriptors exist on Linux only"))
            }
        })
    }
}
