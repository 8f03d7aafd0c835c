//! How long a claim would wait.
//!
//! Nobody knows how long the holders will go on. What is known is how long they and others held devices before, and until when their
//! leases last; by that a copy of the table is played forward, by the table's own rules, until the claim is served. The pool itself is only looked at.

mod rehearse;
mod scene;

use std::time::Duration;

use super::{GpuClaim, GpuPool, PoolError};
use crate::inventory::GpuDevice;
use crate::table::{Error, FOREVER, Take, TicketId};
use rehearse::{Question, rehearse};
use scene::Scene;

/// How long a claim would wait, as far as that can be told. See [`GpuClaim::expected_wait`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpectedWait {
    /// The pool has no devices: nobody waits there, and nobody gets one.
    NoDevices,
    /// Not at all.
    None,
    /// About so long, if the holders keep to what they usually do.
    About(Duration),
    /// Somebody who holds what is needed has no end and no history.
    Unknown,
}

impl GpuClaim<'_> {
    /// How long the claim would wait now. Asks for nothing, and changes nothing.
    ///
    /// Holders are taken to go on until their leases end or, if these have no end, as long as they, or others, held devices before. It is a
    /// guess about people, and no promise.
    ///
    /// # Errors
    ///
    /// As the claim would be if it were made: [`PoolError::TooFew`], for example, if it asks for more than exists.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{ExpectedWait, GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// assert_eq!(pool.claim().expected_wait()?, ExpectedWait::None);
    /// let lease = pool.claim().ttl(Duration::from_secs(60)).wait()?;
    /// assert!(matches!(pool.claim().expected_wait()?, ExpectedWait::About(t) if t.as_secs() > 50));
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
        Ok(self.pool.play(&Question::Claim { places, claim })?)
    }

    /// The devices that may serve it.
    pub(crate) fn fitting_devices(&self) -> Result<Vec<&GpuDevice>, PoolError> {
        let inner = &*self.pool.inner;
        let places = self.candidates()?;
        Ok(places.iter().filter_map(|&id| Some(&inner.devices[inner.index_of(id)?])).collect())
    }

    /// How many of them it wants.
    pub(crate) fn device_count(&self) -> u32 {
        self.options.claim.count
    }

    /// How much of a device's memory it would have, in bytes; `None` if nobody knows how much there is.
    pub(crate) fn memory_on(&self, device: &GpuDevice) -> Option<u64> {
        let mebibytes = match self.options.claim.take {
            Take::Amount { memory, .. } if memory != 0 => memory,
            _ => device.memory?,
        };
        Some(u64::from(mebibytes) << 20)
    }
}

impl GpuPool {
    /// How much longer a claim that stands in line will wait; [`ExpectedWait::None`] if it does not (any more), and
    /// [`ExpectedWait::Unknown`] if it waits for nothing of this pool.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{ExpectedWait, GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().ttl(Duration::from_secs(60)).wait()?;
    /// let Some(Outcome::Waiting(ticket)) = pool.claim().submit()? else { panic!("it is taken") };
    /// assert!(matches!(pool.expected_wait_of(ticket), ExpectedWait::About(t) if t.as_secs() > 50));
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
        // A claim that stands in line was not refused.
        self.play(&Question::Ticket(ticket)).unwrap_or(ExpectedWait::Unknown)
    }

    fn play(&self, question: &Question<'_>) -> Result<ExpectedWait, Error> {
        let scene = Scene::of(self);
        Ok(match rehearse(&scene, question)? {
            Some(0) => ExpectedWait::None,
            // Ticks are of no length.
            Some(wait) if wait < FOREVER && self.manager().has_real_time() => {
                ExpectedWait::About(Duration::from_micros(wait))
            }
            _ => ExpectedWait::Unknown,
        })
    }
}
