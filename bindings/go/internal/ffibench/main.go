// What calls from Go into the library cost: a line `NAME NANOSECONDS` for each, the best of several rounds, by the public
// interface of the binding.
package main

import (
	"fmt"
	"log"
	"strconv"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

const (
	rounds = 15
	batch  = 1000
)

// best prints the time of one call out of so many.
func best(name string, calls int, call func()) {
	least := ternlease.Forever
	for range rounds {
		begin := time.Now()
		for range calls {
			call()
		}
		least = min(least, time.Since(begin))
	}
	perCall := float64(least.Nanoseconds()) / float64(calls)
	fmt.Printf("%s %.1f\n", name, perCall)
}

// bestOfBatch is best for a call that is about a thousand leases: the time of one of them.
func bestOfBatch(name string, call func()) {
	least := ternlease.Forever
	for range 10 * rounds {
		begin := time.Now()
		call()
		least = min(least, time.Since(begin))
	}
	fmt.Printf("%s %.1f\n", name, float64(least.Nanoseconds())/batch)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	manager, err := ternlease.Open("process:", ternlease.Options{})
	check(err)
	defer manager.Close()
	lease, err := manager.Acquire("gpu0", "bench", time.Hour)
	check(err)
	pool, err := ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: "fake:8"})
	check(err)
	defer pool.Close()
	ids := make([]ternlease.LeaseID, batch)
	for i := range ids {
		held, err := manager.Acquire("batch"+strconv.Itoa(i), "bench", time.Hour)
		check(err)
		ids[i] = held.ID()
	}
	states := make([]ternlease.LeaseState, batch)

	best("bare", 200_000, func() { ternlease.VersionNumber() })
	best("state", 200_000, func() {
		if lease.State() != ternlease.Held {
			log.Fatal("not held")
		}
	})
	best("renew", 200_000, func() {
		_, err := lease.Renew()
		check(err)
	})
	best("claim_release", 50_000, func() {
		gpu, err := pool.TryOne()
		check(err)
		check(gpu.Release())
	})
	bestOfBatch("states_1000", func() { check(manager.States(states, ids)) })
	bestOfBatch("renew_1000", func() {
		renewed, err := manager.RenewAll(ids)
		check(err)
		if renewed != batch {
			log.Fatal("not all were held")
		}
	})
}
