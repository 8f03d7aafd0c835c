//! Why a home could not be opened.

/// Why a home could not be opened, in words and in kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub problem: &'static str,
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
    pub fn words(problem: &'static str) -> Self {
        Refused { problem, cause: Cause::Unfit }
    }

    pub fn no_memory() -> Self {
        let problem = "the system does not give so much memory; choose smaller limits";
        Refused { problem, cause: Cause::System(libc::ENOMEM) }
    }
}

#[cfg(target_os = "linux")]
impl Refused {
    pub fn system(problem: &'static str, error: &std::io::Error) -> Self {
        Refused { problem, cause: Cause::System(error.raw_os_error().unwrap_or(libc::EIO)) }
    }

    pub fn corrupt() -> Self {
        let problem = "its file is damaged; stop the processes that use it and delete it";
        Refused { problem, cause: Cause::Corrupt }
    }

    pub fn stuck(problem: &'static str) -> Self {
        Refused { problem, cause: Cause::Stuck }
    }
}
