package ternlease_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
	"github.com/ternlease/ternlease/bindings/go/internal/malloc"
)

// openEverything uses one of each, and closes them.
func openEverything(t testing.TB) {
	manager := must(ternlease.Open("process:", ternlease.Options{Leases: 8, Tickets: 8, Resources: 8, History: 8}))
	defer manager.Close()
	pool := must(manager.Pool(ternlease.PoolOptions{Devices: "fake:1"}))
	defer pool.Close()
	events := must(manager.Events(0))
	defer events.Close()
	lease := must(pool.TryOne())
	must(lease.Watch(context.Background()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ticket := must(pool.Enqueue(ternlease.GPUClaim{}))
	if _, err := ticket.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(ticket.Cancel())
	must(events.Next(context.Background()))
	must(manager.Deadlocks())
}

func TestOpeningAndClosingLeaksNothing(t *testing.T) {
	rounds := 10_000
	if raceDetector {
		rounds = 1000 // as it is slow
	}
	for range 1000 {
		openEverything(t)
	}
	debug.FreeOSMemory()
	fds, tasks, kib, bytes := descriptors(t), threads(t), residentKiB(t), malloc.InUse()
	for range rounds {
		openEverything(t)
	}
	until(t, "descriptors are as before", func() bool { return descriptors(t) <= fds })
	debug.FreeOSMemory()
	tasksAfter, kibAfter, bytesAfter := threads(t), residentKiB(t), malloc.InUse()
	t.Logf("threads %d, then %d; %d KiB, then %d; %d bytes of C, then %d", tasks, tasksAfter, kib, kibAfter, bytes, bytesAfter)
	// What is lost in every round is far more than what is noise.
	if tasksAfter > tasks+50 {
		t.Errorf("%d threads, then %d", tasks, tasksAfter)
	}
	if growth := bytesAfter - bytes; growth > 100_000 {
		t.Errorf("%d bytes of C more after %d rounds", growth, rounds)
	}
	if growth := kibAfter - kib; !raceDetector && growth > rounds/2 {
		t.Errorf("%d KiB more after %d rounds", growth, rounds)
	}
}

func TestReadingMachinesLeaksNothing(t *testing.T) {
	directory := t.TempDir()
	read := func(times int) {
		for range times {
			options := ternlease.MachineOptions{NoBenchmarks: true, NoNetwork: true}
			must(ternlease.ReadMachine(directory, options)).Close()
		}
	}
	read(10)
	fds, tasks := descriptors(t), threads(t)
	read(100)
	wantEqual(t, "descriptors", descriptors(t), fds)
	if now := threads(t); now > tasks+20 {
		t.Errorf("%d threads, then %d", tasks, now)
	}
}

// callAll calls every method with zero arguments, and tells what errors came of it. None may panic.
func callAll(t *testing.T, value any) map[string]error {
	t.Helper()
	done, cancel := context.WithCancel(context.Background())
	cancel()
	errs := map[string]error{}
	object := reflect.ValueOf(value)
	for i := range object.NumMethod() {
		method, name := object.Method(i), object.Type().Method(i).Name
		var arguments []reflect.Value
		for j := range method.Type().NumIn() {
			argument := reflect.Zero(method.Type().In(j))
			if argument.Type() == reflect.TypeFor[context.Context]() {
				argument = reflect.ValueOf(done)
			}
			arguments = append(arguments, argument)
		}
		errs[name] = nil
		for _, result := range method.Call(arguments) {
			if err, ok := result.Interface().(error); ok {
				errs[name] = err
			}
		}
	}
	return errs
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	manager := must(ternlease.Open("process:", ternlease.Options{}))
	pool := must(ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: "fake:1"}))
	events := must(manager.Events(0))
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	ticket := must(manager.Enqueue(claimOf("b", "gpu0")))
	gpus := must(pool.TryOne())
	gpuTicket := must(pool.Enqueue(ternlease.GPUClaim{}))
	machine := must(ternlease.ReadMachine(t.TempDir(), ternlease.MachineOptions{NoBenchmarks: true, NoNetwork: true}))
	for range 2 {
		manager.Close()
		pool.Close()
		events.Close()
		machine.Close()
	}
	// What has no error to give: they close, or ask nobody.
	quiet := map[string]bool{
		"Close": true, "Lease": true, "Ticket": true, "Manager": true, "ID": true, "State": true, "All": true, "States": true,
	}
	for _, value := range []any{
		manager, pool, events, machine, lease, ticket, gpus, gpuTicket,
		(*ternlease.Manager)(nil), (*ternlease.Pool)(nil), (*ternlease.Events)(nil), (*ternlease.Machine)(nil),
		&ternlease.Manager{}, &ternlease.Pool{}, &ternlease.Events{}, &ternlease.Machine{},
		ternlease.Lease{}, ternlease.GPULease{}, &ternlease.Ticket{},
	} {
		for name, err := range callAll(t, value) {
			// A context that is done is noticed before the handle.
			expected := errors.Is(err, ternlease.ErrClosed) || name == "Claim" && errors.Is(err, context.Canceled)
			if !expected && !quiet[name] {
				t.Errorf("%T.%s: %v", value, name, err)
			}
		}
	}
	wantError(t, manager.States(make([]ternlease.LeaseState, 1), make([]ternlease.LeaseID, 1)), ternlease.ErrClosed)
	wantEqual(t, "state", lease.State(), ternlease.StateUnknown)
	wantEqual(t, "state", ticket.State(), ternlease.TicketUnknown)
	_, err := pool.Claim(context.Background(), ternlease.GPUClaim{})
	wantError(t, err, ternlease.ErrClosed)
}

// Whatever the other goroutines do, closing is the last that the library sees.
func TestClosingBesideCalls(t *testing.T) {
	for range 50 {
		pool := must(ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: "fake:2"}))
		events := must(pool.Manager().Events(0))
		begun := make(chan struct{})
		var begin sync.Once
		var users sync.WaitGroup
		for i := range 8 {
			users.Add(1)
			go func() {
				defer users.Done()
				for {
					lease, err := pool.Claim(context.Background(), ternlease.GPUClaim{})
					if err == nil {
						_, err = lease.Renew()
					}
					if err == nil && i%2 == 0 {
						_, err = events.TryNext()
						if errors.Is(err, ternlease.ErrEmpty) {
							err = nil
						}
					}
					if err == nil {
						err = lease.Release()
					}
					if err != nil {
						if !errors.Is(err, ternlease.ErrClosed) {
							t.Error(err)
						}
						return
					}
					begin.Do(func() { close(begun) })
				}
			}()
		}
		<-begun
		var closers sync.WaitGroup
		for range 2 {
			closers.Add(2)
			go func() { defer closers.Done(); pool.Close() }()
			go func() { defer closers.Done(); events.Close() }()
		}
		closers.Wait()
		users.Wait()
	}
}

func TestWhatIsForgottenIsClosedInTheEnd(t *testing.T) {
	before := descriptors(t)
	const forgotten = 50
	for range forgotten {
		manager := must(ternlease.Open("process:", ternlease.Options{Leases: 8, Tickets: 8, Resources: 8}))
		must(manager.Events(0))
	}
	until(t, "descriptors are as before", func() bool {
		runtime.GC()
		return descriptors(t) <= before
	})
}

// A panic of the caller's own leaves no lock behind.
func TestPanicBetweenCalls(t *testing.T) {
	manager := ticking(t)
	func() {
		defer func() { _ = recover() }()
		lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
		defer lease.Release()
		panic("oops")
	}()
	wantEqual(t, "active", must(manager.ActiveCount()), 0)
	events := must(manager.Events(0))
	func() {
		defer func() { _ = recover() }()
		events.All(context.Background())(func(ternlease.Event, error) bool { panic("oops") })
	}()
	must(events.Next(context.Background()))
	events.Close()
	manager.Close()
}

func TestHotCallsAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector, what is kept for the next call is not always kept")
	}
	pool := fakePool(t, "fake:8")
	manager := pool.Manager()
	lease := must(pool.TryOne())
	ids := []ternlease.LeaseID{lease.ID(), lease.ID()}
	states := make([]ternlease.LeaseState, len(ids))
	for name, call := range map[string]func(){
		"State":    func() { lease.State() },
		"Renew":    func() { must(lease.Renew()) },
		"States":   func() { _ = manager.States(states, ids) },
		"RenewAll": func() { must(manager.RenewAll(ids)) },
		"TryOne":   func() { _ = must(pool.TryOne()).Release() },
	} {
		if count := testing.AllocsPerRun(1000, call); count != 0 {
			t.Errorf("%s: %v allocations", name, count)
		}
	}
}
