package ternlease_test

import (
	"reflect"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func TestDeadlocks(t *testing.T) {
	manager := ticking(t)
	wantEqual(t, "deadlocks", len(must(manager.Deadlocks())), 0)
	a := must(manager.Acquire("gpu0", "x", ternlease.Forever))
	b := must(manager.Acquire("gpu1", "y", ternlease.Forever))
	forB := must(manager.Enqueue(claimOf("x", "gpu1")))
	forA := must(manager.Enqueue(claimOf("y", "gpu0")))
	want := []ternlease.Deadlock{{
		Victim: b.ID(),
		Stuck:  []string{"x", "y"},
		Cycle: []ternlease.Wait{
			{Worker: "y", Ticket: forA.ID(), Lease: a.ID()},
			{Worker: "x", Ticket: forB.ID(), Lease: b.ID()},
		},
	}}
	if found := must(manager.Deadlocks()); !reflect.DeepEqual(found, want) {
		t.Fatalf("%+v", found)
	}
	must2(b.Revoke(ternlease.Revocation{Reason: ternlease.ReasonDeadlockVictim}))
	wantEqual(t, "deadlocks", len(must(manager.Deadlocks())), 0)
	wantEqual(t, "counted", must(manager.Count(ternlease.ReasonDeadlockVictim)), 1)
	wantEqual(t, "revocations", must(manager.Revocations()), 1)
	must(forB.Wait(soon(t)))
	must(forA.Cancel())
}

func TestWants(t *testing.T) {
	manager := ticking(t)
	must(manager.Acquire("gpu0", "x", ternlease.Forever))
	must(manager.Acquire("gpu1", "y", ternlease.Forever))
	for holder, resource := range map[string]string{"x": "gpu1", "y": "gpu0"} {
		if err := manager.Want(holder, resource); err != nil {
			t.Fatal(err)
		}
	}
	wantEqual(t, "deadlocks", len(must(manager.Deadlocks())), 1)
	if err := manager.Unwant("x", "gpu1"); err != nil {
		t.Fatal(err)
	}
	wantError(t, manager.Unwant("x", "gpu1"), ternlease.ErrUnknownWant)
	wantEqual(t, "deadlocks", len(must(manager.Deadlocks())), 0)
}

func TestOptions(t *testing.T) {
	breaking := openWith(t, ternlease.Options{Ticks: true, BreakDeadlocks: true})
	must(breaking.Acquire("gpu0", "x", ternlease.Forever))
	b := must(breaking.Acquire("gpu1", "y", ternlease.Forever))
	must(breaking.Enqueue(claimOf("x", "gpu1")))
	must(breaking.Enqueue(claimOf("y", "gpu0")))
	wantEqual(t, "state", b.State(), ternlease.Revoked)

	open := openWith(t, ternlease.Options{OpenHouse: true})
	must(open.Acquire("gpu0", "x", ternlease.Forever))
	must(open.Acquire("gpu0", "y", ternlease.Forever))

	small := openWith(t, ternlease.Options{Leases: 1, Tickets: 1, Resources: 2, History: 1})
	must(small.Acquire("gpu0", "x", ternlease.Forever))
	_, err := small.Acquire("gpu1", "x", ternlease.Forever)
	wantError(t, err, ternlease.ErrFull)
}
