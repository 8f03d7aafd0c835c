package ternlease

// #include <ternlease.h>
import "C"

// RateOf is what is done in a second: operations or bytes; by one thread, or by all that this process may use.
type RateOf int32

const (
	// Floating-point operations with 8-byte numbers, one thread.
	RateFlop64 RateOf = 0
	// The same, all threads.
	RateFlop64All RateOf = 1
	// Floating-point operations with 4-byte numbers, one thread.
	RateFlop32 RateOf = 2
	// Bytes read from memory, one thread.
	RateRead RateOf = 3
	// The same, all threads.
	RateReadAll RateOf = 4
	// Bytes of a = b + s * c in memory, one thread: two arrays read, one written.
	RateTriad RateOf = 5
	// The same, all threads.
	RateTriadAll RateOf = 6
	// Bytes copied in memory, one thread.
	RateCopy RateOf = 7
	// The same, all threads.
	RateCopyAll RateOf = 8
	// Plain operations on whole numbers, one thread.
	RateScalar RateOf = 9
	// Bytes of text taken apart, one thread.
	RateParse RateOf = 10
	// Bytes put through SHA-256, one thread.
	RateHash RateOf = 11
	// Operations of a sort, as CostSort counts them, one thread.
	RateCompare RateOf = 12
	// Bytes that a sort moves, as counted there, one thread.
	RateShift RateOf = 13
	// Bytes that a plain loop looks at, one thread.
	RateBytes RateOf = 14
	// Bytes written to the disk with the results.
	RateDiskWrite RateOf = 15
	// Bytes read from it.
	RateDiskRead RateOf = 16
)

// String is its name in words: "flop64 all".
func (r RateOf) String() string {
	return word(r, "RateOf", map[RateOf]string{
		RateFlop64: "flop64", RateFlop64All: "flop64 all", RateFlop32: "flop32", RateRead: "read", RateReadAll: "read all",
		RateTriad: "triad", RateTriadAll: "triad all", RateCopy: "copy", RateCopyAll: "copy all", RateScalar: "scalar",
		RateParse: "parse", RateHash: "hash", RateCompare: "compare", RateShift: "shift", RateBytes: "bytes",
		RateDiskWrite: "disk write", RateDiskRead: "disk read",
	})
}

// Source is where a figure comes from, and so how far it may be trusted.
type Source int32

const (
	// Measured, often enough.
	SourceMeasured Source = 1
	// Measured, but less often than needed, or with arrays that may have stayed in a cache.
	SourceRough Source = 2
	// Worked out from what the processor says of itself.
	SourceEstimated Source = 3
)

// String is "measured", "rough" or "estimated".
func (s Source) String() string {
	return word(s, "Source", map[Source]string{
		SourceMeasured: "measured", SourceRough: "rough", SourceEstimated: "estimated",
	})
}

// Rate is how much of something a machine does in a second.
type Rate struct {
	// What the machine can do: nine of ten measurements gave less.
	PerSecond uint64
	// What it did while it was measured, beside everything else that it was doing: the middle one.
	Usual uint64
	// How far measurements lay apart, in thousandths: the middle half of them, beside the middle one.
	SpreadPermille uint32
	// Where it comes from.
	Source Source
}

// Rate is how fast the machine is at something.
func (m *Machine) Rate(which RateOf) (Rate, error) {
	c, err := m.begin()
	if err != nil {
		return Rate{}, err
	}
	defer c.end()
	raw := C.tern_rate_t{struct_size: C.sizeof_tern_rate_t}
	if err := c.check(C.tern_machine_rate(c.machine(), C.int32_t(which), &raw, &c.err)); err != nil {
		return Rate{}, err
	}
	return Rate{
		PerSecond:      uint64(raw.per_second),
		Usual:          uint64(raw.usual),
		SpreadPermille: uint32(raw.spread_permille),
		Source:         Source(raw.source),
	}, nil
}
