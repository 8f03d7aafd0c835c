package ternlease_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func TestPoolClaims(t *testing.T) {
	pool := fakePool(t, "fake:4")
	wantEqual(t, "capacity", must(pool.Capacity()), 4)
	pair := must(pool.Claim(soon(t), ternlease.GPUClaim{Holder: "train", Count: 2, TTL: time.Hour}))
	places := must(pair.Places())
	devices := must(pair.Devices())
	wantEqual(t, "devices", len(devices), 2)
	wantEqual(t, "device", devices[0], must(pool.Device(places[0])))
	if devices[0].PCI == "" || devices[0].UUID == "" || devices[0].MemoryMiB <= 0 || devices[0].MIG != nil {
		t.Fatal(devices[0])
	}
	wantEqual(t, "holder", must(pair.Info()).Holder, "train")

	for place, status := range must(pool.Snapshot()) {
		mine := slices.Contains(places, place)
		wantEqual(t, "leased", status.Lease == pair.ID() && status.LeaseCount == 1, mine)
		wantEqual(t, "status", must(pool.DeviceStatus(place)).Lease, status.Lease)
		wantEqual(t, "leases", len(must(pool.LeasesOn(place))), int(status.LeaseCount))
		wantEqual(t, "squatters", len(must(pool.Squatters(place))), 0)
		wantEqual(t, "health", status.Health, ternlease.Healthy)
	}
	one := must(pool.TryOne())
	two := must(pool.TryClaim(ternlease.GPUClaim{Devices: []string{"nvidia:" + "0", "1", "2", "3"}}))
	_, err := pool.TryOne()
	wantError(t, err, ternlease.ErrBusy)
	_, err = pool.TryClaim(ternlease.GPUClaim{Count: 5})
	wantError(t, err, ternlease.ErrImpossible)
	_, err = pool.TryClaim(ternlease.GPUClaim{Devices: []string{"nvidia:9"}})
	wantError(t, err, ternlease.ErrUnknownResource)
	_, err = pool.TryClaim(ternlease.GPUClaim{Vendor: ternlease.VendorAMD})
	wantError(t, err, ternlease.ErrImpossible)

	for _, lease := range []ternlease.GPULease{pair, one, two} {
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		wantError(t, lease.Release(), ternlease.ErrNotHeld)
	}
	_, err = pool.Device(4)
	wantError(t, err, ternlease.ErrBadValue)
	_, err = pool.Device(-1)
	wantError(t, err, ternlease.ErrBadValue)
	if speed := must(pool.DeviceSpeed(0)); speed.Cores < ternlease.Unknown {
		t.Fatal(speed)
	}
}

func TestPoolClaimWaitsAndIsWithdrawn(t *testing.T) {
	pool := fakePool(t, "fake:1")
	first := must(pool.TryOne())
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := pool.Claim(ctx, ternlease.GPUClaim{})
		failed <- err
	}()
	until(t, "one waits", func() bool { return must(pool.PendingClaimers()) == 1 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantEqual(t, "pending", must(pool.PendingClaimers()), 0)

	ticket := must(pool.Enqueue(ternlease.GPUClaim{TTL: time.Hour, KeepAlive: true}))
	wantEqual(t, "wait", must(ticket.ExpectedWait()).Kind, ternlease.ExpectedWaitUnknown)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	lease := must(ticket.Wait(soon(t)))
	wantEqual(t, "state", lease.State(), ternlease.Held)
	wantEqual(t, "wait", must(ticket.ExpectedWait()).Kind, ternlease.ExpectedWaitNone)
}

func TestPoolClosingWakesWhoeverWaits(t *testing.T) {
	pool, err := ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: "fake:1"})
	if err != nil {
		t.Fatal(err)
	}
	lease := must(pool.TryOne())
	failed := make(chan error)
	go func() {
		_, err := pool.Claim(context.Background(), ternlease.GPUClaim{})
		failed <- err
	}()
	until(t, "one waits", func() bool { return must(pool.PendingClaimers()) == 1 })
	pool.Close()
	wantError(t, <-failed, ternlease.ErrClosed)
	wantError(t, lease.Release(), ternlease.ErrClosed)
	wantEqual(t, "state", lease.State(), ternlease.StateUnknown)
	_, err = pool.Manager().ActiveCount()
	wantError(t, err, ternlease.ErrClosed)
}

// A lease that is kept alive is renewed long before its end, and one that is not ends.
func TestKeepAlive(t *testing.T) {
	pool := fakePool(t, "fake:2")
	kept := must(pool.TryClaim(ternlease.GPUClaim{TTL: 2 * time.Second, KeepAlive: true}))
	left := must(pool.Claim(soon(t), ternlease.GPUClaim{TTL: time.Millisecond}))
	first := must(kept.Info()).End
	until(t, "one ends", func() bool { return left.State() == ternlease.Expired })
	until(t, "the other is renewed", func() bool { return must(kept.Info()).End > first })

	manager := ticking(t)
	ticks := must(manager.Pool(ternlease.PoolOptions{Devices: "fake:1"}))
	defer ticks.Close()
	claim := ternlease.GPUClaim{TTL: 5 * ternlease.Tick, KeepAlive: true}
	if _, err := ticks.TryClaim(claim); err == nil {
		t.Fatal("kept alive without a clock")
	}
	if _, err := ticks.Claim(soon(t), claim); err == nil {
		t.Fatal("kept alive without a clock")
	}
	wantEqual(t, "given back", must(manager.ActiveCount()), 0)
}

func TestEnvironment(t *testing.T) {
	pool := fakePool(t, "fake:4")
	lease := must(pool.TryClaim(ternlease.GPUClaim{Devices: []string{"2", "3"}, Count: 2}))
	env := must(lease.Env())
	want := ternlease.Environment{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=2,3"}
	if !reflect.DeepEqual(env, want) {
		t.Fatal(env)
	}
	if byUUID := must(lease.EnvByUUID()); reflect.DeepEqual(byUUID, env) {
		t.Fatal(byUUID)
	}
	changes := ternlease.Environment{"A=1", "GONE"}
	got := changes.Apply([]string{"A=0", "GONE=x", "GONER=y", "B=2"})
	if !reflect.DeepEqual(got, []string{"GONER=y", "B=2", "A=1"}) {
		t.Fatal(got)
	}
	_, err := pool.Lease(12345).Env()
	wantError(t, err, ternlease.ErrUnknownLease)
	_, err = pool.Lease(12345).Places()
	wantError(t, err, ternlease.ErrUnknownLease)
}

func TestPoolWithoutDevices(t *testing.T) {
	pool := fakePool(t, "none")
	_, err := pool.TryOne()
	wantError(t, err, ternlease.ErrEmpty)
	_, err = pool.Claim(context.Background(), ternlease.GPUClaim{Count: 2})
	wantError(t, err, ternlease.ErrEmpty)
	wantEqual(t, "snapshot", len(must(pool.Snapshot())), 0)
	wantEqual(t, "wait", must(pool.ExpectedWait(ternlease.GPUClaim{})).Kind, ternlease.ExpectedWaitNoDevices)
	must(pool.Absence())
	_, err = ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: "nonsense"})
	wantError(t, err, ternlease.ErrBadValue)
}

func TestPoolOnAManager(t *testing.T) {
	manager := ticking(t)
	pool := must(manager.Pool(ternlease.PoolOptions{Devices: "fake:1", Slots: 2}))
	defer pool.Close()
	a := must(pool.TryClaim(ternlease.GPUClaim{Slots: 1, TTL: 5 * ternlease.Tick}))
	b := must(pool.TryClaim(ternlease.GPUClaim{Slots: 1, Parent: a.ID(), TTL: 9 * ternlease.Tick}))
	wantEqual(t, "end", must(manager.Lease(b.ID()).Info()).End, 5)
	manager.Close() // the table stays
	wantEqual(t, "state", a.State(), ternlease.Held)
	tick(t, pool.Manager(), 5)
	wantEqual(t, "state", b.State(), ternlease.Expired)
}
