//! Waiting for descriptors.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Which of the descriptors, by its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready(pub usize);

/// Those that are ready.
#[derive(Debug, Clone, Copy)]
pub struct ReadySet(u32);

impl ReadySet {
    /// Is this one?
    pub fn contains(self, which: Ready) -> bool {
        self.0 & 1 << which.0 != 0
    }
}

/// Waits until one of the descriptors can be read, or for so long. None of them is passed over.
pub fn await_any(descriptors: &[Option<BorrowedFd<'_>>], limit: Option<Duration>) -> ReadySet {
    let number = |one: &Option<BorrowedFd<'_>>| one.map_or(-1, |one| one.as_raw_fd());
    let mut asked: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|one| libc::pollfd { fd: number(one), events: libc::POLLIN, revents: 0 })
        .collect();
    // Up, not down: who wakes too early would only wake again. A day is as good as longer.
    let limit = limit.map_or(-1, |limit| limit.as_micros().div_ceil(1000).min(86_400_000) as i32);
    // SAFETY: the list has so many entries. If the call is interrupted, none is marked.
    let count = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, limit) };
    if count <= 0 {
        return ReadySet(0);
    }
    let ready = asked.iter().enumerate().filter(|(_, one)| one.revents != 0);
    ReadySet(ready.fold(0, |set, (place, _)| set | 1 << place))
}

/// Makes an eventfd unreadable until it is raised again; was it raised?
pub fn clear(event: BorrowedFd<'_>) -> bool {
    let mut count = [0u8; 8];
    // SAFETY: the descriptor is open, and there is room. It does not block.
    unsafe { libc::read(event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) > 0 }
}
