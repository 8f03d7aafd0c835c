//! The way in and out of the library: here panics end and failures become answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::{self, Failure, tern_error_t};
use super::handle::{Handle, Object};
use super::status::tern_status_t::{self, *};
use super::tern_trit_t;

/// "I do not know": never one of the three.
pub(super) const UNKNOWN: tern_trit_t = tern_trit_t::MIN;

/// What a function of the boundary returns.
pub(super) trait Answer {
    /// For a call that did not succeed.
    fn failed(status: tern_status_t) -> Self;
}

impl Answer for tern_status_t {
    fn failed(status: tern_status_t) -> Self {
        status
    }
}

impl Answer for tern_trit_t {
    fn failed(_: tern_status_t) -> Self {
        UNKNOWN
    }
}

/// Does something with the object behind a handle.
///
/// # Safety
/// The caller's contract.
#[inline(always)]
pub(super) unsafe fn with<T: Object, R: Answer>(
    handle: *const T::Opaque,
    err: *mut tern_error_t,
    work: impl FnOnce(&T) -> Result<R, Failure>,
) -> R {
    // SAFETY: as required.
    if !unsafe { error::is_usable(err) } {
        return R::failed(TERN_ERR_BAD_STRUCT);
    }
    // What a panic leaves half done is behind the handle, which is poisoned then.
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as required.
        work(unsafe { Handle::<T>::object(handle) }?)
    }));
    match done {
        Ok(Ok(answer)) => answer,
        // SAFETY: as required, and `err` is usable.
        Ok(Err(failure)) => unsafe { fail(err, &failure) },
        Err(payload) => {
            // Poisoning wakes waiters, which is code that may panic too. SAFETY: as required.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { Handle::<T>::poison(handle) }));
            // SAFETY: as required, and `err` is usable.
            unsafe { panicked(err, payload) }
        }
    }
}

/// Does something without a handle.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn without<R: Answer>(
    err: *mut tern_error_t,
    work: impl FnOnce() -> Result<R, Failure>,
) -> R {
    // SAFETY: as required.
    if !unsafe { error::is_usable(err) } {
        return R::failed(TERN_ERR_BAD_STRUCT);
    }
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(answer)) => answer,
        // SAFETY: as required, and `err` is usable.
        Ok(Err(failure)) => unsafe { fail(err, &failure) },
        // SAFETY: as above.
        Err(payload) => unsafe { panicked(err, payload) },
    }
}

/// Ends a handle.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn close<T: Object>(handle: *mut T::Opaque) {
    // There is nobody to tell. SAFETY: as required.
    let done = catch_unwind(AssertUnwindSafe(|| unsafe { Handle::<T>::close(handle) }));
    if let Err(payload) = done {
        // Dropping it could panic again.
        std::mem::forget(payload);
    }
}

#[cold]
#[inline(never)]
unsafe fn fail<R: Answer>(err: *mut tern_error_t, failure: &Failure) -> R {
    // SAFETY: as required.
    unsafe { error::tell(err, failure) };
    R::failed(failure.status)
}

#[cold]
#[inline(never)]
unsafe fn panicked<R: Answer>(err: *mut tern_error_t, payload: Box<dyn std::any::Any + Send>) -> R {
    // Dropping it could panic again.
    std::mem::forget(payload);
    let failure = Failure::new(
        TERN_ERR_PANIC,
        "the library has a bug and noticed; close the handle, and please report what was printed",
    );
    // SAFETY: as required.
    unsafe { fail(err, &failure) }
}
