//! The keeper: a thread that lets time pass while somebody waits or listens. A release serves the line by itself, but the end of a
//! lease or of a wait needs somebody who looks at the clock. The thread starts with the first ticket or listener and ends with its home.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Home, Woken};
use crate::home::thread;
use crate::table::FOREVER;

/// The longest sleep. Timed sleeps do not count the time that the machine sleeps; this bounds how late that makes the keeper.
const NAP: Duration = Duration::from_secs(1);

/// The shortest, if what is due does not happen: a table that cannot go on must not keep a processor busy.
const BLINK: Duration = Duration::from_millis(10);

impl Home {
    /// Starts the keeper. If the system refuses, the next who waits tries again.
    pub(super) fn start_keeper(&self) {
        let started = self
            .me
            .upgrade()
            .and_then(|home| thread::spawn("ternlease-keeper", move || while home.keep() {}).ok());
        self.keeper_refused.store(started.is_none(), Ordering::Release);
        let mut state = self.state.lock();
        if started.is_none() {
            state.keeper_until = None;
        }
        state.keeper = started;
    }

    /// After [`Self::close`]: returns when the keeper has ended, unless it is the caller.
    #[cfg(feature = "capi")]
    pub(crate) fn await_keeper(&self) {
        let keeper = self.state.lock().keeper.take();
        if let Some(keeper) = keeper
            && keeper.thread().id() != std::thread::current().id()
        {
            // A panic of its own is not the closer's.
            let _ = keeper.join();
        }
    }

    /// Lets due things happen, then sleeps until the next; false when the home is closed.
    fn keep(&self) -> bool {
        self.run(|table, now| {
            let _ = table.advance(now);
        });
        let mut state = self.state.lock();
        if state.closing {
            return false;
        }
        let due = if state.anybody_waits() { state.table.next_due() } else { FOREVER };
        state.keeper_until = Some(due);
        if due == FOREVER {
            self.keeper_wakes.wait(&mut state);
        } else {
            let left = due.saturating_sub(self.clock.now());
            let nap = if left == 0 { BLINK } else { Duration::from_micros(left).min(NAP) };
            self.keeper_wakes.wait_until(&mut state, Instant::now() + nap);
        }
        !state.closing
    }

    /// Ends the keeper; called when the last user of the home goes.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        // Nothing more will happen to the tickets that wait: who has their descriptors learns that.
        let mut woken = Woken::default();
        state.wakers.take_all(&mut woken);
        state.listeners.take_all(&mut woken);
        drop(state);
        self.keeper_wakes.notify_all();
        woken.wake();
    }
}
