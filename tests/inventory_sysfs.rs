//! AMD's and Intel's devices, found and observed in a tree of files as the Linux kernel has it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ternlease::inventory::{Inventory, Observation, Sysfs, Why};
use ternlease::{GpuDevice, Health, Vendor};

/// A tree like `/sys`, in a directory of its own, which goes when the test ends.
struct Tree(PathBuf);

const AMD: &str = "0x1002";
const INTEL: &str = "0x8086";
const NVIDIA: &str = "0x10de";

impl Tree {
    fn new(name: &str) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("sysfs-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("bus/pci/devices")).unwrap();
        fs::create_dir_all(root.join("class/drm")).unwrap();
        Tree(root)
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::new(&self.0)
    }

    /// A card on the bus, with the files that all have.
    fn card(&self, pci: &str, vendor: &str) -> Card {
        let directory = self.0.join("devices/pci0000:00/0000:00:01.1").join(pci);
        fs::create_dir_all(directory.join("power")).unwrap();
        let link = self.0.join("bus/pci/devices").join(pci);
        symlink(format!("../../../devices/pci0000:00/0000:00:01.1/{pci}"), link).unwrap();
        let card = Card { directory };
        card.file("vendor", vendor).file("device", "0x740f").file("class", "0x038000");
        card.file("uevent", &format!("DRIVER=amdgpu\nPCI_ID=1:2\nPCI_SLOT_NAME={pci}"));
        card.file("numa_node", "-1").file("power/runtime_status", "active")
    }

    /// Gives a card a render node.
    fn node(&self, card: Card, number: u32) -> Card {
        let name = format!("renderD{number}");
        let pci = card.directory.file_name().unwrap().to_str().unwrap();
        let node = card.directory.join("drm").join(&name);
        fs::create_dir_all(&node).unwrap();
        symlink(format!("../../../{pci}"), node.join("device")).unwrap();
        let target = format!("../../devices/pci0000:00/0000:00:01.1/{pci}/drm/{name}");
        symlink(target, self.0.join("class/drm").join(name)).unwrap();
        card
    }

    /// Takes a card off the bus, as the kernel does.
    fn remove(&self, card: &Card) {
        let pci = card.directory.file_name().unwrap();
        self.unbind(card);
        fs::remove_file(self.0.join("bus/pci/devices").join(pci)).unwrap();
        fs::remove_dir_all(&card.directory).unwrap();
    }

    /// Takes away its render node.
    fn unbind(&self, card: &Card) {
        for node in fs::read_dir(card.directory.join("drm")).unwrap() {
            fs::remove_file(self.0.join("class/drm").join(node.unwrap().file_name())).unwrap();
        }
        fs::remove_dir_all(card.directory.join("drm")).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Card {
    directory: PathBuf,
}

impl Card {
    fn file(&self, name: &str, content: &str) -> Card {
        fs::write(self.directory.join(name), format!("{content}\n")).unwrap();
        Card { directory: self.directory.clone() }
    }

    fn driver(self, name: &str) -> Card {
        let drivers = self.directory.join("../../../../bus/pci/drivers").join(name);
        fs::create_dir_all(drivers).unwrap();
        let target = format!("../../../../bus/pci/drivers/{name}");
        symlink(target, self.directory.join("driver")).unwrap();
        self
    }
}

/// Three of AMD, one of Intel, one of NVIDIA and a virtual one, not in the order of their nodes, with gaps.
fn machine(name: &str) -> Tree {
    let tree = Tree::new(name);
    let mi210 = tree.card("0000:83:00.0", AMD);
    mi210.file("product_name", "AMD Instinct MI210").file("unique_id", "41a7b0f1c9d2e3f4");
    mi210.file("mem_info_vram_total", "68702699520").file("mem_info_vram_used", "10956800");
    tree.node(mi210.file("numa_node", "1").file("gpu_busy_percent", "37"), 128);
    let suspended = tree.card("0000:03:00.0", AMD);
    suspended.file("power/runtime_status", "suspended").file("gpu_busy_percent", "77");
    suspended.file("mem_info_vram_total", "17163091968").file("mem_info_vram_used", "0");
    tree.node(suspended, 133);
    tree.node(tree.card("0001:01:00.0", AMD), 131);
    tree.node(tree.card("0000:00:02.0", INTEL).file("device", "0x56c0"), 129);
    tree.node(tree.card("0000:07:00.0", NVIDIA), 130);
    tree.node(tree.card("0000:00:03.0", "0x1af4"), 132);
    // Not all that computes is a PCI device, and not all that is a display device computes.
    let platform = tree.0.join("devices/platform/gpu");
    fs::create_dir_all(&platform).unwrap();
    fs::write(platform.join("vendor"), "0x1002\n").unwrap();
    fs::create_dir_all(tree.0.join("class/drm/renderD134")).unwrap();
    symlink(&platform, tree.0.join("class/drm/renderD134/device")).unwrap();
    let display = tree.card("0000:0a:00.0", AMD);
    fs::create_dir_all(tree.0.join("class/drm/card1")).unwrap();
    symlink(&display.directory, tree.0.join("class/drm/card1/device")).unwrap();
    tree
}

fn observe_one(sysfs: &Sysfs, device: &GpuDevice) -> Observation {
    sysfs.observe(std::slice::from_ref(device)).remove(0).expect("it is watched")
}

#[test]
fn finds_what_can_compute_in_the_order_of_addresses() {
    let tree = machine("find");
    let found = tree.sysfs().find();
    let shown: Vec<_> =
        found.devices.iter().map(|device| (device.vendor, device.index, device.key())).collect();
    let expected = [
        (Vendor::Amd, 0, "0000:03:00.0".to_owned()),
        (Vendor::Amd, 1, "0000:83:00.0".to_owned()),
        (Vendor::Amd, 2, "0001:01:00.0".to_owned()),
        (Vendor::Intel, 0, "0000:00:02.0".to_owned()),
    ];
    assert_eq!(shown, expected);
    assert!(found.absences.is_empty());
    let expected = GpuDevice {
        uuid: Some("GPU-41a7b0f1c9d2e3f4".to_owned()),
        pci: "0000:83:00.0".parse().ok(),
        memory: Some(65_520),
        numa: Some(1),
        ..GpuDevice::new(Vendor::Amd, 1, "AMD Instinct MI210")
    };
    assert_eq!(found.devices[1], expected);
    let names: Vec<_> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["AMD 0x740f", "AMD Instinct MI210", "AMD 0x740f", "Intel 0x56c0"]);
    assert_eq!(found.devices[2].memory, None, "unknown, not nothing");
    assert_eq!(found.devices[2].numa, None);
}

#[test]
fn observes_without_waking() {
    let tree = machine("observe");
    let sysfs = tree.sysfs();
    let mut devices = sysfs.find().devices;
    devices.push(GpuDevice::new(Vendor::Nvidia, 0, "another one's"));
    devices.push(GpuDevice::new(Vendor::Amd, 9, "somewhere"));
    let observed = sysfs.observe(&devices);
    assert!(sysfs.watches());
    assert_eq!(observed.len(), 6);
    assert_eq!(observed[4..], [None, None]);
    let told = |at: usize| {
        let one = observed[at].as_ref().unwrap();
        assert_eq!((one.health, &one.trouble, &one.processes), (Health::Healthy, &None, &None));
        (one.memory_used, one.busy)
    };
    assert_eq!(told(0), (Some(0), Some(0)), "who sleeps is idle; the file that wakes is not read");
    assert_eq!(told(1), (Some(10), Some(37)));
    assert_eq!(told(2), (None, None));
    assert_eq!(told(3), (None, None));
    assert_eq!(observed[1].as_ref().unwrap().uuid, devices[1].uuid);
    assert_eq!(sysfs.faults(&devices, Duration::from_millis(1)), []);
}

#[test]
fn a_device_that_goes_has_failed_and_can_come_back() {
    let tree = Tree::new("gone");
    let stays = tree.node(tree.card("0000:03:00.0", AMD), 128);
    let goes = tree.node(tree.card("0000:04:00.0", AMD), 129);
    let sysfs = tree.sysfs();
    let devices = sysfs.find().devices;
    assert_eq!(devices.len(), 2);

    tree.unbind(&stays);
    tree.remove(&goes);
    let observed = sysfs.observe(&devices);
    let told: Vec<_> = observed
        .iter()
        .flatten()
        .map(|one| (one.health, one.trouble.as_deref().unwrap()))
        .collect();
    let expected =
        [(Health::Failed, "its driver has let go of it"), (Health::Failed, "gone from the bus")];
    assert_eq!(told, expected);

    tree.node(tree.card("0000:04:00.0", AMD), 130);
    assert_eq!(observe_one(&sysfs, &devices[1]).health, Health::Healthy);
}

#[test]
fn what_makes_no_sense_is_unknown() {
    let tree = Tree::new("nonsense");
    let card = tree.node(tree.card("0000:03:00.0", AMD), 128);
    card.file("numa_node", "north").file("mem_info_vram_total", "lots");
    card.file("mem_info_vram_used", "-1").file("gpu_busy_percent", "200");
    card.file("unique_id", "0").file("product_name", "").file("device", "?");
    card.file("power/runtime_status", "\0");
    // The address is known from the link, too.
    fs::write(card.directory.join("uevent"), [0xff, 0xfe]).unwrap();
    let none_of_ours = tree.node(tree.card("0000:04:00.0", AMD), 129);
    fs::remove_file(none_of_ours.directory.join("vendor")).unwrap();

    let sysfs = tree.sysfs();
    let devices = sysfs.find().devices;
    let pci = "0000:03:00.0".parse().ok();
    assert_eq!(devices, [GpuDevice { pci, ..GpuDevice::new(Vendor::Amd, 0, "AMD") }]);
    let one = observe_one(&sysfs, &devices[0]);
    let expected = Observation {
        health: Health::Healthy,
        trouble: None,
        memory_used: None,
        busy: None,
        processes: None,
        uuid: None,
    };
    assert_eq!(one, expected);
}

#[test]
fn another_card_in_the_same_place_shows() {
    let tree = Tree::new("swapped");
    let card = tree.node(tree.card("0000:03:00.0", AMD).file("unique_id", "1f"), 128);
    let sysfs = tree.sysfs();
    let device = sysfs.find().devices.remove(0);
    assert_eq!(device.uuid.as_deref(), Some("GPU-000000000000001f"));
    card.file("unique_id", "2f");
    let now = observe_one(&sysfs, &device).uuid;
    assert_eq!(now.as_deref(), Some("GPU-000000000000002f"));
}

#[test]
fn without_the_list_of_nodes_the_bus_is_asked() {
    let tree = Tree::new("bus");
    tree.card("0000:03:00.0", AMD).driver("amdgpu");
    tree.card("0000:04:00.0", INTEL).driver("xe");
    tree.card("0000:05:00.0", AMD).driver("vfio-pci");
    tree.card("0000:06:00.0", AMD);
    tree.card("0000:07:00.0", INTEL).driver("i915").file("class", "0x020000");
    tree.card("0000:08:00.0", NVIDIA).driver("nvidia");
    fs::remove_dir_all(tree.0.join("class")).unwrap();
    let sysfs = tree.sysfs();
    let devices = sysfs.find().devices;
    let keys: Vec<_> = devices.iter().map(GpuDevice::key).collect();
    assert_eq!(keys, ["0000:03:00.0", "0000:04:00.0"]);
    assert_eq!(observe_one(&sysfs, &devices[0]).health, Health::Healthy);
}

#[test]
fn none_has_a_reason() {
    let why = |root: &Path| {
        let found = Sysfs::new(root).find();
        assert!(found.devices.is_empty());
        assert_eq!(found.absences[0].source, "sysfs");
        found.absences[0].why.clone()
    };
    let tree = Tree::new("none");
    assert_eq!(why(&tree.0), Why::NoDevice);
    fs::remove_dir(tree.0.join("class/drm")).unwrap();
    assert_eq!(why(&tree.0), Why::NoDevice);
    fs::remove_dir_all(tree.0.join("bus")).unwrap();
    assert_eq!(why(&tree.0), Why::NoDevice);
    let missing = tree.0.join("missing");
    let told = why(&missing).to_string();
    assert!(told.contains(missing.to_str().unwrap()), "{told}");
    fs::write(tree.0.join("class/drm"), "").unwrap();
    assert!(matches!(why(&tree.0), Why::Unreadable { .. }));

    // Whether a device is still there cannot be told then.
    let device =
        GpuDevice { pci: "0000:03:00.0".parse().ok(), ..GpuDevice::new(Vendor::Amd, 0, "AMD") };
    let one = observe_one(&tree.sysfs(), &device);
    assert_eq!(one.health, Health::Draining);
    assert!(one.trouble.unwrap().contains("class/drm"));
}

/// Waits for something to become true. On a busy machine that may take long.
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Threads that ask a card, those of other tests included.
fn asking_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "ternlease-sysfs").count()
}

#[test]
fn a_driver_that_hangs_holds_up_nobody() {
    let tree = Tree::new("hung");
    let hung = tree.node(tree.card("0000:03:00.0", AMD), 128);
    tree.node(tree.card("0000:04:00.0", AMD).file("gpu_busy_percent", "5"), 129);
    // Whoever opens it waits until somebody writes.
    let busy = hung.directory.join("gpu_busy_percent");
    assert!(Command::new("mkfifo").arg(&busy).status().unwrap().success());
    let sysfs = tree.sysfs().patience(Duration::from_millis(20));
    let devices = sysfs.find().devices;
    for _ in 0..3 {
        let one = observe_one(&sysfs, &devices[0]);
        assert_eq!(one.health, Health::Draining);
        assert!(one.trouble.as_ref().unwrap().contains("not answered for 20ms"), "{one:?}");
    }
    wait_until("the other card answers", || {
        let observed = sysfs.observe(&devices);
        assert_eq!(observed[0].as_ref().unwrap().health, Health::Draining);
        observed[1].as_ref().unwrap().busy == Some(5)
    });
    wait_until("one thread is left, however often the card was asked", || asking_threads() == 1);

    // The driver wakes up: the late answer comes, then new ones.
    let mut answer = fs::File::create(&busy).unwrap();
    hung.file("next", "43");
    fs::rename(hung.directory.join("next"), &busy).unwrap();
    answer.write_all(b"42\n").unwrap();
    drop(answer);
    wait_until("the card answers again", || {
        let one = observe_one(&sysfs, &devices[0]);
        one.health == Health::Healthy && one.busy == Some(43)
    });
}
