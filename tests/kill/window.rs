//! Shows whether a file changes that others have in memory.

use std::ffi::c_void;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};

pub struct Window {
    path: PathBuf,
    /// There may be no file yet.
    at: Option<NonNull<c_void>>,
    seen: Vec<u8>,
}

impl Window {
    pub fn on(path: &Path) -> Window {
        let mut window = Window { path: path.into(), at: None, seen: Vec::new() };
        window.shows_change();
        window
    }

    /// Is it different from what was seen last?
    pub fn shows_change(&mut self) -> bool {
        self.change().is_some()
    }

    /// The first four bytes that are different from what was seen last, by their place in the file.
    pub fn change(&mut self) -> Option<usize> {
        if self.at.is_none() {
            self.open();
        }
        let (now, len) = (self.at?.as_ptr(), self.seen.len());
        // SAFETY: both are so long, and what others write meanwhile is bytes again.
        if unsafe { libc::memcmp(now, self.seen.as_ptr().cast(), len) } == 0 {
            return None;
        }
        let before = self.seen.clone();
        // SAFETY: as above.
        unsafe { libc::memcpy(self.seen.as_mut_ptr().cast(), now, len) };
        before.iter().zip(&self.seen).position(|(before, now)| before != now).map(|at| at & !3)
    }

    fn open(&mut self) {
        let Ok(file) = fs::File::open(&self.path) else { return };
        let len = file.metadata().map_or(0, |found| found.len()) as usize;
        if len == 0 {
            return;
        }
        let descriptor = file.as_raw_fd();
        // SAFETY: fresh memory wherever the kernel likes; nobody makes the file shorter.
        let at = unsafe {
            libc::mmap(null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        (self.at, self.seen) = (NonNull::new(at), vec![0; len]);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some(at) = self.at {
            // SAFETY: mapped by `open`, with this size.
            unsafe { libc::munmap(at.as_ptr(), self.seen.len()) };
        }
    }
}
