package ternlease

// #include <ternlease.h>
import "C"

import (
	"time"
	"unsafe"
)

// Manager is a table of leases on named resources. Any number of goroutines may use it at once.
type Manager struct {
	handle *handle
}

// Options say how a new table is made. What is zero is as usual.
type Options struct {
	// Time is counted in calls of Manager.Tick, not in microseconds: see Tick.
	Ticks bool
	// Manager.Acquire never refuses: any number of holders may have a lease on one name, and every holder is taken to
	// want the resource that bears its own name.
	OpenHouse bool
	// A deadlock is broken as soon as it arises: the proposed victim is revoked.
	BreakDeadlocks bool
	// Leases held at the same time; 0: 65,536, or 4,096 if processes share the table.
	Leases uint32
	// Claims waiting at the same time; 0: 16,384, or 4,096 if processes share the table.
	Tickets uint32
	// Resources known at the same time; 0: 65,536, or 4,096 if processes share the table.
	Resources uint32
	// Ended leases, decided tickets and events that are remembered; 0: 1,024.
	History uint32
}

// Open opens the table that a URL names: "process:" is a new one, of this process alone; "host:", "host:NAME" and
// "host:/PATH" are tables that all processes of this machine share. A table that others have made keeps its limits.
func Open(url string, options Options) (*Manager, error) {
	if err := fits(); err != nil {
		return nil, err
	}
	c := newCall()
	defer c.end()
	raw := C.tern_options_t{
		struct_size: C.sizeof_tern_options_t,
		flags: flag(options.Ticks, C.TERN_OPTION_TICKS) | flag(options.OpenHouse, C.TERN_OPTION_OPEN_HOUSE) |
			flag(options.BreakDeadlocks, C.TERN_OPTION_BREAK_DEADLOCKS),
		leases:    C.uint32_t(options.Leases),
		tickets:   C.uint32_t(options.Tickets),
		resources: C.uint32_t(options.Resources),
		history:   C.uint32_t(options.History),
	}
	data, length := chars(url)
	var opened *C.tern_manager_t
	if err := c.check(C.tern_manager_open(data, length, &raw, &opened, &c.err)); err != nil {
		return nil, err
	}
	return newManager(opened), nil
}

func newManager(opened *C.tern_manager_t) *Manager {
	return &Manager{newHandle(unsafe.Pointer(opened), func(ptr unsafe.Pointer) {
		C.tern_manager_close((*C.tern_manager_t)(ptr))
	})}
}

// flag is a bit of a set, if it is wanted.
func flag(wanted bool, bit C.uint64_t) C.uint64_t {
	if wanted {
		return bit
	}
	return 0
}

// Close closes the manager: its leases are gone with it (of a shared table: those of this process), and whoever waits gets
// ErrClosed. It waits for calls that are running. Afterwards every call is ErrClosed, and closing again does nothing. The
// error is always nil.
func (m *Manager) Close() error {
	if m != nil {
		m.handle.close()
	}
	return nil
}

// begin starts a call that can fail.
func (m *Manager) begin() (*call, error) {
	if m == nil {
		return nil, errClosed
	}
	return m.handle.begin()
}

// Tick counts one tick. With a real clock it only brings the table up to date.
func (m *Manager) Tick() error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_manager_tick(c.manager(), &c.err))
}

// Now is the time by the manager's clock.
func (m *Manager) Now() (Moment, error) {
	now, err := m.counter(func(c *call) C.tern_status_t {
		return C.tern_manager_tick_count(c.manager(), &c.number, &c.err)
	})
	return Moment(now), err
}

// Until is how long it is from now until then; Forever if that never comes, negative if it has passed.
func (m *Manager) Until(then Moment) (time.Duration, error) {
	now, err := m.Now()
	if err != nil {
		return 0, err
	}
	return then.Sub(now), nil
}
