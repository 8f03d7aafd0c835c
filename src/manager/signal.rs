//! A signal for one thread that waits.

use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

use crate::home::atomic::{AtomicBool, Mutex, Ordering, Thread, current, park, park_timeout};

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
        *self.waits.lock() = Some(current());
        loop {
            if self.raised.swap(false, Ordering::AcqRel) {
                return true;
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => park_timeout(left),
                None => park(),
            }
        }
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
            let raiser = thread::spawn(move || {
                let (signal, news) = &*other;
                news.store(true, Ordering::Relaxed);
                signal.raise();
            });
            let (signal, news) = &*shared;
            assert!(signal.wait(None));
            assert!(news.load(Ordering::Relaxed));
            raiser.join().unwrap();
        });
    }
}
