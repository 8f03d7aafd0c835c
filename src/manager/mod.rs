//! [`LeaseManager`]: leases on named resources.

mod batch;
mod claim;
mod cluster;
mod commands;
mod device;
mod events;
#[cfg(target_os = "linux")]
mod host;
mod inspect;
mod metrics;
mod options;
mod signal;
mod span;
mod submit;
mod ticket;
mod watch;

use std::sync::Arc;
#[cfg(feature = "capi")]
use std::sync::atomic::{AtomicUsize, Ordering};

pub use claim::ClaimBuilder;
pub(crate) use device::WeakManager;
pub use events::EventReader;
pub use options::{Options, TimeKind};
pub use span::Span;
pub use submit::Claiming;
pub(crate) use submit::{ClaimFuture, ClaimOptions};
pub use ticket::Ticket;
pub use watch::Notice;

#[cfg(feature = "capi")]
pub(crate) use crate::home::default_limits;
use crate::home::{AnyHome, Home};
pub use crate::home::{ClusterInfo, OpenError};
#[cfg(target_os = "linux")]
pub use crate::home::{HostInfo, Inherited, LockInfo, ProcessInfo, ProcessLife};
#[cfg(doc)]
use crate::table::Error;
use crate::table::Limits;

/// Leases on named resources.
///
/// A resource is a name with slots, memory and a health. [`acquire`](Self::acquire) takes one slot
/// of one resource, now or not at all. [`claim`](Self::claim) takes several, waits in the queue,
/// and has all other options. [`state`](Self::state) returns the state of a lease. For GPUs use
/// [`GpuPool`](crate::GpuPool), a view on the same table.
///
/// A manager is shared by reference; all calls are thread-safe. Clones are the same manager. When
/// the last one is dropped, readers of its events get [`Error::Closed`], and leases that it held in
/// a table that processes share are released.
///
/// # Time
///
/// A manager has one of two clocks. With a real one ([`open`](Self::open)) lengths of time are
/// given as [`Duration`](std::time::Duration); with ticks ([`Options::ticks`]) as numbers, and time
/// stands still until a call of [`tick`](Self::tick). Giving one to the other is
/// [`Error::WrongClock`].
///
/// # Errors
///
/// A call that fails has changed nothing. Each [`Error`] says in words what to do instead. Beside
/// the errors that a method names, every call that changes something may return [`Error::Full`]
/// (the table has no room; see [`Options::limits`]), [`Error::EmptyName`] or [`Error::NameTooLong`]
/// and, for a table that processes share, [`Error::Stuck`], [`Error::Forked`] and
/// [`Error::Corrupt`].
///
/// # Examples
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
    /// The same home as in `shared`. Through `shared` alone, `state` takes 49 instructions instead
    /// of 44.
    home: AnyHome,
    shared: Arc<Shared>,
}

/// The part that clones of a manager, and its tickets, share.
#[derive(Debug)]
struct Shared {
    home: AnyHome,
    /// `acquire` takes shared leases: any number of holders on a name.
    open_house: bool,
    watches: watch::Watches,
    /// How many handles of C programs are open on the table: managers and pools.
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
    /// Behaves as the `ternary-lease` crate: time is counted in ticks, any number of holders may
    /// have a lease on one name, and a holder is taken to want the resource that bears its own
    /// name.
    ///
    /// Unlike there, a revoked lease is reported as revoked, and an id that was never given out is
    /// unknown. New programs should use [`open`](Self::open), where a lease excludes others.
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

    /// Opens the table that a URL names, with a real clock: `process:` is a private table of this
    /// process; `host:`, `host:NAME` and `host:/PATH` are tables that all processes of this machine
    /// share. A table that does not exist yet is made. An empty URL is `host:`.
    ///
    /// Each call with `process:` makes another table: clone the manager to share one. Each call
    /// with the same `host:` URL opens the same table, in every process.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the URL names no home that exists here, if the system refuses the file or
    /// the memory, or if the file is corrupt. No other home is opened in place of the one that was
    /// named.
    ///
    /// ```
    /// use ternlease::LeaseManager;
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// assert_eq!(manager.active_count(), 0);
    ///
    /// let error = LeaseManager::open("moon:").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "cannot open \"moon:\": this kind of home is unknown: use `process:`, `host:` or `etcd:`"
    /// );
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_with(url, Options::real())
    }

    /// Opens the table that a URL names. A new table is made with these options; an existing one
    /// keeps its own.
    ///
    /// # Errors
    ///
    /// As [`Self::open`]; and ticks are refused for `host:`, because processes share real time.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Limits, Options};
    ///
    /// let limits = Limits { leases: 1000, ..Limits::default() };
    /// let manager = LeaseManager::open_with("process:", Options::real().limits(limits))?;
    /// # assert_eq!(manager.active_count(), 0);
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn open_with(url: &str, options: Options) -> Result<Self, OpenError> {
        let real_clock = options.time == TimeKind::Real;
        let home = AnyHome::open(url, real_clock, |limits| options.settings(limits))?;
        Ok(Self::in_home(home, options))
    }

    /// As [`Self::open_with`], on another engine than etcd.
    #[cfg(ternlease_sim)]
    pub(crate) fn open_cluster(
        url: &str,
        options: Options,
        connect: crate::home::Connect<'_>,
    ) -> Result<Self, OpenError> {
        let home = AnyHome::open_cluster(url, |limits| options.settings(limits), connect)?;
        Ok(Self::in_home(home, options))
    }

    /// A private table of this process, with these options. Ends the program if the system does not
    /// provide the memory, as collections do; [`Self::open_with`] returns an error then.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks()); // for tests: time is counted by `tick`
    /// let lease = manager.acquire("gpu0", "trainer", 1)?;
    /// manager.tick();
    /// assert_eq!(manager.state(lease), Some(LeaseState::Expired));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn with(options: Options) -> Self {
        Self::try_with(options)
            .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<AnyHome>()))
    }

    fn try_with(options: Options) -> Option<Self> {
        let settings = options.settings(Limits::default());
        Some(Self::in_home(AnyHome::try_new(settings, options.time == TimeKind::Real)?, options))
    }

    fn in_home(home: AnyHome, options: Options) -> Self {
        let shared = Shared {
            home,
            open_house: options.open_house,
            watches: watch::Watches::default(),
            #[cfg(feature = "capi")]
            handles: AtomicUsize::new(0),
        };
        LeaseManager { home: shared.home.clone(), shared: Arc::new(shared) }
    }

    #[inline(always)]
    pub(crate) fn home(&self) -> &AnyHome {
        &self.home
    }

    /// A C program has opened a handle.
    #[cfg(feature = "capi")]
    pub(crate) fn enter(&self) {
        self.shared.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// A C program closes a handle. After the last one this manager is not used again, apart from
    /// callbacks that are still running.
    #[cfg(feature = "capi")]
    pub(crate) fn leave(&self) {
        if self.shared.handles.fetch_sub(1, Ordering::AcqRel) != 1 {
            // A callback may be using this handle.
            return self.shared.watches.join_callback();
        }
        self.shared.shut_down();
        // Safe only here: wakers of C programs are code of this library, and do not wait for the
        // caller.
        self.home().join_ticker();
    }

    /// For the test of [`Self::poison`].
    #[cfg(feature = "capi-test")]
    pub(crate) fn panic_in_a_command(&self) -> ! {
        use crate::table::{Memory, Query, Table};

        struct Panic;
        impl Query for Panic {
            type Answer = std::convert::Infallible;

            fn answer<M: Memory>(&self, _: &Table<M>) -> Self::Answer {
                panic!("on purpose, for a test")
            }
        }
        match self.home().query(&Panic) {}
    }

    /// A panic has cut short a call: the manager is unusable from now on, and all waiters are
    /// woken.
    #[cfg(feature = "capi")]
    pub(crate) fn poison(&self) {
        self.home().poison();
    }
}
