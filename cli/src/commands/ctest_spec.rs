//! `ternlease ctest-spec`: the devices, for CTest's resource allocation.

use std::collections::HashSet;
use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::{DeviceStatus, Health};

use crate::exit::Failure;
use crate::place::Place;
use crate::text::put_line;
use crate::view::json;

/// What to print.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Write it to a file, and name that to ctest:
    ternlease ctest-spec > gpus.json
    ctest --resource-spec-file gpus.json -j 8

Tests say what they need with the property RESOURCE_GROUPS, as in \"gpus:1\".
Devices that are not healthy are left out.")]
pub struct Args {}

/// Prints the specification.
pub fn run(place: &Place, _args: &Args) -> Result<ExitCode, Failure> {
    let pool = place.open()?;
    let mut healthy = pool.status();
    // One that was just given back is being looked at, and will be healthy in a moment.
    healthy.retain(|status| status.health != Health::Failed);
    let gpus: Vec<Value> = ids(&healthy)
        .into_iter()
        .zip(&healthy)
        .map(|(id, status)| json!({ "id": id, "slots": status.slots.0.max(1) }))
        .collect();
    let spec = json!({ "version": { "major": 1, "minor": 0 }, "local": [ { "gpus": gpus } ] });
    put_line(json::text(&spec))?;
    Ok(ExitCode::SUCCESS)
}

/// A name for each that CTest takes: the number if that is enough to tell them apart, with the vendor if not.
fn ids(devices: &[DeviceStatus]) -> Vec<String> {
    let number = |status: &DeviceStatus| status.device.index.to_string();
    let with_vendor =
        |status: &DeviceStatus| plain(&format!("{}_{}", status.device.vendor, status.device.index));
    let with_key = |status: &DeviceStatus| plain(&status.device.key());
    let ways: [&dyn Fn(&DeviceStatus) -> String; 3] = [&number, &with_vendor, &with_key];
    for way in ways {
        let ids: Vec<String> = devices.iter().map(way).collect();
        if ids.iter().collect::<HashSet<_>>().len() == ids.len() {
            return ids;
        }
    }
    // Two that are the same in all of that, which only a file can make up.
    (0..devices.len()).map(|place| format!("device_{place}")).collect()
}

/// Small letters, digits and `_`: all that CTest takes.
fn plain(text: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9') => c,
        _ => '_',
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ternlease::{GpuDevice, GpuPool, Vendor};

    fn ids_of(devices: &[GpuDevice]) -> Vec<String> {
        ids(&GpuPool::new(devices).status())
    }

    #[test]
    fn ids_differ_and_are_what_ctest_takes() {
        let device = |vendor, index| GpuDevice::new(vendor, index, "X");
        assert_eq!(ids_of(&[device(Vendor::Amd, 0), device(Vendor::Amd, 3)]), ["0", "3"]);
        assert_eq!(
            ids_of(&[device(Vendor::Nvidia, 0), device(Vendor::Intel, 0)]),
            ["nvidia_0", "intel_0"]
        );
        let at = |pci: &str| GpuDevice { pci: pci.parse().ok(), ..device(Vendor::Nvidia, 1) };
        assert_eq!(
            ids_of(&[at("0000:07:00.0"), at("0000:0B:00.0")]),
            ["0000_07_00_0", "0000_0b_00_0"]
        );
        assert_eq!(ids_of(&[at("0000:07:00.0"), at("0000:07:00.0")]), ["device_0", "device_1"]);
        assert_eq!(plain("GPU-aa11/é"), "gpu_aa11__");
    }
}
