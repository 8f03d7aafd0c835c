//! [`DeviceClass`]: what sort of machine it is, and how much of it a guest should take.

use super::MachCap;

const GIB: u64 = 1 << 30;

/// What sort of machine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// Little memory.
    Constrained,
    /// It has a battery.
    Laptop,
    /// Many cores, or quite a few and much memory.
    Server,
    /// All others.
    Desktop,
}

impl DeviceClass {
    pub(super) fn of(machine: &MachCap) -> Self {
        let MachCap { mem_total, cores_usable, .. } = *machine;
        if mem_total < 4 * GIB || (cores_usable < 2 && mem_total < 8 * GIB) {
            DeviceClass::Constrained
        } else if machine.battery.is_some() {
            DeviceClass::Laptop
        } else if cores_usable >= 16 || (cores_usable >= 8 && mem_total >= 64 * GIB) {
            DeviceClass::Server
        } else {
            DeviceClass::Desktop
        }
    }

    /// The name in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceClass::Constrained => "constrained",
            DeviceClass::Laptop => "laptop",
            DeviceClass::Server => "server",
            DeviceClass::Desktop => "desktop",
        }
    }

    /// How much of the memory that is free one computation may take, in percent.
    pub(super) const fn memory_percent(self) -> u64 {
        match self {
            DeviceClass::Constrained => 25,
            DeviceClass::Laptop => 40,
            DeviceClass::Server => 70,
            DeviceClass::Desktop => 50,
        }
    }

    /// How much room results leave on a disk.
    pub(super) const fn disk_reserve(self) -> u64 {
        match self {
            DeviceClass::Constrained => GIB / 2,
            DeviceClass::Laptop | DeviceClass::Desktop => 2 * GIB,
            DeviceClass::Server => 4 * GIB,
        }
    }

    /// How much its owner would rather not compute here, in thousandths. Shown beside the seconds, never multiplied with them.
    pub(super) const fn bias_permille(self, discharging: bool) -> u32 {
        match (self, discharging) {
            (DeviceClass::Constrained, _) => 3000,
            (DeviceClass::Laptop, true) => 1500,
            (DeviceClass::Server, _) => 700,
            _ => 1000,
        }
    }
}
