package ternlease_test

import (
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func TestLeaseFromGrantToRelease(t *testing.T) {
	manager := ticking(t)
	lease := must(manager.Acquire("gpu0", "trainer", 10*ternlease.Tick))
	wantEqual(t, "state", lease.State(), ternlease.Held)
	_, err := manager.Acquire("gpu0", "other", ternlease.Tick)
	wantError(t, err, ternlease.ErrBusy)

	tick(t, manager, 4)
	wantEqual(t, "end", must(lease.Renew()), 14)
	wantEqual(t, "end", must(lease.RenewFor(20*ternlease.Tick)), 24)
	wantEqual(t, "end", must(lease.RenewFor(ternlease.Forever)), ternlease.Never)

	want := ternlease.LeaseInfo{
		ID: lease.ID(), State: ternlease.Held, Holder: "trainer", TTL: ternlease.Forever, End: ternlease.Never, TakeCount: 1,
	}
	wantEqual(t, "info", must(lease.Info()), want)
	if takes := must(lease.Takes()); !reflect.DeepEqual(takes, []ternlease.Take{{Resource: "gpu0", Slots: 1}}) {
		t.Fatal(takes)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "state", lease.State(), ternlease.Expired)
	wantEqual(t, "reason", wantError(t, lease.Release(), ternlease.ErrNotHeld).Reason, ternlease.ReasonReleased)
}

func TestRevocation(t *testing.T) {
	manager := ticking(t)
	lease := must(manager.Acquire("gpu0", "trainer", ternlease.Forever))
	how := ternlease.Revocation{Reason: ternlease.ReasonQuota, By: "ops", Notice: 5 * ternlease.Tick}
	at, changed, err := lease.Revoke(how)
	if at != 5 || !changed || err != nil {
		t.Fatal(at, changed, err)
	}
	how.Notice = 9 * ternlease.Tick
	at, changed, err = lease.Revoke(how)
	if at != 5 || changed || err != nil {
		t.Fatal(at, changed, err)
	}
	if info := must(lease.Info()); !info.Revoking || info.Revoker != "ops" || info.Reason != ternlease.ReasonQuota {
		t.Fatal(info)
	}
	tick(t, manager, 5)
	wantEqual(t, "state", lease.State(), ternlease.Revoked)
	_, err = lease.Renew()
	wantEqual(t, "reason", wantError(t, err, ternlease.ErrNotHeld).Reason, ternlease.ReasonQuota)
	_, _, err = must(manager.Acquire("gpu1", "a", ternlease.Forever)).Revoke(ternlease.Revocation{Notice: ternlease.Forever})
	wantError(t, err, ternlease.ErrTimeTooLarge)
}

func TestSeveralLeasesInOneCall(t *testing.T) {
	manager := ticking(t)
	held := must(manager.Acquire("gpu0", "a", 5*ternlease.Tick))
	over := must(manager.Acquire("gpu1", "a", ternlease.Tick))
	gone := must(manager.Acquire("gpu2", "a", 9*ternlease.Tick))
	must2(gone.Revoke(ternlease.Revocation{}))
	tick(t, manager, 1)

	ids := []ternlease.LeaseID{held.ID(), over.ID(), gone.ID(), 0}
	states := make([]ternlease.LeaseState, len(ids))
	if err := manager.States(states, ids); err != nil {
		t.Fatal(err)
	}
	want := []ternlease.LeaseState{ternlease.Held, ternlease.Expired, ternlease.Revoked, ternlease.StateUnknown}
	if !reflect.DeepEqual(states, want) {
		t.Fatal(states)
	}
	wantEqual(t, "renewed", must(manager.RenewAll(ids)), 1)
	wantEqual(t, "end", must(held.Info()).End, 6)

	wantEqual(t, "renewed", must(manager.RenewAll(nil)), 0)
	if err := manager.States(nil, nil); err != nil {
		t.Fatal(err)
	}
	wantError(t, manager.States(states[:1], ids), ternlease.ErrBadValue)
}

func must2[A, B any](_ A, _ B, err error) {
	if err != nil {
		panic(err)
	}
}

func TestResources(t *testing.T) {
	manager := ticking(t)
	id := must(manager.Declare("gpu0", 4, 80))
	must(manager.Declare("gpu1", 1, 0))
	lease := must(manager.TryClaim(ternlease.Claim{
		Holder: "a", ResourceIDs: []ternlease.ResourceID{id}, TTL: ternlease.Forever, Slots: 2, MemoryMiB: 30,
	}))
	want := ternlease.ResourceInfo{
		Name: "gpu0", Slots: 4, UsedSlots: 2, MemoryMiB: 80, UsedMemoryMiB: 30, Health: ternlease.Healthy, Declared: true,
	}
	wantEqual(t, "resource", must(manager.Resource("gpu0")), want)
	if all := must(manager.Resources()); len(all) != 2 || all[0] != want || all[1].Name != "gpu1" {
		t.Fatal(all)
	}
	wantEqual(t, "lease", must(manager.LeasesOn("gpu0"))[0], lease.ID())
	wantEqual(t, "lease", must(manager.HeldBy("a"))[0], lease.ID())
	wantEqual(t, "leases", len(must(manager.HeldBy("nobody"))), 0)

	if err := manager.SetHealth("gpu1", ternlease.Failed); err != nil {
		t.Fatal(err)
	}
	_, err := manager.Acquire("gpu1", "a", ternlease.Forever)
	wantError(t, err, ternlease.ErrBusy)
	wantError(t, manager.SetHealth("gpu1", 7), ternlease.ErrBadValue)
	_, err = manager.Resource("gpu9")
	wantError(t, err, ternlease.ErrUnknownResource)
}

// More than fit into the first try.
func TestLongLists(t *testing.T) {
	manager := ticking(t)
	var ids []ternlease.LeaseID
	for i := range 100 {
		name := "gpu" + strings.Repeat("x", i)
		ids = append(ids, must(manager.Acquire(name, "a", ternlease.Forever)).ID())
	}
	if held := must(manager.HeldBy("a")); !reflect.DeepEqual(held, ids) {
		t.Fatal(held)
	}
	leases := must(manager.Leases())
	wantEqual(t, "leases", len(leases), 100)
	for i, info := range leases {
		wantEqual(t, "lease", info.ID, ids[i])
	}
	wantEqual(t, "active", must(manager.ActiveCount()), 100)
	if metrics := must(manager.Metrics()); !strings.Contains(metrics, "100") || strings.Contains(metrics, "\x00") {
		t.Fatal(metrics)
	}
}

func TestTimes(t *testing.T) {
	manager := openWith(t, ternlease.Options{})
	lease := must(manager.Acquire("gpu0", "a", time.Hour))
	info := must(lease.Info())
	wantEqual(t, "ttl", info.TTL, time.Hour)
	wantEqual(t, "length", info.End.Sub(info.GrantedAt), time.Hour)
	wantEqual(t, "length", info.GrantedAt.Sub(info.End), -time.Hour)
	if left := must(manager.Until(info.End)); left <= 0 || left > time.Hour {
		t.Fatal(left)
	}
	wantEqual(t, "end", must(manager.Until(ternlease.Never)), ternlease.Forever)

	// Shorter than a microsecond is not none; negative is.
	wantEqual(t, "ttl", must(must(manager.Acquire("gpu1", "a", 1)).Info()).TTL, time.Microsecond)
	_, err := manager.Acquire("gpu2", "a", -time.Hour)
	wantError(t, err, ternlease.ErrZeroTTL)
	_, err = manager.Acquire("gpu2", "a", ternlease.Forever-1)
	wantError(t, err, ternlease.ErrTimeTooLarge)
}

func TestBadInput(t *testing.T) {
	_, err := ternlease.Open("nowhere:", ternlease.Options{})
	wantError(t, err, ternlease.ErrBadURL)
	_, err = ternlease.Open("host:/nowhere/at/all", ternlease.Options{})
	failed := wantError(t, err, ternlease.ErrSystem)
	if failed.OSErrno == 0 || !errors.Is(err, syscall.ENOENT) {
		t.Fatal(failed.OSErrno)
	}
	manager := ticking(t)
	for name, want := range map[string]ternlease.Status{
		"":                       ternlease.ErrEmptyName,
		strings.Repeat("x", 256): ternlease.ErrNameTooLong,
		"a\x00b":                 ternlease.ErrBadText,
		"\xff\xfe":               ternlease.ErrBadText,
	} {
		_, err := manager.Acquire(name, "a", ternlease.Tick)
		wantError(t, err, want)
		_, err = manager.Acquire("gpu0", name, ternlease.Tick)
		wantError(t, err, want)
	}
	must(manager.Acquire(strings.Repeat("x", 255), "a", ternlease.Tick))
	_, err = manager.TryClaim(ternlease.Claim{})
	if err == nil {
		t.Fatal("a claim of nothing was granted")
	}
	_, err = manager.TryClaim(ternlease.Claim{Holder: "a", Resources: []string{"gpu0"}, TTL: 1, Priority: 40000})
	wantError(t, err, ternlease.ErrBadValue)
	wantEqual(t, "state", manager.Lease(12345).State(), ternlease.StateUnknown)
	wantError(t, manager.Lease(12345).Release(), ternlease.ErrUnknownLease)
	wantError(t, manager.Lease(12345).HandTo(1), ternlease.ErrUnsupported)
	_, err = manager.Lease(12345).KeepForChildren()
	wantError(t, err, ternlease.ErrUnsupported)
	_, err = manager.Host()
	wantError(t, err, ternlease.ErrUnsupported)
}

func TestErrorsSayWhatAndWhy(t *testing.T) {
	manager := ticking(t)
	must(manager.Acquire("gpu0", "a", ternlease.Forever))
	_, err := manager.Acquire("gpu0", "b", ternlease.Forever)
	failed := wantError(t, err, ternlease.ErrBusy)
	if errors.Is(err, ternlease.ErrTimeout) || failed.Message == "" || err.Error() != "ternlease: "+failed.Message {
		t.Fatal(err)
	}
	wantEqual(t, "name", ternlease.ErrBusy.String(), "TERN_BUSY")
	wantEqual(t, "text", ternlease.ErrBusy.Error(), "ternlease: TERN_BUSY")
	wantEqual(t, "class", ternlease.ReasonPreempted.Class(), ternlease.ClassContention)
	wantEqual(t, "class", ternlease.Reason(9).Class(), 0)
	wantEqual(t, "unknown", ternlease.Class(9).String(), "Class(9)")
}
