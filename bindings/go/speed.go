package ternlease

// #include <ternlease.h>
import "C"

// DeviceSpeed is how fast a device is, by what its driver tells: nothing is measured.
type DeviceSpeed struct {
	// Floating-point operations with 8-byte numbers per second; 0: unknown, as for the four below.
	Flop64 uint64
	// Floating-point operations with 4-byte numbers.
	Flop32 uint64
	// Floating-point operations with 2-byte numbers, by the units made for matrices.
	Flop16Matrix uint64
	// Bytes to and from its memory.
	Memory uint64
	// Bytes between the machine's memory and its own.
	Link uint64
	// The CUDA cores of a whole device, not told of a part; or Unknown, as for all below.
	Cores int
	// The multiprocessors of a part, not told of a whole device.
	Multiprocessors int
	// The highest clock of the cores, in MHz.
	CoreMHz int
	// The highest clock of the memory, in MHz.
	MemoryMHz int
	// How wide the way to the memory is, in bits. Of a part: its share, in eighths of the whole, as its memory is.
	MemoryBits int
	// The highest PCIe generation: the present one drops when the device is idle.
	PCIeGeneration int
	// The highest number of PCIe lanes.
	PCIeLanes int
}

// DeviceSpeed is how fast the device in this place is.
func (p *Pool) DeviceSpeed(place int) (DeviceSpeed, error) {
	c, err := p.begin()
	if err != nil {
		return DeviceSpeed{}, err
	}
	defer c.end()
	raw := C.tern_device_speed_t{struct_size: C.sizeof_tern_device_speed_t}
	if err := c.check(C.tern_pool_device_speed(c.pool(), C.size_t(place), &raw, &c.err)); err != nil {
		return DeviceSpeed{}, err
	}
	return DeviceSpeed{
		Flop64:          uint64(raw.flop64),
		Flop32:          uint64(raw.flop32),
		Flop16Matrix:    uint64(raw.flop16_matrix),
		Memory:          uint64(raw.memory),
		Link:            uint64(raw.link),
		Cores:           known(raw.known, C.TERN_SPEED_CORES, raw.cores),
		Multiprocessors: known(raw.known, C.TERN_SPEED_MULTIPROCESSORS, raw.multiprocessors),
		CoreMHz:         known(raw.known, C.TERN_SPEED_CORE_MHZ, raw.core_mhz),
		MemoryMHz:       known(raw.known, C.TERN_SPEED_MEMORY_MHZ, raw.memory_mhz),
		MemoryBits:      known(raw.known, C.TERN_SPEED_MEMORY_BITS, raw.memory_bits),
		PCIeGeneration:  known(raw.known, C.TERN_SPEED_PCIE_GENERATION, raw.pcie_generation),
		PCIeLanes:       known(raw.known, C.TERN_SPEED_PCIE_LANES, raw.pcie_lanes),
	}, nil
}
