//! Homes: where a table lives and how its waiters wake. A home stores, locks, tells the time and wakes; it has no rule of its own.

pub(crate) mod clock;
pub mod process;
#[cfg(target_os = "linux")]
pub(crate) mod signal_fd;
pub(crate) mod thread;
pub(crate) mod wake;
