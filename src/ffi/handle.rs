//! Handles: what C programs hold of the library's objects.
//!
//! A handle begins with a tag that says what it is, in which state, and in which process it was opened. The one comparison that each
//! call makes notices a handle of another kind, one that was closed, one that is poisoned, and one that came here by fork.
//!
//! The last 256 handles of a kind that were closed keep their memory, so that using one of them is a status, not a crash. There is no lock
//! in this: a forked child may find any lock taken for ever.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::Failure;
use super::ring::Ring;
use super::status::tern_status_t::*;

/// What can be behind a handle.
pub(super) trait Object: Send + Sync + Sized + 'static {
    /// The C type.
    type Opaque;
    /// No two kinds have the same.
    const KIND: u32;
    /// Handles of this kind that were closed.
    fn closed() -> &'static Closed<Self>;
    /// A call panicked: whoever waits for the object must not wait in vain.
    fn poison(&self);
    /// The handle is closed, the object still there: ends what runs beside the caller and may be using it.
    fn finish(&self);
}

#[repr(C)]
pub(super) struct Handle<T> {
    tag: AtomicU64,
    /// Initialised unless the tag says closed.
    object: UnsafeCell<MaybeUninit<T>>,
}

/// How many forks this process is away from the one that loaded the library.
static FORKS: AtomicU64 = AtomicU64::new(0);

const STATE: u64 = 0xff << 24;
const POISONED: u64 = 1 << 24;
const CLOSED: u64 = 2 << 24;
const FORK: u64 = (1 << 24) - 1;

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The tag of an open handle of this process.
#[inline(always)]
fn open_tag<T: Object>() -> u64 {
    (T::KIND as u64) << 32 | FORKS.load(Ordering::Relaxed) & FORK
}

impl<T: Object> Handle<T> {
    /// Gives an object into the hands of C.
    pub fn open(object: T) -> *mut T::Opaque {
        static ONCE: Once = Once::new();
        // SAFETY: the function only counts, which it may do in a child of any process.
        ONCE.call_once(|| unsafe {
            #[cfg(unix)]
            libc::pthread_atfork(None, None, Some(in_child));
        });
        let handle = Handle {
            tag: AtomicU64::new(open_tag::<T>()),
            object: UnsafeCell::new(MaybeUninit::new(object)),
        };
        Box::into_raw(Box::new(handle)).cast()
    }

    /// The tag of the handle that C means, if it is one. What follows the tag may be another kind's, and shorter.
    ///
    /// # Safety
    /// The caller's contract; `'a` ends with the call.
    #[inline(always)]
    unsafe fn tag<'a>(pointer: *const T::Opaque) -> Result<&'a AtomicU64, Failure> {
        let tag = pointer.cast::<AtomicU64>();
        if tag.is_null() {
            return Err(Failure::null("the handle"));
        }
        if !tag.is_aligned() {
            return Err(Failure::new(TERN_ERR_BAD_HANDLE, "the pointer is not a handle"));
        }
        // SAFETY: by the caller's contract `open` gave it out, for this or another kind, and all begin with a tag.
        Ok(unsafe { &*tag })
    }

    /// The object, if it can be used here and now.
    ///
    /// # Safety
    /// The caller's contract; `'a` ends with the call.
    #[inline(always)]
    pub unsafe fn object<'a>(pointer: *const T::Opaque) -> Result<&'a T, Failure> {
        // SAFETY: as required.
        let tag = unsafe { Self::tag(pointer) }?;
        if tag.load(Ordering::Relaxed) != open_tag::<T>() {
            return Err(Self::problem(tag));
        }
        // SAFETY: the tag says that it is a handle of this kind and that the object is there.
        Ok(unsafe { Self::object_of(pointer) })
    }

    /// # Safety
    /// It is a handle of this kind with an object, and by the caller's contract nobody closes it meanwhile.
    #[inline(always)]
    unsafe fn object_of<'a>(pointer: *const T::Opaque) -> &'a T {
        // SAFETY: as required.
        unsafe { (*(*pointer.cast::<Handle<T>>()).object.get()).assume_init_ref() }
    }

    #[cold]
    fn problem(tag: &AtomicU64) -> Failure {
        let tag = tag.load(Ordering::Relaxed);
        if tag >> 32 != T::KIND as u64 {
            return Failure::new(TERN_ERR_BAD_HANDLE, "the handle is of another kind, or none");
        }
        match tag & STATE {
            CLOSED => Failure::new(TERN_ERR_CLOSED, "the handle was closed"),
            POISONED => Failure::new(
                TERN_ERR_POISONED,
                "an earlier call with this handle failed inside the library; close it and open another",
            ),
            _ => Failure::new(
                TERN_ERR_FORKED,
                "the handle was opened before this process was forked; open a new one here",
            ),
        }
    }

    /// From now on the handle can only be closed.
    ///
    /// # Safety
    /// The caller's contract.
    #[cold]
    pub unsafe fn poison(pointer: *const T::Opaque) {
        // SAFETY: as required.
        if let (Ok(object), Ok(tag)) = unsafe { (Self::object(pointer), Self::tag(pointer)) } {
            object.poison();
            tag.fetch_or(POISONED, Ordering::Relaxed);
        }
    }

    /// Ends the object. In a forked child it is left alone: the locks in it may be taken for ever, and what it stands for is the parent's.
    ///
    /// # Safety
    /// The caller's contract.
    pub unsafe fn close(pointer: *mut T::Opaque) {
        // SAFETY: as required.
        let Ok(tag) = (unsafe { Self::tag(pointer) }) else { return };
        // At one instant: of two threads that close it, against the contract, one ends the object.
        let close = |was| (was & !POISONED == open_tag::<T>()).then_some(was & !STATE | CLOSED);
        if tag.fetch_update(Ordering::Relaxed, Ordering::Relaxed, close).is_err() {
            return;
        }
        // SAFETY: the tag said that the object is there, and nobody takes it away before the next step.
        unsafe { Self::object_of(pointer) }.finish();
        // SAFETY: as above; now the tag says that it is not there, so nobody takes it again.
        let object = unsafe { (*(*pointer.cast::<Handle<T>>()).object.get()).assume_init_read() };
        // SAFETY: `open` made it, and this is the one that closes it. Its object is gone, and dropping the handle does not touch it.
        drop(T::closed().keep(unsafe { Box::from_raw(pointer.cast()) }));
        drop(object);
    }
}

/// The handles that were closed last.
pub(super) type Closed<T> = Ring<Handle<T>, 256>;
