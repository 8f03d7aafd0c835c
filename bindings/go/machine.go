package ternlease

/*
#include <ternlease.h>

// Written in Go: progress.go.
extern void ternGoProgress(void *user, char *step, uint32_t done, uint32_t of);

static void tern_go_progress(void *user, const char *step, uint32_t done, uint32_t of)
{
	ternGoProgress(user, (char *)step, done, of);
}

// A handle of Go is a number, which C takes for a pointer.
static void tern_go_tell(tern_machine_options_t *options, uintptr_t user)
{
	options->progress = tern_go_progress;
	options->user = (void *)user;
}
*/
import "C"

import (
	"runtime/cgo"
	"time"
	"unsafe"
)

// Machine is what this machine can do: read once, then figures that predictions are made from. Any number of goroutines may
// use it at once.
type Machine struct {
	handle *handle
}

// MachineOptions say how a machine is read. What is zero is as usual.
type MachineOptions struct {
	// Measure nothing: all rates are estimates. Takes no time.
	NoBenchmarks bool
	// Do not ask for the network: there is none.
	NoNetwork bool
	// Keep what is measured, so that next time nothing needs to be. Without this, nothing is written. To measure anew and keep
	// that: with a MaxAge of a microsecond.
	Keep bool
	// Measure anew, whatever was kept. Not together with Keep.
	Refresh bool
	// Measure the processor and the memory for at most so long; 0: 300 ms. More than a minute is a minute.
	Budget time.Duration
	// Measure the disk, too, for at most so long: writes a file without a name into the store, of 32 MiB at most, and reads it
	// again. 0: do not.
	DiskBudget time.Duration
	// Use nothing that was kept and is older; 0: seven days, Forever: of whatever age.
	MaxAge time.Duration
	// Keep what is measured in this file, and look for it there, instead of one in the user's cache directory.
	CacheFile string
	// Is told what is being measured now, and how many steps of how many are done; before ReadMachine returns.
	Progress func(step string, done, of int)
}

// ReadMachine reads this machine, and measures it as the options say. `store` is the directory where results are kept, of
// whose disk the room counts; ErrSystem if it cannot be used. Blocks the thread while it measures.
func ReadMachine(store string, options MachineOptions) (*Machine, error) {
	if err := fits(); err != nil {
		return nil, err
	}
	c := newCall()
	defer c.end()
	var pinned pins
	defer pinned.unpin()
	raw := C.tern_machine_options_t{
		struct_size: C.sizeof_tern_machine_options_t,
		flags: flag(options.NoBenchmarks, C.TERN_MACHINE_NO_BENCHMARKS) |
			flag(options.NoNetwork, C.TERN_MACHINE_NO_NETWORK) |
			flag(options.Keep, C.TERN_MACHINE_KEEP) | flag(options.Refresh, C.TERN_MACHINE_REFRESH),
		budget_us:      toUnits(options.Budget),
		disk_budget_us: toUnits(options.DiskBudget),
		max_age_us:     toUnits(options.MaxAge),
	}
	raw.cache_file, raw.cache_file_len = pinned.chars(options.CacheFile)
	if options.Progress != nil {
		told := &progress{tell: options.Progress}
		user := cgo.NewHandle(told)
		defer user.Delete()
		C.tern_go_tell(&raw, C.uintptr_t(user))
		defer told.rethrow()
	}
	data, length := chars(store)
	var opened *C.tern_machine_t
	if err := c.check(C.tern_machine_read(data, length, &raw, &opened, &c.err)); err != nil {
		return nil, err
	}
	return &Machine{newHandle(unsafe.Pointer(opened), func(ptr unsafe.Pointer) {
		C.tern_machine_close((*C.tern_machine_t)(ptr))
	})}, nil
}

// Close closes the machine. It waits for calls that are running. Afterwards every call is ErrClosed, and closing again does
// nothing. The error is always nil.
func (m *Machine) Close() error {
	if m != nil {
		m.handle.close()
	}
	return nil
}

func (m *Machine) begin() (*call, error) {
	if m == nil {
		return nil, errClosed
	}
	return m.handle.begin()
}
