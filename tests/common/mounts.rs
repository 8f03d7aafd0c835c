//! File systems of a test's own, in a mount namespace of its thread: nobody else sees them, and they end with it.
#![allow(dead_code)] // Not every test needs all of it.

use std::ffi::CString;
use std::io;
use std::path::Path;
use std::ptr::null;

/// From here on this thread, and what it starts, has mounts of its own; false, with the reason, where that is not permitted.
pub fn are_possible() -> bool {
    // SAFETY: concerns the calling thread alone.
    let parted = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0;
    let kept = parted && mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE).is_ok();
    if !kept {
        println!("skipped: mounting needs the superuser (CAP_SYS_ADMIN)");
        assert!(std::env::var_os("CI").is_none(), "needed where all is tested");
    }
    kept
}

/// An empty file system in memory, with options such as `size=1m`.
pub fn memory(at: &Path, options: &str) {
    mount(Some(options), at, Some("tmpfs"), 0).unwrap();
}

/// The same file system with other options.
pub fn change(at: &Path, options: &str) {
    mount(Some(options), at, None, libc::MS_REMOUNT).unwrap();
}

/// Nobody can write through this mount any more, though those go on who could before.
pub fn forbid_writing(at: &Path) {
    bind(at);
    mount(None, at, None, libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY).unwrap();
}

/// Ends a mount.
pub fn unmount(at: &Path) {
    let at = CString::new(at.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with a zero.
    let code = unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) };
    assert_eq!(code, 0, "{}", io::Error::last_os_error());
}

fn bind(at: &Path) {
    let at = CString::new(at.to_str().unwrap()).unwrap();
    // SAFETY: paths that end with a zero.
    let code = unsafe { libc::mount(at.as_ptr(), at.as_ptr(), null(), libc::MS_BIND, null()) };
    assert_eq!(code, 0, "{}", io::Error::last_os_error());
}

fn mount(options: Option<&str>, at: &Path, kind: Option<&str>, flags: u64) -> io::Result<()> {
    let text = |text: &str| CString::new(text).unwrap();
    let (at, kind) = (text(at.to_str().unwrap()), kind.map(text));
    let options = options.map(text);
    let pointer = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
    let (kind, data) = (pointer(&kind), pointer(&options).cast());
    // SAFETY: texts that end with a zero, or nothing.
    match unsafe { libc::mount(c"none".as_ptr(), at.as_ptr(), kind, flags, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
