//! Devices that somebody declares: in code, in a file, or to try things out.

mod error;
mod read;
mod write;

pub use error::{DeclaredError, ParseError};

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::{
    Absence, Fault, Found, GpuDevice, GpuSpeed, Inventory, Observation, PciAddress, Vendor, Why,
};

/// Longer files are no declarations.
const LONGEST_FILE: u64 = 1 << 20;
/// `fake:N` with more than this is a mistake.
const MOST_FAKES: u32 = 4096;

/// An inventory of devices as somebody declares them. Nobody watches them.
///
/// ```
/// use ternlease::inventory::{Declared, Inventory};
///
/// let text = "device vendor=nvidia index=0 name=\"A100 80GB\" memory=81920 pci=0000:07:00.0\n";
/// let declared = Declared::parse(text)?;
/// assert_eq!(declared.find().devices[0].memory, Some(81_920));
/// assert_eq!(declared.to_string(), text);
/// # Ok::<(), ternlease::inventory::ParseError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared(Vec<GpuDevice>);

impl Declared {
    /// These devices, in the order in which a pool prefers them, taken as they are. No figure is checked.
    pub fn new(devices: Vec<GpuDevice>) -> Self {
        Declared(devices)
    }

    /// So many devices as a large machine may have them: A100s with 80 GB. From four on they form two islands. For tests, and to try things out
    /// without a GPU.
    ///
    /// ```
    /// use ternlease::inventory::{Declared, Inventory};
    ///
    /// let devices = Declared::fake(4).find().devices;
    /// let islands: Vec<Option<u32>> = devices.iter().map(|gpu| gpu.island).collect();
    /// assert_eq!(islands, [Some(0), Some(0), Some(1), Some(1)]);
    /// ```
    pub fn fake(count: u32) -> Self {
        Declared((0..count).map(|index| fake(index, count)).collect())
    }

    /// Reads a declaration: one device per line, as in the example [above](Self). The page on [devices](crate::guide::inventory#a-file) has all keys.
    ///
    /// # Errors
    ///
    /// [`ParseError`] says in which line and what: a wrong key or value, or one that is missing.
    ///
    /// ```
    /// use ternlease::inventory::Declared;
    ///
    /// let error = Declared::parse("device vendor=nvidia\n").unwrap_err();
    /// println!("{error}");
    /// assert!(error.to_string().contains("index"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        read::devices(text).map(Declared)
    }

    /// Reads a declaration from a file, of at most 1 MiB.
    ///
    /// # Errors
    ///
    /// [`DeclaredError::Unreadable`] if the file cannot be read, [`DeclaredError::Malformed`] if it makes no sense.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DeclaredError> {
        let path = path.as_ref();
        let unreadable = |cause: String| DeclaredError::Unreadable { path: path.into(), cause };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() as u64 > LONGEST_FILE {
            return Err(unreadable("it is larger than 1 MiB".to_owned()));
        }
        read::text(&bytes)
            .and_then(Self::parse)
            .map_err(|error| DeclaredError::Malformed { path: path.into(), error })
    }

    /// What a word says: `fake:8` is eight that do not exist, `file:/path` those that a file declares, `none` is none.
    ///
    /// # Errors
    ///
    /// [`DeclaredError::NotASpec`] if it says nothing of these; otherwise as [`Self::read`].
    ///
    /// ```
    /// use ternlease::inventory::{Declared, DeclaredError};
    ///
    /// assert_eq!(Declared::from_spec("none")?, Declared::new(Vec::new()));
    /// assert!(matches!(Declared::from_spec("eight"), Err(DeclaredError::NotASpec(_))));
    /// # Ok::<(), DeclaredError>(())
    /// ```
    pub fn from_spec(spec: &str) -> Result<Self, DeclaredError> {
        match spec.split_once(':') {
            Some(("fake", count)) => match count.parse() {
                Ok(count @ 0..=MOST_FAKES) => Ok(Self::fake(count)),
                _ => Err(DeclaredError::NotASpec(spec.to_owned())),
            },
            Some(("file", path)) if !path.is_empty() => Self::read(path),
            None if spec == "none" => Ok(Self::default()),
            _ => Err(DeclaredError::NotASpec(spec.to_owned())),
        }
    }
}

/// An A100 with 80 GB on a board of its own kind (SXM).
const A100: GpuSpeed = GpuSpeed {
    cores: Some(6912),
    multiprocessors: None,
    core_mhz: Some(1410),
    memory_mhz: Some(1593),
    memory_bits: Some(5120),
    pcie_generation: Some(4),
    pcie_lanes: Some(16),
};

fn fake(index: u32, count: u32) -> GpuDevice {
    let half = u32::from(index >= count / 2);
    let islands = count >= 4;
    GpuDevice {
        uuid: Some(format!("GPU-{index:08x}-fa4e-4000-8000-{index:012x}")),
        pci: Some(PciAddress {
            domain: index / 255,
            bus: (index % 255 + 1) as u8,
            device: 0,
            function: 0,
        }),
        memory: Some(81_920),
        compute_capability: Some((8, 0)),
        speed: A100,
        numa: Some(if islands { half } else { 0 }),
        island: islands.then_some(half),
        ..GpuDevice::new(Vendor::Nvidia, index, "Fake GPU")
    }
}

/// Writes them as [`Declared::parse`] reads them.
impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|device| write::device(f, device))
    }
}

impl Inventory for Declared {
    fn find(&self) -> Found {
        let none = Absence { source: "declared", why: Why::NoneDeclared };
        Found {
            devices: self.0.clone(),
            absences: self.0.is_empty().then_some(none).into_iter().collect(),
            ..Found::default()
        }
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        vec![None; devices.len()]
    }

    fn faults(&self, _: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        std::thread::sleep(patience);
        Vec::new()
    }

    fn watches(&self) -> bool {
        false
    }
}
