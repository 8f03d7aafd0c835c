//! A signal for one thread that waits.

use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

use crate::rt::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use crate::rt::loom::{self as rt, Mutex, Thread};
#[cfg(not(loom))]
use crate::rt::{self, Thread};
#[cfg(not(loom))]
use parking_lot::Mutex;

/// Stays raised until a thread has waited for it. One thread at a time waits.
///
/// The thread parks and does not wait for a condition variable: parking_lot keeps a list of all
/// waiting threads of the process, which a forked child would inherit without the threads.
#[derive(Debug, Default)]
pub(super) struct Signal {
    raised: AtomicBool,
    waits: Mutex<Option<Thread>>,
}

impl Signal {
    /// Waits until the signal is raised, and lowers it; false if the time was over first.
    pub fn wait(&self, until: Option<Instant>) -> bool {
        // Before the first check: a thread that raises the signal later finds this thread.
        *self.waits.lock() = Some(rt::current());
        loop {
            if self.lower() {
                return true;
            }
            match until.map(|until| until.saturating_duration_since(rt::instant())) {
                Some(Duration::ZERO) => return false,
                Some(left) => rt::park_timeout(left),
                None => rt::park(),
            }
        }
    }

    /// Returns whether it was raised. Writes nothing if it was not.
    fn lower(&self) -> bool {
        self.raised.compare_exchange(true, false, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub fn raise(&self) {
        self.raised.store(true, Ordering::Release);
        if let Some(thread) = &*self.waits.lock() {
            thread.unpark();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.raise();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raise();
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use loom::thread;

    use super::*;

    /// The waiter wakes and reads the change that was made before the signal.
    #[test]
    fn raised_signal_wakes_its_waiter() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((Signal::default(), AtomicBool::new(false)));
            let other = shared.clone();
            thread::spawn(move || {
                let (signal, change) = &*other;
                change.store(true, Ordering::Relaxed);
                signal.raise();
            });
            // Not joined: loom takes a thread that is unparked in a join for one that has ended.
            let (signal, change) = &*shared;
            assert!(signal.wait(None));
            assert!(change.load(Ordering::Relaxed));
        });
    }
}
