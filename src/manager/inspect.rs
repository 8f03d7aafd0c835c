//! Queries on leases, claims and resources. They change nothing except that due ends happen.

use super::LeaseManager;
use crate::home::Home;
use crate::table::query::{
    CountOf, HeldBy, Leases, LeasesOn, ResourceByName, Resources, Revocations, Tickets, Verify,
    WaitingCount, WaitingTicket,
};
use crate::table::{LeaseId, LeaseInfo, LeaseState, Reason, ResourceInfo, TicketId, TicketInfo};

/// Leases, claims, resources and counters. Each list is of one instant.
impl LeaseManager {
    /// The state of a lease; `None` if the id is not known (any more).
    ///
    /// Does not take the lock, and never returns held after the end. Ended leases are remembered
    /// until [`Limits::history`](crate::Limits::history) newer ones have ended.
    ///
    /// ```
    /// use ternlease::{LeaseId, LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// assert_eq!(manager.state(lease), Some(LeaseState::Held));
    /// manager.release(lease)?;
    /// assert_eq!(manager.state(lease), Some(LeaseState::Expired));
    /// assert_eq!(manager.state(LeaseId(12345)), None);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn state(&self, id: LeaseId) -> Option<LeaseState> {
        self.home().state(id)
    }

    /// Everything about a lease that is held or remembered; `None` if it is neither.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options, Reason};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// manager.revoke_with(lease, Reason::NodeDrain, "ops", 3)?;
    /// let info = manager.lease(lease).unwrap();
    /// assert_eq!((info.holder.as_str(), info.takes[0].resource.as_str()), ("trainer", "gpu0"));
    /// assert!(info.revoking, "it is held, but not for long");
    /// assert_eq!((info.reason, info.revoker.as_deref()), (Some(Reason::NodeDrain), Some("ops")));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        self.home().lease(id)
    }

    /// As [`lease`](Self::lease), from local data: etcd is not asked. For callers that must not
    /// wait for a server that does not answer.
    ///
    /// For tables that are not in etcd there is no difference. Of a table in etcd this process
    /// knows what happened to its own leases as soon as etcd has reported it, and of others perhaps
    /// later. `None` also for a change whose outcome is unknown because the session has ended. The
    /// call still waits for the outcome of commands that this process has sent to etcd, for as long
    /// as the session lasts; a table in a file may be locked by another process.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// let info = manager.known_lease(lease).unwrap();
    /// assert_eq!((info.state, info.holder.as_str()), (LeaseState::Held, "trainer"));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn known_lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        self.home().known_lease(id).flatten()
    }

    /// Are all leases of this process over because its table is lost: because the file of the table
    /// was deleted, replaced or damaged, or the session with etcd has ended?
    ///
    /// Other processes may be granted the same devices then. Never blocks: no lock is taken, and
    /// etcd is not asked. A session can be established again, a lost file cannot.
    ///
    /// ```
    /// assert!(!ternlease::LeaseManager::open("process:")?.is_lost());
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn is_lost(&self) -> bool {
        #[cfg(feature = "cluster")]
        if let Some(left) = self.session_left() {
            return left.is_zero();
        }
        self.home().session_turns() != 0
    }

    /// The leases of a holder, oldest first. Empty for an unknown holder.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "trainer", 10)?;
    /// let second = manager.acquire("gpu1", "trainer", 10)?;
    /// assert_eq!(manager.held_by("trainer"), [first, second]);
    /// assert!(manager.held_by("bob").is_empty());
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn held_by(&self, holder: &str) -> Vec<LeaseId> {
        self.home().query(&HeldBy { holder })
    }

    /// The leases on a resource, oldest first. Empty if there is no such resource.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// assert_eq!(manager.leases_on("gpu0"), [lease]);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn leases_on(&self, resource: &str) -> Vec<LeaseId> {
        self.home().query(&LeasesOn { resource })
    }

    /// All held leases, oldest first. A copy, which takes time and memory in proportion to their
    /// number.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "ann", 10)?;
    /// manager.acquire("gpu1", "bob", 10)?;
    /// let holders: Vec<String> = manager.leases().into_iter().map(|lease| lease.holder).collect();
    /// assert_eq!(holders, ["ann", "bob"]);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn leases(&self) -> Vec<LeaseInfo> {
        self.home().query(&Leases {})
    }

    /// All waiting claims, in the order in which they would be granted if everything became free.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "ann", 10)?;
    /// let _bob = manager.claim("bob").of(&["gpu0"]).enqueue()?;
    /// let _eve = manager.claim("eve").of(&["gpu0"]).priority(5).enqueue()?;
    /// let line: Vec<String> = manager.tickets().into_iter().map(|ticket| ticket.holder).collect();
    /// assert_eq!(line, ["eve", "bob"]);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn tickets(&self) -> Vec<TicketInfo> {
        self.home().query(&Tickets {})
    }

    /// Everything about a ticket that waits; `None` once it is resolved.
    /// [`ticket_state`](Self::ticket_state) has the result then.
    pub fn ticket(&self, id: TicketId) -> Option<TicketInfo> {
        self.home().query(&WaitingTicket { ticket: id })
    }

    /// The size and use of a resource; `None` if it is neither declared nor in use.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.declare("gpu0", 4, 24_576)?;
    /// manager.acquire("gpu0", "trainer", 10)?;
    /// let gpu = manager.resource("gpu0").unwrap();
    /// assert_eq!((gpu.slots, gpu.used_slots), (4, 1));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn resource(&self, name: &str) -> Option<ResourceInfo> {
        self.home().query(&ResourceByName { name })
    }

    /// All resources that are declared or in use, by name. Resources of remembered leases are among
    /// them.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        self.home().query(&Resources {})
    }

    /// How many leases are held. Does not take the lock, unless one has expired since the last
    /// command.
    #[inline]
    pub fn active_count(&self) -> usize {
        self.home().held() as usize
    }

    /// How many claims wait. [`tickets`](Self::tickets) lists them.
    pub fn pending_claimers(&self) -> usize {
        self.home().query(&WaitingCount {})
    }

    /// How many leases were revoked so far. [`count`](Self::count) has the number for each reason.
    pub fn revocations(&self) -> u64 {
        self.home().query(&Revocations {})
    }

    /// How many leases ended, or claims were refused, for this reason so far.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options, Reason};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 10)?;
    /// manager.revoke_with(lease, Reason::DeviceFault, "watchdog", 0)?;
    /// assert_eq!((manager.count(Reason::DeviceFault), manager.revocations()), (1, 1));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn count(&self, reason: Reason) -> u64 {
        self.home().query(&CountOf { reason })
    }

    /// Checks the whole table. For tests, and for a file that may be damaged: it takes time in
    /// proportion to the size of the table.
    ///
    /// # Errors
    ///
    /// The first inconsistency, as text.
    pub fn verify(&self) -> Result<(), String> {
        self.home().query(&Verify {})
    }
}
