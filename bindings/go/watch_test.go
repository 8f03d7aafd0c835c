package ternlease_test

import (
	"context"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func next(t testing.TB, notices <-chan ternlease.Notice) (ternlease.Notice, bool) {
	t.Helper()
	select {
	case notice, open := <-notices:
		return notice, open
	case <-soon(t).Done():
		t.Fatal("nothing is told")
		return ternlease.Notice{}, false
	}
}

func TestWatch(t *testing.T) {
	manager := ticking(t)
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	notices := must(lease.Watch(context.Background()))

	must2(lease.Revoke(ternlease.Revocation{Reason: ternlease.ReasonQuota, Notice: 5 * ternlease.Tick}))
	notice, _ := next(t, notices)
	wantEqual(t, "notice", notice, ternlease.Notice{Lease: lease.ID(), State: ternlease.Held, Reason: ternlease.ReasonQuota, At: 5})
	must2(lease.Revoke(ternlease.Revocation{Reason: ternlease.ReasonOperator, Notice: 2 * ternlease.Tick}))
	notice, _ = next(t, notices)
	wantEqual(t, "earlier", notice.At, 2)
	tick(t, manager, 2)
	notice, _ = next(t, notices)
	wantEqual(t, "state", notice.State, ternlease.Revoked)
	if _, open := next(t, notices); open {
		t.Fatal("there is more after the end")
	}
	_, err := lease.Watch(context.Background())
	wantError(t, err, ternlease.ErrNotHeld)
}

func TestWatchOfAReleasedLease(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	for range 100 {
		lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
		notices := must(lease.Watch(context.Background()))
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		notice, _ := next(t, notices)
		wantEqual(t, "reason", notice.Reason, ternlease.ReasonReleased)
		if _, open := next(t, notices); open {
			t.Fatal("there is more after the end")
		}
	}
}

func TestWatchEndsWithContextAndManager(t *testing.T) {
	manager, err := ternlease.Open("process:", ternlease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	before := descriptors(t)
	ctx, cancel := context.WithCancel(context.Background())
	watched := must(lease.Watch(ctx))
	stays := must(lease.Watch(context.Background()))
	cancel()
	if _, open := next(t, watched); open {
		t.Fatal("its context is done")
	}
	// Something to tell, and nobody to hear it, hinders no end.
	must2(lease.Revoke(ternlease.Revocation{Notice: ternlease.Tick}))
	manager.Close()
	for open := true; open; {
		_, open = next(t, stays)
	}
	until(t, "all descriptors are closed", func() bool { return descriptors(t) <= before })
}
