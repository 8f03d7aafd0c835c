package ternlease

// #include <ternlease.h>
import "C"

import "strings"

// GPULease is devices, until it is released or over. It is a lease as every other, and may be copied; forgetting it releases
// nothing.
type GPULease struct {
	Lease
	pool *Pool
}

// Lease is the lease of that id, if it has devices of this pool.
func (p *Pool) Lease(id LeaseID) GPULease { return GPULease{Lease{p.Manager(), id}, p} }

// Release gives the devices back. Whoever is first in line has them before this returns. ErrNotHeld if it was over already.
func (l GPULease) Release() error {
	c, err := l.pool.begin()
	if err != nil {
		return err
	}
	defer c.end()
	if status := C.tern_gpu_lease_release(c.pool(), C.tern_lease_t(l.id), &c.err); status != C.TERN_OK {
		return c.check(status)
	}
	return nil
}

// Places are where its devices are in the pool, in the pool's order; also of a lease that is over, while it is remembered.
func (l GPULease) Places() ([]int, error) {
	c, err := l.pool.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	found, err := fill(c, 8, func(into *C.size_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_gpu_lease_devices(c.pool(), C.tern_lease_t(l.id), into, capacity, needed, &c.err)
	})
	places := make([]int, len(found))
	for i, place := range found {
		places[i] = int(place)
	}
	return places, err
}

// Devices are its devices, in the pool's order.
func (l GPULease) Devices() ([]Device, error) {
	places, err := l.Places()
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(places))
	for i, place := range places {
		if devices[i], err = l.pool.Device(place); err != nil {
			return nil, err
		}
	}
	return devices, nil
}

// Environment is changes to the environment of a child: "NAME=value" is to be set, "NAME" alone to be removed.
type Environment []string

// Apply is an environment as os.Environ gives it, with these changes:
//
//	cmd.Env = changes.Apply(os.Environ())
func (e Environment) Apply(environ []string) []string {
	changed := make(map[string]bool, len(e))
	for _, line := range e {
		name, _, _ := strings.Cut(line, "=")
		changed[name] = true
	}
	var result []string
	for _, line := range environ {
		if name, _, _ := strings.Cut(line, "="); !changed[name] {
			result = append(result, line)
		}
	}
	for _, line := range e {
		if strings.Contains(line, "=") {
			result = append(result, line)
		}
	}
	return result
}

// Env is what a child needs in its environment to see these devices and no others. NVIDIA's go by number in the order of PCI
// addresses, parts of devices by UUID.
func (l GPULease) Env() (Environment, error) { return l.env(0) }

// EnvByUUID is as Env, with UUIDs where the devices have them.
func (l GPULease) EnvByUUID() (Environment, error) { return l.env(C.TERN_ENV_BY_UUID) }

func (l GPULease) env(flags C.uint32_t) (Environment, error) {
	c, err := l.pool.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	lines, err := text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_gpu_lease_env(c.pool(), C.tern_lease_t(l.id), flags, into, capacity, needed, &c.err)
	})
	return strings.FieldsFunc(lines, func(r rune) bool { return r == '\n' }), err
}

// KeepAlive has a thread of the library's own renew the lease from now on, in time, while it is held and the pool is open.
func (l GPULease) KeepAlive() error {
	c, err := l.pool.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_gpu_lease_keep_alive(c.pool(), C.tern_lease_t(l.id), &c.err))
}
