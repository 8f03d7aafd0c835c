package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Vendor is who made a device.
type Vendor int32

const (
	// In a claim: whoever.
	VendorAny Vendor = 0
	// NVIDIA.
	VendorNVIDIA Vendor = 1
	// AMD.
	VendorAMD Vendor = 2
	// Intel.
	VendorIntel Vendor = 3
	// Anybody else.
	VendorOther Vendor = 4
)

// String is "any", "nvidia", "amd", "intel" or "other".
func (v Vendor) String() string {
	return word(v, "Vendor", map[Vendor]string{
		VendorAny: "any", VendorNVIDIA: "nvidia", VendorAMD: "amd", VendorIntel: "intel", VendorOther: "other",
	})
}

// Unknown is a number that nobody knows, where a description says so.
const Unknown = -1

// known is a number, if its bit says that it is known.
func known(bits, bit C.uint32_t, number C.uint32_t) int {
	if bits&bit == 0 {
		return Unknown
	}
	return int(number)
}

// ComputeCapability is one as NVIDIA counts it: 8.6. Zero is none.
type ComputeCapability struct{ Major, Minor uint32 }

// MIG says which part of a device a device is.
type MIG struct {
	// The number of the GPU instance.
	GPUInstance uint32
	// The number of the compute instance within it.
	ComputeInstance uint32
	// How large it is, as NVIDIA names it: "1g.10gb".
	Profile string
	// The UUID of the whole device.
	Parent string
}

// Device is what a device of a pool is. Texts that are not known are empty.
type Device struct {
	// Its name as a resource in the table.
	Key string
	// What it is called.
	Name string
	// Who made it.
	Vendor Vendor
	// Its number among the devices of its vendor, in the order of PCI addresses. There may be gaps, and it may change with
	// the next start of the machine.
	Index uint32
	// Its own name for ever: "GPU-*", or "MIG-*" for a part.
	UUID string
	// Where it sits, as CUDA reads it: "0000:07:00.0".
	PCI string
	// Its memory, or Unknown.
	MemoryMiB int
	// Its compute capability; zero if unknown.
	Compute ComputeCapability
	// The NUMA node that it is near to, or Unknown.
	NUMA int
	// Devices of one vendor with the same number have fast links among each other, each to each; or Unknown.
	Island int
	// Which part of a device it is; nil: a whole one.
	MIG *MIG
}

func newDevice(raw *C.tern_device_t) Device {
	device := Device{
		Key:       C.GoString(&raw.key[0]),
		Name:      C.GoString(&raw.name[0]),
		Vendor:    Vendor(raw.vendor),
		Index:     uint32(raw.index),
		UUID:      C.GoString(&raw.uuid[0]),
		PCI:       C.GoString(&raw.pci[0]),
		MemoryMiB: known(raw.known, C.TERN_DEVICE_MEMORY, raw.memory_mib),
		NUMA:      known(raw.known, C.TERN_DEVICE_NUMA, raw.numa),
		Island:    known(raw.known, C.TERN_DEVICE_ISLAND, raw.island),
	}
	if raw.known&C.TERN_DEVICE_COMPUTE != 0 {
		device.Compute = ComputeCapability{uint32(raw.compute_major), uint32(raw.compute_minor)}
	}
	if raw.known&C.TERN_DEVICE_MIG != 0 {
		device.MIG = &MIG{
			GPUInstance:     uint32(raw.gpu_instance),
			ComputeInstance: uint32(raw.compute_instance),
			Profile:         C.GoString(&raw.mig_profile[0]),
			Parent:          C.GoString(&raw.mig_parent[0]),
		}
	}
	return device
}

// DeviceStatus is how a device is, and who uses it. What is seen of it is as old as it says: looking asks no driver.
type DeviceStatus struct {
	// How it is.
	Health Health
	// Why it is not healthy, for people; cut if it is longer than 511 bytes.
	Trouble string
	// The oldest lease on it; 0: none.
	Lease LeaseID
	// How many leases are on it: Pool.LeasesOn tells them.
	LeaseCount uint32
	// How many slots it has, and how many leases have taken.
	Slots, LeasedSlots uint32
	// Memory that leases have taken.
	LeasedMemoryMiB uint32
	// Memory that is in use, or Unknown.
	UsedMemoryMiB int
	// How busy it was lately, in percent, or Unknown.
	BusyPercent int
	// How many processes compute on it although it has no lease: Pool.Squatters tells them.
	SquatterCount uint32
	// For how long it has been leased without being used; 0: it is used, or free, or that cannot be seen.
	Idle time.Duration
	// How old what was seen is; Forever: nobody watches it.
	Seen time.Duration
}

func newDeviceStatus(raw *C.tern_device_status_t) DeviceStatus {
	return DeviceStatus{
		Health:          Health(raw.health),
		Trouble:         C.GoString(&raw.trouble[0]),
		Lease:           LeaseID(raw.lease),
		LeaseCount:      uint32(raw.lease_count),
		Slots:           uint32(raw.slots),
		LeasedSlots:     uint32(raw.leased_slots),
		LeasedMemoryMiB: uint32(raw.leased_memory_mib),
		UsedMemoryMiB:   known(raw.known, C.TERN_DEVICE_USED_MEMORY, raw.used_memory_mib),
		BusyPercent:     known(raw.known, C.TERN_DEVICE_BUSY, raw.busy_percent),
		SquatterCount:   uint32(raw.squatter_count),
		Idle:            fromUnits(raw.idle_us),
		Seen:            fromUnits(raw.seen_us),
	}
}

// Process is one on a device: evidence, whom to ask, never whom to trust.
type Process struct {
	// Its number, as the driver gives it; in a container that may be one of outside.
	PID uint32
	// Memory it uses on the device, or Unknown.
	MemoryMiB int
	// Whose it is, where that can be seen.
	User string
	// Its program, without arguments, where that can be seen.
	Command string
}

func newProcess(raw *C.tern_process_t) Process {
	return Process{
		PID:       uint32(raw.pid),
		MemoryMiB: known(raw.known, 1, raw.memory_mib),
		User:      C.GoString(&raw.user[0]),
		Command:   C.GoString(&raw.command[0]),
	}
}

// Device is what the device in this place is. Places are numbered from 0; ErrBadValue beyond the last.
func (p *Pool) Device(place int) (Device, error) {
	c, err := p.begin()
	if err != nil {
		return Device{}, err
	}
	defer c.end()
	raw := C.tern_device_t{struct_size: C.sizeof_tern_device_t}
	if err := c.check(C.tern_pool_device(c.pool(), C.size_t(place), &raw, &c.err)); err != nil {
		return Device{}, err
	}
	return newDevice(&raw), nil
}

// DeviceStatus is how the device in this place is, and who uses it.
func (p *Pool) DeviceStatus(place int) (DeviceStatus, error) {
	c, err := p.begin()
	if err != nil {
		return DeviceStatus{}, err
	}
	defer c.end()
	raw := C.tern_device_status_t{struct_size: C.sizeof_tern_device_status_t}
	if err := c.check(C.tern_pool_device_status(c.pool(), C.size_t(place), &raw, &c.err)); err != nil {
		return DeviceStatus{}, err
	}
	return newDeviceStatus(&raw), nil
}

// Snapshot is how all devices are, in the order of their places: leases and health all at one moment.
func (p *Pool) Snapshot() ([]DeviceStatus, error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_device_status_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_pool_snapshot(c.pool(), into, capacity, needed, &c.err)
	}, newDeviceStatus)
}

// LeasesOn are the leases on the device in this place, oldest first.
func (p *Pool) LeasesOn(place int) ([]LeaseID, error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return leaseIDs(c, func(into *C.tern_lease_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_pool_leases_on(c.pool(), C.size_t(place), into, capacity, needed, &c.err)
	})
}

// Squatters are the processes that compute on the device in this place although it has no lease.
func (p *Pool) Squatters(place int) ([]Process, error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_process_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_pool_squatters(c.pool(), C.size_t(place), into, capacity, needed, &c.err)
	}, newProcess)
}
