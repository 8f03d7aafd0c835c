//! [`PoolError`]: why a pool gives no lease.

use std::fmt;

use crate::inventory::{Absence, DeclaredError};
use crate::manager::OpenError;
use crate::table::Error;

/// Why a pool could not be opened, or a claim was not granted. The text of each says what to do.
///
/// ```
/// use ternlease::{GpuPool, PoolOptions};
///
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
/// let error = pool.claim().devices(3).wait().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the claim asks for 3, but 2 of 2 devices fit (whole devices of one vendor); waiting would not help"
/// );
/// # Ok::<(), ternlease::PoolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// The claim names a device that the pool does not have, or its name matches more than one.
    UnknownDevice {
        /// The name in the claim.
        name: String,
        /// How many devices it matches.
        matches: usize,
    },
    /// Fewer devices meet the conditions than the claim asks for. Waiting would not help.
    TooFew {
        /// How many it asks for.
        wanted: u32,
        /// How many meet the conditions.
        fitting: u32,
        /// How many there are.
        capacity: u32,
        /// The conditions, as text.
        conditions: String,
    },
    /// The devices are in another machine, of this name: no child of this process can use them.
    Elsewhere(String),
    /// No device was found, and a driver did not answer or failed: the machine may have devices.
    NoAnswer(Absence),
    /// The declaration of devices cannot be read.
    Declaration(DeclaredError),
    /// The home could not be opened.
    Open(OpenError),
    /// An error of the table.
    Lease(Error),
}

impl From<Error> for PoolError {
    #[inline]
    fn from(error: Error) -> Self {
        PoolError::Lease(error)
    }
}

impl From<DeclaredError> for PoolError {
    fn from(error: DeclaredError) -> Self {
        PoolError::Declaration(error)
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::UnknownDevice { name, matches: 0 } => write!(
                f,
                "the pool has no device {name:?}; name it by UUID, PCI address or vendor and number, as in nvidia:0"
            ),
            PoolError::UnknownDevice { name, matches } => {
                write!(f, "{name:?} could be any of {matches} devices; write more of its name")
            }
            PoolError::TooFew { wanted, fitting, capacity, conditions } => write!(
                f,
                "the claim asks for {wanted}, but {fitting} of {capacity} devices fit{conditions}; waiting would not help"
            ),
            PoolError::Elsewhere(node) => write!(
                f,
                "the devices are in {node}: start the program there, with the environment that the lease has for that machine"
            ),
            PoolError::NoAnswer(absence) => absence.fmt(f),
            PoolError::Declaration(error) => error.fmt(f),
            PoolError::Open(error) => error.fmt(f),
            PoolError::Lease(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {}
