package ternlease_test

import (
	"context"
	"strconv"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func BenchmarkBare(b *testing.B) {
	for range b.N {
		ternlease.VersionNumber()
	}
}

func BenchmarkState(b *testing.B) {
	lease := must(openWith(b, ternlease.Options{}).Acquire("gpu0", "a", ternlease.Forever))
	b.ReportAllocs()
	for range b.N {
		lease.State()
	}
}

func BenchmarkStateInParallel(b *testing.B) {
	lease := must(openWith(b, ternlease.Options{}).Acquire("gpu0", "a", ternlease.Forever))
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			lease.State()
		}
	})
}

func BenchmarkRenew(b *testing.B) {
	lease := must(openWith(b, ternlease.Options{}).Acquire("gpu0", "a", ternlease.Forever))
	b.ReportAllocs()
	for range b.N {
		must(lease.Renew())
	}
}

func BenchmarkBatches(b *testing.B) {
	manager := openWith(b, ternlease.Options{})
	ids := make([]ternlease.LeaseID, 1000)
	for i := range ids {
		ids[i] = must(manager.Acquire("gpu"+strconv.Itoa(i), "a", ternlease.Forever)).ID()
	}
	states := make([]ternlease.LeaseState, len(ids))
	b.Run("States", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_ = manager.States(states, ids)
		}
	})
	b.Run("RenewAll", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			must(manager.RenewAll(ids))
		}
	})
}

func BenchmarkTryOne(b *testing.B) {
	pool := fakePool(b, "fake:8")
	b.ReportAllocs()
	for range b.N {
		_ = must(pool.TryOne()).Release()
	}
}

func BenchmarkTryClaim(b *testing.B) {
	pool := fakePool(b, "fake:8")
	claim := ternlease.GPUClaim{Holder: "a", Count: 2, Devices: []string{"0", "1", "2"}}
	b.ReportAllocs()
	for range b.N {
		_ = must(pool.TryClaim(claim)).Release()
	}
}

// From a release to the goroutine that had waited for it.
func BenchmarkHandOver(b *testing.B) {
	manager := openWith(b, ternlease.Options{})
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	for range b.N {
		ticket := must(manager.Enqueue(claimOf("b", "gpu0")))
		granted := make(chan ternlease.Lease)
		go func() { granted <- must(ticket.Wait(context.Background())) }()
		_ = lease.Release()
		lease = <-granted
	}
}
