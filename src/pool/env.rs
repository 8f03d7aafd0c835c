//! The environment in which a child sees the devices of a lease and no others.

use std::process::Command;

use crate::inventory::{GpuDevice, Vendor};

/// Changes to the environment of a child, by which it sees the devices of a lease and no others.
/// [`GpuLease::env`](super::GpuLease::env) returns them.
///
/// ```
/// use ternlease::{GpuPool, PoolOptions};
///
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:4")?)?;
/// let lease = pool.claim().devices(2).wait()?.expect("this pool has devices");
/// let mut child = std::process::Command::new("python");
/// lease.env()?.apply(&mut child);
/// assert!(child.get_envs().any(|(name, value)| {
///     name == "CUDA_VISIBLE_DEVICES" && value.is_some_and(|value| value == "0,1")
/// }));
/// # Ok::<(), ternlease::PoolError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env {
    /// The variables to set.
    pub set: Vec<(&'static str, String)>,
    /// The variables to remove: they would hide more devices, or others.
    pub remove: Vec<&'static str>,
}

impl Env {
    /// Applies the changes to a command. They replace what the command had of these variables.
    pub fn apply(&self, command: &mut Command) {
        for name in &self.remove {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }

    /// The changes for these devices of a machine.
    pub(super) fn of<'a>(
        leased: impl Iterator<Item = &'a GpuDevice> + Clone,
        pool: impl Iterator<Item = &'a GpuDevice> + Clone,
        by_uuid: bool,
    ) -> Self {
        let mut env = Env::default();
        let has = |vendor| pool.clone().any(|device| device.vendor == vendor);
        for vendor in [Vendor::Nvidia, Vendor::Amd, Vendor::Intel] {
            // The pool does not restrict devices of vendors of which it has none.
            if has(vendor) {
                let devices = leased.clone().filter(|device| device.vendor == vendor);
                env.add(vendor, devices.collect(), by_uuid);
            }
        }
        if has(Vendor::Amd) && !has(Vendor::Nvidia) {
            // Then the variable restricts AMD devices: HIP applies it within the mask of ROCr too.
            env.remove.push("CUDA_VISIBLE_DEVICES");
        }
        env
    }

    fn add(&mut self, vendor: Vendor, devices: Vec<&GpuDevice>, by_uuid: bool) {
        let uuids: Option<Vec<&str>> =
            devices.iter().map(|device| device.uuid.as_deref()).collect();
        let numbers = || list(devices.iter().map(|device| device.index.to_string()));
        match vendor {
            Vendor::Nvidia => {
                // CUDA has no number for a part. Other devices are named by number, because many
                // programs do not accept UUIDs.
                let by_uuid = by_uuid || devices.iter().any(|device| device.mig.is_some());
                let value = match uuids {
                    Some(uuids) if by_uuid => list(uuids),
                    _ => numbers(),
                };
                self.set.push(("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()));
                self.set.push(("CUDA_VISIBLE_DEVICES", value));
            }
            Vendor::Amd => {
                // Numbers differ between tools, UUIDs do not. A second mask would be applied within
                // the first.
                let value = uuids.map_or_else(numbers, list);
                self.set.push(("ROCR_VISIBLE_DEVICES", value));
                self.remove.extend(["HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"]);
            }
            Vendor::Intel => {
                self.set.push(("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1".to_owned()));
                self.set.push(("ZE_AFFINITY_MASK", numbers()));
            }
            Vendor::Other => {}
        }
    }
}

fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut text = String::new();
    for item in items {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(item.as_ref());
    }
    text
}
