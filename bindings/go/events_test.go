package ternlease_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func TestEvents(t *testing.T) {
	manager := ticking(t)
	skipped := must(manager.Acquire("gpu9", "a", ternlease.Forever))
	events := must(manager.Events(ternlease.FromNow))
	defer events.Close()
	_, err := events.TryNext()
	wantError(t, err, ternlease.ErrEmpty)

	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	tick(t, manager, 3)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	granted := must(events.Next(soon(t)))
	self := ternlease.Actor{Principal: uint32(os.Getuid()), Process: uint32(os.Getpid())}
	want := ternlease.Event{Number: granted.Number, Kind: ternlease.EventGranted, Lease: lease.ID(), Actor: self}
	wantEqual(t, "event", granted, want)
	ended := must(events.TryNext())
	want = ternlease.Event{
		Number: granted.Number + 1, Kind: ternlease.EventEnded, At: 3, Lease: lease.ID(), Reason: ternlease.ReasonReleased,
		Duration: 3 * ternlease.Tick, Actor: self,
	}
	wantEqual(t, "event", ended, want)

	must(manager.Declare("gpu1", 1, 0))
	if err := manager.SetHealth("gpu1", ternlease.Draining); err != nil {
		t.Fatal(err)
	}
	health := must(events.Next(soon(t)))
	if health.Kind != ternlease.EventHealth || health.Resource != "gpu1" || health.Health != ternlease.Draining {
		t.Fatal(health)
	}
	oldest := must(manager.Events(0))
	defer oldest.Close()
	wantEqual(t, "first", must(oldest.Next(soon(t))).Lease, skipped.ID())
}

func TestNextWaits(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	events := must(manager.Events(ternlease.FromNow))
	defer events.Close()
	for range 100 {
		told := make(chan ternlease.Event)
		go func() { told <- must(events.Next(context.Background())) }()
		lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
		wantEqual(t, "granted", (<-told).Lease, lease.ID())
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "ended", must(events.Next(soon(t))).Kind, ternlease.EventEnded)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	events := must(manager.Events(ternlease.FromNow))
	defer events.Close()
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error)
		for range 3 {
			go func() {
				_, err := events.Next(ctx)
				failed <- err
			}()
		}
		cancel()
		for range 3 {
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
	}
	// It goes on as if nobody had left.
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	wantEqual(t, "granted", must(events.Next(soon(t))).Lease, lease.ID())
}

func TestEachEventGoesToOneReader(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	events := must(manager.Events(ternlease.FromNow))
	const leases = 200
	seen := make(chan uint64, 4*leases)
	var readers sync.WaitGroup
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				event, err := events.Next(context.Background())
				if errors.Is(err, ternlease.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				seen <- event.Number
			}
		}()
	}
	for range leases {
		if err := must(manager.Acquire("gpu0", "a", ternlease.Forever)).Release(); err != nil {
			t.Fatal(err)
		}
	}
	numbers := map[uint64]bool{}
	for range 2 * leases {
		number := <-seen
		if numbers[number] {
			t.Fatal("twice: ", number)
		}
		numbers[number] = true
	}
	events.Close()
	readers.Wait()
}

func TestAllEvents(t *testing.T) {
	manager := ticking(t)
	events := must(manager.Events(0))
	defer events.Close()
	for range 3 {
		must(manager.Acquire("gpu0", "a", ternlease.Tick))
		tick(t, manager, 1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	count := 0
	events.All(ctx)(func(event ternlease.Event, err error) bool {
		if count == 6 {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			return true
		}
		count++
		if count == 6 {
			cancel()
		}
		return err == nil
	})
	wantEqual(t, "events", count, 6)

	// The end of the manager is the end of the history.
	manager.Close()
	events.All(context.Background())(func(event ternlease.Event, err error) bool {
		t.Error(event, err)
		return false
	})
}

// Whoever is about to wait when the reader is closed is told so, not what became of its descriptor.
func TestClosingAReaderBesideNext(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	for range 300 {
		events := must(manager.Events(ternlease.FromNow))
		failed := make(chan error)
		for range 4 {
			go func() {
				_, err := events.Next(context.Background())
				failed <- err
			}()
		}
		runtime.Gosched()
		events.Close()
		for range 4 {
			wantError(t, <-failed, ternlease.ErrClosed)
		}
	}
}
