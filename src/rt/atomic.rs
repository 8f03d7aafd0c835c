//! Atomics of words that are read or changed without a lock. With `--cfg loom` loom's own, whose
//! interleavings it explores.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(all(not(loom), target_os = "linux"))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// Threads and locks of [`super`], as far as loom models code that uses them.
#[cfg(loom)]
pub(crate) mod loom_threads {
    use std::time::{Duration, Instant};

    pub(crate) use loom::thread::{Thread, current, park};

    /// As parking_lot's: it has no poison.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// Loom has no clock.
    pub(crate) fn park_timeout(_: Duration) {
        loom::thread::yield_now();
    }

    pub(crate) fn instant() -> Instant {
        Instant::now()
    }
}
