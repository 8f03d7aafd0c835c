package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Choice is where to do a task.
type Choice int32

const (
	// It can be done in no way that is known here.
	ChoiceInfeasible Choice = 0
	// On the processor of this machine, now.
	ChoiceCPU Choice = 1
	// On a GPU, which is free.
	ChoiceGPUNow Choice = 2
	// On a GPU, after waiting for it.
	ChoiceGPUWait Choice = 3
	// Nowhere: fetch the result.
	ChoiceFetch Choice = 4
)

// String is "infeasible", "cpu", "gpu now", "gpu wait" or "fetch".
func (c Choice) String() string {
	return word(c, "Choice", map[Choice]string{
		ChoiceInfeasible: "infeasible", ChoiceCPU: "cpu", ChoiceGPUNow: "gpu now", ChoiceGPUWait: "gpu wait",
		ChoiceFetch: "fetch",
	})
}

// ExpectedWaitKind is what is known of a wait.
type ExpectedWaitKind int32

const (
	// Not at all.
	ExpectedWaitNone ExpectedWaitKind = 0
	// About so long, if the holders keep to what they usually do.
	ExpectedWaitAbout ExpectedWaitKind = 1
	// Somebody who holds what is needed has no end and no history.
	ExpectedWaitUnknown ExpectedWaitKind = 2
	// The pool has no devices: nobody waits there, and nobody gets one.
	ExpectedWaitNoDevices ExpectedWaitKind = 3
)

// String is "none", "about", "unknown" or "no devices".
func (k ExpectedWaitKind) String() string {
	return word(k, "ExpectedWaitKind", map[ExpectedWaitKind]string{
		ExpectedWaitNone: "none", ExpectedWaitAbout: "about", ExpectedWaitUnknown: "unknown",
		ExpectedWaitNoDevices: "no devices",
	})
}

// ExpectedWait is how long a claim would wait, as far as that can be told.
type ExpectedWait struct {
	// What is known of it.
	Kind ExpectedWaitKind
	// How long; Forever if that cannot be told.
	Time time.Duration
}

// newExpectedWait reads what a call wrote.
func newExpectedWait(c *call, status C.tern_status_t) (ExpectedWait, error) {
	if err := c.check(status); err != nil {
		return ExpectedWait{}, err
	}
	return ExpectedWait{ExpectedWaitKind(c.word), fromNanoseconds(c.number)}, nil
}

// ExpectedWait is how long a claim would wait now. Asks for nothing, and changes nothing. A claim for more devices, slots or
// memory than there are is refused as by TryClaim. Its times and its parent are not looked at.
func (p *Pool) ExpectedWait(asked GPUClaim) (ExpectedWait, error) {
	c, err := p.begin()
	if err != nil {
		return ExpectedWait{}, err
	}
	defer c.end()
	var raw C.tern_gpu_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, 0, &pinned)
	return newExpectedWait(c, C.tern_pool_expected_wait(c.pool(), &raw, &c.word, &c.number, &c.err))
}

// Advice is how long a task takes in each way, the best of them, and why. A way that there is not has Forever.
type Advice struct {
	// The best way.
	Choice Choice
	// All of it in words, a line for each way, the best first; cut if it is longer than 511 bytes.
	Words string
	// The best is the best even if it goes badly and the next one well. Otherwise begin with the second while the first is under
	// way.
	Decisive bool
	// On the processor.
	CPU Estimate
	// Why it cannot be computed there.
	WhyNotCPU Obstacle
	// On the devices of the claim once it has them: starting, carrying the input there, computing, carrying the result back.
	GPU Estimate
	// The same, if they are free now.
	GPUNow Estimate
	// The same, if they are not free yet, the waiting included.
	GPUWait Estimate
	// Why it cannot be computed on the devices, however long one waits.
	WhyNotGPU Obstacle
	// How long the claim would wait.
	Wait ExpectedWait
	// Fetching the result.
	Fetch Estimate
	// Why it cannot be fetched.
	WhyNotFetch Obstacle
}

// Advise tells where to do a task: here, on a device that the claim would get now or later, or nowhere because its result can be
// fetched. Nothing is claimed, and by the time somebody claims, another may have been faster. What is checked of the claim: as
// in Pool.ExpectedWait. Of a pool without devices the advice says so.
func (m *Machine) Advise(task Task, pool *Pool, asked GPUClaim) (Advice, error) {
	raw := C.tern_advice_t{struct_size: C.sizeof_tern_advice_t}
	err := m.advise(pool, asked, func(c *call, devices *C.tern_pool_t, claim *C.tern_gpu_claim_t) error {
		return c.check(C.tern_machine_advise(c.machine(), task.lower(), devices, claim, &raw, &c.err))
	})
	if err != nil {
		return Advice{}, err
	}
	return Advice{
		Choice:      Choice(raw.choice),
		Words:       C.GoString(&raw.words[0]),
		Decisive:    raw.decisive != 0,
		CPU:         newEstimate(raw.cpu),
		WhyNotCPU:   Obstacle(raw.why_not_cpu),
		GPU:         newEstimate(raw.gpu),
		GPUNow:      newEstimate(raw.gpu_now),
		GPUWait:     newEstimate(raw.gpu_wait),
		WhyNotGPU:   Obstacle(raw.why_not_gpu),
		Wait:        ExpectedWait{ExpectedWaitKind(raw.wait), fromNanoseconds(raw.wait_ns)},
		Fetch:       newEstimate(raw.fetch),
		WhyNotFetch: Obstacle(raw.why_not_fetch),
	}, nil
}

// AdviseJSON is the same as JSON: what cannot be done has no time, and a reason beside it.
func (m *Machine) AdviseJSON(task Task, pool *Pool, asked GPUClaim) (advice string, err error) {
	err = m.advise(pool, asked, func(c *call, devices *C.tern_pool_t, claim *C.tern_gpu_claim_t) error {
		advice, err = text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
			return C.tern_machine_advise_json(
				c.machine(), task.lower(), devices, claim, into, capacity, needed, &c.err)
		})
		return err
	})
	return advice, err
}

// advise has a machine, a pool and a claim for one call.
func (m *Machine) advise(
	pool *Pool,
	asked GPUClaim,
	ask func(*call, *C.tern_pool_t, *C.tern_gpu_claim_t) error,
) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	devices, err := pool.begin()
	if err != nil {
		return err
	}
	defer devices.end()
	var raw C.tern_gpu_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, 0, &pinned)
	return ask(c, devices.pool(), &raw)
}
