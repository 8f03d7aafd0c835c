//! [`LeaseManager`]: leases on named resources.

mod batch;
mod claim;
mod device;
mod events;
#[cfg(target_os = "linux")]
mod host;
mod metrics;
mod options;
mod ticket;
mod watch;

use std::sync::Arc;
#[cfg(feature = "capi")]
use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::home::clock::Span;
#[cfg(target_os = "linux")]
use crate::home::host::Place;
use crate::home::refused::Refused;
pub use claim::{ClaimBuilder, Claiming};
pub(crate) use device::{State, WeakManager};
pub use events::EventReader;
use options::Where;
pub use options::{OpenError, Options, TimeKind};
pub use ticket::Ticket;
pub use watch::Notice;

use crate::home::{Home, look, run};
use crate::table::{
    Claim, Deadlock, Error, Health, LeaseId, LeaseInfo, LeaseState, Limits, Outcome, Reason,
    ResourceId, ResourceInfo, Revoked, Take, TicketId, TicketInfo, Time,
};

/// Leases on named resources: who may use what, until when, and why not.
///
/// A manager is shared by reference; all calls are thread-safe. Clones are the same manager.
///
/// ```
/// use std::time::Duration;
/// use ternlease::{LeaseManager, LeaseState, Error};
///
/// let manager = LeaseManager::open("process:")?;
/// let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(30))?;
/// assert_eq!(manager.state(lease), Some(LeaseState::Held));
///
/// // gpu0 has one slot, and it is taken.
/// let second = manager.acquire("gpu0", "notebook", Duration::from_secs(30));
/// assert_eq!(second, Err(Error::Busy));
///
/// manager.release(lease)?;
/// assert_eq!(manager.state(lease), Some(LeaseState::Expired));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LeaseManager {
    /// The same as in `shared`: `state()` is worth the shorter way.
    home: Home,
    shared: Arc<Shared>,
}

/// What clones of a manager, and its tickets, have in common.
#[derive(Debug)]
struct Shared {
    home: Home,
    /// `acquire` takes shared leases: any number of holders on a name.
    open_house: bool,
    watches: watch::Watches,
    /// How many handles C programs have on the table: managers and pools.
    #[cfg(feature = "capi")]
    handles: AtomicUsize,
}

impl Shared {
    /// Ends the threads of the library that serve this manager.
    fn shut_down(&self) {
        self.home.close();
        self.watches.close();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl Default for LeaseManager {
    fn default() -> Self {
        Self::new()
    }
}

impl LeaseManager {
    /// The world of the `ternary-lease` crate: time is counted in ticks, any number of holders may have a lease on one name, and
    /// a holder is taken to want the resource that bears its own name.
    ///
    /// Unlike there, a revoked lease says so, and an id that was never given out is unknown.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState};
    ///
    /// let leases = LeaseManager::new();
    /// let a = leases.acquire("gpu0", "worker1", 2)?;
    /// let b = leases.acquire("gpu0", "worker2", 10)?;
    /// leases.revoke(b)?;
    /// leases.tick();
    /// leases.tick();
    /// assert_eq!(leases.state(a), Some(LeaseState::Expired));
    /// assert_eq!(leases.state(b), Some(LeaseState::Revoked));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::with(Options::ticks().open_house())
    }

    /// Opens the table that a URL names, with a real clock: `process:` is a table of its own in this process; `host:`, `host:NAME` and
    /// `host:/PATH` are tables that all processes of this machine share, made if there is none yet.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_with(url, Options::real())
    }

    /// Opens the table that a URL names. If that makes a new one, it is made as the options say.
    pub fn open_with(url: &str, options: Options) -> Result<Self, OpenError> {
        match options::home_of(url)? {
            Where::Process => {
                Self::try_with(options).ok_or_else(|| OpenError::new(url, Refused::no_memory()))
            }
            #[cfg(target_os = "linux")]
            Where::Host(rest) => Self::open_host(url, rest, options),
        }
    }

    #[cfg(target_os = "linux")]
    fn open_host(url: &str, rest: &str, options: Options) -> Result<Self, OpenError> {
        if options.time != TimeKind::Real {
            let problem = "processes share real time; ticks are counted by one process alone";
            return Err(OpenError::new(url, Refused::words(problem)));
        }
        let settings = options.settings(Options::SHARED_LIMITS);
        let home = Place::find(rest).and_then(|place| Home::open_host(place, settings));
        Ok(Self::in_home(home.map_err(|why| OpenError::new(url, why))?, options))
    }

    /// A table of its own in this process, made to measure. Ends the program if the system does not give the memory, as collections
    /// do; [`Self::open_with`] is an error then.
    pub fn with(options: Options) -> Self {
        Self::try_with(options)
            .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Home>()))
    }

    fn try_with(options: Options) -> Option<Self> {
        let settings = options.settings(Limits::default());
        Some(Self::in_home(Home::try_new(settings, options.time == TimeKind::Real)?, options))
    }

    fn in_home(home: Home, options: Options) -> Self {
        let shared = Shared {
            home: home.clone(),
            open_house: options.open_house,
            watches: watch::Watches::default(),
            #[cfg(feature = "capi")]
            handles: AtomicUsize::new(0),
        };
        LeaseManager { home, shared: Arc::new(shared) }
    }

    #[inline(always)]
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// A lease on one slot of a resource, now or not at all ([`Error::Busy`]).
    /// The resource comes into being with one slot if it has not been declared.
    #[inline]
    pub fn acquire(
        &self,
        resource: &str,
        holder: &str,
        ttl: impl Into<Span>,
    ) -> Result<LeaseId, Error> {
        let ttl = self.home().clock().measure(ttl.into())?;
        let take = if self.shared.open_house { Take::Shared } else { Take::ONE_SLOT };
        let names = [resource];
        let claim = Claim { ttl, take, ..Claim::one(holder, &names) };
        match self.home().claim(claim)? {
            Outcome::Granted(id) => Ok(id),
            // A claim that does not wait is never put in line.
            Outcome::Waiting(_) => Err(Error::Busy),
        }
    }

    /// Begins a claim: several resources, waiting, priorities and all the rest.
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

    /// Makes a resource with so many slots and so much memory (MiB), or changes the size of one that is not in use.
    pub fn declare(&self, resource: &str, slots: u32, memory: u32) -> Result<ResourceId, Error> {
        run!(self.home(), |table, now| table.declare(now, resource, slots, memory))
    }

    /// Says how a declared resource is, as an operator would. One that is not healthy gets no new leases. What a pool sees of its devices counts beside
    /// it, and the worse of both is its health.
    pub fn set_health(&self, resource: &str, health: Health) -> Result<(), Error> {
        run!(self.home(), |table, now| {
            let id = table.resource_id(resource).ok_or(Error::UnknownResource)?;
            table.set_health(now, id, health)
        })
    }

    /// Moves the end of a lease to now + its ttl; the new end, in the manager's time.
    /// Does not take the lock for a plain lease.
    #[inline]
    pub fn renew(&self, id: LeaseId) -> Result<Time, Error> {
        self.home().renew(id)
    }

    /// As [`Self::renew`], with another ttl from now on.
    pub fn renew_for(&self, id: LeaseId, ttl: impl Into<Span>) -> Result<Time, Error> {
        let ttl = self.home().clock().measure(ttl.into())?;
        run!(self.home(), |table, now| table.renew(now, id, Some(ttl)))
    }

    /// Gives a lease back. Whoever is first in line has what it frees before this returns.
    #[inline]
    pub fn release(&self, id: LeaseId) -> Result<(), Error> {
        run!(self.home(), |table, now| table.release(now, id))
    }

    /// Takes a lease away at once, as an operator would.
    #[inline]
    pub fn revoke(&self, id: LeaseId) -> Result<Revoked, Error> {
        run!(self.home(), |table, now| table.revoke(now, id, Reason::Operator, "", 0))
    }

    /// Takes a lease away for a reason, with a notice during which the holder can save its work.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{LeaseManager, LeaseState, Reason, Revoked};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(3600))?;
    /// let told = manager.revoke_with(lease, Reason::NodeDrain, "ops", Duration::from_secs(120))?;
    /// assert!(matches!(told, Revoked::Notified(_)));
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
        let notice = self.home().clock().measure(notice.into())?;
        run!(self.home(), |table, now| table.revoke(now, id, reason, by, notice))
    }

    /// The state of a lease; `None` if the id is not known (any more).
    ///
    /// Does not take the lock, and never says held once the end has passed.
    #[inline]
    pub fn state(&self, id: LeaseId) -> Option<LeaseState> {
        self.home().state(id)
    }

    /// Everything about a lease that is held or remembered.
    pub fn lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        look!(self.home(), |table| table.lease(id))
    }

    /// Counts one tick. With a real clock: only brings the table up to date.
    #[inline]
    pub fn tick(&self) {
        self.home().tick();
    }

    /// The time by this manager's clock: ticks so far, or microseconds since the machine started.
    #[inline]
    pub fn tick_count(&self) -> Time {
        self.home().clock().now()
    }

    /// All deadlocks there are, each with a proof and a proposal whom to revoke.
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
        run!(self.home(), |table, now| table.find_deadlocks(now))
    }

    /// Declares that a holder cannot go on without a resource, without claiming it.
    pub fn want(&self, holder: &str, resource: &str) -> Result<(), Error> {
        run!(self.home(), |table, now| table.want(now, holder, resource))
    }

    /// Takes back what [`Self::want`] declared.
    pub fn unwant(&self, holder: &str, resource: &str) -> Result<(), Error> {
        run!(self.home(), |table, now| table.unwant(now, holder, resource))
    }

    /// The leases a holder holds, oldest first.
    pub fn held_by(&self, holder: &str) -> Vec<LeaseId> {
        look!(self.home(), |table| table.held_by(holder))
    }

    /// How many leases are held.
    #[inline]
    pub fn active_count(&self) -> usize {
        self.home().held() as usize
    }

    /// How many leases were revoked so far; each counts once.
    pub fn revocations(&self) -> u64 {
        look!(self.home(), |table| table.revocations())
    }

    /// How many leases ended, or claims were refused, for this reason so far.
    pub fn count(&self, reason: Reason) -> u64 {
        look!(self.home(), |table| table.count(reason))
    }

    /// How many claims wait.
    pub fn pending_claimers(&self) -> usize {
        look!(self.home(), |table| table.waiting() as usize)
    }

    /// All held leases, oldest first.
    pub fn leases(&self) -> Vec<LeaseInfo> {
        look!(self.home(), |table| table.leases())
    }

    /// All waiting claims, in order.
    pub fn tickets(&self) -> Vec<TicketInfo> {
        look!(self.home(), |table| table.tickets())
    }

    /// Everything about a ticket that waits.
    pub fn ticket(&self, id: TicketId) -> Option<TicketInfo> {
        look!(self.home(), |table| table.waiting_ticket(id))
    }

    /// What there is of a resource, and what is taken.
    pub fn resource(&self, name: &str) -> Option<ResourceInfo> {
        look!(self.home(), |table| table.resource(name))
    }

    /// All resources that are declared or in use, by name.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        look!(self.home(), |table| table.resources())
    }

    /// The leases on a resource, oldest first: who has what a claim waits for.
    pub fn leases_on(&self, resource: &str) -> Vec<LeaseId> {
        look!(self.home(), |table| table.leases_on(resource))
    }

    /// Checks the table from end to end; what is wrong, in words.
    pub fn verify(&self) -> Result<(), String> {
        look!(self.home(), |table| table.verify())
    }

    /// A C program has one more handle on the table.
    #[cfg(feature = "capi")]
    pub(crate) fn enter(&self) {
        self.shared.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// A C program closes a handle. After the last one nobody will use this manager again, apart from callbacks that are still running.
    #[cfg(feature = "capi")]
    pub(crate) fn leave(&self) {
        if self.shared.handles.fetch_sub(1, Ordering::AcqRel) != 1 {
            // One may be using this very handle.
            return self.shared.watches.await_callback();
        }
        self.shared.shut_down();
        // Only here: what wakes waiters in C is this library's, and cannot be waiting for the caller.
        self.home().await_keeper();
    }

    /// For the test of what [`Self::abandon`] is for.
    #[cfg(feature = "capi-test")]
    pub(crate) fn panic_in_a_command(&self) -> ! {
        look!(self.home(), |_| panic!("on purpose, for a test"))
    }

    /// A call was cut short by a panic: nobody can trust this manager any more, and nobody waits for it in vain.
    #[cfg(feature = "capi")]
    pub(crate) fn abandon(&self) {
        self.home().abandon();
    }
}
