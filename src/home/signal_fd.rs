//! A file descriptor that becomes readable when something happens: for event loops that know only descriptors.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Wake;

use crate::table::Error;

/// An eventfd. As a waker it makes itself readable.
#[derive(Debug)]
pub(crate) struct SignalFd(OwnedFd);

impl SignalFd {
    pub fn new() -> Result<Arc<SignalFd>, Error> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(refused(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just opened and belongs to nobody else.
        Ok(Arc::new(SignalFd(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Another descriptor for the same, for somebody to own.
    pub fn share(&self) -> Result<OwnedFd, Error> {
        self.0.try_clone().map_err(refused)
    }

    pub fn raise(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the descriptor is open, the bytes are valid. An eventfd takes all eight or, if it is readable already, none.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it unreadable again.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the descriptor is open, the bytes are a valid place. An eventfd gives all eight or, if it is not readable, none.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

fn refused(error: io::Error) -> Error {
    Error::System(error.raw_os_error().unwrap_or(0))
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wake for SignalFd {
    fn wake(self: Arc<Self>) {
        self.raise();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raise();
    }
}
