//! The atomics of words that are read or changed without a lock. With `--cfg loom`, ones whose interleavings are tried, and a world in which threads
//! sleep as loom has them sleep.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(all(not(loom), target_os = "linux"))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// What `world.rs` has of threads and locks, as far as loom runs what uses it.
#[cfg(loom)]
pub(crate) mod world {
    use std::time::{Duration, Instant};

    pub(crate) use loom::thread::{Thread, current, park};

    /// As parking_lot's: nobody is told of a panic.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// Loom knows no time.
    pub(crate) fn park_timeout(_: Duration) {
        loom::thread::yield_now();
    }

    pub(crate) fn instant() -> Instant {
        Instant::now()
    }
}
