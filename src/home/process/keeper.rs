//! The keeper: a thread that lets time pass while somebody waits. A release serves the line by itself, but the end of a lease or of a
//! wait needs somebody who looks at the clock. The thread starts with the first wait and ends with its home.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Home, LAST_ID};
use crate::table::FOREVER;

/// The longest sleep. Timed sleeps do not count the time that the machine sleeps; this bounds how late that makes the keeper.
const NAP: Duration = Duration::from_secs(1);

pub(super) fn start(home: &Arc<Home>) {
    let home = home.clone();
    let thread = std::thread::Builder::new().name("ternlease-keeper".into());
    // Without a thread waiters are still served by releases, and by time as soon as anybody uses the table.
    let _ = thread.spawn(move || while keep(&home) {});
}

/// Lets due things happen, then sleeps until the next; false when the home is closed.
fn keep(home: &Home) -> bool {
    home.run(|table, now| {
        let _ = table.advance(now);
    });
    let mut state = home.state.lock();
    if state.closing {
        return false;
    }
    let due = if state.table.waiting() == 0 { FOREVER } else { state.table.next_due() };
    state.keeper_until = Some(due);
    let now = home.clock.now();
    if due == FOREVER {
        home.keeper_wakes.wait(&mut state);
    } else if due > now {
        let nap = Duration::from_micros(due - now).min(NAP);
        home.keeper_wakes.wait_until(&mut state, Instant::now() + nap);
    }
    !state.closing
}

impl Home {
    /// Ends the keeper and remembers the last id; called when the last user of the home goes.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        LAST_ID.fetch_max(state.table.last_id(), Ordering::AcqRel);
        drop(state);
        self.keeper_wakes.notify_all();
    }
}
