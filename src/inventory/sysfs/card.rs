//! One card and its files. A file that is missing or makes no sense leaves something unknown and is no error.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{file_name, link, state};
use crate::inventory::{GpuDevice, Observation, PciAddress, Vendor};
use crate::table::Health;

#[derive(Debug, Clone)]
pub(super) struct Card {
    pub pci: PciAddress,
    pub vendor: Vendor,
    directory: PathBuf,
}

impl Card {
    /// The card that this directory describes, if it is one of a vendor that is looked for.
    pub fn at(directory: PathBuf) -> Option<Card> {
        let vendor = match text(&directory, "vendor")?.as_str() {
            "0x1002" => Vendor::Amd,
            "0x8086" => Vendor::Intel,
            _ => return None,
        };
        let slot = text(&directory, "uevent").and_then(|lines| {
            let slot = lines.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME="));
            slot.and_then(|slot| slot.parse().ok())
        });
        let linked = || file_name(&directory.canonicalize().ok()?).parse().ok();
        Some(Card { pci: slot.or_else(linked)?, vendor, directory })
    }

    pub fn is_display(&self) -> bool {
        self.text("class").is_some_and(|class| class.starts_with("0x03"))
    }

    /// Does a driver serve it that lets programs compute? Not one that keeps it for a virtual machine, for example.
    pub fn is_driven(&self) -> bool {
        let driver = self.directory.join("driver").canonicalize();
        driver.is_ok_and(|path| ["amdgpu", "i915", "xe"].contains(&file_name(&path).as_str()))
    }

    pub fn describe(&self, index: u32) -> GpuDevice {
        let name = self.text("product_name").filter(|name| !name.contains(char::is_control));
        GpuDevice {
            uuid: self.uuid(),
            pci: Some(self.pci),
            memory: self.mebibytes("mem_info_vram_total"),
            speed: link::speed(&self.directory),
            numa: self.number("numa_node"), // -1 if the machine does not say
            ..GpuDevice::new(self.vendor, index, &name.unwrap_or_else(|| self.model()))
        }
    }

    pub fn observe(&self) -> Observation {
        Observation {
            memory_used: self.mebibytes("mem_info_vram_used"),
            busy: self.busy(),
            uuid: self.uuid(),
            ..state(Health::Healthy, None)
        }
    }

    /// To ask a card that sleeps would wake it.
    fn busy(&self) -> Option<u8> {
        match link::is_asleep(&self.directory) {
            true => Some(0),
            false => self.number("gpu_busy_percent").filter(|percent| *percent <= 100),
        }
    }

    fn uuid(&self) -> Option<String> {
        let id = self.text("unique_id")?;
        let number = u64::from_str_radix(&id, 16).ok()?;
        (number != 0).then(|| format!("GPU-{number:016x}"))
    }

    fn model(&self) -> String {
        let vendor = if self.vendor == Vendor::Amd { "AMD" } else { "Intel" };
        let model = self.text("device").filter(|model| u32_from_hex(model).is_some());
        model.map_or(vendor.to_owned(), |model| format!("{vendor} {model}"))
    }

    fn mebibytes(&self, file: &str) -> Option<u32> {
        u32::try_from(self.number::<u64>(file)? >> 20).ok()
    }

    fn number<T: FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    fn text(&self, file: &str) -> Option<String> {
        text(&self.directory, file)
    }
}

fn u32_from_hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The text of a file, without blanks around it, if there is any.
pub(super) fn text(directory: &Path, file: &str) -> Option<String> {
    /// The kernel's files have at most one page.
    const PAGE: u64 = 4096;
    let mut text = String::new();
    File::open(directory.join(file)).ok()?.take(PAGE).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
