//! The PCIe link that joins a card to the machine: what the card can do. What the slot allows may be less.

use std::path::{Path, PathBuf};

use super::card::text;
use super::file_name;
use crate::inventory::{GpuSpeed, PciAddress};

/// What is known of the link of the card that this directory describes.
pub(super) fn speed(card: &Path) -> GpuSpeed {
    let port = port(card).unwrap_or_else(|| card.to_owned());
    // The kernel would wake it to tell, or tell nonsense: all bits of one that has no power are ones.
    if [card, port.as_path()].into_iter().any(is_asleep) {
        return GpuSpeed::default();
    }
    let pcie_generation = text(&port, "max_link_speed").and_then(|speed| generation(&speed));
    let pcie_lanes = text(&port, "max_link_width").and_then(|lanes| lanes.parse().ok());
    match (pcie_generation, pcie_lanes.filter(|lanes| (1..=MOST_LANES).contains(lanes))) {
        // No card has so little. Intel's say it of the way to their own switch, which a virtual machine does not see.
        (Some(1), Some(1)) => GpuSpeed::default(),
        (pcie_generation, pcie_lanes) => {
            GpuSpeed { pcie_generation, pcie_lanes, ..GpuSpeed::default() }
        }
    }
}

const MOST_LANES: u32 = 32;

pub(super) fn is_asleep(directory: &Path) -> bool {
    text(directory, "power/runtime_status").as_deref() == Some("suspended")
}

/// The outer port of a card that has a switch on it: the device itself then tells only how it is joined to that switch. Such a switch is
/// of the same maker and has two ports on the way; above it is a port of the machine.
fn port(card: &Path) -> Option<PathBuf> {
    let card = card.canonicalize().ok()?;
    let (inner, outer) = (card.parent()?, card.parent()?.parent()?);
    let vendor = text(&card, "vendor")?;
    let is_of_the_card = |port: &Path| {
        text(port, "vendor").is_some_and(|of_port| of_port == vendor)
            && text(port, "class").is_some_and(|class| class.starts_with("0x0604"))
    };
    let is_on_the_bus = file_name(outer.parent()?).parse::<PciAddress>().is_ok();
    let found = is_on_the_bus && is_of_the_card(inner) && is_of_the_card(outer);
    found.then(|| outer.to_owned())
}

/// The kernel writes `16.0 GT/s PCIe`, older ones `16 GT/s`, and something else if it does not know.
fn generation(speed: &str) -> Option<u32> {
    let (transfers, _) = speed.split_once(" GT/s")?;
    match transfers.strip_suffix(".0").unwrap_or(transfers) {
        "2.5" => Some(1),
        "5" => Some(2),
        "8" => Some(3),
        "16" => Some(4),
        "32" => Some(5),
        "64" => Some(6),
        _ => None,
    }
}
