//! AMD's and Intel's devices, as the Linux kernel describes them in files. Reading these wakes no card that sleeps.

mod card;
mod link;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Absence, Fault, Found, GpuDevice, Inventory, Observation, PciAddress, Vendor, Why};
use crate::table::Health;
use card::Card;
use watch::Watch;

/// AMD's and Intel's devices, from the kernel's files. NVIDIA's are left to NVIDIA's library.
///
/// A device is one that programs can compute with: it has a render node. Where the kernel's list of those is not to be seen, as in
/// some virtual machines, it is a display device that its vendor's driver serves.
///
/// ```
/// use ternlease::inventory::{Inventory, Sysfs};
///
/// let found = Sysfs::default().find();
/// assert!(!found.devices.is_empty() || !found.absences.is_empty());
/// ```
#[derive(Debug)]
pub struct Sysfs {
    root: PathBuf,
    watch: Watch,
}

impl Default for Sysfs {
    fn default() -> Self {
        Self::new("/sys")
    }
}

impl Sysfs {
    /// The devices that are described below this directory: `/sys`, but in tests.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Sysfs { root: root.into(), watch: Watch::new(Duration::from_secs(5)) }
    }

    /// How long a driver may take to say how a device is. Five seconds if not said.
    pub fn patience(self, patience: Duration) -> Self {
        Sysfs { watch: Watch::new(patience), ..self }
    }

    /// All cards, by where they sit.
    fn cards(&self) -> Result<BTreeMap<PciAddress, Card>, Why> {
        let nodes = self.root.join("class/drm");
        let cards = match entries(&nodes) {
            Ok(nodes) => {
                let renders =
                    nodes.into_iter().filter(|path| file_name(path).starts_with("renderD"));
                renders.filter_map(|path| Card::at(path.join("device"))).collect()
            }
            Err(error) if error.kind() == ErrorKind::NotFound => self.cards_on_the_bus()?,
            Err(error) => return Err(unreadable(&nodes, &error)),
        };
        Ok(cards.into_iter().map(|card: Card| (card.pci, card)).collect())
    }

    fn cards_on_the_bus(&self) -> Result<Vec<Card>, Why> {
        let bus = self.root.join("bus/pci/devices");
        match entries(&bus) {
            Ok(paths) => {
                let cards = paths.into_iter().filter_map(Card::at);
                Ok(cards.filter(|card| card.is_display() && card.is_driven()).collect())
            }
            // A machine without such a bus; but a directory that is not the kernel's is a mistake.
            Err(error) if error.kind() == ErrorKind::NotFound => match fs::metadata(&self.root) {
                Ok(_) => Ok(Vec::new()),
                Err(error) => Err(unreadable(&self.root, &error)),
            },
            Err(error) => Err(unreadable(&bus, &error)),
        }
    }

    /// How a device is that is no longer among the cards.
    fn lost(&self, pci: PciAddress) -> Observation {
        let on_the_bus = self.root.join("bus/pci/devices").join(pci.to_string()).exists();
        let trouble = if on_the_bus { "its driver has let go of it" } else { "gone from the bus" };
        state(Health::Failed, Some(trouble.to_owned()))
    }
}

/// How a device is, of which nothing else is known.
fn state(health: Health, trouble: Option<String>) -> Observation {
    Observation { health, trouble, memory_used: None, busy: None, processes: None, uuid: None }
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn unreadable(path: &Path, error: &io::Error) -> Why {
    Why::Unreadable { path: path.display().to_string(), cause: error.to_string() }
}

impl Inventory for Sysfs {
    fn find(&self) -> Found {
        let mut found = Found::default();
        let cards = self.cards().and_then(|cards| match cards.is_empty() {
            true => Err(Why::NoDevice),
            false => Ok(cards),
        });
        match cards {
            Ok(cards) => {
                for vendor in [Vendor::Amd, Vendor::Intel] {
                    let cards = cards.values().filter(|card| card.vendor == vendor);
                    found.devices.extend(cards.zip(0..).map(|(card, index)| card.describe(index)));
                }
            }
            Err(why) => found.absences.push(Absence { source: "sysfs", why }),
        }
        found
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        let ours = |device: &GpuDevice| match device.vendor {
            Vendor::Amd | Vendor::Intel => device.pci,
            _ => None,
        };
        let places: Vec<Option<PciAddress>> = devices.iter().map(ours).collect();
        let mut cards = match self.cards() {
            Ok(cards) => cards,
            Err(why) => {
                let unknown = state(Health::Draining, Some(why.to_string()));
                return places.iter().map(|place| place.map(|_| unknown.clone())).collect();
            }
        };
        let seen = places.iter().flatten().filter_map(|place| cards.remove(place)).collect();
        let observed = self.watch.look(seen);
        let answer = |pci| observed.get(&pci).cloned().unwrap_or_else(|| self.lost(pci));
        places.into_iter().map(|place| place.map(answer)).collect()
    }

    fn faults(&self, _: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        std::thread::sleep(patience);
        Vec::new()
    }

    fn watches(&self) -> bool {
        true
    }
}
