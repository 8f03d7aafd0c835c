//! The host puts sources and masks together, and asks each source about what that found.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ternlease::inventory::{
    Absence, Declared, Fault, Found, Host, Inventory, Masks, Observation, Why,
};
use ternlease::{GpuDevice, Health, Vendor};

const MINUTE: Duration = Duration::from_secs(60);

fn devices(vendor: Vendor, count: u32) -> Vec<GpuDevice> {
    (0..count).map(|index| GpuDevice::new(vendor, index, "A100")).collect()
}

fn cuda_mask(value: &str) -> Masks {
    Masks::from_env(&|name| (name == "CUDA_VISIBLE_DEVICES").then(|| value.to_owned()))
}

/// A source that answers and counts.
struct Source {
    devices: Vec<GpuDevice>,
    faults: Vec<Fault>,
    watches: bool,
    asked: Arc<AtomicUsize>,
}

impl Source {
    fn new(devices: Vec<GpuDevice>, faults: Vec<Fault>) -> Self {
        Source { devices, faults, watches: true, asked: Arc::default() }
    }
}

impl Inventory for Source {
    fn find(&self) -> Found {
        Found { devices: self.devices.clone(), ..Found::default() }
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        self.asked.fetch_add(devices.len(), Ordering::Relaxed);
        let observe = |device: &GpuDevice| Observation {
            health: Health::Healthy,
            trouble: None,
            memory_used: Some(device.index),
            busy: None,
            processes: None,
            uuid: Some(format!("by {}", self.devices[0].vendor)),
        };
        devices.iter().map(|device| Some(observe(device))).collect()
    }

    fn faults(&self, _: &[GpuDevice], _: Duration) -> Vec<Fault> {
        assert!(self.watches, "it has nothing to tell, and would only wait");
        self.faults.clone()
    }

    fn watches(&self) -> bool {
        self.watches
    }
}

fn fault(device: Option<usize>) -> Fault {
    Fault { device, xid: Some(79), what: "fell off the bus".to_owned() }
}

#[test]
fn a_host_asks_the_source_that_found_a_device() {
    let nvidia = Source::new(devices(Vendor::Nvidia, 2), vec![]);
    let amd = Source::new(devices(Vendor::Amd, 2), vec![]);
    let asked = nvidia.asked.clone();
    let stranger = GpuDevice::new(Vendor::Intel, 0, "unknown");
    let declared = Declared::new(devices(Vendor::Other, 1));
    let host =
        Host::with(vec![Box::new(nvidia), Box::new(amd), Box::new(declared)], cuda_mask("1"));
    let found = host.find();
    let keys: Vec<_> = found.devices.iter().map(GpuDevice::key).collect();
    assert_eq!(keys, ["nvidia:1", "amd:0", "amd:1", "other:0"]);
    assert_eq!(found.hidden[0].device.key(), "nvidia:0");
    assert!(host.watches());

    let mut asked_for = found.devices;
    asked_for.reverse();
    asked_for.push(stranger);
    let observed = host.observe(&asked_for);
    let told: Vec<_> = observed
        .iter()
        .map(|one| Some((one.as_ref()?.uuid.clone()?, one.as_ref()?.memory_used?)))
        .collect();
    let by = |vendor: &str, index| Some((format!("by {vendor}"), index));
    assert_eq!(told, [None, by("amd", 1), by("amd", 0), by("nvidia", 1), None]);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_host_tells_faults_of_the_right_devices() {
    let nvidia = || devices(Vendor::Nvidia, 2);
    let host = |faults| {
        let silent = Source { watches: false, ..Source::new(devices(Vendor::Other, 1), vec![]) };
        let sources: Vec<Box<dyn Inventory>> = vec![
            Box::new(silent),
            Box::new(Source::new(devices(Vendor::Amd, 1), vec![])),
            Box::new(Source::new(nvidia(), faults)),
        ];
        let host = Host::with(sources, Masks::none());
        let found = host.find().devices;
        host.faults(&found, MINUTE)
    };
    assert_eq!(host(vec![fault(Some(1))]), [fault(Some(3))]);
    assert_eq!(host(vec![fault(None)]), [fault(None)], "one fault does not condemn all devices");
    assert_eq!(host(vec![fault(Some(7))]), [], "of a device that was not asked about");
}

#[test]
fn a_device_counts_once_and_absences_are_kept() {
    let twice = Host::with(
        vec![
            Box::new(Declared::fake(2)),
            Box::new(Declared::fake(3)),
            Box::new(Declared::new(vec![])),
        ],
        Masks::none(),
    );
    let found = twice.find();
    let indices: Vec<_> = found.devices.iter().map(|device| device.index).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert_eq!(found.absences, [Absence { source: "declared", why: Why::NoneDeclared }]);
    assert!(!twice.watches());
    assert_eq!(twice.observe(&found.devices), [None, None, None]);
    assert_eq!(twice.faults(&found.devices, Duration::from_millis(1)), []);
}

#[test]
fn a_host_says_that_all_are_hidden() {
    let host = Host::with(vec![Box::new(Declared::fake(2))], cuda_mask(""));
    let found = host.find();
    assert_eq!(found.absences, [Absence { source: "masks", why: Why::AllHidden }]);
    assert_eq!(found.absences[0].to_string(), "masks: a mask hides all there are");
    assert_eq!(found.hidden.len(), 2);
    assert_eq!(found.hidden[0].mask, "CUDA_VISIBLE_DEVICES=");
}

#[test]
fn graphics_that_are_a_part_of_the_processor_are_hidden() {
    let at = |pci: &str, vendor, index| GpuDevice {
        pci: pci.parse().ok(),
        ..GpuDevice::new(vendor, index, "device")
    };
    let part = at("0000:00:02.0", Vendor::Intel, 0);
    let card = at("0000:03:00.0", Vendor::Intel, 1);
    let other = at("0000:00:05.0", Vendor::Amd, 0);
    let source = Source::new(vec![part.clone(), card.clone(), other.clone()], vec![]);
    let found = Host::with(vec![Box::new(source)], Masks::none()).find();
    assert_eq!(found.devices, [card, other]);
    assert_eq!(found.hidden.len(), 1);
    assert_eq!(found.hidden[0].device, part);
    assert_eq!(found.hidden[0].mask, "integrated graphics");
}
