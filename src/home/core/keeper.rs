//! The keeper: a thread that lets time pass while somebody waits or listens. A release serves the line by itself, but the end of a
//! lease or of a wait needs somebody who looks at the clock. The thread starts with the first ticket or listener and ends with its home.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Core;
use crate::home::arrays::Undo;
use crate::home::wake::Woken;
use crate::home::world;
use crate::table::FOREVER;

/// The longest sleep. Timed sleeps do not count the time that the machine sleeps; this bounds how late that makes the keeper.
const NAP: Duration = Duration::from_secs(1);

/// The shortest, if what is due does not happen: a table that cannot go on must not keep a processor busy.
const BLINK: Duration = Duration::from_millis(10);

impl<U: Undo> Core<U> {
    /// Starts the keeper. If the system refuses, the next who waits tries again.
    pub(super) fn start_keeper(&self) {
        let started = self.me.upgrade().and_then(|home| {
            let keep = move || {
                // A panic leaves the table half done, and nobody to look at the clock.
                if catch_unwind(AssertUnwindSafe(|| while home.keep() {})).is_err() {
                    home.abandon();
                }
            };
            world::spawn("tern-keeper", keep).ok()
        });
        self.keeper_refused.store(started.is_none(), Ordering::Release);
        let mut state = self.state.lock();
        if started.is_none() {
            state.keeper_until = None;
        }
        state.keeper = started;
        // Somebody may have wanted to wake it before its name was known.
        state.wake_keeper();
    }

    /// Lets due things happen, then sleeps until the next; false when the home is closed.
    ///
    /// It sleeps by itself and not on a condition variable: parking_lot notes sleepers in a list for the whole process, which a forked
    /// child would inherit without the threads.
    fn keep(&self) -> bool {
        self.look(|_| ());
        let mut state = self.state.lock();
        if state.closing {
            return false;
        }
        let due = if state.anybody_waits() { state.table.next_due() } else { FOREVER };
        state.keeper_until = Some(due);
        drop(state);
        if due == FOREVER {
            world::park();
        } else {
            let left = due.saturating_sub(self.clock.now());
            let nap = if left == 0 { BLINK } else { Duration::from_micros(left).min(NAP) };
            world::park_timeout(nap);
        }
        true
    }

    /// After [`Self::close`]: returns when the keeper has ended, unless it is the caller.
    #[cfg(feature = "capi")]
    pub(crate) fn await_keeper(&self) {
        let keeper = self.state.lock().keeper.take();
        if let Some(keeper) = keeper
            && keeper.thread().id() != world::current().id()
        {
            // A panic of its own is not the closer's.
            let _ = keeper.join();
        }
    }

    /// Ends the keeper; called when the last user of the home goes.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        // Nothing more will happen to the tickets that wait: who has their descriptors learns that.
        let mut woken = Woken::default();
        state.wakers.take_all(&mut woken);
        state.listeners.take_all(&mut woken);
        state.wake_keeper();
        drop(state);
        woken.wake();
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            self.leave_shared(host);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            self.leave_cluster(part);
        }
    }
}
