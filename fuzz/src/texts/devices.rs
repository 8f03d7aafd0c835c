//! Which devices there are, and which of them may be seen.

use ternlease::PciAddress;
use ternlease::inventory::{Declared, Found, Inventory, Masks};

/// A file that declares devices, or what another machine has published.
pub fn declaration(text: &str) {
    match Declared::parse(text) {
        Ok(declared) => {
            let written = declared.to_string();
            assert_eq!(Declared::parse(&written), Ok(declared), "written as {written:?}");
        }
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            let line = text.split('\n').nth(problem.line() - 1).expect("there is such a line");
            assert!((1..=line.chars().count() + 1).contains(&problem.column()));
        }
    }
    if let Ok(address) = text.parse::<PciAddress>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    // Not those that name a file.
    if !text.starts_with("file:") {
        let _ = Declared::from_spec(text);
    }
}

/// Of different vendors, with parts and without.
const DEVICES: &str = "\
device vendor=nvidia index=0 uuid=GPU-0a pci=0000:07:00.0
device vendor=nvidia index=1 uuid=GPU-0b pci=0000:08:00.0
device vendor=nvidia index=2 uuid=MIG-1 pci=0000:09:00.0 mig=GPU-0d:1g.10gb:1:0
device vendor=nvidia index=2 uuid=MIG-2 pci=0000:09:00.0 mig=GPU-0d:1g.10gb:2:0
device vendor=amd index=0 uuid=GPU-0c
device vendor=amd index=1
device vendor=intel index=0
";

/// Variables, one in each line. Every device is seen or hidden, and none is both.
pub fn masks(text: &str) {
    let mut lines = text.split('\n');
    let declared = match lines.next() {
        Some("fake") => Declared::fake(5),
        _ => Declared::parse(DEVICES).expect("it is written well"),
    };
    let set: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('=')).collect();
    let variable = |name: &str| {
        // By the whole name, or by how it begins: so that few bytes do.
        let named = |(short, _): &&(&str, &str)| !short.is_empty() && name.starts_with(short);
        set.iter().find(named).map(|(_, value)| (*value).to_owned())
    };
    let before = declared.find();
    let found = Masks::from_env(&variable).apply(before.clone());
    let names = |found: &Found| {
        let hidden = found.hidden.iter().map(|hidden| hidden.device.key());
        let mut names: Vec<String> =
            found.devices.iter().map(|it| it.key()).chain(hidden).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&found), names(&before));
    assert!(found.hidden.iter().all(|hidden| !hidden.mask.is_empty()));
    assert!(!found.devices.is_empty() || !found.absences.is_empty(), "there is a reason");
}
