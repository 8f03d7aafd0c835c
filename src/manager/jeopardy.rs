//! Whether a table that machines share can be reached.

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
        self.home().silent_for()
    }
}
