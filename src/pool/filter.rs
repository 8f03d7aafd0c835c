//! Which devices a claim may be served from.

use std::fmt::Write;

use super::{Inner, PoolError};
use crate::inventory::{GpuDevice, Vendor};
use crate::table::ResourceId;

/// Where the devices are to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Place<'a> {
    #[default]
    Anywhere,
    Here,
    Node(&'a str),
}

/// What a claim wants of each device.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filter<'a> {
    pub min_memory: u32,
    pub min_capability: Option<(u32, u32)>,
    pub vendor: Option<Vendor>,
    /// Only these, if they are named.
    pub named: Option<&'a [&'a str]>,
    pub place: Place<'a>,
}

impl Filter<'_> {
    /// Is any device as good as any other?
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Filter { min_memory, min_capability, vendor, named, place } = self;
        *min_memory == 0
            && min_capability.is_none()
            && vendor.is_none()
            && named.is_none()
            && *place == Place::Anywhere
    }

    /// What is unknown of a device cannot be relied on.
    fn accepts(&self, device: &GpuDevice, here: Option<&str>) -> bool {
        let in_its_place = match self.place {
            Place::Anywhere => true,
            Place::Here => device.node.as_deref() == here,
            Place::Node(node) => device.node.as_deref() == Some(node),
        };
        in_its_place
            && device.memory.unwrap_or(0) >= self.min_memory
            && self.min_capability.is_none_or(|least| device.compute_capability >= Some(least))
            && self.vendor.is_none_or(|vendor| device.vendor == vendor)
    }

    /// The conditions in words, to be said after "fit".
    fn conditions(&self, count: u32) -> String {
        let mut text = String::new();
        let mut add = |condition: std::fmt::Arguments<'_>| {
            let link = if text.is_empty() { " (" } else { ", " };
            // Writing to a string does not fail.
            let _ = write!(text, "{link}{condition}");
        };
        match self.place {
            Place::Anywhere => {}
            Place::Here => add(format_args!("on this machine")),
            Place::Node(node) => add(format_args!("on {node}")),
        }
        if let Some(vendor) = self.vendor {
            add(format_args!("of {vendor}"));
        }
        if self.min_memory != 0 {
            add(format_args!("at least {} MiB", self.min_memory));
        }
        if let Some((major, minor)) = self.min_capability {
            add(format_args!("compute capability {major}.{minor} or more"));
        }
        match self.named {
            None => {}
            Some([]) => add(format_args!("none is named")),
            Some(names) => add(format_args!("named {}", names.join(", "))),
        }
        if count > 1 && self.named.is_none() {
            add(format_args!("whole devices of one vendor"));
        }
        if !text.is_empty() {
            text.push(')');
        }
        text
    }
}

impl Inner {
    /// The devices that are as the filter wants them. If the claim is for several that it does not name: whole ones of one vendor.
    pub(super) fn candidates(
        &self,
        filter: &Filter<'_>,
        count: u32,
    ) -> Result<Vec<ResourceId>, PoolError> {
        let mut places = match filter.named {
            None => (0..self.devices.len()).collect(),
            Some(named) => {
                named.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?
            }
        };
        places.retain(|&place| filter.accepts(&self.devices[place], self.here.node()));
        if count > 1 && filter.named.is_none() {
            keep_a_team(&self.devices, &mut places);
        }
        if (places.len() as u32) < count {
            return Err(PoolError::TooFew {
                wanted: count,
                fitting: places.len() as u32,
                capacity: self.devices.len() as u32,
                conditions: filter.conditions(count),
            });
        }
        Ok(places.into_iter().map(|place| self.ids[place]).collect())
    }

    /// The device of this name: its UUID or the beginning of it, its PCI address, its name in the table, or its number if only one has it.
    fn find(&self, name: &str) -> Result<usize, PoolError> {
        let mut found = Vec::new();
        for (place, device) in self.devices.iter().enumerate() {
            let exactly = self.keys[place] == name || device.uuid.as_deref() == Some(name);
            if exactly {
                return Ok(place);
            }
            let number = name.parse() == Ok(device.index);
            let address = device.pci.is_some() && name.parse().ok() == device.pci;
            let beginning = name.len() >= MIN_PREFIX
                && device.uuid.as_ref().is_some_and(|uuid| uuid.starts_with(name));
            let vendor_and_number = name.split_once(':').is_some_and(|(vendor, index)| {
                vendor.parse() == Ok(device.vendor) && index.parse() == Ok(device.index)
            });
            if number || address || beginning || vendor_and_number {
                found.push(place);
            }
        }
        match found[..] {
            [place] => Ok(place),
            _ => Err(PoolError::UnknownDevice { name: name.to_owned(), matches: found.len() }),
        }
    }
}

/// Devices that one program can use together: whole ones, as CUDA takes one part of a device per process, and of one vendor: the one of whom there
/// are most, the first if there are as many of several.
pub(super) fn keep_a_team(devices: &[GpuDevice], places: &mut Vec<usize>) {
    places.retain(|&place| devices[place].mig.is_none());
    let vendor = |place: &usize| devices[*place].vendor;
    let count = |of: Vendor| places.iter().filter(|place| vendor(place) == of).count();
    let mut vendors: Vec<Vendor> = Vec::new();
    for place in &*places {
        if !vendors.contains(&vendor(place)) {
            vendors.push(vendor(place));
        }
    }
    // Of equals the last is taken, hence the reversal.
    let most = vendors.into_iter().rev().max_by_key(|&of| count(of));
    places.retain(|place| Some(vendor(place)) == most);
}

/// `GPU-` and a digit at least: less is no name.
const MIN_PREFIX: usize = 5;
