//! Asking a fake libnvidia-ml about devices, as tests of the NVML provider do. They have the fake as `mod fake`.
#![allow(dead_code)] // Not every test needs all of it.

use std::thread;
use std::time::{Duration, Instant};

use ternlease::inventory::{Nvml, NvmlOptions, Observation};
use ternlease::{GpuDevice, Inventory};

use crate::fake::{Fake, PATIENCE};

pub fn options(fake: &Fake) -> NvmlOptions {
    NvmlOptions {
        library: fake.library(),
        deadline: PATIENCE,
        sysfs: "/no/such/place".into(),
        ..NvmlOptions::default()
    }
}

pub fn patient(fake: &Fake) -> Nvml {
    Nvml::new(options(fake))
}

/// Takes whatever hangs for hung soon.
pub fn hasty(fake: &Fake) -> Nvml {
    Nvml::new(NvmlOptions { deadline: Duration::from_millis(100), ..options(fake) })
}

pub fn look(nvml: &Nvml, devices: &[GpuDevice]) -> Vec<Observation> {
    nvml.observe(devices).into_iter().map(|seen| seen.expect("a device of NVIDIA's")).collect()
}

/// Comes to an end; says what did not, otherwise.
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}
