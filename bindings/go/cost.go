package ternlease

// #include <ternlease.h>
import "C"

// Cost is what a computation needs: four numbers and nothing else, the same on every machine, in every language and in every
// version, and so may be part of the key of a cache. No number wraps around: math.MaxUint64 means "this much or more".
type Cost struct {
	// Operations, of whatever sort the computation is made of.
	Flops uint64
	// Bytes that go to and from memory.
	MemBytes uint64
	// Bytes of memory in use at one time, at most.
	PeakMem uint64
	// Bytes of the result.
	ResultBytes uint64
}

func newCost(raw C.tern_cost_t) Cost {
	return Cost{uint64(raw.flops), uint64(raw.mem_bytes), uint64(raw.peak_mem), uint64(raw.result_bytes)}
}

func (c Cost) lower() C.tern_cost_t {
	return C.tern_cost_t{
		flops:        C.uint64_t(c.Flops),
		mem_bytes:    C.uint64_t(c.MemBytes),
		peak_mem:     C.uint64_t(c.PeakMem),
		result_bytes: C.uint64_t(c.ResultBytes),
	}
}

// CostScan is reading `bytes` once, from end to end.
func CostScan(bytes, resultBytes uint64) Cost {
	return newCost(C.tern_cost_scan(C.uint64_t(bytes), C.uint64_t(resultBytes)))
}

// CostSort is sorting so many items by comparison.
func CostSort(items, itemBytes, resultBytes uint64) Cost {
	return newCost(C.tern_cost_sort(C.uint64_t(items), C.uint64_t(itemBytes), C.uint64_t(resultBytes)))
}

// CostHash is hashing `bytes` into 32.
func CostHash(bytes uint64) Cost { return newCost(C.tern_cost_hash(C.uint64_t(bytes))) }

// CostMatmul is multiplying an m by k with a k by n matrix of 8-byte numbers.
func CostMatmul(m, n, k, resultBytes uint64) Cost {
	return newCost(C.tern_cost_matmul(C.uint64_t(m), C.uint64_t(n), C.uint64_t(k), C.uint64_t(resultBytes)))
}

// CostETL is reading so many rows, doing so many operations with each, and writing them.
func CostETL(rows, rowBytes, opsPerRow, resultBytes uint64) Cost {
	return newCost(C.tern_cost_etl(
		C.uint64_t(rows), C.uint64_t(rowBytes), C.uint64_t(opsPerRow), C.uint64_t(resultBytes)))
}

// CostCopy is copying `bytes`.
func CostCopy(bytes uint64) Cost { return newCost(C.tern_cost_copy(C.uint64_t(bytes))) }

// Then is this one, then the next, whose result it is.
func (c Cost) Then(next Cost) Cost { return newCost(C.tern_cost_then(c.lower(), next.lower())) }

// Par is this one beside another, each on processors of its own.
func (c Cost) Par(other Cost) Cost { return newCost(C.tern_cost_par(c.lower(), other.lower())) }

// Both is this one beside another on the same processors: everything adds up.
func (c Cost) Both(other Cost) Cost { return newCost(C.tern_cost_both(c.lower(), other.lower())) }

// Repeat is the same so many times, one after the other, of which the last result counts.
func (c Cost) Repeat(times uint64) Cost {
	return newCost(C.tern_cost_repeat(c.lower(), C.uint64_t(times)))
}

// Nanoseconds is how long `work` takes at `rate` per second, rounded up. math.MaxUint64 if the work has no end (it is
// math.MaxUint64), nothing does it, or it takes longer than can be said.
func Nanoseconds(work, rate uint64) uint64 {
	return uint64(C.tern_nanoseconds(C.uint64_t(work), C.uint64_t(rate)))
}
