//! The PCIe links of AMD's and Intel's devices, in a tree of files as the Linux kernel has it.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ternlease::inventory::{Inventory, Sysfs};
use ternlease::{GpuSpeed, Health};

const AMD: &str = "0x1002";
const INTEL: &str = "0x8086";

/// A tree like `/sys` with one card, in a directory of its own, which goes when the test ends.
struct Tree {
    root: PathBuf,
    card: PathBuf,
}

impl Tree {
    /// The card sits behind these ports, the first of which is the machine's.
    fn new(name: &str, vendor: &str, ports: &[&str]) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("links-{}-{name}", std::process::id()));
        let path: PathBuf = ports.iter().collect();
        let card = root.join("devices/pci0000:00").join(path).join("0000:03:00.0");
        let node = root.join("class/drm/renderD128");
        fs::create_dir_all(&card).unwrap();
        fs::create_dir_all(&node).unwrap();
        symlink(&card, node.join("device")).unwrap();
        let tree = Tree { root, card };
        tree.say("vendor", vendor);
        tree.say("class", "0x030000");
        tree
    }

    /// Says this of the card.
    fn say(&self, file: &str, content: &str) {
        say(&self.card, file, content);
    }

    /// Says this of the port so many steps above the card.
    fn port(&self, steps: usize, vendor: &str, speed: &str, lanes: &str) {
        let port = self.card.ancestors().nth(steps).unwrap();
        say(port, "vendor", vendor);
        say(port, "class", "0x060400");
        link(port, speed, lanes);
    }

    /// What is found of the link; of the rest of its speed the kernel says nothing.
    fn found(&self) -> (Option<u32>, Option<u32>) {
        let [device] = Sysfs::new(&self.root).find().devices.try_into().unwrap();
        let GpuSpeed { pcie_generation, pcie_lanes, .. } = device.speed;
        let known = GpuSpeed { pcie_generation, pcie_lanes, ..GpuSpeed::default() };
        assert_eq!((device.speed, device.health), (known, Health::Healthy));
        (pcie_generation, pcie_lanes)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn say(directory: &Path, file: &str, content: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{content}\n")).unwrap();
}

fn link(directory: &Path, speed: &str, lanes: &str) {
    say(directory, "max_link_speed", speed);
    say(directory, "max_link_width", lanes);
}

#[test]
fn each_speed_is_a_generation() {
    let tree = Tree::new("generations", AMD, &["0000:00:01.1"]);
    for (speed, generation) in [
        ("2.5 GT/s PCIe", 1),
        ("5.0 GT/s PCIe", 2),
        ("8.0 GT/s PCIe", 3),
        ("16.0 GT/s PCIe", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
        // As older kernels write it.
        ("2.5 GT/s", 1),
        ("5 GT/s", 2),
        ("8 GT/s", 3),
    ] {
        link(&tree.card, speed, "16");
        assert_eq!(tree.found(), (Some(generation), Some(16)), "{speed}");
    }
}

#[test]
fn what_is_missing_or_makes_no_sense_is_unknown_alone() {
    let tree = Tree::new("nonsense", AMD, &["0000:00:01.1"]);
    assert_eq!(tree.found(), (None, None), "no such files");
    tree.say("max_link_width", "8");
    assert_eq!(tree.found(), (None, Some(8)));
    for speed in ["", "Unknown", "Unknown speed", "16.0", "16.5 GT/s PCIe", "-8.0 GT/s PCIe", "\0"]
    {
        link(&tree.card, speed, "8");
        assert_eq!(tree.found(), (None, Some(8)), "{speed}");
    }
    // 63 is what a card without power seems to have, and 255 what the kernel writes if it does not know.
    for lanes in ["", "0", "63", "255", "-1", "x16", "99999999999"] {
        link(&tree.card, "16.0 GT/s PCIe", lanes);
        assert_eq!(tree.found(), (Some(4), None), "{lanes}");
    }
}

#[test]
fn a_card_that_sleeps_is_not_asked() {
    let tree = Tree::new("asleep", AMD, &["0000:00:01.1"]);
    link(&tree.card, "16.0 GT/s PCIe", "16");
    tree.say("power/runtime_status", "suspended");
    assert_eq!(tree.found(), (None, None));
    tree.say("power/runtime_status", "active");
    assert_eq!(tree.found(), (Some(4), Some(16)));
}

const SWITCHED: [&str; 3] = ["0000:00:01.1", "0000:01:00.0", "0000:02:00.0"];

#[test]
fn a_card_with_a_switch_on_it_has_the_link_of_the_switch() {
    for vendor in [AMD, INTEL] {
        let tree = Tree::new(&format!("switch-{vendor}"), vendor, &SWITCHED);
        link(&tree.card, "2.5 GT/s PCIe", "1");
        tree.port(1, vendor, "2.5 GT/s PCIe", "1");
        tree.port(2, vendor, "16.0 GT/s PCIe", "8");
        tree.port(3, INTEL, "32.0 GT/s PCIe", "16");
        assert_eq!(tree.found(), (Some(4), Some(8)), "{vendor}");
        say(tree.card.ancestors().nth(2).unwrap(), "power/runtime_status", "suspended");
        assert_eq!(tree.found(), (None, None), "{vendor}: it sleeps");
    }
}

#[test]
fn a_switch_of_the_machine_is_not_the_cards() {
    let tree = Tree::new("board", AMD, &SWITCHED);
    link(&tree.card, "16.0 GT/s PCIe", "16");
    tree.port(1, "0x10b5", "8.0 GT/s PCIe", "8");
    tree.port(2, "0x10b5", "8.0 GT/s PCIe", "8");
    assert_eq!(tree.found(), (Some(4), Some(16)));
    tree.port(1, AMD, "8.0 GT/s PCIe", "8");
    assert_eq!(tree.found(), (Some(4), Some(16)));
    // Nor are the machine's own ports, though its processor has the same maker.
    let tree = Tree::new("ports", INTEL, &["0000:00:01.0", "0000:01:00.0"]);
    link(&tree.card, "16.0 GT/s PCIe", "16");
    tree.port(1, INTEL, "8.0 GT/s PCIe", "8");
    tree.port(2, INTEL, "8.0 GT/s PCIe", "8");
    assert_eq!(tree.found(), (Some(4), Some(16)));
}

#[test]
fn what_a_card_says_of_its_inside_is_not_its_link() {
    // In a virtual machine the switch on the card is not to be seen.
    let tree = Tree::new("inside", INTEL, &["0000:00:01.0"]);
    link(&tree.card, "2.5 GT/s PCIe", "1");
    assert_eq!(tree.found(), (None, None));
}
