//! Lock files: what programs on one machine share devices with today.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::host_place::{Place, Problem};
use crate::measure::keep;

/// A file that is locked to have a device.
pub struct LockFile {
    path: PathBuf,
    c_path: CString,
    descriptor: i32,
}

impl LockFile {
    pub fn new(place: &Place, name: &str) -> Result<LockFile, Problem> {
        let path = place.file(name);
        let c_path = CString::new(path.as_os_str().as_bytes())?;
        let descriptor = open(&c_path);
        if descriptor < 0 {
            return Err(io::Error::last_os_error().into());
        }
        Ok(LockFile { path, c_path, descriptor })
    }

    /// So many files, one for each device.
    pub fn several(place: &Place, count: usize) -> Result<Vec<LockFile>, Problem> {
        (0..count).map(|i| LockFile::new(place, &format!("lock{i}"))).collect()
    }

    /// Blocks until the lock is there.
    #[inline(always)]
    pub fn lock(&self) {
        while !flock(self.descriptor, libc::LOCK_EX) {
            // Interrupted by a signal.
        }
    }

    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        flock(self.descriptor, libc::LOCK_EX | libc::LOCK_NB)
    }

    #[inline(always)]
    pub fn unlock(&self) {
        keep(flock(self.descriptor, libc::LOCK_UN));
    }

    /// Opens, locks and closes the file, as programs do that keep nothing open. False if somebody else has the lock.
    #[inline(always)]
    pub fn open_lock_close(&self) -> bool {
        let descriptor = open(&self.c_path);
        let locked = flock(descriptor, libc::LOCK_EX | libc::LOCK_NB);
        close(descriptor);
        locked
    }

    /// How many wait for the lock. The system tells it in a list of all locks.
    pub fn waiting(&self) -> usize {
        use std::os::unix::fs::MetadataExt;
        let Ok(metadata) = std::fs::metadata(&self.path) else { return 0 };
        let file = format!(":{} ", metadata.ino());
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        locks.lines().filter(|lock| lock.contains("-> FLOCK") && lock.contains(&file)).count()
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        close(self.descriptor);
    }
}

/// Tries one file after the other until one is free, and gives it back.
#[inline(always)]
pub fn scan(files: &[LockFile]) -> bool {
    files.iter().any(LockFile::open_lock_close)
}

#[inline(always)]
fn open(path: &CString) -> i32 {
    // SAFETY: the path is a C string.
    unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC, 0o600) }
}

#[inline(always)]
fn close(descriptor: i32) {
    // SAFETY: it is ours, and nobody uses it after this.
    unsafe { libc::close(descriptor) };
}

#[inline(always)]
fn flock(descriptor: i32, operation: i32) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::flock(descriptor, operation) == 0 }
}
