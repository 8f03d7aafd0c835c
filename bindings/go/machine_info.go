package ternlease

// #include <ternlease.h>
import "C"

import "time"

// MachineClass is what sort of machine it is.
type MachineClass int32

const (
	// Little memory.
	MachineClassConstrained MachineClass = 1
	// It has a battery.
	MachineClassLaptop MachineClass = 2
	// Many cores, or quite a few and much memory.
	MachineClassServer MachineClass = 3
	// All others.
	MachineClassDesktop MachineClass = 4
)

// String is "constrained", "laptop", "server" or "desktop".
func (c MachineClass) String() string {
	return word(c, "MachineClass", map[MachineClass]string{
		MachineClassConstrained: "constrained", MachineClassLaptop: "laptop", MachineClassServer: "server",
		MachineClassDesktop: "desktop",
	})
}

// Network is the network, as far as the operating system knows it.
type Network int32

const (
	// Nothing leads out of this machine.
	NetworkNone Network = 0
	// Something does, and nobody says how fast it is: so it is with virtual and with wireless cards.
	NetworkUnknown Network = 1
	// The card that leads out says how fast it is. The way behind it may be slower.
	NetworkCard Network = 2
)

// String is "none", "unknown" or "card".
func (n Network) String() string {
	return word(n, "Network", map[Network]string{
		NetworkNone: "none", NetworkUnknown: "unknown", NetworkCard: "card",
	})
}

// Disk is the one with the results.
type Disk struct {
	// How large it is, in bytes.
	Total uint64
	// What is left of it.
	Free uint64
}

// Battery is that of a machine.
type Battery struct {
	// How full it is, or Unknown.
	Percent int
	// The machine runs on it now.
	InUse bool
}

// MachineInfo is what a machine can do, and had left when it was read.
type MachineInfo struct {
	// What the processor is called; cut if it is longer than 127 bytes.
	Processor string
	// What sort of machine it is.
	Class MachineClass
	// The cores of its processor.
	CoresPhysical uint32
	// Threads that it runs at one time.
	CoresLogical uint32
	// Threads that this process may run at one time.
	CoresUsable uint32
	// Its clock in MHz; 0 if nobody says.
	FreqMHz uint32
	// How much arithmetic all cores do, beside what one does times their number, in thousandths.
	CoreScalingPermille uint32
	// Operations per 1000 bytes at which neither arithmetic nor memory waits for the other, all cores together.
	RidgePermille uint64
	// Memory that this process could have, in bytes: that of the machine, or less if a group that it is in has a limit.
	MemTotal uint64
	// What is left of it.
	MemAvailable uint64
	// How much of it is taken, in thousandths; 500 if nobody knows.
	MemPressurePermille uint32
	// How much memory one computation may take.
	ComputeBudget uint64
	// Where results are kept; cut if it is longer than 1023 bytes.
	Store string
	// The disk with the results; nil if nothing is known of it.
	Disk *Disk
	// How much of the disk is taken, in thousandths; 500 if nobody knows.
	DiskPressurePermille uint32
	// The network, as far as the operating system knows it.
	Network Network
	// With NetworkCard: how fast that is, in Mbit/s.
	NetworkMbps uint64
	// Its battery; nil if it has none.
	Battery *Battery
	// How long a program takes to begin with a GPU: Machine.SetGPUStart.
	GPUStart Estimate
	// How old the rates are; Forever: they were not measured.
	Age time.Duration
}

// Info is what the machine can do, and had left when it was read.
func (m *Machine) Info() (MachineInfo, error) {
	c, err := m.begin()
	if err != nil {
		return MachineInfo{}, err
	}
	defer c.end()
	raw := C.tern_machine_info_t{struct_size: C.sizeof_tern_machine_info_t}
	if err := c.check(C.tern_machine_info(c.machine(), &raw, &c.err)); err != nil {
		return MachineInfo{}, err
	}
	info := MachineInfo{
		Processor:            C.GoString(&raw.processor[0]),
		Class:                MachineClass(raw.machine_class),
		CoresPhysical:        uint32(raw.cores_physical),
		CoresLogical:         uint32(raw.cores_logical),
		CoresUsable:          uint32(raw.cores_usable),
		FreqMHz:              uint32(raw.freq_mhz),
		CoreScalingPermille:  uint32(raw.core_scaling_permille),
		RidgePermille:        uint64(raw.ridge_permille),
		MemTotal:             uint64(raw.mem_total),
		MemAvailable:         uint64(raw.mem_available),
		MemPressurePermille:  uint32(raw.mem_pressure_permille),
		ComputeBudget:        uint64(raw.compute_budget),
		Store:                C.GoString(&raw.store[0]),
		DiskPressurePermille: uint32(raw.disk_pressure_permille),
		Network:              Network(raw.network),
		NetworkMbps:          uint64(raw.network_mbps),
		GPUStart:             newEstimate(raw.gpu_start),
		Age:                  fromUnits(raw.age_us),
	}
	if raw.known&C.TERN_MACHINE_HAS_DISK != 0 {
		info.Disk = &Disk{uint64(raw.disk_total), uint64(raw.disk_free)}
	}
	if raw.known&C.TERN_MACHINE_HAS_BATTERY != 0 {
		info.Battery = &Battery{
			Percent: known(raw.known, C.TERN_MACHINE_HAS_BATTERY_PERCENT, raw.battery_percent),
			InUse:   raw.known&C.TERN_MACHINE_ON_BATTERY != 0,
		}
	}
	return info, nil
}

// JSON is the figures as JSON, with all rates.
func (m *Machine) JSON() (string, error) {
	c, err := m.begin()
	if err != nil {
		return "", err
	}
	defer c.end()
	return text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_machine_json(c.machine(), into, capacity, needed, &c.err)
	})
}

// SetGPUStart says how long a program takes to begin with a GPU. All zero in one that has begun. Counts in advice from now on.
func (m *Machine) SetGPUStart(start Estimate) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_machine_set_gpu_start(c.machine(),
		toNanoseconds(start.Lo), toNanoseconds(start.Mid), toNanoseconds(start.Hi), &c.err))
}
