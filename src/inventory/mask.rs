//! Outer limits: the variables that say which devices a program may see. A pool has what they leave, never more.

use super::{Absence, Found, GpuDevice, Mig, Vendor, Why};

/// A device that is there, and what hides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// The device.
    pub device: GpuDevice,
    /// The variable and its value, as in `CUDA_VISIBLE_DEVICES=0,1`, or that it is a part of the processor.
    pub mask: String,
}

const CONTAINER: &str = "NVIDIA_VISIBLE_DEVICES";
const CUDA: &str = "CUDA_VISIBLE_DEVICES";
const CUDA_ORDER: &str = "CUDA_DEVICE_ORDER";
const ROCR: &str = "ROCR_VISIBLE_DEVICES";
const HIP: &str = "HIP_VISIBLE_DEVICES";
const ORDINAL: &str = "GPU_DEVICE_ORDINAL";
const LEVEL_ZERO: &str = "ZE_AFFINITY_MASK";
const SLURM: [&str; 2] = ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"];

/// The variables that hide devices, as they were when somebody looked. The page on [devices](crate::guide::inventory#masks) says what each means.
///
/// ```
/// use ternlease::inventory::{Declared, Inventory, Masks};
///
/// let masks = Masks::from_env(&|name| (name == "CUDA_VISIBLE_DEVICES").then(|| "3,1".into()));
/// let found = masks.apply(Declared::fake(4).find());
/// assert_eq!(found.devices.iter().map(|device| device.index).collect::<Vec<_>>(), [3, 1]);
/// assert_eq!(found.hidden[0].mask, "CUDA_VISIBLE_DEVICES=3,1");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masks(Vec<(&'static str, String)>);

impl Masks {
    /// Nothing is hidden.
    pub fn none() -> Self {
        Self::default()
    }

    /// Takes the variables from an environment.
    pub fn from_env(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let known = [CONTAINER, CUDA, CUDA_ORDER, ROCR, HIP, ORDINAL, LEVEL_ZERO];
        let set = known.into_iter().chain(SLURM);
        Masks(set.filter_map(|name| Some((name, variable(name)?))).collect())
    }

    /// What they leave of what was found: the devices in the order that a mask gives, those that are hidden, and a warning where a
    /// mask could be understood in two ways.
    pub fn apply(&self, found: Found) -> Found {
        let mut found = found;
        let some = !found.devices.is_empty();
        self.container(&mut found);
        self.slurm(&mut found);
        self.cuda(&mut found);
        self.rocm(&mut found);
        self.level_zero(&mut found);
        if some && found.devices.is_empty() {
            found.absences.push(Absence { source: "masks", why: Why::AllHidden });
        }
        found
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// The container's runtime has made its limits true already, and may have numbered anew what it left. So this only narrows, for
    /// a privileged container that sees all devices.
    fn container(&self, found: &mut Found) {
        let Some(list) = self.value(CONTAINER) else { return };
        let mask = format!("{CONTAINER}={list}");
        match list.trim() {
            // `void` is also what a runtime sets that has given the devices by other means.
            "all" | "void" | "" => return,
            "none" => return keep(found, Vendor::Nvidia, &mask, &[]),
            _ => {}
        }
        let candidates = candidates(found, Vendor::Nvidia);
        let mut chosen = Vec::new();
        for entry in entries(list) {
            let named = named(&candidates, entry);
            match kind(entry) {
                Kind::Number(_) if named.is_empty() => return, // numbered by the host
                Kind::Other => {
                    let warning = format!("{mask}: {entry:?} is not understood, nothing is hidden");
                    return found.warnings.push(warning);
                }
                _ => chosen.extend(named),
            }
        }
        keep_set(found, Vendor::Nvidia, &mask, chosen);
    }

    /// Slurm numbers the devices of the node, whatever a job sees of them. Where it shows a job only its own devices, the numbers
    /// all exist only if they mean the same.
    fn slurm(&self, found: &mut Found) {
        if [CUDA, ROCR, HIP, ORDINAL, LEVEL_ZERO].iter().any(|name| self.value(name).is_some()) {
            return;
        }
        let job = SLURM.into_iter().find_map(|name| Some((name, self.value(name)?)));
        let (Some((name, list)), Some(first)) = (job, found.devices.first()) else { return };
        let (mask, vendor) = (format!("{name}={list}"), first.vendor);
        if found.devices.iter().any(|device| device.vendor != vendor) {
            let warning = format!("{mask}: it does not say of which vendor, nothing is hidden");
            return found.warnings.push(warning);
        }
        let candidates = candidates(found, vendor);
        let mut chosen = Vec::new();
        for entry in entries(list) {
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { return };
            for number in first..=last {
                match numbered(&candidates, number) {
                    named if named.is_empty() => return,
                    named => chosen.extend(named),
                }
            }
        }
        keep_set(found, vendor, &mask, chosen);
    }

    fn cuda(&self, found: &mut Found) {
        let Some(list) = self.value(CUDA) else { return };
        let mask = format!("{CUDA}={list}");
        let candidates = candidates(found, Vendor::Nvidia);
        // One list has entries of one kind: another kind ends it.
        let first = kind(list.trim_start());
        let of_one_kind = entries(list).take_while(|entry| kind(entry).is_like(&first));
        let chosen = in_order(&candidates, of_one_kind);
        let models_differ =
            candidates.windows(2).any(|two| two[0].device.name != two[1].device.name);
        let by_number = matches!(first, Kind::Number(_));
        let in_pci_order = self.value(CUDA_ORDER) == Some("PCI_BUS_ID");
        let warn = by_number && models_differ && !in_pci_order && chosen.len() < candidates.len();
        keep(found, Vendor::Nvidia, &mask, &chosen);
        if warn {
            found.warnings.push(format!(
                "{mask}: the devices differ and {CUDA_ORDER} is not PCI_BUS_ID, so CUDA may count them in another order; the \
                 numbers are taken in the order of PCI addresses"
            ));
        }
    }

    /// What HIP counts is what ROCr leaves. The others are heeded only if these two are not set: Slurm sets several to the same
    /// numbers, which applied in turn would leave nothing.
    fn rocm(&self, found: &mut Found) {
        let hidden = found.hidden.iter().map(|hidden| &hidden.device);
        let nvidia = found.devices.iter().chain(hidden).any(|one| one.vendor == Vendor::Nvidia);
        let masks: &[&str] = match [ROCR, HIP, ORDINAL].map(|name| self.value(name).is_some()) {
            [false, false, true] => &[ORDINAL],
            // HIP takes it for its own. Beside NVIDIA's devices it is theirs.
            [false, false, false] if !nvidia => &[CUDA],
            _ => &[ROCR, HIP],
        };
        for name in masks {
            if let Some(list) = self.value(name) {
                let chosen = in_order(&candidates(found, Vendor::Amd), entries(list));
                keep(found, Vendor::Amd, &format!("{name}={list}"), &chosen);
            }
        }
    }

    /// A set of devices and parts of devices; here a device counts as a whole.
    fn level_zero(&self, found: &mut Found) {
        let Some(list) = self.value(LEVEL_ZERO).filter(|list| !list.trim().is_empty()) else {
            return;
        };
        let candidates = candidates(found, Vendor::Intel);
        let device = |entry: &str| entry.split('.').next().and_then(|number| number.parse().ok());
        let numbers = entries(list).filter_map(device);
        let chosen = numbers.flat_map(|number| numbered(&candidates, number)).collect();
        keep_set(found, Vendor::Intel, &format!("{LEVEL_ZERO}={list}"), chosen);
    }
}

/// A device that a mask may name.
struct Candidate {
    /// Its place among those found.
    at: usize,
    /// What the masks of its vendor call it.
    number: u32,
    device: GpuDevice,
}

/// The devices of a vendor. NVIDIA's keep their numbers whatever is hidden; others are counted as far as they are left.
fn candidates(found: &Found, vendor: Vendor) -> Vec<Candidate> {
    let of_vendor = found.devices.iter().enumerate().filter(|(_, device)| device.vendor == vendor);
    of_vendor
        .zip(0..)
        .map(|((at, device), place)| Candidate {
            at,
            number: if vendor == Vendor::Nvidia { device.index } else { place },
            device: device.clone(),
        })
        .collect()
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

/// How an entry names a device.
enum Kind {
    Number(u32),
    /// `GPU-…`, or the beginning of it.
    Device,
    /// `MIG-…`, or the beginning of it.
    Part,
    Other,
}

impl Kind {
    fn is_like(&self, other: &Kind) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The kind of an entry, or of the first in a list. Like the C function that drivers use, it takes `1x` for 1.
fn kind(entry: &str) -> Kind {
    let digits = entry.bytes().take_while(u8::is_ascii_digit).count();
    match entry[..digits].parse() {
        Ok(number) => Kind::Number(number),
        Err(_) if begins(entry, "GPU-") => Kind::Device,
        Err(_) if begins(entry, "MIG-") => Kind::Part,
        Err(_) => Kind::Other,
    }
}

fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// The places of the devices that an entry names: several if it names a device that is divided into parts, none if it could mean
/// different ones.
fn named(candidates: &[Candidate], entry: &str) -> Vec<usize> {
    match kind(entry) {
        Kind::Number(number) => numbered(candidates, number),
        Kind::Device => only(candidates, entry, |device| match &device.mig {
            Some(mig) => Some(mig.parent.clone()),
            None => device.uuid.clone(),
        }),
        Kind::Part if begins(entry, "MIG-GPU-") => {
            only(candidates, entry, |device| device.mig.as_ref().map(old_name))
        }
        Kind::Part => only(candidates, entry, |device| device.uuid.clone()),
        Kind::Other => Vec::new(),
    }
}

fn numbered(candidates: &[Candidate], number: u32) -> Vec<usize> {
    candidates.iter().filter(|one| one.number == number).map(|one| one.at).collect()
}

/// Those whose name begins so, if it is one name only.
fn only(
    candidates: &[Candidate],
    start: &str,
    name: impl Fn(&GpuDevice) -> Option<String>,
) -> Vec<usize> {
    let named = candidates.iter().filter_map(|one| Some((one.at, name(&one.device)?)));
    let fitting: Vec<_> = named.filter(|(_, name)| begins(name, start)).collect();
    let clear = fitting.windows(2).all(|two| two[0].1 == two[1].1);
    if clear { fitting.into_iter().map(|(at, _)| at).collect() } else { Vec::new() }
}

/// What drivers before R470 call a part.
fn old_name(mig: &Mig) -> String {
    format!("MIG-{}/{}/{}", mig.parent, mig.gpu_instance, mig.compute_instance)
}

/// The devices of a list in its order, as CUDA reads it: an entry that names none ends it, and with one that is named twice it has
/// none at all.
fn in_order<'a>(candidates: &[Candidate], list: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut chosen = Vec::new();
    for named in list.map(|entry| named(candidates, entry)).take_while(|named| !named.is_empty()) {
        if named.iter().any(|at| chosen.contains(at)) {
            return Vec::new();
        }
        chosen.extend(named);
    }
    chosen
}

/// As [`keep`], for masks that say which and not in which order.
fn keep_set(found: &mut Found, vendor: Vendor, mask: &str, mut chosen: Vec<usize>) {
    chosen.sort_unstable();
    chosen.dedup();
    keep(found, vendor, mask, &chosen);
}

/// Leaves of a vendor's devices the chosen ones, in that order, in the places that the vendor's devices had.
fn keep(found: &mut Found, vendor: Vendor, mask: &str, chosen: &[usize]) {
    let before = std::mem::take(&mut found.devices);
    let mut left = chosen.iter().map(|&at| before[at].clone()).collect::<Vec<_>>().into_iter();
    for (at, device) in before.into_iter().enumerate() {
        if device.vendor != vendor {
            found.devices.push(device);
            continue;
        }
        found.devices.extend(left.next());
        if !chosen.contains(&at) {
            found.hidden.push(Hidden { device, mask: mask.to_owned() });
        }
    }
}
