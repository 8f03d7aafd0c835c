package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Estimate is a length of time, as far as it is known: most likely Mid, and rarely outside Lo and Hi. What cannot be done, or
// never ends, has Forever in all three.
type Estimate struct {
	// If all goes well.
	Lo time.Duration
	// Most likely.
	Mid time.Duration
	// If it does not.
	Hi time.Duration
}

func newEstimate(raw C.tern_estimate_t) Estimate {
	return Estimate{fromNanoseconds(raw.lo), fromNanoseconds(raw.mid), fromNanoseconds(raw.hi)}
}

func (m *Machine) estimate(ask func(*call, *C.tern_estimate_t) C.tern_status_t) (Estimate, error) {
	c, err := m.begin()
	if err != nil {
		return Estimate{}, err
	}
	defer c.end()
	var raw C.tern_estimate_t
	if err := c.check(ask(c, &raw)); err != nil {
		return Estimate{}, err
	}
	return newEstimate(raw), nil
}

// ComputeTime is how long a task takes here, with what was learned of it and whether or not its memory is there.
func (m *Machine) ComputeTime(task Task) (Estimate, error) {
	return m.estimate(func(c *call, time *C.tern_estimate_t) C.tern_status_t {
		return C.tern_machine_compute_time(c.machine(), task.lower(), time, &c.err)
	})
}

// FetchTime is how long fetching so many bytes takes, once it is known that they are there. Forever without a network.
func (m *Machine) FetchTime(bytes uint64) (Estimate, error) {
	return m.estimate(func(c *call, time *C.tern_estimate_t) C.tern_status_t {
		return C.tern_machine_fetch_time(c.machine(), C.uint64_t(bytes), time, &c.err)
	})
}

// StoreTime is how long keeping so many bytes takes, on the disk with the results.
func (m *Machine) StoreTime(bytes uint64) (Estimate, error) {
	return m.estimate(func(c *call, time *C.tern_estimate_t) C.tern_status_t {
		return C.tern_machine_store_time(c.machine(), C.uint64_t(bytes), time, &c.err)
	})
}

// UntaughtTime is how long a task takes here by the rates alone: what a measured run is to be compared with, in
// Learned.Record.
func (m *Machine) UntaughtTime(task Task) (time.Duration, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.check(C.tern_machine_untaught_time(c.machine(), task.lower(), &c.number, &c.err)); err != nil {
		return 0, err
	}
	return fromNanoseconds(c.number), nil
}

// CanStore tells whether there is room for so many bytes on the disk with the results, and some to spare. +1: yes; -1: no; 0:
// nobody knows, and one may try.
func (m *Machine) CanStore(bytes uint64) (Trit, error) {
	c, err := m.begin()
	if err != nil {
		return TritUnknown, err
	}
	defer c.end()
	trit := Trit(C.tern_machine_can_store(c.machine(), C.uint64_t(bytes), &c.err))
	if trit == TritUnknown {
		return trit, newError(&c.err)
	}
	return trit, nil
}

// SuggestTTL is for how long a result is worth keeping: the longer, the more computing it again costs beside fetching it. From
// a tenth of `base` to a thousand times as long; the longest if it cannot be fetched again, or takes no time to. Forever if
// that is longer than any lease.
func (m *Machine) SuggestTTL(task Task, base time.Duration) (time.Duration, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	status := C.tern_machine_suggest_ttl(c.machine(), task.lower(), toUnits(base), &c.number, &c.err)
	if err := c.check(status); err != nil {
		return 0, err
	}
	return fromUnits(c.number), nil
}

// ETLBuffer is how large a buffer for rows may be, in bytes: half of what a computation may take, in whole rows. ErrEmpty if
// not even one fits.
func (m *Machine) ETLBuffer(rowBytes uint64) (uint64, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.check(C.tern_machine_etl_buffer(c.machine(), C.uint64_t(rowBytes), &c.number, &c.err)); err != nil {
		return 0, err
	}
	return uint64(c.number), nil
}

// Normalize is a cost for something that took so long here: at most so much work, by the rates of this machine. To be compared
// with other costs, and not the way back to the same time elsewhere: that is Learned.Record.
func (m *Machine) Normalize(took time.Duration, peakMem, resultBytes uint64) (Cost, error) {
	c, err := m.begin()
	if err != nil {
		return Cost{}, err
	}
	defer c.end()
	var raw C.tern_cost_t
	status := C.tern_machine_normalize(c.machine(), toNanoseconds(took), C.uint64_t(peakMem), C.uint64_t(resultBytes),
		&raw, &c.err)
	if err := c.check(status); err != nil {
		return Cost{}, err
	}
	return newCost(raw), nil
}

// CacheValue is what a cached result saves each time it is fetched instead of computed; negative if it costs some. Forever if
// fetching is the only way, math.MinInt64 if it is none. The same sign as the score of a verdict, which counts the query and
// the disk as well.
func (m *Machine) CacheValue(task Task) (time.Duration, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	var value C.int64_t
	if err := c.check(C.tern_machine_cache_value(c.machine(), task.lower(), &value, &c.err)); err != nil {
		return 0, err
	}
	return time.Duration(value), nil
}
