//! Why a home could not be opened.

use std::borrow::Cow;

/// Why a home could not be opened, in words and in kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub problem: Cow<'static, str>,
    pub cause: Cause,
}

/// What kind of a reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// What was asked for does not exist or does not fit.
    Unfit,
    /// The operating system refused: its error number.
    System(i32),
    /// A server did not answer or did not do what was asked. The text says why: there is no error number of its own.
    #[cfg(feature = "cluster")]
    Unavailable,
    /// A file makes no sense.
    Corrupt,
    /// A process does not go on.
    Stuck,
    /// This system, or this build, does not have it.
    #[allow(dead_code)] // Some builds on some systems have everything.
    Unsupported,
}

impl Refused {
    pub fn words(problem: impl Into<Cow<'static, str>>) -> Self {
        Refused { problem: problem.into(), cause: Cause::Unfit }
    }

    #[allow(dead_code)] // As above.
    pub fn unsupported(problem: &'static str) -> Self {
        Refused { problem: problem.into(), cause: Cause::Unsupported }
    }

    pub fn no_memory() -> Self {
        let problem = "the system does not give so much memory; choose smaller limits";
        Refused { problem: problem.into(), cause: Cause::System(libc::ENOMEM) }
    }
}

#[cfg(target_os = "linux")]
impl Refused {
    pub fn system(problem: &'static str, error: &std::io::Error) -> Self {
        let cause = Cause::System(error.raw_os_error().unwrap_or(libc::EIO));
        Refused { problem: problem.into(), cause }
    }

    pub fn corrupt() -> Self {
        let problem = "its file is damaged; stop the processes that use it and delete it";
        Refused { problem: problem.into(), cause: Cause::Corrupt }
    }

    pub fn stuck(problem: &'static str) -> Self {
        Refused { problem: problem.into(), cause: Cause::Stuck }
    }
}

#[cfg(feature = "cluster")]
impl Refused {
    /// A request to etcd failed, and why.
    pub fn engine(problem: &str, why: &crate::home::cluster::Trouble) -> Self {
        let problem = Cow::Owned(format!("{problem}: {why}"));
        let cause = match why.is_final() {
            true => Cause::Unfit,
            false => Cause::Unavailable,
        };
        Refused { problem, cause }
    }

    /// No connection to any of these servers of etcd, and why.
    pub fn connect(servers: &[String], why: &crate::home::cluster::Trouble) -> Self {
        let problem = format!("cannot connect to etcd at {}", servers.join(", "));
        let refused = Self::engine(&problem, why);
        // The reason names the server that it is from, which says nothing new if there is only one.
        let text = match servers {
            [only] => refused.problem.replacen(
                &format!("{problem}: {only}: "),
                &format!("{problem}: "),
                1,
            ),
            _ => refused.problem.into_owned(),
        };
        let next = match refused.cause {
            Cause::Unavailable => {
                "; check that etcd runs there, and the `ca`, `cert` and `key` of the URL"
            }
            _ => "; check the user, the password and the name in the URL",
        };
        Refused { problem: Cow::Owned(text + next), ..refused }
    }
}
