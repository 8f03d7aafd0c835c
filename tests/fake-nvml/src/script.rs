//! What a script says.

use std::fmt;
use std::time::Duration;

use crate::answer::Error;
use crate::name;

#[derive(Debug, Default)]
pub struct Script {
    pub driver: String,
    pub gpus: Vec<Gpu>,
    pub parts: Vec<Part>,
    pub links: Vec<Link>,
    pub processes: Vec<Process>,
    pub rules: Vec<Rule>,
    pub events: Vec<Event>,
}

/// A device, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub gpu: usize,
    /// The MIG index of the part.
    pub part: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(at) => write!(f, "{}/{at}", self.gpu),
            None => write!(f, "{}", self.gpu),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pci {
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
}

impl fmt::Display for Pci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigMode {
    None,
    Off,
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComputeMode {
    Default = 0,
    Prohibited = 2,
    ExclusiveProcess = 3,
}

/// Memory in MiB.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub total: u64,
    pub used: u64,
    pub reserved: u64,
}

/// How fast a device is. What is `None` it does not support.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    pub cores: Option<u32>,
    pub core_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    pub memory_bits: Option<u32>,
    pub pcie_generation: Option<u32>,
    pub pcie_lanes: Option<u32>,
}

#[derive(Debug)]
pub struct Gpu {
    pub uuid: String,
    pub pci: Pci,
    pub minor: u32,
    pub numa: Option<u32>,
    pub name: String,
    pub memory: Memory,
    pub compute_capability: (i32, i32),
    pub speed: Speed,
    pub busy: u32,
    pub mig: MigMode,
    pub mig_slots: u32,
    pub uncorrected_errors: u64,
    pub mode: ComputeMode,
    pub garbage: bool,
    pub lost: bool,
}

#[derive(Debug)]
pub struct Part {
    pub place: Place,
    pub uuid: String,
    pub profile: String,
    pub gpu_instance: u32,
    pub compute_instance: u32,
    pub memory: Memory,
}

#[derive(Debug)]
pub struct Link {
    pub from: usize,
    /// `None` is the switch.
    pub to: Option<usize>,
    pub lanes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Compute,
    Graphics,
    Mps,
}

#[derive(Debug)]
pub struct Process {
    pub place: Place,
    pub pid: u32,
    pub kind: Kind,
    /// In MiB.
    pub memory: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub enum Effect {
    Fail { error: Error, times: Option<u32> },
    Delay(Duration),
    Hang,
}

/// How certain calls behave.
#[derive(Debug)]
pub struct Rule {
    /// As it was written: by this its uses are counted.
    pub line: String,
    pub call: String,
    pub place: Option<Place>,
    pub effect: Effect,
}

#[derive(Debug)]
pub struct Event {
    pub serial: u64,
    pub place: Place,
    pub kind: u64,
    pub data: u64,
}

impl Script {
    pub fn part(&self, place: Place) -> Option<&Part> {
        let enabled = self.gpus.get(place.gpu)?.mig == MigMode::On;
        self.parts.iter().find(|part| enabled && part.place == place)
    }

    /// The rules for this call, in the order in which they stand.
    pub fn rules(&self, function: &str, place: Option<Place>) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| {
            (rule.place.is_none() || rule.place == place) && name::means(&rule.call, function)
        })
    }
}
