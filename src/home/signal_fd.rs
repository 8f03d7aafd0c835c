//! A file descriptor that becomes readable when something happens: for event loops that know only descriptors.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Wake, Waker};

use crate::table::Error;

struct MakeReadable(OwnedFd);

impl Wake for MakeReadable {
    fn wake(self: Arc<Self>) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the descriptor is open, the bytes are valid. An eventfd takes all eight or, if it is readable already, none.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

/// Makes the descriptor unreadable again.
pub(crate) fn clear(fd: &OwnedFd) {
    let mut count = [0u8; 8];
    // SAFETY: the descriptor is open and the bytes are a valid place. An eventfd gives all eight or, if it is not readable, none.
    unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}

/// A descriptor, and a waker that makes it readable.
pub(crate) fn signal_fd() -> Result<(OwnedFd, Waker), Error> {
    let last_error = || Error::System(std::io::Error::last_os_error().raw_os_error().unwrap_or(0));
    // SAFETY: takes no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(last_error());
    }
    // SAFETY: the descriptor was just opened and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let copy = fd.try_clone().map_err(|_| last_error())?;
    Ok((fd, Waker::from(Arc::new(MakeReadable(copy)))))
}
