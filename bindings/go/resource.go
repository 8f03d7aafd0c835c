package ternlease

// #include <ternlease.h>
import "C"

// Health is how a resource is.
type Health int8

const (
	// Healthy ones get leases.
	Healthy Health = 1
	// Draining ones keep the leases that they have, and get no new ones.
	Draining Health = 0
	// Failed ones do the same, and are not expected back.
	Failed Health = -1
)

// String is "healthy", "draining" or "failed".
func (h Health) String() string {
	return word(h, "Health", map[Health]string{Healthy: "healthy", Draining: "draining", Failed: "failed"})
}

// ResourceID is the number of a declared resource, for claims that spare looking up its name. 0 is none.
type ResourceID uint32

// ResourceInfo is what there is of a resource, and what is taken.
type ResourceInfo struct {
	// Its name.
	Name string
	// How many slots it has, and how many are taken.
	Slots, UsedSlots uint32
	// How much memory it has in MiB, and how much is taken.
	MemoryMiB, UsedMemoryMiB uint32
	// Shared leases on it.
	Shared uint32
	// How it is.
	Health Health
	// It was declared, not just used.
	Declared bool
}

func newResourceInfo(raw *C.tern_resource_info_t) ResourceInfo {
	return ResourceInfo{
		Name:          C.GoString(&raw.name[0]),
		Slots:         uint32(raw.slots),
		UsedSlots:     uint32(raw.used_slots),
		MemoryMiB:     uint32(raw.memory_mib),
		UsedMemoryMiB: uint32(raw.used_memory_mib),
		Shared:        uint32(raw.shared),
		Health:        Health(raw.health),
		Declared:      raw.declared != 0,
	}
}

// Declare makes a resource with so many slots and so much memory, or changes the size of one that is not in use. A name
// that is used without having been declared has one slot.
func (m *Manager) Declare(name string, slots, memoryMiB uint32) (ResourceID, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	var id C.tern_resource_t
	data, length := chars(name)
	status := C.tern_resource_declare(c.manager(), data, length, C.uint32_t(slots), C.uint32_t(memoryMiB), &id, &c.err)
	return ResourceID(id), c.check(status)
}

// SetHealth says how a declared resource is. One that is not healthy keeps its leases and gets no new ones.
func (m *Manager) SetHealth(name string, health Health) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	data, length := chars(name)
	return c.check(C.tern_resource_set_health(c.manager(), data, length, C.tern_trit_t(health), &c.err))
}

// Resource is what there is of a resource, and what is taken.
func (m *Manager) Resource(name string) (ResourceInfo, error) {
	c, err := m.begin()
	if err != nil {
		return ResourceInfo{}, err
	}
	defer c.end()
	raw := C.tern_resource_info_t{struct_size: C.sizeof_tern_resource_info_t}
	data, length := chars(name)
	if err := c.check(C.tern_resource_info(c.manager(), data, length, &raw, &c.err)); err != nil {
		return ResourceInfo{}, err
	}
	return newResourceInfo(&raw), nil
}

// Resources are all that are declared or in use, by name.
func (m *Manager) Resources() ([]ResourceInfo, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_resource_info_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_resources(c.manager(), into, capacity, needed, &c.err)
	}, newResourceInfo)
}

// LeasesOn are the leases on a resource, oldest first: who has what a claim waits for.
func (m *Manager) LeasesOn(resource string) ([]LeaseID, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	data, length := chars(resource)
	return leaseIDs(c, func(into *C.tern_lease_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_resource_leases(c.manager(), data, length, into, capacity, needed, &c.err)
	})
}
