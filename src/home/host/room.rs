//! Room for a file: all of it at once. What is missing later kills whoever touches it.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::home::thread::without_signals;

/// The file is so long from now on, and has all the memory or disk that it needs for that. What is in it stays.
pub(super) fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    if bytes as u64 > largest() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    // In memory, any signal makes the kernel give up and take back what it had given: with one each moment it would never be done.
    without_signals(|| {
        loop {
            // SAFETY: the descriptor is open.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as i64) } {
                0 => return Ok(()),
                libc::EINTR => {}
                code => return Err(io::Error::from_raw_os_error(code)),
            }
        }
    })
}

/// Has the file less than its length? Tools that copy files may leave out what is zero.
pub(super) fn has_holes(file: &Metadata) -> bool {
    file.blocks().saturating_mul(512) < file.len()
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
