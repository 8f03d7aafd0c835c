package ternlease

// #include <ternlease.h>
import "C"

import (
	"time"
	"unsafe"
)

// Pool is the devices of a machine, to be claimed. It is a view on a table: each device is a resource there, each claim a
// lease, and Manager leads to all that there is to ask of them. Any number of goroutines may use it at once.
//
// A machine without GPUs is no special case: there every claim is ErrEmpty at once, and Absence says why.
type Pool struct {
	handle  *handle
	manager *Manager
}

// PoolOptions say how a pool is made. What is zero is as usual.
type PoolOptions struct {
	// Which devices: "host" for those of this machine, "fake:8" for eight that do not exist, "file:/path" for those that a
	// file declares, "none". If empty: what the environment variable TERNLEASE_DEVICES says in these words, else "host".
	Devices string
	// How many claims for one slot may share a device; 0: one.
	Slots uint32
	// Hand out a device only after having seen that nobody uses it, and look again after each lease. For leases that are
	// used by other processes, which end with them: a process that keeps its CUDA context would wait for itself.
	CheckUse bool
	// With CheckUse: a device is clean if no more of its memory is used; 0: 512.
	CleanMemoryMiB uint32
	// With CheckUse: a device that is still used so long after its last lease has failed; 0: a minute.
	DrainLimit time.Duration
	// How often to look at the devices when nothing happens; 0: every second, Forever: never.
	Poll time.Duration
	// A device that had a fault is healthy again after so long without another; 0: 30 seconds.
	Recovery time.Duration
	// A deadlock is broken as soon as it arises: the proposed victim is revoked. For pools with a table of their own.
	BreakDeadlocks bool
}

func (options *PoolOptions) lower(raw *C.tern_pool_options_t, pinned *pins) {
	*raw = C.tern_pool_options_t{
		struct_size: C.sizeof_tern_pool_options_t,
		flags: flag(options.CheckUse, C.TERN_POOL_CHECK_USE) |
			flag(options.BreakDeadlocks, C.TERN_POOL_BREAK_DEADLOCKS),
		poll_us:          toUnits(options.Poll),
		drain_limit_us:   toUnits(options.DrainLimit),
		recovery_us:      toUnits(options.Recovery),
		slots:            C.uint32_t(options.Slots),
		clean_memory_mib: C.uint32_t(options.CleanMemoryMiB),
	}
	raw.devices, raw.devices_len = pinned.chars(options.Devices)
}

// OpenPool opens a pool with a table in the home that a URL names, as Open does: "host:", or "", is the pool that all
// processes of this machine share; "process:" is a private one of this process. May take a while, as it asks drivers; one that hangs is given up.
func OpenPool(url string, options PoolOptions) (*Pool, error) {
	if err := fits(); err != nil {
		return nil, err
	}
	c := newCall()
	defer c.end()
	data, length := chars(url)
	return openPool(c, options, func(raw *C.tern_pool_options_t, opened **C.tern_pool_t) C.tern_status_t {
		return C.tern_pool_open(data, length, raw, opened, &c.err)
	})
}

// Pool opens a pool on the manager's table, so that deadlocks through devices and other resources together are seen. It may
// outlive the manager: the table is there until the last that uses it is closed.
func (m *Manager) Pool(options PoolOptions) (*Pool, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return openPool(c, options, func(raw *C.tern_pool_options_t, opened **C.tern_pool_t) C.tern_status_t {
		return C.tern_pool_on(c.manager(), raw, opened, &c.err)
	})
}

func openPool(
	c *call,
	options PoolOptions,
	open func(*C.tern_pool_options_t, **C.tern_pool_t) C.tern_status_t,
) (*Pool, error) {
	var raw C.tern_pool_options_t
	var pinned pins
	defer pinned.unpin()
	options.lower(&raw, &pinned)
	var opened *C.tern_pool_t
	if err := c.check(open(&raw, &opened)); err != nil {
		return nil, err
	}
	var table *C.tern_manager_t
	if err := c.check(C.tern_pool_manager(opened, &table, &c.err)); err != nil {
		C.tern_pool_close(opened)
		return nil, err
	}
	handle := newHandle(unsafe.Pointer(opened), func(ptr unsafe.Pointer) { C.tern_pool_close((*C.tern_pool_t)(ptr)) })
	return &Pool{handle, newManager(table)}, nil
}

// Close closes the pool, and the manager that it gives. Its leases are gone with it, unless a manager or another pool is open
// on the same table, and whoever waits gets ErrClosed. It waits for calls that are running. Afterwards every call is
// ErrClosed, and closing again does nothing. The error is always nil.
func (p *Pool) Close() error {
	if p != nil {
		p.manager.Close()
		p.handle.close()
	}
	return nil
}

func (p *Pool) begin() (*call, error) {
	if p == nil {
		return nil, errClosed
	}
	return p.handle.begin()
}

// Manager is one on the pool's table, for leases, tickets and events. It is the pool's own, and closed with it.
func (p *Pool) Manager() *Manager {
	if p == nil {
		return nil
	}
	return p.manager
}

// Capacity is how many devices there are. Their places are the numbers below this.
func (p *Pool) Capacity() (int, error) {
	c, err := p.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.check(C.tern_pool_capacity(c.pool(), &c.number, &c.err)); err != nil {
		return 0, err
	}
	return int(c.number), nil
}

// PendingClaimers is how many claims wait for devices of this pool.
func (p *Pool) PendingClaimers() (uint64, error) {
	c, err := p.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.check(C.tern_pool_pending_claimers(c.pool(), &c.number, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.number), nil
}

// Absence is what is not there, and why, for people: a line for each source of devices that has none, for each device that a
// variable hides, and for each thing that was unclear.
func (p *Pool) Absence() (string, error) {
	c, err := p.begin()
	if err != nil {
		return "", err
	}
	defer c.end()
	return text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_pool_absence(c.pool(), into, capacity, needed, &c.err)
	})
}
