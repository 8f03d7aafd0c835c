//! The commands of a manager: leases, resources, wants, and ticks.

#[cfg(doc)]
use crate::table::LeaseInfo;

use super::{ClaimBuilder, LeaseManager, Span};
use crate::home::{Dropped, Home};
use crate::table::command::{Advance, Declare, Revoke, SetHealth, SetNode, Unwant, Want};
use crate::table::query::Deadlocks;
use crate::table::{
    Claim, Deadlock, Error, Health, LeaseId, Reason, ResourceId, Revoked, Take, Time,
};

/// Leases, the resources that they are on, and the clock.
impl LeaseManager {
    /// A lease on one slot of a resource, now or not at all. The resource comes into being with one
    /// slot if it has not been declared.
    ///
    /// The lease ends by itself when `ttl` is over and [`renew`](Self::renew) was not called. To
    /// wait in the queue, or for other options, see [`claim`](Self::claim).
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if it is taken, or not healthy, or an earlier claim waits for it;
    /// [`Error::ZeroTtl`]; [`Error::WrongClock`].
    ///
    /// ```
    /// use ternlease::{Error, LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// assert_eq!(manager.acquire("gpu0", "notebook", 10), Err(Error::Busy));
    /// manager.release(lease)?;
    /// assert!(manager.acquire("gpu0", "notebook", 10)? > lease); // ids only grow
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn acquire(
        &self,
        resource: &str,
        holder: &str,
        ttl: impl Into<Span>,
    ) -> Result<LeaseId, Error> {
        let ttl = self.measure(ttl)?;
        let take = if self.shared.open_house { Take::Shared } else { Take::ONE_SLOT };
        let names = [resource];
        let claim = Claim { ttl, take, ..Claim::one(holder, &names) };
        self.submit_and_wait(&claim).map(|(lease, ())| lease)
    }

    /// Begins a claim, for several resources, with a wait, a priority and other options. One of the
    /// methods of [`ClaimBuilder`] submits it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::LeaseManager;
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let two_of_three = manager
    ///     .claim("trainer")
    ///     .of(&["gpu0", "gpu1", "gpu2"])
    ///     .count(2)
    ///     .ttl(Duration::from_secs(60))
    ///     .wait_for(Duration::from_secs(5))?;
    /// assert_eq!(manager.held_by("trainer"), [two_of_three]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim<'a>(&'a self, holder: &'a str) -> ClaimBuilder<'a> {
        ClaimBuilder::new(self, holder)
    }

    /// Makes a resource with so many slots and so much memory (MiB), or changes the size of one
    /// that is not in use. A declared resource stays for ever; one that is only used is forgotten
    /// when nothing refers to it.
    ///
    /// The id is for [`ClaimBuilder::of_declared`], which saves a lookup of the name.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] if it would change the size of a resource that is held or waited for;
    /// [`Error::ZeroAmount`] for neither slots nor memory.
    ///
    /// ```
    /// use ternlease::{Error, LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.declare("licence", 2, 0)?;
    /// manager.acquire("licence", "ann", 10)?;
    /// manager.acquire("licence", "bob", 10)?;
    /// assert_eq!(manager.acquire("licence", "eve", 10), Err(Error::Busy));
    /// assert_eq!(manager.declare("licence", 3, 0), Err(Error::InUse));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn declare(&self, resource: &str, slots: u32, memory: u32) -> Result<ResourceId, Error> {
        self.home().execute(&Declare { resource, slots, memory })
    }

    /// Sets the machine that a declared resource is in, or that it is in none. Machines are
    /// resources too, and are declared with one slot if they are not yet.
    /// [`ClaimBuilder::on_one_node`] depends on this.
    ///
    /// A lease on a machine says that a process is present there. When the last one ends, the
    /// resources in the machine fail, and leases on them are revoked ([`Reason::NodeDrain`]).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownResource`] if the resource is not declared; [`Error::InUse`] if it is held
    /// or waited for and has another node.
    ///
    /// ```
    /// use ternlease::{Health, LeaseManager, Options, Take};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.declare("gpu0", 1, 0)?;
    /// manager.set_node("gpu0", Some("rack-7"))?;
    /// let presence = manager.claim("agent").of(&["rack-7"]).take(Take::Shared).try_now()?;
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// manager.release(presence)?; // or its ttl is over
    /// assert_eq!(manager.resource("gpu0").unwrap().health, Health::Failed);
    /// assert!(manager.renew(lease).is_err());
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn set_node(&self, resource: &str, node: Option<&str>) -> Result<(), Error> {
        self.home().execute(&SetNode { resource, node })
    }

    /// Sets the health of a declared resource, as an operator would. One that is not healthy gets
    /// no new leases; leases on it stay until they end or are revoked. The evidence of a pool for
    /// its devices counts too: the worse of both is the health.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownResource`] if it is not declared: a resource that is only used has no health
    /// of its own.
    ///
    /// ```
    /// use ternlease::{Error, Health, LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.declare("gpu0", 1, 0)?;
    /// manager.set_health("gpu0", Health::Draining)?; // maintenance
    /// assert_eq!(manager.acquire("gpu0", "trainer", 10), Err(Error::Busy));
    /// manager.set_health("gpu0", Health::Healthy)?;
    /// manager.acquire("gpu0", "trainer", 10)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn set_health(&self, resource: &str, health: Health) -> Result<(), Error> {
        self.home().execute(&SetHealth { resource, health })
    }

    /// Moves the end of a lease to now + its ttl. Returns the new end, in the manager's time. Does
    /// not take the lock for a plain lease.
    ///
    /// Renew about three times in each ttl, so that one delay does no harm. The end never moves
    /// back. A lease that is being revoked is renewed up to the end of its notice, and a child up
    /// to the end of its parent.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended, with the reason: stop using what it was for.
    /// [`Error::UnknownLease`] if it is not known.
    ///
    /// ```
    /// use ternlease::{Error, LeaseManager, LeaseState, Options, Reason};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 3)?;
    /// manager.tick();
    /// assert_eq!(manager.renew(lease)?, 4); // now + 3
    /// (0..3).for_each(|_| manager.tick());
    /// let over = Error::NotHeld(LeaseState::Expired, Reason::TimedOut);
    /// assert_eq!(manager.renew(lease), Err(over));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn renew(&self, id: LeaseId) -> Result<Time, Error> {
        self.home().renew(id)
    }

    /// As [`Self::renew`], with another ttl from now on, which later calls of
    /// [`renew`](Self::renew) use too. A shorter one does not end the lease earlier than before.
    ///
    /// # Errors
    ///
    /// As [`Self::renew`]; [`Error::ZeroTtl`]; [`Error::WrongClock`].
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 3)?;
    /// assert_eq!(manager.renew_for(lease, 100)?, 100);
    /// assert_eq!(manager.renew_for(lease, 3)?, 100);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn renew_for(&self, id: LeaseId, ttl: impl Into<Span>) -> Result<Time, Error> {
        let ttl = self.measure(ttl)?;
        self.home().renew_for(id, ttl)
    }

    /// Gives a lease back. The first claim in the queue has what it frees before this returns.
    /// Leases whose parent it is ([`child_of`](ClaimBuilder::child_of)) end with it.
    ///
    /// A lease of another user is revoked by this, for [`Reason::Operator`]. A lease that is being
    /// revoked is revoked at once, for the reason of its notice
    /// ([`LeaseInfo::acknowledged`](crate::LeaseInfo::acknowledged)).
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it had ended before, with the reason; [`Error::UnknownLease`];
    /// [`Error::Unavailable`] if machines share the table and its engine cannot be reached: it is
    /// given back as soon as the engine can be, and need not be released again.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "ann", 10)?;
    /// let ticket = manager.claim("bob").of(&["gpu0"]).enqueue()?;
    /// manager.release(first)?;
    /// assert_eq!(manager.held_by("bob"), [ticket.wait()?]); // it was bob's at once
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn release(&self, id: LeaseId) -> Result<(), Error> {
        self.home().give_back(Dropped::Lease(id))
    }

    /// Revokes a lease at once, as an operator would ([`Reason::Operator`]). The holder learns of
    /// it by [`state`](Self::state) or by [`watch`](Self::watch). To let it save its work, use
    /// [`revoke_with`](Self::revoke_with).
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended; [`Error::UnknownLease`].
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// manager.revoke(lease)?;
    /// assert_eq!(manager.state(lease), Some(LeaseState::Revoked));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn revoke(&self, id: LeaseId) -> Result<Revoked, Error> {
        self.home().execute(&Revoke { lease: id, reason: Reason::Operator, by: "", notice: 0 })
    }

    /// Revokes a lease for a reason, with a notice during which the holder can save its work.
    ///
    /// Until the notice ends the lease is held, and [`LeaseInfo::revoking`] is set. `by` names the
    /// revoker, for people; it may be empty. A second revocation counts only if its notice ends
    /// earlier. A notice of zero revokes at once.
    ///
    /// # Errors
    ///
    /// [`Error::NotARevocation`] if the reason is one by which leases end or claims are refused
    /// (600 and above); [`Error::TimeTooLarge`] for a notice without end; [`Error::NotHeld`];
    /// [`Error::UnknownLease`]; [`Error::WrongClock`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{LeaseManager, LeaseState, Reason, Revoked};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(3600))?;
    /// let revoked = manager.revoke_with(lease, Reason::NodeDrain, "ops", Duration::from_secs(120))?;
    /// assert!(matches!(revoked, Revoked::Notified(_)));
    ///
    /// let info = manager.lease(lease).unwrap();
    /// assert!(info.revoking);
    /// assert_eq!(info.reason, Some(Reason::NodeDrain));
    /// assert_eq!(manager.state(lease), Some(LeaseState::Held));
    /// manager.release(lease)?; // the holder has saved its work
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke_with(
        &self,
        id: LeaseId,
        reason: Reason,
        by: &str,
        notice: impl Into<Span>,
    ) -> Result<Revoked, Error> {
        let notice = self.measure(notice)?;
        self.home().execute(&Revoke { lease: id, reason, by, notice })
    }

    /// Counts one tick. With a real clock: only brings the table up to date.
    ///
    /// Everything that is due by then happens before this returns: leases expire, notices end,
    /// claims time out, and claims in the queue are granted.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 2)?;
    /// manager.tick();
    /// assert_eq!(manager.state(lease), Some(LeaseState::Held));
    /// manager.tick();
    /// assert_eq!(manager.state(lease), Some(LeaseState::Expired));
    /// assert_eq!(manager.tick_count(), 2);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn tick(&self) {
        self.home().tick();
    }

    /// The time by this manager's clock: ticks so far, or microseconds since the machine started.
    /// Compare [`LeaseInfo::end`] and [`Event::at`](crate::Event::at) with it.
    #[inline]
    pub fn tick_count(&self) -> Time {
        self.home().clock().now()
    }

    /// All deadlocks, each with a proof and a proposed victim. Exact: a holder that can still
    /// continue is not reported, and no deadlock is missed. The page on
    /// [deadlocks](crate::guide::deadlocks) says why.
    ///
    /// Only a holder that has a lease and waits for more can be part of one.
    /// [`DeadlockPolicy::Break`](crate::DeadlockPolicy::Break) breaks deadlocks as they arise.
    ///
    /// # Errors
    ///
    /// Only those of a table that processes share, see [above](Self#errors).
    ///
    /// ```
    /// use ternlease::LeaseManager;
    ///
    /// let leases = LeaseManager::new();
    /// // A holds "B" and, by its name, is taken to want "A"; and the other way round.
    /// leases.acquire("B", "A", 10)?;
    /// leases.acquire("A", "B", 10)?;
    /// let deadlocks = leases.find_deadlocks()?;
    /// assert_eq!(deadlocks.len(), 1);
    /// assert_eq!(deadlocks[0].stuck, ["A", "B"]);
    ///
    /// leases.revoke(deadlocks[0].victim)?;
    /// assert!(leases.find_deadlocks()?.is_empty());
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn find_deadlocks(&self) -> Result<Vec<Deadlock>, Error> {
        let deadlocks = self.home().query(&Deadlocks {});
        // An error if the table could not be locked, or if the search found it corrupt.
        self.home().execute(&Advance)?;
        Ok(deadlocks)
    }

    /// Declares that a holder cannot continue without a resource, without a claim for it: because
    /// it waits for a lock of its own, or for data. A want is not in the queue and is granted
    /// nothing; it only counts in the search for deadlocks.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyName`], [`Error::NameTooLong`] or [`Error::Full`]. The same want again is
    /// none.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("buffer", "reader", 100)?;
    /// manager.acquire("file", "writer", 100)?;
    /// manager.want("reader", "file")?;
    /// manager.want("writer", "buffer")?;
    /// assert_eq!(manager.find_deadlocks()?[0].stuck, ["reader", "writer"]);
    ///
    /// manager.unwant("writer", "buffer")?;
    /// assert!(manager.find_deadlocks()?.is_empty());
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn want(&self, holder: &str, resource: &str) -> Result<(), Error> {
        self.home().execute(&Want { holder, resource })
    }

    /// Removes what [`Self::want`] declared. A want ends in no other way: not even when the holder
    /// gets the resource.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownWant`] if the holder has declared no such want.
    pub fn unwant(&self, holder: &str, resource: &str) -> Result<(), Error> {
        self.home().execute(&Unwant { holder, resource })
    }
}
