//! How the command ends: one number for each way, documented here and nowhere else.

use std::fmt;
use std::process::ExitCode;

use ternlease::{Error, OpenError, PoolError};

use crate::text::line::{clean, clean_lines};

/// What `--help` says about it.
pub const HELP: &str = "\
Exit codes:
    0  done; `run`: what the program itself ended with, 128 + n if signal n ended it
    1  failed: what happened and what to do is on standard error
    2  the command line, or a setting of the environment, is wrong
   10  `verdict --exit-trit`: fetch the result (0: compute it)
   11  `verdict --exit-trit`: computing and fetching take the same time
   12  `verdict --exit-trit`: it can neither be computed nor fetched here
  121  the lease was taken away, and the program with it
  122  the claim can never be granted: more is wanted than exists
  123  there are no devices
  124  not granted in time (--timeout, --now), or the program's time was up (--max-time)
  126  the program could not be started
  127  there is no such program";

/// Fetch the result.
pub const FETCH: u8 = 10;
/// Computing and fetching take the same time.
pub const BREAK_EVEN: u8 = 11;
/// It can neither be computed nor fetched.
pub const NEITHER: u8 = 12;
/// The lease was taken away.
pub const REVOKED: u8 = 121;
/// More is wanted than exists.
pub const IMPOSSIBLE: u8 = 122;
/// There are no devices.
pub const NO_DEVICES: u8 = 123;
/// Not granted in time.
pub const TIMEOUT: u8 = 124;
/// The program could not be started.
pub const NOT_STARTED: u8 = 126;
/// There is no such program.
pub const NOT_FOUND: u8 = 127;

/// Why the command did not do what it was asked for: one sentence, with the next step.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    words: String,
}

impl Failure {
    /// An ordinary failure.
    pub fn new(words: impl Into<String>) -> Self {
        Self::with(1, words)
    }

    /// A failure with a code of its own. Messages quote names and input: what is dangerous in them is escaped.
    pub fn with(code: u8, words: impl Into<String>) -> Self {
        Failure { code, words: clean(&words.into()) }
    }

    /// As [`Self::with`], of several lines. What others have named must have been escaped before.
    pub fn of_lines(code: u8, words: impl Into<String>) -> Self {
        Failure { code, words: clean_lines(&words.into()) }
    }

    /// As the shell sees it.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Lease(error) => error.into(),
            PoolError::TooFew { .. } => Failure::with(IMPOSSIBLE, error.to_string()),
            PoolError::Open(error) => error.into(),
            error => Failure::new(error.to_string()),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let next = "`ternlease doctor` examines the pool, --pool names another";
        Failure::new(format!("{error}; {next}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Impossible => IMPOSSIBLE,
            Error::Busy | Error::Refused(_) => TIMEOUT,
            _ => 1,
        };
        Failure::with(code, error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::new(error.to_string())
    }
}
