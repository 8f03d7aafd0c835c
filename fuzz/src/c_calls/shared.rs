//! One table in a file, as processes share it. It is there for the whole run, as a process keeps what it has mapped; each call leaves it as it was.

use std::ffi::CString;
use std::ptr;
use std::sync::OnceLock;

use crate::c::*;

struct Shared {
    manager: *mut tern_manager_t,
    path: CString,
}

// SAFETY: a manager may be used by any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Its manager.
pub fn manager() -> *mut tern_manager_t {
    SHARED.get_or_init(open).manager
}

fn open() -> Shared {
    let path = format!("/dev/shm/ternlease-fuzz-{}", std::process::id());
    let url = format!("host:{path}");
    let options = tern_options_t {
        struct_size: size_of::<tern_options_t>(),
        flags: 0,
        leases: 64,
        tickets: 64,
        resources: 64,
        history: 64,
    };
    let mut manager = ptr::null_mut();
    // SAFETY: all of these live until the call returns.
    let status = unsafe {
        tern_manager_open(url.as_ptr().cast(), url.len(), &options, &mut manager, ptr::null_mut())
    };
    assert_eq!(status, TERN_OK);
    // SAFETY: the function is there until the program ends.
    unsafe { libc::atexit(remove) };
    Shared { manager, path: CString::new(path).expect("it has no zero") }
}

extern "C" fn remove() {
    if let Some(shared) = SHARED.get() {
        // SAFETY: a terminated text.
        unsafe { libc::unlink(shared.path.as_ptr()) };
    }
}

/// A lease to do something with, until this is dropped.
pub struct Held(pub u64);

pub fn hold() -> Held {
    let (name, mut lease) = (b"gpu0", 0);
    let (text, len, none) = (name.as_ptr().cast(), name.len(), ptr::null_mut());
    // SAFETY: the manager is open, and the text there.
    let status =
        unsafe { tern_lease_acquire(manager(), text, len, text, len, u64::MAX, &mut lease, none) };
    assert_eq!(status, TERN_OK);
    Held(lease)
}

impl Drop for Held {
    fn drop(&mut self) {
        // It may have ended with a descriptor. SAFETY: the manager is open.
        let status = unsafe { tern_lease_release(manager(), self.0, ptr::null_mut()) };
        assert!(matches!(status, TERN_OK | TERN_ERR_NOT_HELD), "{status:?}");
    }
}
