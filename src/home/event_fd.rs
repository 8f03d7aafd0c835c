//! A file descriptor that becomes readable when it is notified: for event loops that wait for
//! descriptors only.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Wake;

use crate::table::Error;

/// An eventfd. As a waker it notifies itself.
#[derive(Debug)]
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    pub fn new() -> Result<Arc<EventFd>, Error> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(system(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just opened, and has no other owner.
        Ok(Arc::new(EventFd(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Another descriptor of the same eventfd.
    pub fn share(&self) -> Result<OwnedFd, Error> {
        self.0.try_clone().map_err(system)
    }

    pub fn notify(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the descriptor is open and the bytes are valid. An eventfd takes all eight or, if
        // it is readable already, none.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes the descriptor unreadable.
    pub fn drain(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the descriptor is open and the bytes are valid for writes. An eventfd gives all
        // eight or, if it is not readable, none.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

fn system(error: io::Error) -> Error {
    Error::System(error.raw_os_error().unwrap_or(0))
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wake for EventFd {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}
