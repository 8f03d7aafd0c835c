package ternlease

// #include <ternlease.h>
import "C"

import (
	"math"
	"time"
)

const (
	// Forever is without end, wherever a length of time is asked for or told.
	Forever time.Duration = math.MaxInt64

	// Tick is one tick of a manager that counts ticks (Options.Ticks): 5 * ternlease.Tick is five calls of Manager.Tick.
	// Managers with a real clock count microseconds, those with ticks count ticks in the same place.
	Tick = time.Microsecond
)

// Moment is a point of time by a manager's clock: microseconds since the machine started, or ticks so far. How long it is
// until then, Manager.Until tells.
type Moment uint64

// Never is the Moment that does not come: the end of what is without end.
const Never Moment = math.MaxUint64

// Sub is how long it is from `earlier` to m: Forever if m never comes, negative if m is the earlier one.
func (m Moment) Sub(earlier Moment) time.Duration {
	switch {
	case m == Never && earlier == Never:
		return 0
	case m < earlier:
		return -fromUnits(C.uint64_t(earlier - m))
	case m == Never:
		return Forever
	default:
		return fromUnits(C.uint64_t(m - earlier))
	}
}

// toUnits is a length of time as managers count it: rounded up, so that a short one is not none; none if negative.
func toUnits(d time.Duration) C.uint64_t {
	switch {
	case d <= 0:
		return 0
	case d == Forever:
		return math.MaxUint64
	case d%time.Microsecond != 0:
		return C.uint64_t(d/time.Microsecond) + 1
	default:
		return C.uint64_t(d / time.Microsecond)
	}
}

func fromUnits(units C.uint64_t) time.Duration {
	if units > math.MaxInt64/C.uint64_t(time.Microsecond) {
		return Forever
	}
	return time.Duration(units) * time.Microsecond
}

func toNanoseconds(d time.Duration) C.uint64_t {
	switch {
	case d <= 0:
		return 0
	case d == Forever:
		return math.MaxUint64
	default:
		return C.uint64_t(d)
	}
}

func fromNanoseconds(ns C.uint64_t) time.Duration {
	if ns >= math.MaxInt64 {
		return Forever
	}
	return time.Duration(ns)
}
