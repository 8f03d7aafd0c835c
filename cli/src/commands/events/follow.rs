//! Waiting for the next event, or for the end.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ternlease::EventReader;

use crate::exit::Failure;

/// Hears the signals that ask this program to end. They do not end it by themselves: a process that goes without a word is one that
/// the others who share the table have to clear away.
pub struct Ending {
    signals: OwnedFd,
}

/// Why the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// There may be something to read.
    BySomethingNew,
    /// Somebody wants this to end, or nobody reads what it prints.
    ByTheEnd,
}

impl Ending {
    /// From now on those signals are heard here, by all threads that are started after this.
    pub fn new() -> Result<Self, Failure> {
        // SAFETY: a set of signals is made of numbers; it is emptied before it is used.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: all of them change or read the set on this stack, and know the signals.
        let fd = unsafe {
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: it was just made, and nobody else has it.
        Ok(Ending { signals: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Sleeps until there is something to read, or an end.
    pub fn wait(&self, reader: &mut EventReader) -> Result<Woken, Failure> {
        let wanted = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut fds = [
            wanted(self.signals.as_raw_fd(), libc::POLLIN),
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
