package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Kind is what sort of work a cost is made of, and so by which of a machine's rates it is measured.
type Kind int32

const (
	// Nobody said: the longer of calculating at full speed and of moving the bytes.
	KindRoofline Kind = 0
	// Dense arithmetic with 8-byte floating-point numbers, by a good library: CostMatmul.
	KindDense64 Kind = 1
	// The same with 4-byte ones.
	KindDense32 Kind = 2
	// Reading memory from end to end, as fast as it comes: CostScan by a good library, sums, searches.
	KindStream Kind = 3
	// Copying memory: CostCopy.
	KindCopy Kind = 4
	// A few operations for each row, one after the other: CostETL.
	KindRows Kind = 5
	// Rows of text that are taken apart: CostETL of CSV or JSON.
	KindParse Kind = 6
	// Sorting by comparison: CostSort.
	KindSort Kind = 7
	// SHA-256: CostHash. For other functions, use Learned.Record.
	KindHash Kind = 8
	// Looking at each byte by a plain loop: CostScan as most programs do it.
	KindBytes Kind = 9
)

// String is its name in lower case: "dense64".
func (k Kind) String() string {
	return word(k, "Kind", map[Kind]string{
		KindRoofline: "roofline", KindDense64: "dense64", KindDense32: "dense32", KindStream: "stream", KindCopy: "copy",
		KindRows: "rows", KindParse: "parse", KindSort: "sort", KindHash: "hash", KindBytes: "bytes",
	})
}

// Learned is what earlier runs of a function taught. Zero is nothing. Keep it for each function, with its results or its
// name.
type Learned struct {
	// How many runs were measured.
	Runs uint32
	// How long they took, in thousandths of what is predicted without this.
	Permille uint32
}

// Record is what is known after one more run: it was predicted to take so long without anything learned
// (Machine.UntaughtTime), and took so long. The first run counts in full; after that each new one counts as much as all
// before it. A time of 0 or Forever teaches nothing.
func (l Learned) Record(predicted, measured time.Duration) (Learned, error) {
	c := newCall()
	defer c.end()
	runs, permille := C.uint32_t(l.Runs), C.uint32_t(l.Permille)
	status := C.tern_learned_record(&runs, &permille, toNanoseconds(predicted), toNanoseconds(measured), &c.err)
	if err := c.check(status); err != nil {
		return l, err
	}
	return Learned{uint32(runs), uint32(permille)}, nil
}

// Task is a cost, and what else a prediction needs to know. What is zero is as usual: one thread of which nothing but its
// cost is known.
type Task struct {
	// What it needs.
	Cost Cost
	// What sort of work it is.
	Kind Kind
	// On how many threads it runs; more than the machine has are as many as it has; 0: one.
	Threads uint32
	// How many bytes it reads, which must get to a GPU before it can begin there; nil: all that it has in memory, or all that
	// passes through if it keeps nothing.
	InputBytes *uint64
	// What earlier runs taught.
	Learned Learned
}

func (t *Task) lower() *C.tern_task_t {
	raw := &C.tern_task_t{
		struct_size:      C.sizeof_tern_task_t,
		cost:             t.Cost.lower(),
		kind:             C.int32_t(t.Kind),
		threads:          C.uint32_t(t.Threads),
		learned_runs:     C.uint32_t(t.Learned.Runs),
		learned_permille: C.uint32_t(t.Learned.Permille),
	}
	if t.InputBytes != nil {
		raw.flags |= C.TERN_TASK_INPUT
		raw.input_bytes = C.uint64_t(*t.InputBytes)
	}
	return raw
}
