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

/// Something happened. Stays raised until somebody has waited for it; one thread at a time does.
///
/// Whoever waits sleeps by itself and not on a condition variable: parking_lot notes sleepers in a list for the whole process, which a
/// forked child would inherit without the threads.
#[derive(Debug, Default)]
pub(super) struct Signal {
    raised: AtomicBool,
    waits: Mutex<Option<Thread>>,
}

impl Signal {
    /// Lowers the signal once it is raised; false if the time came first.
    pub fn wait(&self, until: Option<Instant>) -> bool {
        // Whoever raises the signal after this sees who waits; what was raised before is seen below.
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

    /// Was it raised? A look that finds nothing changes nothing.
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

    /// Whoever waits gets up for what it was raised for, and sees it.
    #[test]
    fn a_signal_is_never_missed() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((Signal::default(), AtomicBool::new(false)));
            let other = shared.clone();
            thread::spawn(move || {
                let (signal, news) = &*other;
                news.store(true, Ordering::Relaxed);
                signal.raise();
            });
            // Not joined: loom takes a thread that is unparked then for one that has ended.
            let (signal, news) = &*shared;
            assert!(signal.wait(None));
            assert!(news.load(Ordering::Relaxed));
        });
    }
}
