//! Room for a file: all of it at once. What is missing later kills whoever touches it.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::rt::thread::without_signals;

/// An empty file is so long from now on, and has all the memory or disk that it needs for that.
pub(super) fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    if bytes as u64 > largest() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    // SAFETY: the descriptor is open.
    persist(|| unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as i64) })
}

/// A file that has less than its length gets the rest, and what is in it stays: tools that copy files may leave out what is zero.
///
/// Others may be using it, so that the C library must not help out where the file system cannot do this: it would write zeros where it had read some. There, things stay as they are.
pub(super) fn fill_up(file: &File, found: &Metadata) -> io::Result<()> {
    if found.blocks().saturating_mul(512) >= found.len() {
        return Ok(());
    }
    let filled = persist(|| {
        // SAFETY: the descriptor is open.
        match unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, found.len() as i64) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        }
    });
    match filled {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        filled => filled,
    }
}

/// Until it is done or refused. In memory, any signal may make the kernel give up and take back what it had given: with one each moment it would never be done.
fn persist(mut attempt: impl FnMut() -> i32) -> io::Result<()> {
    without_signals(|| {
        loop {
            match attempt() {
                0 => return Ok(()),
                libc::EINTR => {}
                code => return Err(io::Error::from_raw_os_error(code)),
            }
        }
    })
}

/// How large a file of this process may be: the kernel ends who goes beyond it.
fn largest() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the answer.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}
