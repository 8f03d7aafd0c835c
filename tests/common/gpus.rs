//! What tests of pools have in common.
#![allow(dead_code)] // Not every test needs all of it.

use std::thread;
use std::time::{Duration, Instant};

use ternlease::{GpuDevice, Vendor};

pub fn device(vendor: Vendor, index: u32, memory: u32) -> GpuDevice {
    GpuDevice {
        memory: Some(memory),
        uuid: Some(format!("GPU-{vendor}-{index}")),
        pci: format!("0000:{:02x}:00.0", index + 16 * (vendor as u32 + 1)).parse().ok(),
        ..GpuDevice::new(vendor, index, "test")
    }
}

pub fn nvidia(n: u32) -> Vec<GpuDevice> {
    (0..n).map(|index| device(Vendor::Nvidia, index, 80_000)).collect()
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed().as_secs() < 60, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
