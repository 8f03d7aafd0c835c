//! Writes a declaration of devices.

use std::fmt::{Formatter, Result};

use super::read::health_name;
use crate::inventory::{GpuDevice, GpuSpeed};
use crate::table::Health;

pub(super) fn device(f: &mut Formatter<'_>, device: &GpuDevice) -> Result {
    write!(f, "device vendor={} index={}", device.vendor, device.index)?;
    if !device.name.is_empty() {
        write!(f, " name={}", quoted(&device.name))?;
    }
    if let Some(memory) = device.memory {
        write!(f, " memory={memory}")?;
    }
    if let Some(uuid) = &device.uuid {
        write!(f, " uuid={}", quoted(uuid))?;
    }
    if let Some(pci) = device.pci {
        write!(f, " pci={pci}")?;
    }
    if let Some((major, minor)) = device.compute_capability {
        write!(f, " cc={major}.{minor}")?;
    }
    speed(f, &device.speed)?;
    if let Some(numa) = device.numa {
        write!(f, " numa={numa}")?;
    }
    if let Some(island) = device.island {
        write!(f, " island={island}")?;
    }
    if let Some(mig) = &device.mig {
        let (gpu, compute) = (mig.gpu_instance, mig.compute_instance);
        let value = format!("{}:{}:{gpu}:{compute}", mig.parent, mig.profile);
        write!(f, " mig={}", quoted(&value))?;
    }
    if device.health != Health::Healthy {
        write!(f, " health={}", health_name(device.health))?;
    }
    if let Some(trouble) = &device.trouble {
        write!(f, " trouble={}", quoted(trouble))?;
    }
    writeln!(f)
}

/// A zero tells nothing and would be refused by whoever reads it.
fn speed(f: &mut Formatter<'_>, speed: &GpuSpeed) -> Result {
    let known = |figure: Option<u32>| figure.filter(|figure| *figure > 0);
    for (key, figure) in [
        ("cores", speed.cores),
        ("multiprocessors", speed.multiprocessors),
        ("core_mhz", speed.core_mhz),
        ("memory_mhz", speed.memory_mhz),
        ("memory_bits", speed.memory_bits),
    ] {
        if let Some(figure) = known(figure) {
            write!(f, " {key}={figure}")?;
        }
    }
    let text = |figure: Option<u32>| figure.map_or(String::new(), |figure| figure.to_string());
    match (known(speed.pcie_generation), known(speed.pcie_lanes)) {
        (None, None) => Ok(()),
        (generation, lanes) => write!(f, " pcie={}x{}", text(generation), text(lanes)),
    }
}

/// As it is, if it needs no quotes.
fn quoted(value: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"\\#".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
