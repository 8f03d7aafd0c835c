//! [`LeaseManager`]: leases on named resources.

mod asking;
mod batch;
mod claim;
mod commands;
mod device;
mod events;
#[cfg(target_os = "linux")]
mod host;
mod inspect;
mod jeopardy;
mod metrics;
mod nodes;
mod options;
mod signal;
mod ticket;
mod watch;

use std::sync::Arc;
#[cfg(feature = "capi")]
use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::home::clock::Span;
#[cfg(target_os = "linux")]
use crate::home::host::HostPath;
use crate::home::refused::Refused;
pub use asking::Claiming;
pub use claim::ClaimBuilder;
pub(crate) use device::WeakManager;
pub use events::EventReader;
use options::Where;
pub use options::{OpenError, Options, TimeKind};
pub use ticket::Ticket;
pub use watch::Notice;

use crate::home::{AnyHome, Home};
#[cfg(doc)]
use crate::table::Error;
use crate::table::Limits;

/// Leases on named resources: who may use what, until when, and why not.
///
/// A resource is a name with slots, memory and a health. [`acquire`](Self::acquire) takes one slot of one resource, now or not at all;
/// [`claim`](Self::claim) takes several, waits in line, and has all other options. What became of a lease says
/// [`state`](Self::state), in one of three words. For GPUs, [`GpuPool`](crate::GpuPool) is the better face of the same table.
///
/// A manager is shared by reference; all calls are thread-safe. Clones are the same manager. When the last one is dropped, whoever still
/// reads its events is told ([`Error::Closed`]), and what it held in a table that processes share is released.
///
/// # Time
///
/// A manager goes by one of two clocks. With a real one ([`open`](Self::open)) lengths of time are given as
/// [`Duration`](std::time::Duration); with ticks ([`Options::ticks`]) as numbers, and time stands still until somebody calls
/// [`tick`](Self::tick). Giving one to the other is [`Error::WrongClock`].
///
/// # Errors
///
/// What is refused has changed nothing. Each [`Error`] says in words what to do instead. Beside those that a method names, every call that
/// changes something may say [`Error::Full`] (the table has no room; see [`Options::limits`]), [`Error::EmptyName`] or
/// [`Error::NameTooLong`] and, for a table that processes share, [`Error::Stuck`], [`Error::Forked`] and [`Error::Corrupt`].
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
    /// The same as in `shared`: `state()` is worth the shorter way.
    home: AnyHome,
    shared: Arc<Shared>,
}

/// What clones of a manager, and its tickets, have in common.
#[derive(Debug)]
struct Shared {
    home: AnyHome,
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
    /// Unlike there, a revoked lease says so, and an id that was never given out is unknown. For new programs [`open`](Self::open) is the
    /// better beginning: there a lease keeps others out.
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
    /// `host:/PATH` are tables that all processes of this machine share, made if there is none yet. An empty URL is `host:`.
    ///
    /// Each call with `process:` makes another table: clone the manager to share one. Each call with the same `host:` URL opens the same
    /// table, in whatever process.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the URL names no home that exists here, if the system refuses the file or the memory, or if the file
    /// makes no sense. There is never another home in place of the one that was named.
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

    /// Opens the table that a URL names. If that makes a new one, it is made as the options say; one that exists stays as it is.
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
        match options::home_of(url)? {
            Where::Process => {
                Self::try_with(options).ok_or_else(|| OpenError::new(url, Refused::no_memory()))
            }
            #[cfg(target_os = "linux")]
            Where::Host(rest) => Self::open_host(url, rest, options),
            #[cfg(feature = "cluster")]
            Where::Cluster => Self::open_cluster(url, options),
        }
    }

    #[cfg(feature = "cluster")]
    fn open_cluster(url: &str, options: Options) -> Result<Self, OpenError> {
        use crate::home::cluster::etcd::{Config, without_password};
        let shown = without_password(url);
        let fail = |why| OpenError::new(&shown, why);
        if options.time != TimeKind::Real {
            let problem = "machines share real time; ticks are counted by one process alone";
            return Err(fail(Refused::words(problem)));
        }
        let config = Config::parse(url).map_err(|error| fail(Refused::words(error.0)))?;
        let home = AnyHome::open_cluster(config, options.settings(Options::SHARED_LIMITS));
        Ok(Self::in_home(home.map_err(fail)?, options))
    }

    #[cfg(target_os = "linux")]
    fn open_host(url: &str, rest: &str, options: Options) -> Result<Self, OpenError> {
        if options.time != TimeKind::Real {
            let problem = "processes share real time; ticks are counted by one process alone";
            return Err(OpenError::new(url, Refused::words(problem)));
        }
        let settings = options.settings(Options::SHARED_LIMITS);
        let home = HostPath::find(rest).and_then(|path| AnyHome::open_host(path, settings));
        Ok(Self::in_home(home.map_err(|why| OpenError::new(url, why))?, options))
    }

    /// A table of its own in this process, made to measure. Ends the program if the system does not give the memory, as collections
    /// do; [`Self::open_with`] is an error then.
    ///
    /// ```
    /// use ternlease::{LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks()); // for tests: nothing happens until somebody ticks
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
            home: home.clone(),
            open_house: options.open_house,
            watches: watch::Watches::default(),
            #[cfg(feature = "capi")]
            handles: AtomicUsize::new(0),
        };
        LeaseManager { home, shared: Arc::new(shared) }
    }

    #[inline(always)]
    pub(crate) fn home(&self) -> &AnyHome {
        &self.home
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
        self.home().join_ticker();
    }

    /// For the test of what [`Self::abandon`] is for.
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

    /// A call was cut short by a panic: nobody can trust this manager any more, and nobody waits for it in vain.
    #[cfg(feature = "capi")]
    pub(crate) fn poison(&self) {
        self.home().poison();
    }
}
