//! Evidence about a device.

use super::process::Process;
use crate::table::Health;

/// How a device was when somebody looked. What could not be told is `None`: it is unknown, not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// How it is by what itself and its driver say: [`Health::Draining`] if that could not be told.
    pub health: Health,
    /// Why it is not healthy, in words.
    pub trouble: Option<String>,
    /// Memory in use, in MiB.
    pub memory_used: Option<u32>,
    /// How busy it was lately, in percent.
    pub busy: Option<u8>,
    /// The processes that use it.
    pub processes: Option<Vec<Process>>,
    /// Its name for ever, if it has one. Another one than before means another device in the same place.
    pub uuid: Option<String>,
}

/// A device reported a fault of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which, as an index into the devices that were asked about. `None`: it did not say which, so any of them.
    pub device: Option<usize>,
    /// The number of the fault, as the driver's log shows it, if it was one of those.
    pub xid: Option<u64>,
    /// What happened, in words.
    pub what: String,
}
