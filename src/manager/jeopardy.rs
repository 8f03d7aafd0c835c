//! Whether a table that machines share can be reached.

use crate::home::Home;
use std::time::Duration;

use super::LeaseManager;

impl LeaseManager {
    /// For how long the engine of a table that machines share has not answered; `None` if it does, and for every other table.
    ///
    /// Until it answers again, or the others may take this process for dead, leases are held as before, and nothing can be claimed,
    /// released or revoked: now is the time to save what is to be saved.
    ///
    /// ```
    /// assert_eq!(ternlease::LeaseManager::open("process:")?.jeopardy(), None);
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn jeopardy(&self) -> Option<Duration> {
        self.home().cluster()?.unreachable_for()
    }

    /// How long the session with the engine certainly lasts if the engine does not answer again; `None` for a table without
    /// sessions. When it reaches zero, every lease of this process has expired with
    /// [`Reason::EngineLost`](crate::Reason::EngineLost), and other processes may be granted the same devices.
    ///
    /// ```
    /// assert_eq!(ternlease::LeaseManager::open("process:")?.session_left(), None);
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn session_left(&self) -> Option<Duration> {
        Some(self.home().cluster()?.session_left())
    }
}
