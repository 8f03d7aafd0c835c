//! An estimate of how long a claim would wait.
//!
//! It is not known how long holders keep their leases. Known are the times for which they and
//! others held devices before, and the ends of their leases. With these, a copy of the table is
//! simulated by the table's own rules until it grants the claim. The pool itself is only read.

mod pool_state;
mod simulate;

use std::time::Duration;

use super::{GpuClaim, GpuPool, PoolError};
use crate::inventory::GpuDevice;
use crate::table::{Error, FOREVER, Take, TicketId};
use pool_state::PoolState;
use simulate::{Question, simulate};

/// How long a claim would probably wait. See [`GpuClaim::expected_wait`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpectedWait {
    /// The pool has no devices: a claim returns `None` at once.
    NoDevices,
    /// The claim would not wait.
    None,
    /// About so long, if holders keep leases as long as before.
    About(Duration),
    /// A holder of what is needed has no end and no history.
    Unknown,
}

impl GpuClaim<'_> {
    /// How long the claim would wait now. Submits nothing, and changes nothing.
    ///
    /// Holders are assumed to keep a lease until it ends or, if it has no end, as long as they, or
    /// others, held devices before. This is an estimate, and no promise.
    ///
    /// # Errors
    ///
    /// As those of the claim itself: [`PoolError::TooFew`], for example, if it asks for more than
    /// exists.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{ExpectedWait, GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// assert_eq!(pool.claim().expected_wait()?, ExpectedWait::None);
    /// let lease = pool.claim().ttl(Duration::from_secs(60)).wait()?;
    /// let wait = pool.claim().expected_wait()?;
    /// assert!(matches!(wait, ExpectedWait::About(t) if t.as_secs() > 50));
    /// # drop(lease);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expected_wait(&self) -> Result<ExpectedWait, PoolError> {
        let inner = &*self.pool.inner;
        if inner.devices.is_empty() {
            return Ok(ExpectedWait::NoDevices);
        }
        let candidates = self.candidates()?;
        let places = candidates.iter().filter_map(|&id| inner.index_of(id)).collect();
        let claim = self.build("", &candidates)?;
        Ok(self.pool.simulate_claim(&Question::Claim { places, claim })?)
    }

    /// The candidates.
    pub(crate) fn fitting_devices(&self) -> Result<Vec<&GpuDevice>, PoolError> {
        let inner = &*self.pool.inner;
        let places = self.candidates()?;
        Ok(places.iter().filter_map(|&id| Some(&inner.devices[inner.index_of(id)?])).collect())
    }

    /// How many of them the claim needs.
    pub(crate) fn device_count(&self) -> u32 {
        self.options.claim.count
    }

    /// How much of a device's memory the claim would take, in bytes; `None` if the device's memory
    /// is not known.
    pub(crate) fn memory_on(&self, device: &GpuDevice) -> Option<u64> {
        let mebibytes = match self.options.claim.take {
            Take::Amount { memory, .. } if memory != 0 => memory,
            _ => device.memory?,
        };
        Some(u64::from(mebibytes) << 20)
    }
}

impl GpuPool {
    /// How much longer a claim in the queue will wait; [`ExpectedWait::None`] if it is not in the
    /// queue (any more), and [`ExpectedWait::Unknown`] if it waits for no device of this pool.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{ExpectedWait, GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().ttl(Duration::from_secs(60)).wait()?;
    /// let Some(Outcome::Waiting(ticket)) = pool.claim().submit()? else { panic!("it is taken") };
    /// let wait = pool.expected_wait_of(ticket);
    /// assert!(matches!(wait, ExpectedWait::About(t) if t.as_secs() > 50));
    /// drop(lease);
    /// assert_eq!(pool.expected_wait_of(ticket), ExpectedWait::None);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn expected_wait_of(&self, ticket: TicketId) -> ExpectedWait {
        let keys = &self.inner.keys;
        let waits = self.manager().ticket(ticket);
        if waits.is_some_and(|info| !info.candidates.iter().any(|key| keys.contains(key))) {
            return ExpectedWait::Unknown;
        }
        // A claim in the queue was not refused.
        self.simulate_claim(&Question::Ticket(ticket)).unwrap_or(ExpectedWait::Unknown)
    }

    fn simulate_claim(&self, question: &Question<'_>) -> Result<ExpectedWait, Error> {
        let state = PoolState::of(self);
        Ok(match simulate(&state, question)? {
            Some(0) => ExpectedWait::None,
            // A tick has no length.
            Some(wait) if wait < FOREVER && self.manager().has_real_time() => {
                ExpectedWait::About(Duration::from_micros(wait))
            }
            _ => ExpectedWait::Unknown,
        })
    }
}
