//! Answers, and the names that statuses have in C.

use std::fmt;

use ternlease::{Error, FOREVER, OpenError, PoolError, Reason, ReasonClass, Time};

pub type Step = Result<String, Problem>;

/// Why a step has another answer than `OK`.
pub enum Problem {
    /// The step makes no sense, or what it needs is not open.
    Nonsense,
    /// A status that is no error in Rust.
    Status(&'static str),
    Error(Error),
    Pool(PoolError),
    Open(OpenError),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem::Error(error)
    }
}

impl From<PoolError> for Problem {
    fn from(error: PoolError) -> Self {
        Problem::Pool(error)
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        Problem::Open(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Nonsense => f.write_str("?"),
            Problem::Status(name) => f.write_str(name),
            Problem::Error(error) | Problem::Pool(PoolError::Lease(error)) => {
                f.write_str(name_of(error))?;
                match error {
                    Error::NotHeld(_, reason)
                    | Error::Refused(reason)
                    | Error::NotARevocation(reason) => write!(f, " {}", reason.name()),
                    _ => Ok(()),
                }
            }
            Problem::Pool(PoolError::UnknownDevice { .. }) => f.write_str("ERR_UNKNOWN_RESOURCE"),
            Problem::Pool(PoolError::TooFew { .. }) => f.write_str("ERR_IMPOSSIBLE"),
            Problem::Pool(PoolError::Declaration(_)) => f.write_str("ERR_BAD_VALUE"),
            Problem::Open(error) | Problem::Pool(PoolError::Open(error)) => {
                f.write_str(match error.os_errno() {
                    0 if error.is_corrupt() => "ERR_CORRUPT",
                    0 if error.is_stuck() => "ERR_STUCK",
                    0 => "ERR_BAD_URL",
                    _ => "ERR_SYSTEM",
                })
            }
            Problem::Pool(_) => f.write_str("ERR_SYSTEM"),
        }
    }
}

fn name_of(error: &Error) -> &'static str {
    match error {
        Error::EmptyName => "ERR_EMPTY_NAME",
        Error::NameTooLong => "ERR_NAME_TOO_LONG",
        Error::ZeroTtl => "ERR_ZERO_TTL",
        Error::TimeTooLarge => "ERR_TIME_TOO_LARGE",
        Error::CountExceedsCandidates => "ERR_TOO_FEW_RESOURCES",
        Error::DuplicateCandidate => "ERR_DUPLICATE_RESOURCE",
        Error::ZeroAmount => "ERR_ZERO_AMOUNT",
        Error::UnknownResource => "ERR_UNKNOWN_RESOURCE",
        Error::Impossible => "ERR_IMPOSSIBLE",
        Error::Busy => "BUSY",
        Error::UnknownLease => "ERR_UNKNOWN_LEASE",
        Error::UnknownTicket => "ERR_UNKNOWN_TICKET",
        Error::NotHeld(..) => "ERR_NOT_HELD",
        Error::NotARevocation(_) => "ERR_NOT_A_REVOCATION",
        Error::ParentNotHeld => "ERR_PARENT_NOT_HELD",
        Error::TooDeep => "ERR_TOO_DEEP",
        Error::InUse => "ERR_IN_USE",
        Error::UnknownWant => "ERR_UNKNOWN_WANT",
        Error::Full(_) => "ERR_FULL",
        Error::Refused(Reason::WaitTimedOut) => "TIMEOUT",
        Error::Refused(_) => "REFUSED",
        Error::System(_) => "ERR_SYSTEM",
        Error::Closed => "ERR_CLOSED",
        Error::Forked => "ERR_FORKED",
        Error::Stuck(_) => "ERR_STUCK",
        Error::UnknownProcess => "ERR_UNKNOWN_PROCESS",
        Error::NotShared => "ERR_UNSUPPORTED",
        _ => "ERR_CORRUPT",
    }
}

pub fn ok() -> Step {
    Ok("OK".to_owned())
}

/// `OK` and the words, or a dash if there are none.
pub fn list(words: impl IntoIterator<Item = String>) -> Step {
    let words: Vec<String> = words.into_iter().collect();
    Ok(if words.is_empty() { "OK -".to_owned() } else { format!("OK {}", words.join(" ")) })
}

pub fn reason(code: u16) -> Step {
    Ok(match Reason::from_code(code) {
        None => "OK -".to_owned(),
        Some(reason) => format!("OK {} {}", reason.name(), class(reason.class())),
    })
}

fn class(class: ReasonClass) -> String {
    format!("{class:?}").to_uppercase()
}

pub fn reason_named(name: &str) -> Result<Reason, Problem> {
    Reason::ALL.iter().copied().find(|it| it.name() == name).ok_or(Problem::Nonsense)
}

pub fn trit(value: Option<i8>) -> &'static str {
    match value {
        Some(1) => "+1",
        Some(0) => "0",
        Some(_) => "-1",
        None => "unknown",
    }
}

pub fn time(time: Time) -> String {
    if time >= FOREVER { "forever".to_owned() } else { time.to_string() }
}

/// A text, or a dash for none.
pub fn or_dash(text: impl Into<String>) -> String {
    let text = text.into();
    if text.is_empty() { "-".to_owned() } else { text }
}
