//! The devices that a claim may be served from.

use std::fmt::Write;

use super::{Inner, PoolError};
use crate::inventory::{GpuDevice, Vendor};
use crate::table::ResourceId;

/// On which node a device must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum NodeFilter<'a> {
    #[default]
    Any,
    Local,
    Named(&'a str),
}

/// The conditions of a claim for each device.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filter<'a> {
    pub min_memory: u32,
    pub min_capability: Option<(u32, u32)>,
    pub vendor: Option<Vendor>,
    /// Only these, if they are named.
    pub named: Option<&'a [&'a str]>,
    pub node: NodeFilter<'a>,
}

impl Filter<'_> {
    /// Does it accept every device?
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Filter { min_memory, min_capability, vendor, named, node } = self;
        *min_memory == 0
            && min_capability.is_none()
            && vendor.is_none()
            && named.is_none()
            && *node == NodeFilter::Any
    }

    /// An unknown property of a device meets no condition.
    fn accepts(&self, device: &GpuDevice, local: Option<&str>) -> bool {
        let on_node = match self.node {
            NodeFilter::Any => true,
            NodeFilter::Local => device.node.as_deref() == local,
            NodeFilter::Named(node) => device.node.as_deref() == Some(node),
        };
        on_node
            && device.memory.unwrap_or(0) >= self.min_memory
            && self.min_capability.is_none_or(|least| device.compute_capability >= Some(least))
            && self.vendor.is_none_or(|vendor| device.vendor == vendor)
    }

    /// The conditions as text that follows "fit".
    fn conditions(&self, count: u32) -> String {
        let mut text = String::new();
        let mut add = |condition: std::fmt::Arguments<'_>| {
            let link = if text.is_empty() { " (" } else { ", " };
            // Writing to a string does not fail.
            let _ = write!(text, "{link}{condition}");
        };
        match self.node {
            NodeFilter::Any => {}
            NodeFilter::Local => add(format_args!("on this machine")),
            NodeFilter::Named(node) => add(format_args!("on {node}")),
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
    /// The devices that a filter accepts. For several that are not named: whole ones of one vendor.
    pub(super) fn candidates(
        &self,
        filter: &Filter<'_>,
        count: u32,
    ) -> Result<Vec<ResourceId>, PoolError> {
        let mut devices = match filter.named {
            None => (0..self.devices.len()).collect(),
            Some(named) => {
                named.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?
            }
        };
        devices.retain(|&index| filter.accepts(&self.devices[index], self.local.name.as_deref()));
        if count > 1 && filter.named.is_none() {
            retain_homogeneous(&self.devices, &mut devices);
        }
        if (devices.len() as u32) < count {
            return Err(PoolError::TooFew {
                wanted: count,
                fitting: devices.len() as u32,
                capacity: self.devices.len() as u32,
                conditions: filter.conditions(count),
            });
        }
        Ok(devices.into_iter().map(|index| self.ids[index]).collect())
    }

    /// The index of the device of this name: its UUID or the beginning of it, its PCI address, its
    /// name in the table, or its number if only one has it.
    fn find(&self, name: &str) -> Result<usize, PoolError> {
        let mut found = Vec::new();
        for (index, device) in self.devices.iter().enumerate() {
            let exactly = self.keys[index] == name || device.uuid.as_deref() == Some(name);
            if exactly {
                return Ok(index);
            }
            let number = name.parse() == Ok(device.index);
            let address = device.pci.is_some() && name.parse().ok() == device.pci;
            let beginning = name.len() >= UUID_PREFIX_MIN
                && device.uuid.as_ref().is_some_and(|uuid| uuid.starts_with(name));
            let vendor_and_number = name.split_once(':').is_some_and(|(vendor, index)| {
                vendor.parse() == Ok(device.vendor) && index.parse() == Ok(device.index)
            });
            if number || address || beginning || vendor_and_number {
                found.push(index);
            }
        }
        match found[..] {
            [index] => Ok(index),
            _ => Err(PoolError::UnknownDevice { name: name.to_owned(), matches: found.len() }),
        }
    }
}

/// Keeps the indices of devices that one program can use at the same time. They are whole devices,
/// because CUDA takes one part of a device per process, and of the vendor of most of them. If two
/// vendors have equally many, the vendor of the first device counts.
pub(super) fn retain_homogeneous(devices: &[GpuDevice], indices: &mut Vec<usize>) {
    indices.retain(|&index| devices[index].mig.is_none());
    let vendor = |index: &usize| devices[*index].vendor;
    let count = |of: Vendor| indices.iter().filter(|index| vendor(index) == of).count();
    let mut vendors: Vec<Vendor> = Vec::new();
    for index in &*indices {
        if !vendors.contains(&vendor(index)) {
            vendors.push(vendor(index));
        }
    }
    // `max_by_key` returns the last of equals.
    let most = vendors.into_iter().rev().max_by_key(|&of| count(of));
    indices.retain(|index| Some(vendor(index)) == most);
}

/// The shortest beginning of a UUID that names a device, in bytes: `GPU-` and a digit.
const UUID_PREFIX_MIN: usize = 5;
