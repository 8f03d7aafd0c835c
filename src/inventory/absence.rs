//! Why there are no devices.

use std::fmt;
use std::time::Duration;

/// A source has no devices, because. As text it says what to do about it.
///
/// ```
/// use ternlease::inventory::{Absence, Why};
///
/// let absence = Absence { source: "sysfs", why: Why::NoDevice };
/// assert_eq!(absence.to_string(), "sysfs: it works, and sees no device");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// Which source: `nvml`, `sysfs`, `declared`; `masks` if there were some.
    pub source: &'static str,
    /// Because.
    pub why: Why,
}

/// Why a source has no devices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The library could not be loaded: no driver is installed.
    NoLibrary {
        /// What was to be loaded.
        library: String,
        /// What the system said.
        cause: String,
    },
    /// The library is there, the kernel's driver is not.
    NoDriver,
    /// The driver, or the kernel, can be asked and knows of no device.
    NoDevice,
    /// The driver has not answered within this time, and may never do so.
    Hung(Duration),
    /// The driver said something else.
    Failed(String),
    /// The system's description of the devices cannot be read.
    Unreadable {
        /// Where it should be.
        path: String,
        /// What the system said.
        cause: String,
    },
    /// The declaration has none.
    NoneDeclared,
    /// A mask leaves none of those that there are.
    AllHidden,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoLibrary { library, cause } => write!(
                f,
                "{library} cannot be loaded ({cause}): install the driver, or go on without these devices"
            ),
            Why::NoDriver => f.write_str(
                "the library is installed but the kernel has no driver: load it, or start the machine again after an update",
            ),
            Why::NoDevice => f.write_str("it works, and sees no device"),
            Why::Hung(after) => write!(
                f,
                "the driver has not answered for {after:?}: a device may be in trouble; its kernel log knows more"
            ),
            Why::Failed(cause) => write!(f, "the driver says: {cause}"),
            Why::Unreadable { path, cause } => write!(f, "{path} cannot be read ({cause})"),
            Why::NoneDeclared => f.write_str("no device is declared"),
            Why::AllHidden => f.write_str("a mask hides all there are"),
        }
    }
}
