//! The process for which a lease is held.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::c_int;

use crate::commands::run::children::{parent_of, stat_field};
use crate::exit::Failure;

/// A process, by a descriptor: its number may be another's tomorrow.
#[derive(Debug)]
pub struct Owner {
    pid: u32,
    descriptor: OwnedFd,
}

impl Owner {
    /// The process of this number.
    pub fn of(pid: u32) -> Result<Self, Failure> {
        // SAFETY: takes no pointers.
        let number = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.cast_signed(), 0) };
        match RawFd::try_from(number) {
            Ok(number) if number >= 0 => {
                // SAFETY: it was just opened, and belongs to nobody else.
                Ok(Owner { pid, descriptor: unsafe { OwnedFd::from_raw_fd(number) } })
            }
            _ => Err(Failure::new(match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ESRCH) => {
                    format!("there is no process {pid}; check its number")
                }
                // Numbers of threads, for example.
                error => format!("process {pid} cannot be watched: {error}"),
            })),
        }
    }

    /// The shell, script or program that called us; not one of the short-lived copies that shells make of themselves for `$(…)`.
    pub fn caller() -> Result<Self, Failure> {
        let mut pid = std::os::unix::process::parent_id();
        while let Some(parent) = parent_of(pid).filter(|parent| *parent > 1) {
            if !is_copy(pid, parent) {
                break;
            }
            pid = parent;
        }
        match pid {
            0 | 1 => Err(Failure::new(
                "nobody is there for whom to hold the lease; name a process with --for",
            )),
            pid => Self::of(pid),
        }
    }

    /// The descriptor that somebody has left us.
    pub fn inherited(pid: u32, number: RawFd) -> io::Result<Self> {
        // SAFETY: takes no pointers. A number that is not open is an error.
        if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, and was left to us alone.
        Ok(Owner { pid, descriptor: unsafe { OwnedFd::from_raw_fd(number) } })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends it a signal; never to another.
    pub fn send(&self, signal: c_int) {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open. It may have ended: then there is nobody to tell.
        unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.descriptor.as_raw_fd(), signal, none, 0)
        };
    }
}

/// Readable when the process has ended.
impl AsFd for Owner {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Was the one process forked from the other, without starting a program since? Then their stacks begin at the same place, which the system chooses anew
/// for each program.
fn is_copy(child: u32, parent: u32) -> bool {
    const START_OF_STACK: usize = 28;
    let stack = |process| stat_field(process, START_OF_STACK).filter(|at| at != "0");
    let command = |process| std::fs::read(format!("/proc/{process}/cmdline")).ok();
    let same_stack = stack(child).is_some_and(|at| stack(parent) == Some(at));
    same_stack && command(child) == command(parent)
}
