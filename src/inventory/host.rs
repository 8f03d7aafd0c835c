//! The devices of this machine, from all sources, as far as the masks leave them.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Fault, Found, GpuDevice, Hidden, Inventory, Masks, Observation, Sysfs, Vendor};

/// The devices of this machine that a program may use.
///
/// ```
/// use ternlease::inventory::{Host, Inventory};
///
/// let found = Host::new().find();
/// for absence in &found.absences {
///     println!("{absence}"); // why there is none
/// }
/// for hidden in &found.hidden {
///     println!("{} is hidden by {}", hidden.device.key(), hidden.mask);
/// }
/// ```
pub struct Host {
    sources: Vec<Box<dyn Inventory>>,
    masks: Masks,
    /// Which source found a device, by its key.
    finders: Mutex<HashMap<String, usize>>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// All devices that can be found, less those that the variables of this process hide now.
    pub fn new() -> Self {
        let variable = |name: &str| {
            // What is not text names no device, so that it hides what follows. It must not count as unset.
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        };
        let sources: Vec<Box<dyn Inventory>> = vec![
            #[cfg(feature = "nvml")]
            Box::new(super::Nvml::default()),
            Box::new(Sysfs::default()),
        ];
        Self::with(sources, Masks::from_env(&variable))
    }

    /// The devices of these sources, less what the masks hide. What several of them find is the first one's.
    ///
    /// ```
    /// use ternlease::inventory::{Declared, Host, Inventory, Masks};
    ///
    /// let host = Host::with(vec![Box::new(Declared::fake(2))], Masks::none());
    /// assert_eq!(host.find().devices.len(), 2);
    /// ```
    pub fn with(sources: Vec<Box<dyn Inventory>>, masks: Masks) -> Self {
        Host { sources, masks, finders: Mutex::default() }
    }

    /// Each source that watches, with the places of the devices that it found.
    fn shares(&self, devices: &[GpuDevice]) -> Vec<Share<'_>> {
        let mut places = vec![Vec::new(); self.sources.len()];
        let finders = self.finders.lock();
        for (at, device) in devices.iter().enumerate() {
            if let Some(&source) = finders.get(&device.key()) {
                places[source].push(at);
            }
        }
        let shares = self.sources.iter().zip(places).map(|(source, places)| Share {
            source: source.as_ref(),
            devices: places.iter().map(|&at| devices[at].clone()).collect(),
            places,
        });
        shares.filter(|share| share.source.watches() && !share.places.is_empty()).collect()
    }
}

/// Why graphics that are a part of the processor are left out: nobody who claims a GPU means them. Whoever does can declare them.
const INTEGRATED: &str = "integrated graphics";

/// Intel's sit on the processor's own bus, and cards never do.
fn is_integrated(device: &GpuDevice) -> bool {
    device.vendor == Vendor::Intel && device.pci.is_some_and(|pci| pci.domain == 0 && pci.bus == 0)
}

/// The devices of one source among all.
struct Share<'a> {
    source: &'a dyn Inventory,
    devices: Vec<GpuDevice>,
    /// Their places among all.
    places: Vec<usize>,
}

impl Share<'_> {
    /// A fault as it is to be told of all devices. One that is of no device in particular stays so: whoever looks will see which.
    fn translate(&self, fault: Fault) -> Option<Fault> {
        match fault.device {
            None => Some(fault),
            Some(at) => Some(Fault { device: Some(*self.places.get(at)?), ..fault }),
        }
    }
}

impl Inventory for Host {
    fn find(&self) -> Found {
        let mut all = Found::default();
        let mut finders = HashMap::new();
        for (number, source) in self.sources.iter().enumerate() {
            let found = source.find();
            for device in found.devices {
                if *finders.entry(device.key()).or_insert(number) != number {
                    continue;
                }
                if is_integrated(&device) {
                    all.hidden.push(Hidden { device, mask: INTEGRATED.to_owned() });
                } else {
                    all.devices.push(device);
                }
            }
            all.absences.extend(found.absences);
            all.hidden.extend(found.hidden);
            all.warnings.extend(found.warnings);
        }
        // A device that a source has lost sight of is still that source's.
        self.finders.lock().extend(finders);
        self.masks.apply(all)
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        let mut all = vec![None; devices.len()];
        for share in self.shares(devices) {
            for (&at, observation) in share.places.iter().zip(share.source.observe(&share.devices))
            {
                all[at] = observation;
            }
        }
        all
    }

    /// The sources wait in turn, each for its part of the time. What is reported meanwhile to one that does not wait, it tells when
    /// it is asked next.
    fn faults(&self, devices: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        let shares = self.shares(devices);
        if shares.is_empty() {
            std::thread::sleep(patience);
        }
        let part = patience / shares.len().max(1) as u32;
        for share in &shares {
            let faults = share.source.faults(&share.devices, part);
            if !faults.is_empty() {
                return faults.into_iter().filter_map(|fault| share.translate(fault)).collect();
            }
        }
        Vec::new()
    }

    fn watches(&self) -> bool {
        self.sources.iter().any(|source| source.watches())
    }
}
