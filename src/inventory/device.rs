//! One device.

use std::fmt;
use std::str::FromStr;

use super::GpuSpeed;
use crate::table::Health;

/// Who made a device, and so whose variables make it visible to a program.
///
/// ```
/// use ternlease::Vendor;
///
/// assert_eq!("amd".parse(), Ok(Vendor::Amd));
/// assert_eq!(Vendor::Nvidia.to_string(), "nvidia");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Anybody else.
    Other,
}

impl Vendor {
    /// The name in small letters, as a declaration of devices has it.
    pub fn name(self) -> &'static str {
        match self {
            Vendor::Nvidia => "nvidia",
            Vendor::Amd => "amd",
            Vendor::Intel => "intel",
            Vendor::Other => "other",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Vendor {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other]
            .into_iter()
            .find(|vendor| vendor.name() == name)
            .ok_or(())
    }
}

/// Where a device sits. Written `0000:07:00.0`; NVML's eight digits of domain are read, too.
///
/// ```
/// use ternlease::PciAddress;
///
/// let address: PciAddress = "00000000:07:00.0".parse().map_err(|()| "no address")?;
/// assert_eq!(address.to_string(), "0000:07:00.0");
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PciAddress {
    /// The domain.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus.
    pub device: u8,
    /// The function of the device.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PciAddress { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

impl FromStr for PciAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (rest, function) = text.rsplit_once('.').ok_or(())?;
        let mut parts = rest.rsplit(':');
        let mut part = |digits: usize| match parts.next() {
            Some(part) if (1..=digits).contains(&part.len()) => hex(part),
            _ => Err(()),
        };
        let (device, bus, domain) = (part(2)?, part(2)?, part(8)?);
        match (parts.next(), function.len(), device) {
            (None, 1, ..=0x1f) => Ok(PciAddress {
                domain,
                bus: bus as u8,
                device: device as u8,
                function: hex(function)? as u8,
            }),
            _ => Err(()),
        }
    }
}

/// `from_str_radix` alone would take a sign.
fn hex(digits: &str) -> Result<u32, ()> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(());
    }
    u32::from_str_radix(digits, 16).map_err(|_| ())
}

/// A part of a device that has its own memory and its own faults.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mig {
    /// The UUID of the device that it is a part of.
    pub parent: String,
    /// How large it is, as NVIDIA names it: `1g.10gb`.
    pub profile: String,
    /// The number of the GPU instance.
    pub gpu_instance: u32,
    /// The number of the compute instance within it.
    pub compute_instance: u32,
}

/// One device, as its inventory describes it.
///
/// ```
/// use ternlease::{GpuDevice, Vendor};
///
/// let device = GpuDevice { memory: Some(81_920), ..GpuDevice::new(Vendor::Nvidia, 0, "A100") };
/// assert_eq!(device.key(), "nvidia:0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuDevice {
    /// Who made it.
    pub vendor: Vendor,
    /// Its number among the devices of its vendor, in the order of PCI addresses. There may be gaps. Not an identity: it may change
    /// with the next start of the machine.
    pub index: u32,
    /// What it is called.
    pub name: String,
    /// Its own name for ever: `GPU-…`, or `MIG-…` for a part.
    pub uuid: Option<String>,
    /// Where it sits.
    pub pci: Option<PciAddress>,
    /// Its memory in MiB. `None` is unknown, not nothing.
    pub memory: Option<u32>,
    /// What it can compute, as NVIDIA counts it: `(8, 0)`.
    pub compute_capability: Option<(u32, u32)>,
    /// How fast it is, as far as that is known.
    pub speed: GpuSpeed,
    /// The NUMA node that it is near to.
    pub numa: Option<u32>,
    /// Devices with the same number have fast links among each other, each to each.
    pub island: Option<u32>,
    /// If it is a part of a device.
    pub mig: Option<Mig>,
    /// The machine that it is in, in a pool of many machines; `None` where there is but one.
    pub node: Option<String>,
    /// How it is.
    pub health: Health,
    /// Why it is not healthy, in words.
    pub trouble: Option<String>,
}

impl GpuDevice {
    /// A healthy device of which nothing else is known.
    pub fn new(vendor: Vendor, index: u32, name: &str) -> Self {
        GpuDevice {
            vendor,
            index,
            name: name.to_owned(),
            uuid: None,
            pci: None,
            memory: None,
            compute_capability: None,
            speed: GpuSpeed::default(),
            numa: None,
            island: None,
            mig: None,
            node: None,
            health: Health::Healthy,
            trouble: None,
        }
    }

    /// What names it in a table: where it sits, for a part its UUID, else its vendor and number.
    ///
    /// Not its number if that can be helped, which changes between starts of the machine; and not its UUID, which changes when a
    /// virtual machine moves.
    ///
    /// ```
    /// use ternlease::{GpuDevice, Vendor};
    ///
    /// let mut device = GpuDevice::new(Vendor::Nvidia, 0, "A100");
    /// assert_eq!(device.key(), "nvidia:0");
    /// device.pci = "0000:07:00.0".parse().ok();
    /// assert_eq!(device.key(), "0000:07:00.0");
    /// ```
    pub fn key(&self) -> String {
        match (&self.mig, &self.uuid, self.pci) {
            (Some(_), Some(uuid), _) => uuid.clone(),
            (None, _, Some(pci)) => pci.to_string(),
            _ => self.vendor_and_index(),
        }
    }

    pub(crate) fn vendor_and_index(&self) -> String {
        format!("{}:{}", self.vendor, self.index)
    }
}
