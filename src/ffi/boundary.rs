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

/// Does something with the objects behind two handles. A panic may have come from either: both are poisoned.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn with_both<A: Object, B: Object, R: Answer>(
    one: *const A::Opaque,
    other: *const B::Opaque,
    err: *mut tern_error_t,
    work: impl FnOnce(&A, &B) -> Result<R, Failure>,
) -> R {
    // SAFETY: as required.
    if !unsafe { error::is_usable(err) } {
        return R::failed(TERN_ERR_BAD_STRUCT);
    }
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as required.
        let (one, other) = unsafe { (Handle::<A>::object(one)?, Handle::<B>::object(other)?) };
        work(one, other)
    }));
    match done {
        Ok(Ok(answer)) => answer,
        // SAFETY: as required, and `err` is usable.
        Ok(Err(failure)) => unsafe { fail(err, &failure) },
        Err(payload) => {
            // SAFETY: as required.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { Handle::<A>::poison(one) }));
            // SAFETY: as required.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { Handle::<B>::poison(other) }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::handle::Closed;

    /// Something of no use, of two kinds.
    struct Thing<const KIND: u32>;

    impl Object for Thing<1> {
        type Opaque = u8;
        const KIND: u32 = 1;
        fn closed() -> &'static Closed<Self> {
            static CLOSED: Closed<Thing<1>> = Closed::new();
            &CLOSED
        }
        fn poison(&self) {}
        fn finish(&self) {}
    }

    impl Object for Thing<2> {
        type Opaque = u16;
        const KIND: u32 = 2;
        fn closed() -> &'static Closed<Self> {
            static CLOSED: Closed<Thing<2>> = Closed::new();
            &CLOSED
        }
        fn poison(&self) {}
        fn finish(&self) {}
    }

    #[test]
    fn a_panic_with_two_handles_poisons_both() {
        let (one, other) = (Handle::open(Thing::<1>), Handle::open(Thing::<2>));
        let call = |work: fn() -> tern_status_t| {
            // SAFETY: both are open, and NULL is allowed.
            unsafe {
                with_both(one, other, std::ptr::null_mut(), |_: &Thing<1>, _: &Thing<2>| Ok(work()))
            }
        };
        assert_eq!(call(|| TERN_OK), TERN_OK);
        assert_eq!(call(|| panic!("on purpose")), TERN_ERR_PANIC);
        assert_eq!(call(|| TERN_OK), TERN_ERR_POISONED);
        // SAFETY: as above.
        unsafe {
            let alone = |_: &Thing<2>| Ok(TERN_OK);
            assert_eq!(with(other, std::ptr::null_mut(), alone), TERN_ERR_POISONED);
            close::<Thing<1>>(one);
            close::<Thing<2>>(other);
        }
        assert_eq!(call(|| TERN_OK), TERN_ERR_CLOSED);
    }
}
