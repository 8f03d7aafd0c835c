//! The options of a manager.

use crate::table::{DeadlockPolicy, Limits, Settings};

/// The clock of a manager. [`Options::real`] and [`Options::ticks`] choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// Real time, in microseconds; it includes suspension of the machine.
    Real,
    /// Ticks, counted by [`LeaseManager::tick`](crate::LeaseManager::tick).
    Ticks,
}

/// The options of a new table. An existing table, such as that of a `host:` URL, keeps its own.
///
/// ```
/// use ternlease::{DeadlockPolicy, LeaseManager, Limits, Options};
///
/// let options = Options::real()
///     .deadlocks(DeadlockPolicy::Break)
///     .limits(Limits { leases: 1_000_000, ..Limits::default() });
/// let manager = LeaseManager::with(options);
/// # let _ = manager;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub(super) time: TimeKind,
    /// `None`: the default of the home.
    limits: Option<Limits>,
    least_resources: u32,
    deadlocks: DeadlockPolicy,
    pub(super) open_house: bool,
}

impl Options {
    /// Real time, in microseconds since the machine started. It does not jump when the wall clock
    /// is set. Lengths of time are given as [`Duration`](std::time::Duration).
    pub fn real() -> Self {
        Self::by(TimeKind::Real)
    }

    /// Time counted in ticks: for tests, simulations and programs with a clock of their own.
    /// Lengths of time are given as numbers; only [`LeaseManager::tick`](crate::LeaseManager::tick)
    /// advances time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{Error, LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// assert_eq!(manager.acquire("gpu0", "me", Duration::from_secs(1)), Err(Error::WrongClock));
    /// manager.acquire("gpu0", "me", 1)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ticks() -> Self {
        Self::by(TimeKind::Ticks)
    }

    fn by(time: TimeKind) -> Self {
        Options {
            time,
            limits: None,
            least_resources: 0,
            deadlocks: DeadlockPolicy::default(),
            open_house: false,
        }
    }

    pub(super) fn settings(&self, usual: Limits) -> Settings {
        let limits = self.limits.unwrap_or(usual);
        let resources = limits.resources.max(self.least_resources);
        Settings {
            limits: Limits { resources, ..limits },
            implied_wants: self.open_house,
            deadlocks: self.deadlocks,
            ..Settings::default()
        }
    }

    /// The capacity of the table. What does not fit is refused
    /// ([`Error::Full`](crate::Error::Full)); nothing grows. A table of one process takes memory
    /// only for what is used, so large limits cost little. A shared table takes all of it at once.
    ///
    /// ```
    /// use ternlease::{Error, LeaseManager, Limits, Options, Part};
    ///
    /// let limits = Limits { leases: 1, ..Limits::default() };
    /// let manager = LeaseManager::with(Options::ticks().limits(limits));
    /// manager.acquire("gpu0", "me", 9)?;
    /// assert_eq!(manager.acquire("gpu1", "me", 9), Err(Error::Full(Part::Leases)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn limits(self, limits: Limits) -> Self {
        Options { limits: Some(limits), ..self }
    }

    /// The table has room for at least so many resources.
    pub(crate) fn resources_at_least(self, least_resources: u32) -> Self {
        Options { least_resources, ..self }
    }

    /// What to do about deadlocks: only [report](DeadlockPolicy::Report) them when asked, which is
    /// the default, or [break](DeadlockPolicy::Break) them as they arise.
    ///
    /// ```
    /// use ternlease::{DeadlockPolicy, LeaseManager, LeaseState, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks().deadlocks(DeadlockPolicy::Break));
    /// let a = manager.acquire("gpu0", "a", 99)?;
    /// let b = manager.acquire("gpu1", "b", 99)?;
    /// let _a_waits = manager.claim("a").of(&["gpu1"]).enqueue()?;
    /// let _b_waits = manager.claim("b").of(&["gpu0"]).enqueue()?; // closes the circle
    /// assert_eq!(manager.state(a), Some(LeaseState::Held));
    /// assert_eq!(manager.state(b), Some(LeaseState::Revoked)); // the youngest goes
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn deadlocks(self, deadlocks: DeadlockPolicy) -> Self {
        Options { deadlocks, ..self }
    }

    /// `acquire` never refuses: any number of holders may have a lease on one name, and
    /// every holder is taken to want the resource that bears its own name.
    pub fn open_house(self) -> Self {
        Options { open_house: true, ..self }
    }
}
