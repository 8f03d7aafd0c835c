//! How a manager is made.

use std::fmt;

use crate::home::refused::{Cause, Refused};
use crate::table::{DeadlockPolicy, Limits, Settings};

/// By which clock a manager goes. [`Options::real`] and [`Options::ticks`] choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// Real time, in microseconds; goes on while the machine sleeps.
    Real,
    /// Ticks, counted by [`LeaseManager::tick`](crate::LeaseManager::tick).
    Ticks,
}

/// How a table is made, if there is none yet. A table that exists already, as that of a `host:` URL may, stays as it was made.
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
    /// `None`: what is usual for the home.
    limits: Option<Limits>,
    least_resources: u32,
    deadlocks: DeadlockPolicy,
    pub(super) open_house: bool,
}

impl Options {
    /// Real time, in microseconds since the machine started: it does not jump when somebody sets the clock. Lengths of time are given as
    /// [`Duration`](std::time::Duration).
    pub fn real() -> Self {
        Self::by(TimeKind::Real)
    }

    /// Time counted in ticks: for tests, simulations and programs with a clock of their own. Lengths of time are given as
    /// numbers; nothing moves but by [`LeaseManager::tick`](crate::LeaseManager::tick).
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

    /// What fits into a shared table, whose memory is all taken at once, if nothing else is said: about 23 MB.
    #[cfg(target_os = "linux")]
    pub(super) const SHARED_LIMITS: Limits =
        Limits { leases: 4096, tickets: 4096, resources: 4096, history: 1024 };

    /// What fits into the table that a URL names, if nothing else is said.
    #[cfg(feature = "capi")]
    pub(crate) fn usual_limits(url: &str) -> Limits {
        match home_of(url) {
            #[cfg(target_os = "linux")]
            Ok(Where::Host(_)) => Self::SHARED_LIMITS,
            _ => Limits::default(),
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

    /// How much fits into the table. What does not fit is refused ([`Error::Full`](crate::Error::Full)), and nothing grows. In one process
    /// memory is touched only as it is used, so generous limits cost little; a shared table takes all of it at once.
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

    /// Whatever else fits: so many resources do.
    pub(crate) fn resources_at_least(self, least_resources: u32) -> Self {
        Options { least_resources, ..self }
    }

    /// What to do about deadlocks: only [report](DeadlockPolicy::Report) them when asked, which is usual, or
    /// [break](DeadlockPolicy::Break) them as they arise.
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

/// Why a URL could not be opened. As text it names the URL, the trouble and, if the system refused, what that said.
///
/// ```
/// use ternlease::LeaseManager;
///
/// let error = LeaseManager::open("process:x").unwrap_err();
/// assert_eq!(error.to_string(), "cannot open \"process:x\": `process:` takes nothing after the colon");
/// assert!(!error.is_corrupt() && error.os_errno() == 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError {
    url: String,
    why: Refused,
}

impl OpenError {
    pub(super) fn new(url: &str, why: Refused) -> Self {
        OpenError { url: url.to_owned(), why }
    }

    /// What the operating system said, if it refused; `EHOSTUNREACH` if a server is not available; otherwise 0.
    pub fn os_errno(&self) -> i32 {
        match self.why.cause {
            Cause::System(number) => number,
            #[cfg(feature = "cluster")]
            Cause::Unavailable => libc::EHOSTUNREACH,
            _ => 0,
        }
    }

    /// Does the file make no sense? Then nobody can use it: stop those who do, delete it, and begin again.
    pub fn is_corrupt(&self) -> bool {
        self.why.cause == Cause::Corrupt
    }

    /// Does a process that uses the file not go on? It has the lock and is stopped, perhaps by a debugger: continue or end it.
    pub fn is_stuck(&self) -> bool {
        self.why.cause == Cause::Stuck
    }

    /// Is there such a home, but not on this system, or not in this build of the library? The text says what is missing.
    pub fn is_unsupported(&self) -> bool {
        self.why.cause == Cause::Unsupported
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open {:?}: {}", self.url, self.why.problem)?;
        match self.why.cause {
            Cause::System(number) => write!(f, " ({})", std::io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for OpenError {}

/// Which home a URL names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Where<'a> {
    Process,
    #[cfg(target_os = "linux")]
    Host(&'a str),
    #[cfg(feature = "cluster")]
    Cluster,
    #[cfg(not(target_os = "linux"))]
    #[allow(dead_code)]
    Nowhere(&'a str),
}

#[cfg(not(feature = "cluster"))]
const NO_CLUSTER: &str = "this build of ternlease has no cluster home; build it with the cargo feature \
    `cluster` (CMake: -DTERN_CLUSTER=ON)";

pub(super) fn home_of(url: &str) -> Result<Where<'_>, OpenError> {
    let fail = |problem| Err(OpenError::new(url, Refused::words(problem)));
    // Without a URL, all programs of a machine share one table: a private one grants the same GPU
    // to two programs.
    let named = if url.is_empty() { "host:" } else { url };
    match named.split_once(':') {
        Some(("process", "")) => Ok(Where::Process),
        Some(("process", _)) => fail("`process:` takes nothing after the colon"),
        #[cfg(target_os = "linux")]
        Some(("host", rest)) => Ok(Where::Host(rest)),
        #[cfg(feature = "cluster")]
        Some(("etcd", _)) => Ok(Where::Cluster),
        // Not the URL itself: there may be a password in it.
        #[cfg(not(feature = "cluster"))]
        Some(("etcd", _)) => Err(OpenError::new("etcd://…", Refused::unsupported(NO_CLUSTER))),
        #[cfg(not(target_os = "linux"))]
        Some(("host", _)) => {
            let problem = "`host:` needs Linux; use `process:`";
            Err(OpenError::new(url, Refused::unsupported(problem)))
        }
        Some(_) => fail("this kind of home is unknown: use `process:`, `host:` or `etcd:`"),
        None => {
            fail("a URL begins with the kind of home and a colon: `process:`, `host:` or `etcd:`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        assert_eq!(home_of("process:"), Ok(Where::Process));
        for (url, word) in [("process:x", "nothing"), ("disk:x", "unknown"), ("gpu0", "colon")] {
            let error = home_of(url).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(url), "{error}");
        }
        #[cfg(target_os = "linux")]
        assert_eq!(home_of(""), Ok(Where::Host("")));
    }

    #[cfg(not(feature = "cluster"))]
    #[test]
    fn a_home_that_was_not_built_says_what_to_build_and_no_password() {
        let error = home_of("etcd://me:secret@a:2379/pool").unwrap_err();
        assert!(error.is_unsupported());
        let text = error.to_string();
        assert!(text.contains("feature `cluster`") && !text.contains("secret"), "{text}");
    }
}
