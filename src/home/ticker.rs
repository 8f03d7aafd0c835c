//! The ticker: the background thread of a home, which runs what is due and wakes its waiters.
//!
//! A release grants to the queue by itself. The end of a lease or of a wait, the death of a process
//! and the end of a session need a thread that reads a clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Home;
#[cfg(feature = "cluster")]
use crate::rt::Thread;
use crate::rt::{self, JoinHandle, Mutex};

/// A home with a ticker.
pub(crate) trait Ticked: Home {
    /// Runs what is due, then sleeps until more is due or [`Ticker::wake`] is called. False ends
    /// the ticker.
    fn run_due(&self) -> bool;
}

/// The thread, which may not run yet.
///
/// It parks itself and does not wait for a condition variable: parking_lot keeps a list of all
/// waiting threads of the process, which a forked child would inherit without the threads.
#[derive(Debug, Default)]
pub(crate) struct Ticker(Mutex<Option<JoinHandle<()>>>);

impl Ticker {
    /// Starts the thread.
    pub fn start<H: Ticked>(&self, name: &'static str, home: Arc<H>) -> std::io::Result<()> {
        self.start_with(name, move || run(&*home))
    }

    /// Starts the thread with work of its own, which calls [`run`].
    pub fn start_with(
        &self,
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let handle = rt::spawn(name, work)?;
        *self.0.lock() = Some(handle);
        // In place of calls that came before the handle was known.
        self.wake();
        Ok(())
    }

    #[cfg(feature = "cluster")]
    pub fn thread(&self) -> Option<Thread> {
        self.0.lock().as_ref().map(|handle| handle.thread().clone())
    }

    /// Ends a park of the thread.
    pub fn wake(&self) {
        if let Some(handle) = &*self.0.lock() {
            handle.thread().unpark();
        }
    }

    /// Waits for the end of the thread, unless it is the caller.
    pub fn join(&self) {
        let handle = self.0.lock().take();
        if let Some(handle) = handle
            && handle.thread().id() != rt::current().id()
        {
            // A panic of the ticker was reported by `poison`.
            let _ = handle.join();
        }
    }
}

/// Runs until the home is closed. After a panic nothing that is due will run any more, so the home
/// is poisoned.
pub(crate) fn run(home: &impl Ticked) {
    if catch_unwind(AssertUnwindSafe(|| while home.run_due() {})).is_err() {
        home.poison();
    }
}
