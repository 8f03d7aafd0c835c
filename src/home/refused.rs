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
    /// A file makes no sense.
    Corrupt,
    /// A process does not go on.
    Stuck,
}

impl Refused {
    pub fn words(problem: impl Into<Cow<'static, str>>) -> Self {
        Refused { problem: problem.into(), cause: Cause::Unfit }
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
    /// The engine of a table that machines share does not do it, and why.
    pub fn engine(problem: &str, why: &crate::home::cluster::Trouble) -> Self {
        let problem = Cow::Owned(format!("{problem}: {why}"));
        let cause = match why.is_final() {
            true => Cause::Unfit,
            false => Cause::System(libc::EHOSTUNREACH),
        };
        Refused { problem, cause }
    }
}
