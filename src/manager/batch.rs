//! Several leases in one call, with one reading of the clock for many of them.

use super::LeaseManager;
use crate::home::Home;
use crate::table::{LeaseId, LeaseState};

/// The number of leases for one reading of the clock. A reading costs several times as much as a
/// lease, and is still recent after so few.
const AT_A_TIME: usize = 256;

impl LeaseManager {
    /// The states of several leases, each as [`state`](Self::state) returns it.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let short = manager.acquire("gpu0", "trainer", 1)?;
    /// let long = manager.acquire("gpu1", "trainer", 10)?;
    /// manager.tick();
    /// let states = manager.states(&[short, long]);
    /// assert_eq!(states, [Some(LeaseState::Expired), Some(LeaseState::Held)]);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn states(&self, ids: &[LeaseId]) -> Vec<Option<LeaseState>> {
        let mut states = Vec::with_capacity(ids.len());
        self.each_state(ids, |state| states.push(state));
        states
    }

    /// As [`Self::states`], one after the other.
    pub(crate) fn each_state(&self, ids: &[LeaseId], mut each: impl FnMut(Option<LeaseState>)) {
        for some in ids.chunks(AT_A_TIME) {
            self.home().ask_about(some);
            let now = self.home().clock().now();
            some.iter().for_each(|id| each(self.home().state_at(*id, now)));
        }
    }

    /// Renews several leases, each as [`renew`](Self::renew) does, and skips those that are over.
    /// Returns how many were renewed.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let mine = ["gpu0", "gpu1", "gpu2"].map(|gpu| manager.acquire(gpu, "trainer", 10).unwrap());
    /// manager.revoke(mine[1])?;
    /// assert_eq!(manager.renew_all(&mine), 2);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn renew_all(&self, ids: &[LeaseId]) -> usize {
        let renew = |some: &[LeaseId]| {
            let now = self.home().clock().now();
            some.iter().filter(|id| self.home().renew_at(**id, now).is_ok()).count()
        };
        ids.chunks(AT_A_TIME).map(renew).sum()
    }
}
