//! Writes a declaration of devices.

use std::fmt::{Formatter, Result};

use super::read::health_name;
use crate::inventory::GpuDevice;
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
