package ternlease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func claimOf(holder string, resources ...string) ternlease.Claim {
	return ternlease.Claim{Holder: holder, Resources: resources, TTL: ternlease.Forever}
}

func pending(t testing.TB, manager *ternlease.Manager, count uint64) {
	t.Helper()
	until(t, "so many claims wait", func() bool { return must(manager.PendingClaimers()) == count })
}

func TestClaimOfSeveral(t *testing.T) {
	manager := ticking(t)
	claim := claimOf("a", "gpu0", "gpu1", "gpu2")
	claim.Count = 2
	lease := must(manager.Claim(soon(t), claim))
	takes := must(lease.Takes())
	if len(takes) != 2 || takes[0].Resource != "gpu0" || takes[1].Resource != "gpu1" {
		t.Fatal(takes)
	}
	_, err := manager.TryClaim(claim)
	wantError(t, err, ternlease.ErrBusy)
	claim.Count = 4
	_, err = manager.Claim(soon(t), claim)
	wantError(t, err, ternlease.ErrTooFewResources)
}

func TestClaimWaitsForItsTurn(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	first := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	granted := make(chan ternlease.Lease)
	go func() { granted <- must(manager.Claim(context.Background(), claimOf("b", "gpu0"))) }()
	pending(t, manager, 1)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := <-granted
	wantEqual(t, "state", second.State(), ternlease.Held)
	wantEqual(t, "pending", must(manager.PendingClaimers()), 0)
}

func TestClaimTimesOutByTheManagersClock(t *testing.T) {
	manager := ticking(t)
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	claim := claimOf("b", "gpu0")
	claim.MaxWait = 3 * ternlease.Tick
	failed := make(chan error)
	go func() {
		_, err := manager.Claim(context.Background(), claim)
		failed <- err
	}()
	pending(t, manager, 1)
	tick(t, manager, 3)
	wantEqual(t, "reason", wantError(t, <-failed, ternlease.ErrTimeout).Reason, ternlease.ReasonWaitTimedOut)

	real := openWith(t, ternlease.Options{})
	must(real.Acquire("gpu0", "a", ternlease.Forever))
	claim.MaxWait = time.Millisecond
	_, err := real.Claim(soon(t), claim)
	wantError(t, err, ternlease.ErrTimeout)
}

func TestContextWithdrawsAClaim(t *testing.T) {
	manager := ticking(t)
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	why := errors.New("nobody needs it any more")
	ctx, cancel := context.WithCancelCause(context.Background())
	failed := make(chan error)
	go func() {
		_, err := manager.Claim(ctx, claimOf("b", "gpu0"))
		failed <- err
	}()
	pending(t, manager, 1)
	cancel(why)
	err := <-failed
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Fatal(err)
	}
	wantEqual(t, "pending", must(manager.PendingClaimers()), 0)

	// One that is done before asks for nothing.
	_, err = manager.Claim(ctx, claimOf("b", "gpu1"))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantEqual(t, "leases", len(must(manager.LeasesOn("gpu1"))), 0)

	ctx, cancelDeadline := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancelDeadline()
	_, err = manager.Claim(ctx, claimOf("b", "gpu0"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// Whoever wins, the lease is the caller's or nobody's.
func TestCancellationBesideAGrantLosesNoLease(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	for range 500 {
		first := must(manager.Acquire("gpu0", "a", ternlease.Forever))
		ctx, cancel := context.WithCancel(context.Background())
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			lease, err := manager.Claim(ctx, claimOf("b", "gpu0"))
			if err == nil {
				err = lease.Release()
			} else if errors.Is(err, context.Canceled) {
				err = nil
			}
			if err != nil {
				t.Error(err)
			}
		}()
		go func() {
			defer both.Done()
			cancel()
		}()
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		both.Wait()
		cancel()
		if left := must(manager.ActiveCount()) + must(manager.PendingClaimers()); left != 0 {
			t.Fatalf("%d left over", left)
		}
	}
}

func TestClosingWakesWhoeverWaits(t *testing.T) {
	manager, err := ternlease.Open("process:", ternlease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	failed := make(chan error)
	for range 3 {
		go func() {
			_, err := manager.Claim(context.Background(), claimOf("b", "gpu0"))
			failed <- err
		}()
	}
	pending(t, manager, 3)
	manager.Close()
	for range 3 {
		wantError(t, <-failed, ternlease.ErrClosed)
	}
}

// Hundreds that wait need no hundreds of threads.
func TestWaitingBlocksNoThread(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	before := threads(t)
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	for range 300 {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			if _, err := manager.Claim(ctx, claimOf("b", "gpu0")); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
	}
	pending(t, manager, 300)
	if now := threads(t); now > before+100 {
		t.Errorf("%d threads, and %d before", now, before)
	}
	cancel()
	waiting.Wait()
	wantEqual(t, "pending", must(manager.PendingClaimers()), 0)
}

func TestTickets(t *testing.T) {
	manager := ticking(t)
	first := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	ticket := must(manager.Enqueue(claimOf("b", "gpu0", "gpu1")))
	wantEqual(t, "at once", ticket.State(), ternlease.Granted)
	wantEqual(t, "lease", must(must(ticket.Wait(soon(t))).Takes())[0].Resource, "gpu1")
	changed, err := ticket.Cancel()
	if changed || err != nil {
		t.Fatal("a lease that was told of stays the caller's: ", err)
	}

	ticket = must(manager.Enqueue(claimOf("c", "gpu0")))
	wantEqual(t, "state", ticket.State(), ternlease.InLine)
	want := ternlease.TicketInfo{ID: ticket.ID(), Holder: "c", Place: 1, Count: 1, ResourceCount: 1}
	wantEqual(t, "info", must(ticket.Info()), want)
	wantEqual(t, "resource", must(ticket.Resources())[0], "gpu0")
	wantEqual(t, "tickets", must(manager.Tickets())[0], want)

	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ticket.Wait(done); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantEqual(t, "still in line", ticket.State(), ternlease.InLine)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	lease := must(ticket.Wait(done)) // decided: told all the same
	wantEqual(t, "again", must(manager.Ticket(ticket.ID()).Wait(done)), lease)
	_, err = ticket.Info()
	wantError(t, err, ternlease.ErrEmpty)

	ticket = must(manager.Enqueue(claimOf("d", "gpu0")))
	changed, err = ticket.Cancel()
	if !changed || err != nil {
		t.Fatal(changed, err)
	}
	wantEqual(t, "state", ticket.State(), ternlease.Denied)
	_, err = ticket.Wait(soon(t))
	wantEqual(t, "reason", wantError(t, err, ternlease.ErrRefused).Reason, ternlease.ReasonCancelled)
	_, err = manager.Ticket(12345).Cancel()
	wantError(t, err, ternlease.ErrUnknownTicket)
}

// A ticket that never stood in line comes to its end as every other.
func TestTicketThatWasGrantedAtOnce(t *testing.T) {
	manager := ticking(t)
	ticket := must(manager.Enqueue(claimOf("a", "gpu0")))
	wantEqual(t, "id", ticket.ID(), 0)
	changed, err := ticket.Cancel()
	if !changed || err != nil {
		t.Fatal(changed, err)
	}
	wantEqual(t, "given back", must(manager.ActiveCount()), 0)
	wantEqual(t, "state", ticket.State(), ternlease.Denied)
	_, err = ticket.Wait(soon(t))
	wantEqual(t, "reason", wantError(t, err, ternlease.ErrRefused).Reason, ternlease.ReasonCancelled)
	changed, err = ticket.Cancel()
	if changed || err != nil {
		t.Fatal(changed, err)
	}
}

func TestCancelWakesWhoeverWaits(t *testing.T) {
	manager := ticking(t)
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	ticket := must(manager.Enqueue(claimOf("b", "gpu0")))
	failed := make(chan error)
	for range 2 {
		go func() {
			_, err := ticket.Wait(context.Background())
			failed <- err
		}()
	}
	must(ticket.Cancel())
	for range 2 {
		wantEqual(t, "reason", wantError(t, <-failed, ternlease.ErrRefused).Reason, ternlease.ReasonCancelled)
	}
}
