package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Trit is one of three answers.
type Trit int8

const (
	// Fetch a result.
	Fetch Trit = 1
	// BreakEven: it makes no difference.
	BreakEven Trit = 0
	// Compute a result.
	Compute Trit = -1
	// TritUnknown is none of the three.
	TritUnknown Trit = -128
)

// String is "+1", "0", "-1" or "unknown".
func (t Trit) String() string {
	return word(t, "Trit", map[Trit]string{Fetch: "+1", BreakEven: "0", Compute: "-1", TritUnknown: "unknown"})
}

// Answer is what to do about a result that somebody else may have.
type Answer int32

const (
	// Compute it here.
	AnswerCompute Answer = -1
	// It makes no difference.
	AnswerBreakEven Answer = 0
	// Fetch it.
	AnswerFetch Answer = 1
	// Neither can be done here.
	AnswerImpossible Answer = 2
)

// String is "compute", "break-even", "fetch" or "impossible".
func (a Answer) String() string {
	return word(a, "Answer", map[Answer]string{
		AnswerCompute: "compute", AnswerBreakEven: "break-even", AnswerFetch: "fetch", AnswerImpossible: "impossible",
	})
}

// Obstacle is why something cannot be done here.
type Obstacle int32

const (
	// It can be done.
	ObstacleNone Obstacle = 0
	// It needs more memory than one computation may take here.
	ObstacleMemory Obstacle = 1
	// It never ends.
	ObstacleEndless Obstacle = 2
	// There is no network.
	ObstacleNetwork Obstacle = 3
	// There is no room for the result.
	ObstacleDisk Obstacle = 4
	// There is no device that the claim could get.
	ObstacleNoDevice Obstacle = 5
	// It needs more memory than the devices of the claim have.
	ObstacleDeviceMemory Obstacle = 6
	// The devices of the claim do not say how fast they are, or how much memory they have.
	ObstacleDeviceSpeed Obstacle = 7
)

// String is its name in words: "device memory".
func (o Obstacle) String() string {
	return word(o, "Obstacle", map[Obstacle]string{
		ObstacleNone: "none", ObstacleMemory: "memory", ObstacleEndless: "endless", ObstacleNetwork: "network",
		ObstacleDisk: "disk", ObstacleNoDevice: "no device", ObstacleDeviceMemory: "device memory",
		ObstacleDeviceSpeed: "device speed",
	})
}

// Bottleneck is what a computation waits for.
type Bottleneck int32

const (
	// For nothing: there is nothing to do.
	BottleneckNone Bottleneck = 0
	// For arithmetic.
	BottleneckCompute Bottleneck = 1
	// For memory.
	BottleneckMemory Bottleneck = 2
)

// String is "none", "compute" or "memory".
func (b Bottleneck) String() string {
	return word(b, "Bottleneck", map[Bottleneck]string{
		BottleneckNone: "none", BottleneckCompute: "compute", BottleneckMemory: "memory",
	})
}

// Verdict is whether to compute a result here or to fetch it, and all that this rests on.
type Verdict struct {
	// Fetch, BreakEven or Compute; TritUnknown if neither can be done.
	Trit Trit
	// The same, with a number for what cannot be done.
	Answer Answer
	// The answer in words: "fetch", "compute", "break-even", "must fetch (insufficient RAM)".
	Words string
	// What fetching saves; negative if it costs some. Forever if only fetching can be done, math.MinInt64 if only computing; 0
	// if neither.
	Score time.Duration
	// The better way is better even if it goes badly and the other one well. Otherwise begin with both, and take what comes
	// first.
	Decisive bool
	// How long computing takes.
	ComputeTime Estimate
	// How long fetching takes with all that belongs to it: asking, two round trips, the bytes, and keeping the result.
	FetchTime Estimate
	// How long keeping the result takes.
	StoreTime Estimate
	// It can be computed here; otherwise WhyNotCompute.
	CanCompute bool
	// Why it cannot be computed.
	WhyNotCompute Obstacle
	// It can be fetched; otherwise WhyNotFetch.
	CanFetch bool
	// Why it cannot be fetched.
	WhyNotFetch Obstacle
	// There is room to keep the result.
	CanStore bool
	// What computing would wait for.
	Bottleneck Bottleneck
	// How much the owner of such a machine would rather not compute on it, in thousandths: no part of any of the times.
	BiasPermille uint32
}

// Verdict tells whether to compute the result of a task here, or to fetch it from where Route leads.
func (m *Machine) Verdict(task Task) (Verdict, error) {
	c, err := m.begin()
	if err != nil {
		return Verdict{}, err
	}
	defer c.end()
	raw := C.tern_verdict_t{struct_size: C.sizeof_tern_verdict_t}
	if err := c.check(C.tern_machine_verdict(c.machine(), task.lower(), &raw, &c.err)); err != nil {
		return Verdict{}, err
	}
	return Verdict{
		Trit:          Trit(raw.trit),
		Answer:        Answer(raw.answer),
		Words:         C.GoString(&raw.words[0]),
		Score:         time.Duration(raw.score_ns),
		Decisive:      raw.decisive != 0,
		ComputeTime:   newEstimate(raw.t_compute),
		FetchTime:     newEstimate(raw.t_fetch),
		StoreTime:     newEstimate(raw.t_store),
		CanCompute:    raw.can_compute != 0,
		WhyNotCompute: Obstacle(raw.why_not_compute),
		CanFetch:      raw.can_fetch != 0,
		WhyNotFetch:   Obstacle(raw.why_not_fetch),
		CanStore:      raw.can_store != 0,
		Bottleneck:    Bottleneck(raw.bottleneck),
		BiasPermille:  uint32(raw.bias_permille),
	}, nil
}

// VerdictJSON is the same as JSON: what cannot be done has no time, and a reason beside it.
func (m *Machine) VerdictJSON(task Task) (string, error) {
	c, err := m.begin()
	if err != nil {
		return "", err
	}
	defer c.end()
	return text(c, func(into *C.char, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_machine_verdict_json(c.machine(), task.lower(), into, capacity, needed, &c.err)
	})
}
