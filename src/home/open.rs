//! Opening a home by URL, and why that failed.

use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "cluster")]
use super::cluster::etcd::{Config, without_password};
#[cfg(feature = "cluster")]
use super::cluster::{self, ClusterHome, StoreError};
#[cfg(target_os = "linux")]
use super::host::{HostHome, HostPath};
use super::{AnyHome, ProcessHome};
use crate::table::{Limits, Settings};

/// The limits of a new table that processes share, unless the caller chooses others.
#[cfg(target_os = "linux")]
const SHARED_LIMITS: Limits =
    Limits { leases: 4096, tickets: 4096, resources: 4096, history: 1024 };

#[cfg(not(feature = "cluster"))]
const NO_CLUSTER: &str = "this build of ternlease has no cluster home; build it with the cargo feature \
    `cluster` (CMake: -DTERN_CLUSTER=ON)";

/// The home that a URL names, with the rest of the URL.
#[derive(Debug, PartialEq, Eq)]
enum Kind<'a> {
    Process,
    #[cfg(target_os = "linux")]
    Host(&'a str),
    #[cfg(feature = "cluster")]
    Cluster,
}

impl AnyHome {
    /// Opens the home that a URL names. `settings` makes the settings of a new table from the
    /// default limits of that home.
    pub fn open(
        url: &str,
        real_clock: bool,
        settings: impl FnOnce(Limits) -> Settings,
    ) -> Result<AnyHome, OpenError> {
        let opened = match kind_of(url)? {
            Kind::Process => ProcessHome::try_new(settings(Limits::default()), real_clock)
                .map(AnyHome::Process)
                .ok_or_else(OpenError::no_memory),
            #[cfg(target_os = "linux")]
            Kind::Host(_) if !real_clock => Err(OpenError::invalid(
                "processes share real time; ticks are counted by one process alone",
            )),
            #[cfg(target_os = "linux")]
            Kind::Host(rest) => HostPath::find(rest)
                .and_then(|path| HostHome::open(path, settings(SHARED_LIMITS)))
                .map(AnyHome::Host),
            #[cfg(feature = "cluster")]
            Kind::Cluster if !real_clock => {
                let problem = "machines share real time; ticks are counted by one process alone";
                return Err(OpenError::invalid(problem).with_url(&without_password(url)));
            }
            #[cfg(feature = "cluster")]
            Kind::Cluster => return Self::open_cluster(url, settings, &cluster::connect),
        };
        opened.map_err(|error| error.with_url(url))
    }

    /// Opens the table that an `etcd:` URL names, in the store that `connect` provides.
    #[cfg(feature = "cluster")]
    pub fn open_cluster(
        url: &str,
        settings: impl FnOnce(Limits) -> Settings,
        connect: cluster::Connect<'_>,
    ) -> Result<AnyHome, OpenError> {
        let open = || {
            let config = Config::parse(url).map_err(|error| OpenError::invalid(error.0))?;
            ClusterHome::open(config, settings(SHARED_LIMITS), connect).map(AnyHome::Cluster)
        };
        open().map_err(|error| error.with_url(&without_password(url)))
    }
}

/// The limits of a new table of the home that a URL names.
#[cfg(feature = "capi")]
pub(crate) fn default_limits(url: &str) -> Limits {
    match kind_of(url) {
        Ok(Kind::Process) | Err(_) => Limits::default(),
        #[cfg(target_os = "linux")]
        Ok(_) => SHARED_LIMITS,
    }
}

fn kind_of(url: &str) -> Result<Kind<'_>, OpenError> {
    let invalid = |problem| Err(OpenError::invalid(problem).with_url(url));
    // Without a URL, all programs of a machine share one table: a private one grants the same GPU
    // to two programs.
    let named = if url.is_empty() { "host:" } else { url };
    match named.split_once(':') {
        Some(("process", "")) => Ok(Kind::Process),
        Some(("process", _)) => invalid("`process:` takes nothing after the colon"),
        #[cfg(target_os = "linux")]
        Some(("host", rest)) => Ok(Kind::Host(rest)),
        #[cfg(feature = "cluster")]
        Some(("etcd", _)) => Ok(Kind::Cluster),
        // The URL may contain a password.
        #[cfg(not(feature = "cluster"))]
        Some(("etcd", _)) => Err(OpenError::unsupported(NO_CLUSTER).with_url("etcd://…")),
        #[cfg(not(target_os = "linux"))]
        Some(("host", _)) => {
            Err(OpenError::unsupported("`host:` needs Linux; use `process:`").with_url(url))
        }
        Some(_) => invalid("this kind of home is unknown: use `process:`, `host:` or `etcd:`"),
        None => invalid(
            "a URL begins with the kind of home and a colon: `process:`, `host:` or `etcd:`",
        ),
    }
}

/// Why a URL could not be opened. As text it names the URL, the problem and, if the system refused,
/// the error of the system.
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
    /// Empty until [`AnyHome::open`] sets it: the homes know only a part of the URL.
    url: String,
    pub(super) kind: OpenErrorKind,
    pub(super) problem: Cow<'static, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenErrorKind {
    /// The URL, the options or what the URL names cannot be used.
    Invalid,
    /// An error of the operating system, by number.
    System(i32),
    /// A server does not answer, or does not do what the table needs.
    #[cfg(feature = "cluster")]
    Unavailable,
    Corrupt,
    /// The process that has the lock of the table does not run.
    LockTimeout,
    /// This system, or this build, does not have the home.
    #[allow(dead_code)] // A build with all features on Linux has every home.
    Unsupported,
}

impl OpenError {
    pub(super) fn new(kind: OpenErrorKind, problem: impl Into<Cow<'static, str>>) -> Self {
        OpenError { url: String::new(), kind, problem: problem.into() }
    }

    pub(super) fn invalid(problem: impl Into<Cow<'static, str>>) -> Self {
        Self::new(OpenErrorKind::Invalid, problem)
    }

    #[allow(dead_code)] // As `OpenErrorKind::Unsupported`.
    fn unsupported(problem: &'static str) -> Self {
        Self::new(OpenErrorKind::Unsupported, problem)
    }

    pub(super) fn no_memory() -> Self {
        let problem = "the system does not give so much memory; choose smaller limits";
        Self::new(OpenErrorKind::System(libc::ENOMEM), problem)
    }

    fn with_url(self, url: &str) -> Self {
        OpenError { url: url.to_owned(), ..self }
    }

    /// The error number of the operating system, if it refused; `EHOSTUNREACH` if a server is not
    /// available; otherwise 0.
    pub fn os_errno(&self) -> i32 {
        match self.kind {
            OpenErrorKind::System(number) => number,
            #[cfg(feature = "cluster")]
            OpenErrorKind::Unavailable => libc::EHOSTUNREACH,
            _ => 0,
        }
    }

    /// Is the file damaged? No process can use it: stop the processes that do, delete it, and open
    /// it again.
    pub fn is_corrupt(&self) -> bool {
        self.kind == OpenErrorKind::Corrupt
    }

    /// Has a process the lock of the table and does not run, perhaps because a debugger stopped
    /// it? Resume or end that process.
    pub fn is_stuck(&self) -> bool {
        self.kind == OpenErrorKind::LockTimeout
    }

    /// Does this system, or this build of the library, not have the home? The text names what is
    /// missing.
    pub fn is_unsupported(&self) -> bool {
        self.kind == OpenErrorKind::Unsupported
    }
}

#[cfg(target_os = "linux")]
impl OpenError {
    pub(super) fn system(problem: &'static str, error: &std::io::Error) -> Self {
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        Self::new(OpenErrorKind::System(number), problem)
    }

    pub(super) fn corrupt() -> Self {
        let problem = "its file is damaged; stop the processes that use it and delete it";
        Self::new(OpenErrorKind::Corrupt, problem)
    }

    pub(super) fn lock_timeout(problem: &'static str) -> Self {
        Self::new(OpenErrorKind::LockTimeout, problem)
    }
}

#[cfg(feature = "cluster")]
impl OpenError {
    /// A request to etcd failed.
    pub(super) fn store(problem: &str, why: &StoreError) -> Self {
        let kind = match why.is_final() {
            true => OpenErrorKind::Invalid,
            false => OpenErrorKind::Unavailable,
        };
        Self::new(kind, format!("{problem}: {why}"))
    }

    /// None of these servers of etcd accepted a connection.
    pub(super) fn connect(servers: &[String], why: &StoreError) -> Self {
        let problem = format!("cannot connect to etcd at {}", servers.join(", "));
        let error = Self::store(&problem, why);
        // The reason names its server, which the problem names already if there is only one.
        let text = match servers {
            [only] => {
                error.problem.replacen(&format!("{problem}: {only}: "), &format!("{problem}: "), 1)
            }
            _ => error.problem.into_owned(),
        };
        let next = match error.kind {
            OpenErrorKind::Unavailable => {
                "; check that etcd runs there, and the `ca`, `cert` and `key` of the URL"
            }
            _ => "; check the user, the password and the name in the URL",
        };
        Self::new(error.kind, text + next)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open {:?}: {}", self.url, self.problem)?;
        match self.kind {
            OpenErrorKind::System(number) => {
                write!(f, " ({})", std::io::Error::from_raw_os_error(number))
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for OpenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_names_its_home_or_the_error_names_the_url() {
        assert_eq!(kind_of("process:"), Ok(Kind::Process));
        for (url, word) in [("process:x", "nothing"), ("disk:x", "unknown"), ("gpu0", "colon")] {
            let error = kind_of(url).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(url), "{error}");
        }
        #[cfg(target_os = "linux")]
        assert_eq!(kind_of(""), Ok(Kind::Host("")));
    }

    #[cfg(not(feature = "cluster"))]
    #[test]
    fn missing_cluster_home_names_the_feature_and_no_password() {
        let error = kind_of("etcd://me:secret@a:2379/pool").unwrap_err();
        assert!(error.is_unsupported());
        let text = error.to_string();
        assert!(text.contains("feature `cluster`") && !text.contains("secret"), "{text}");
    }
}
