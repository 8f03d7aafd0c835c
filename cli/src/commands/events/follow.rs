//! Waiting for the next event, or for the end.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use ternlease::EventReader;

use crate::commands::run::signals::Signals;
use crate::exit::Failure;

/// Reads the signals that ask this program to end. They do not end it by themselves: the other processes that share the
/// table have to clean up after a process that ends without leaving it.
pub struct Ending {
    signals: Signals,
}

/// Why the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// There may be something to read.
    BySomethingNew,
    /// A signal asks this to end, or what it prints has no reader any more.
    ByTheEnd,
}

impl Ending {
    /// From now on those signals are read here, in whichever thread they arrive.
    pub fn new() -> Result<Self, Failure> {
        Ok(Ending { signals: Signals::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])? })
    }

    /// Sleeps until there is something to read, or an end.
    pub fn wait(&self, reader: &mut EventReader) -> Result<Woken, Failure> {
        let wanted = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut fds = [
            wanted(self.signals.as_fd().as_raw_fd(), libc::POLLIN),
            // Nothing is asked of it: it tells by itself when the other end of a pipe is closed.
            wanted(libc::STDOUT_FILENO, 0),
            wanted(reader.fd()?.as_raw_fd(), libc::POLLIN),
        ];
        loop {
            // SAFETY: as many as it is told of, all open.
            if unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) } >= 0 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error.into());
            }
        }
        match fds {
            [signals, output, _] if signals.revents != 0 || output.revents & libc::POLLERR != 0 => {
                Ok(Woken::ByTheEnd)
            }
            _ => Ok(Woken::BySomethingNew),
        }
    }
}
