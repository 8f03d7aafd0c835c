//! Threads and locks as far as loom models code that uses them.

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
