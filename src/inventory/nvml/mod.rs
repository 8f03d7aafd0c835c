//! NVIDIA's devices, by the library of their driver (NVML).
//!
//! The library is loaded when it is needed and not before. It is asked on a thread of its own, because a driver in trouble may never
//! answer: whoever asks waits for a bounded time, and is told. Nothing here is needed to decide a claim.

mod events;
mod library;
mod links;
mod mig;
mod observe;
// A list without a lock is linked by raw pointers.
#[allow(unsafe_code)]
mod per_process;
mod place;
// The library's own functions, where the wrapper has none for them.
#[allow(unsafe_code)]
mod raw;
mod scan;
mod speed;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use self::events::{Asked, Waiter};
use self::per_process::PerProcess;
use super::people::People;
use super::{Absence, Fault, Found, GpuDevice, Inventory, Observation, Vendor, Why};
use crate::table::Health;

/// How to ask NVIDIA's driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmlOptions {
    /// The library of the driver, by name or path: `libnvidia-ml.so.1`.
    pub library: PathBuf,
    /// How long to wait for an answer: 5 seconds. The first one may take some, on machines whose driver sleeps while it is not used.
    pub deadline: Duration,
    /// Numbers of faults that are the program's own and not the device's: 13, 31, 43, 45, 68 and 109.
    pub benign: Vec<u64>,
    /// Where the kernel describes devices: `/sys`.
    pub sysfs: PathBuf,
}

impl Default for NvmlOptions {
    fn default() -> Self {
        NvmlOptions {
            library: if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" }.into(),
            deadline: Duration::from_secs(5),
            benign: vec![13, 31, 43, 45, 68, 109],
            sysfs: "/sys".into(),
        }
    }
}

/// NVIDIA's devices.
///
/// Their numbers are places in the order of PCI addresses, as `nvidia-smi` and `CUDA_DEVICE_ORDER=PCI_BUS_ID` count them. A device that
/// is divided (MIG) is replaced by its instances, which bear its number.
///
/// In a forked child it begins anew: nothing of what its parent loaded is used there.
///
/// ```
/// use ternlease::Inventory;
/// use ternlease::inventory::{Nvml, NvmlOptions};
///
/// let nvml = Nvml::new(NvmlOptions { library: "/no/driver/here.so".into(), ..NvmlOptions::default() });
/// let found = nvml.find();
/// assert!(found.devices.is_empty());
/// assert!(found.absences[0].to_string().starts_with("nvml: /no/driver/here.so cannot be loaded"));
/// ```
pub struct Nvml {
    options: Arc<NvmlOptions>,
    people: Arc<People>,
    /// Each has its own: an event is told once to each who waits.
    waiter: PerProcess<(), Waiter>,
}

impl fmt::Debug for Nvml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvml").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Default for Nvml {
    fn default() -> Self {
        Self::new(NvmlOptions::default())
    }
}

impl Nvml {
    /// Loads nothing yet.
    pub fn new(options: NvmlOptions) -> Self {
        Nvml {
            options: Arc::new(options),
            people: Arc::new(People::of_this_machine()),
            waiter: PerProcess::new(),
        }
    }

    fn is_asleep(&self, device: &GpuDevice) -> bool {
        device.pci.is_some_and(|pci| place::is_suspended(&self.options.sysfs, pci))
    }

    /// Asks the driver about devices, each by its index. What it answered before it hung is not lost.
    fn look_at(
        &self,
        devices: Vec<(usize, GpuDevice)>,
    ) -> (Vec<(usize, Observation)>, Option<Why>) {
        let (tell, told) = mpsc::channel();
        let (options, people) = (self.options.clone(), self.people.clone());
        let asked = library::worker(&self.options.library).and_then(|worker| {
            worker.ask(self.options.deadline, move |library| {
                let nvml = library.open(&options.library)?;
                for (at, device) in devices {
                    // Who has given up does not listen.
                    if tell.send((at, observe::look(library, nvml, &device, &people))).is_err() {
                        break;
                    }
                }
                Ok(())
            })?
        });
        (told.try_iter().collect(), asked.err())
    }

    fn wait_for_faults(&self, asked: &[Asked], patience: Duration) -> Result<Vec<Fault>, Why> {
        let path = self.options.library.clone();
        let nvml = library::worker(&self.options.library)?
            .ask(self.options.deadline, move |library| library.open(&path))??;
        let waiter = self.waiter.get_or_make(&(), Waiter::start)?;
        let heard = waiter.wait(nvml, asked, &self.options, patience);
        Ok(heard.into_iter().flat_map(|one| one.faults(asked)).collect())
    }
}

impl Inventory for Nvml {
    fn find(&self) -> Found {
        let options = self.options.clone();
        let found = library::worker(&self.options.library).and_then(|worker| {
            worker.ask(self.options.deadline, move |library| {
                scan::find(library, &options.library, &options.sysfs)
            })
        });
        found.unwrap_or_else(|why| Found {
            absences: vec![Absence { source: scan::SOURCE, why }],
            ..Found::default()
        })
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        let mut seen = vec![None; devices.len()];
        let mut awake = Vec::new();
        for (at, device) in devices.iter().enumerate() {
            let is_known = device.pci.is_some() || device.uuid.is_some();
            if device.vendor != Vendor::Nvidia || !is_known {
                continue;
            }
            if self.is_asleep(device) {
                seen[at] = Some(observe::asleep(device));
            } else {
                awake.push((at, device.clone()));
            }
        }
        if awake.is_empty() {
            return seen;
        }
        let asked: Vec<usize> = awake.iter().map(|(at, _)| *at).collect();
        let (answers, why) = self.look_at(awake);
        if let Some(why) = why {
            let unknown = observe::without_evidence(Health::Draining, why.to_string());
            asked.into_iter().for_each(|at| seen[at] = Some(unknown.clone()));
        }
        answers.into_iter().for_each(|(at, observation)| seen[at] = Some(observation));
        seen
    }

    /// Devices that sleep are left alone: they are asked to report once they are awake.
    fn faults(&self, devices: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        // Beyond that the clock ends.
        let patience = patience.min(Duration::from_secs(24 * 3600));
        let end = Instant::now() + patience;
        let asked: Vec<Asked> = devices
            .iter()
            .enumerate()
            .filter(|(_, device)| device.vendor == Vendor::Nvidia && !self.is_asleep(device))
            .filter_map(|(at, device)| {
                let gpu_instance = device.mig.as_ref().map(|mig| mig.gpu_instance);
                Some(Asked { device: at, pci: device.pci?, gpu_instance })
            })
            .collect();
        // A driver that cannot be asked is for `observe` to tell.
        let faults = match asked.is_empty() {
            true => Vec::new(),
            false => self.wait_for_faults(&asked, patience).unwrap_or_default(),
        };
        if faults.is_empty() {
            thread::sleep(end.saturating_duration_since(Instant::now()));
        }
        faults
    }

    fn watches(&self) -> bool {
        true
    }
}
