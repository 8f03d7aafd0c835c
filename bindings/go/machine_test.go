package ternlease_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// estimated is this machine without measuring it and without its network.
func estimated(t testing.TB) *ternlease.Machine {
	t.Helper()
	options := ternlease.MachineOptions{NoBenchmarks: true, NoNetwork: true}
	machine, err := ternlease.ReadMachine(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Close() })
	return machine
}

func TestMachineFigures(t *testing.T) {
	machine := estimated(t)
	info := must(machine.Info())
	if info.CoresUsable == 0 || info.MemTotal == 0 || info.Disk == nil || info.Store == "" || info.Class.String() == "" {
		t.Fatalf("%+v", info)
	}
	wantEqual(t, "network", info.Network, ternlease.NetworkNone)
	wantEqual(t, "age", info.Age, ternlease.Forever)
	rate := must(machine.Rate(ternlease.RateFlop64All))
	if rate.PerSecond == 0 || rate.Source != ternlease.SourceEstimated {
		t.Fatal(rate)
	}
	_, err := machine.Rate(99)
	wantError(t, err, ternlease.ErrBadValue)
	if !json.Valid([]byte(must(machine.JSON()))) {
		t.Fatal("not JSON")
	}
	start := ternlease.Estimate{Lo: 1, Mid: 2, Hi: 3}
	if err := machine.SetGPUStart(start); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "start", must(machine.Info()).GPUStart, start)
	_, err = ternlease.ReadMachine("/nowhere/at/all", ternlease.MachineOptions{NoBenchmarks: true})
	wantError(t, err, ternlease.ErrSystem)
}

func TestVerdicts(t *testing.T) {
	machine := estimated(t)
	task := ternlease.Task{Cost: ternlease.CostMatmul(1000, 1000, 1000, 8), Kind: ternlease.KindDense64}
	_, err := machine.Route()
	wantError(t, err, ternlease.ErrEmpty)
	verdict := must(machine.Verdict(task))
	if verdict.Trit != ternlease.Compute || verdict.CanFetch || verdict.WhyNotFetch != ternlease.ObstacleNetwork ||
		verdict.Score != math.MinInt64 || verdict.FetchTime.Mid != ternlease.Forever || !verdict.CanCompute {
		t.Fatalf("%+v", verdict)
	}
	wantEqual(t, "value", must(machine.CacheValue(task)), math.MinInt64)
	wantEqual(t, "fetch", must(machine.FetchTime(1)).Lo, ternlease.Forever)
	wantError(t, machine.RecordFetch(1000, time.Second), ternlease.ErrEmpty)

	route := ternlease.Route{RoundTrip: time.Millisecond, BytesPerSecond: 1e9, HitsPermille: 900}
	if err := machine.SetRoute(&route); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "route", must(machine.Route()), route)
	wantError(t, machine.SetRoute(&ternlease.Route{}), ternlease.ErrBadValue)
	task.Cost.Flops = 1e15
	verdict = must(machine.Verdict(task))
	wantEqual(t, "verdict", verdict.Words, "fetch")
	wantEqual(t, "answer", verdict.Answer, ternlease.AnswerFetch)
	if !json.Valid([]byte(must(machine.VerdictJSON(task)))) {
		t.Fatal("not JSON")
	}
	task.Kind = 99
	_, err = machine.Verdict(task)
	wantError(t, err, ternlease.ErrBadValue)
	if err := machine.SetRoute(nil); err != nil {
		t.Fatal(err)
	}
	_, err = machine.Route()
	wantError(t, err, ternlease.ErrEmpty)
}

func TestEstimates(t *testing.T) {
	machine := estimated(t)
	task := ternlease.Task{Cost: ternlease.CostHash(1 << 20), Kind: ternlease.KindHash}
	untaught := must(machine.UntaughtTime(task))
	before := must(machine.ComputeTime(task))
	if before.Lo > before.Mid || before.Mid > before.Hi || untaught <= 0 {
		t.Fatal(before, untaught)
	}
	task.Learned = must(task.Learned.Record(untaught, 3*untaught))
	if after := must(machine.ComputeTime(task)); after.Mid <= before.Mid {
		t.Fatal("nothing was learned: ", after)
	}
	if store := must(machine.StoreTime(1 << 20)); store.Mid <= 0 {
		t.Fatal(store)
	}
	wantEqual(t, "room", must(machine.CanStore(1)), 1)
	wantEqual(t, "no room", must(machine.CanStore(math.MaxUint64)), -1)
	if ttl := must(machine.SuggestTTL(task, time.Minute)); ttl < 6*time.Second {
		t.Fatal(ttl)
	}
	if buffer := must(machine.ETLBuffer(100)); buffer == 0 || buffer%100 != 0 {
		t.Fatal(buffer)
	}
	_, err := machine.ETLBuffer(math.MaxUint64)
	wantError(t, err, ternlease.ErrEmpty)
	cost := must(machine.Normalize(time.Second, 7, 8))
	if cost.Flops == 0 || cost.PeakMem != 7 || cost.ResultBytes != 8 {
		t.Fatal(cost)
	}
}

func TestAdvice(t *testing.T) {
	machine := estimated(t)
	task := ternlease.Task{Cost: ternlease.CostHash(1000), InputBytes: new(uint64)}
	advice := must(machine.Advise(task, fakePool(t, "fake:1"), ternlease.GPUClaim{}))
	if advice.Choice != ternlease.ChoiceCPU || advice.Wait.Kind != ternlease.ExpectedWaitNone || advice.Words == "" ||
		advice.Fetch.Mid != ternlease.Forever || advice.WhyNotFetch != ternlease.ObstacleNetwork {
		t.Fatalf("%+v", advice)
	}
	none := must(machine.Advise(task, fakePool(t, "none"), ternlease.GPUClaim{}))
	wantEqual(t, "obstacle", none.WhyNotGPU, ternlease.ObstacleNoDevice)
	wantEqual(t, "wait", none.Wait.Kind, ternlease.ExpectedWaitNoDevices)
	if !json.Valid([]byte(must(machine.AdviseJSON(task, fakePool(t, "fake:1"), ternlease.GPUClaim{})))) {
		t.Fatal("not JSON")
	}
	_, err := machine.Advise(task, nil, ternlease.GPUClaim{})
	wantError(t, err, ternlease.ErrClosed)
}

func TestProgressIsTold(t *testing.T) {
	steps := 0
	cache := filepath.Join(t.TempDir(), "kept")
	options := ternlease.MachineOptions{Keep: true, CacheFile: cache, NoNetwork: true, Budget: time.Millisecond}
	options.Progress = func(step string, done, of int) {
		if step == "" || done != steps || of <= done {
			t.Error(step, done, of)
		}
		steps++
	}
	machine := must(ternlease.ReadMachine(t.TempDir(), options))
	machine.Close()
	if steps == 0 {
		t.Fatal("nobody was told")
	}
}

// A panic in a callback comes out where the callback was given, and breaks nothing.
func TestPanicInProgress(t *testing.T) {
	for range 3 {
		calls := 0
		func() {
			defer func() { wantEqual(t, "panic", recover(), any("oops")) }()
			options := ternlease.MachineOptions{Refresh: true, NoNetwork: true, Budget: time.Millisecond}
			options.Progress = func(string, int, int) {
				calls++
				panic("oops")
			}
			machine, err := ternlease.ReadMachine(t.TempDir(), options)
			t.Error(machine, err)
		}()
		wantEqual(t, "calls", calls, 1)
	}
	estimated(t)
}
