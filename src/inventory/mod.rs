//! Which devices exist, and how they are.
//!
//! An [`Inventory`] tells; it decides nothing. `Nvml` asks NVIDIA's library, [`Sysfs`] reads what the Linux kernel says about AMD's and
//! Intel's devices, and [`Declared`] is what somebody wrote down. [`Host`] is all that this machine has, as far as this process may use it.
//!
//! A [`GpuPool`](crate::GpuPool) asks an inventory by itself. Use one directly to see what there is without claiming anything, or implement
//! [`Inventory`] for devices that the library does not know.
//!
//! ```
//! use ternlease::inventory::{Declared, Inventory};
//!
//! let found = Declared::from_spec("fake:8")?.find();
//! assert_eq!(found.devices.len(), 8);
//! assert_eq!(found.devices[7].memory, Some(81_920)); // MiB
//! # Ok::<(), ternlease::inventory::DeclaredError>(())
//! ```

mod absence;
mod declared;
mod device;
mod host;
mod mask;
#[cfg(feature = "nvml")]
mod nvml;
mod observation;
#[cfg(feature = "nvml")]
mod people;
mod process;
mod speed;
mod sysfs;

pub use absence::{Absence, Why};
pub use declared::{Declared, DeclaredError, ParseError};
pub use device::{GpuDevice, Mig, PciAddress, Vendor};
pub use host::Host;
pub use mask::{Hidden, Masks};
#[cfg(feature = "nvml")]
pub use nvml::{Nvml, NvmlOptions};
pub use observation::{Fault, Observation};
pub use process::{Process, ProcessKind};
pub use speed::GpuSpeed;
pub use sysfs::Sysfs;

use std::time::Duration;

/// What an inventory found, and why it found no more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The devices, in the order in which a pool prefers them.
    pub devices: Vec<GpuDevice>,
    /// Why a source has none: no library, no driver, no device, no answer.
    pub absences: Vec<Absence>,
    /// The devices that are there and that a mask hides.
    pub hidden: Vec<Hidden>,
    /// What could be understood in two ways, and how it was understood, in words.
    pub warnings: Vec<String>,
}

/// A source of devices and of evidence about them.
///
/// Every call returns within a bounded time, whatever a driver does, and none is made while a lock is held or a claim is decided. Whoever
/// implements it promises the former: ask a driver on a thread of its own, and give up in time.
///
/// ```
/// use std::time::Duration;
/// use ternlease::inventory::{Fault, Found, Observation};
/// use ternlease::{GpuDevice, GpuPool, Inventory, PoolOptions, Vendor};
///
/// /// One accelerator of our own, which nobody watches.
/// struct Ours;
///
/// impl Inventory for Ours {
///     fn find(&self) -> Found {
///         Found { devices: vec![GpuDevice::new(Vendor::Other, 0, "npu")], ..Found::default() }
///     }
///     fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
///         vec![None; devices.len()]
///     }
///     fn faults(&self, _: &[GpuDevice], patience: Duration) -> Vec<Fault> {
///         std::thread::sleep(patience);
///         Vec::new()
///     }
///     fn watches(&self) -> bool {
///         false
///     }
/// }
///
/// let pool = GpuPool::open_with("process:", PoolOptions::of(Ours))?;
/// assert_eq!(pool.claim().wait()?.expect("there is one").device().name, "npu");
/// # Ok::<(), ternlease::PoolError>(())
/// ```
pub trait Inventory: Send + Sync {
    /// The devices there are now.
    fn find(&self) -> Found;

    /// How these devices are now, in their order. `None` for a device that this inventory knows nothing about: a device that nobody
    /// watches.
    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>>;

    /// Waits, at most so long, for devices to report faults of their own accord. Sources that cannot report wait and say nothing;
    /// [`Self::observe`] must find what they leave out.
    fn faults(&self, devices: &[GpuDevice], patience: Duration) -> Vec<Fault>;

    /// Can [`Self::observe`] ever tell anything? If not, nobody needs to ask.
    fn watches(&self) -> bool;
}
