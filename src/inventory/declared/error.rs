//! What can be wrong with a declaration.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// What is wrong in a declaration of devices, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    line: usize,
    column: usize,
    problem: String,
}

impl ParseError {
    pub(super) fn new(line: usize, column: usize, problem: impl Into<String>) -> Self {
        ParseError { line, column, problem: problem.into() }
    }

    /// In which line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// At which character of the line, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl Error for ParseError {}

/// Why there is no declaration of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclaredError {
    /// The file cannot be read.
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The file is not a declaration.
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong in it.
        error: ParseError,
    },
    /// The word is not one of those that say where devices come from.
    NotASpec(String),
}

impl fmt::Display for DeclaredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeclaredError::Unreadable { path, cause } => {
                write!(f, "cannot read {}: {cause}", path.display())
            }
            DeclaredError::Malformed { path, error } => write!(f, "{}, {error}", path.display()),
            DeclaredError::NotASpec(spec) => write!(
                f,
                "{spec:?} does not say where devices come from: use `host` (for a pool: the devices of this machine), `fake:8` (up to {}), `file:/path` or `none`",
                super::MOST_FAKES
            ),
        }
    }
}

impl Error for DeclaredError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DeclaredError::Malformed { error, .. } => Some(error),
            _ => None,
        }
    }
}
