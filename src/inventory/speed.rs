//! How fast a device is.

/// What the speed of a device can be worked out from, as its driver tells it. What is not known is `None`, and never zero.
///
/// ```
/// use ternlease::GpuSpeed;
///
/// // As many figures as are known, and the rest not.
/// let speed = GpuSpeed { cores: Some(6912), core_mhz: Some(1410), ..GpuSpeed::default() };
/// assert_eq!(speed.memory_bits, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct GpuSpeed {
    /// The CUDA cores of a whole device. Not told of a part.
    pub cores: Option<u32>,
    /// The multiprocessors of a part. Not told of a whole device.
    pub multiprocessors: Option<u32>,
    /// The highest clock of the cores, in MHz.
    pub core_mhz: Option<u32>,
    /// The highest clock of the memory, in MHz.
    pub memory_mhz: Option<u32>,
    /// How wide the way to the memory is, in bits. Of a part: its share, in eighths of the whole, as its memory is.
    pub memory_bits: Option<u32>,
    /// The highest PCIe generation: the present one drops when the device is idle.
    pub pcie_generation: Option<u32>,
    /// The highest number of PCIe lanes.
    pub pcie_lanes: Option<u32>,
}
