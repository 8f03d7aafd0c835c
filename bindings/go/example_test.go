package ternlease_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// Two GPUs for as long as they are needed, kept alive by the library.
func Example() {
	os.Setenv("TERNLEASE_DEVICES", "fake:8") // eight GPUs that do not exist
	defer os.Unsetenv("TERNLEASE_DEVICES")
	// quick start: begin
	pool, err := ternlease.OpenPool("host:", ternlease.PoolOptions{}) // the GPUs of this machine, shared with all other programs
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // stands in line for so long
	defer cancel()
	gpus, err := pool.Claim(ctx, ternlease.GPUClaim{Count: 2, TTL: 10 * time.Second, KeepAlive: true})
	if errors.Is(err, ternlease.ErrEmpty) {
		log.Fatal("this machine has no GPU: compute on the CPU")
	} else if err != nil {
		log.Fatal(err)
	}
	defer gpus.Release()
	env, _ := gpus.Env() // for a child: cmd.Env = env.Apply(os.Environ())
	fmt.Println(gpus.State(), env)
	// quick start: end

	// Output: held [CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1]
}

// A lease on anything that has a name.
func ExampleManager_Acquire() {
	manager, err := ternlease.Open("process:", ternlease.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	lease, err := manager.Acquire("gpu0", "trainer", 30*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release()
	fmt.Println("trainer:", lease.State())

	_, err = manager.Acquire("gpu0", "notebook", 30*time.Second)
	fmt.Println("notebook is too late:", errors.Is(err, ternlease.ErrBusy))
	// Output:
	// trainer: held
	// notebook is too late: true
}

// A claim stands in line until its context is done.
func ExampleManager_Claim() {
	manager, err := ternlease.Open("process:", ternlease.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	first, err := manager.Acquire("gpu0", "trainer", time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	claim := ternlease.Claim{Holder: "notebook", Resources: []string{"gpu0"}, TTL: time.Hour}

	impatient, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = manager.Claim(impatient, claim)
	fmt.Println("gave up:", errors.Is(err, context.DeadlineExceeded))

	go first.Release()
	lease, err := manager.Claim(context.Background(), claim)
	fmt.Println("patience pays:", lease.State(), err)
	// Output:
	// gave up: true
	// patience pays: held <nil>
}

// Being told before a lease is taken away.
func ExampleLease_Watch() {
	manager, err := ternlease.Open("process:", ternlease.Options{Ticks: true})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	lease, err := manager.Acquire("gpu0", "trainer", ternlease.Forever)
	if err != nil {
		log.Fatal(err)
	}
	notices, err := lease.Watch(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	lease.Revoke(ternlease.Revocation{Reason: ternlease.ReasonPreempted, Notice: 5 * ternlease.Tick})
	for notice := range notices {
		if notice.State == ternlease.Held {
			fmt.Println("save your work until", notice.At)
			lease.Release() // saved it early
		} else {
			fmt.Println("over:", notice.Reason)
		}
	}
	// Output:
	// save your work until 5
	// over: PREEMPTED
}

// Who waits for whom in a circle, and whom to revoke.
func ExampleManager_Deadlocks() {
	manager, err := ternlease.Open("process:", ternlease.Options{Ticks: true})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	manager.Acquire("gpu0", "ann", ternlease.Forever)
	manager.Acquire("gpu1", "bob", ternlease.Forever)
	manager.Enqueue(ternlease.Claim{Holder: "ann", Resources: []string{"gpu1"}, TTL: ternlease.Forever})
	manager.Enqueue(ternlease.Claim{Holder: "bob", Resources: []string{"gpu0"}, TTL: ternlease.Forever})
	deadlocks, err := manager.Deadlocks()
	if err != nil {
		log.Fatal(err)
	}
	for _, deadlock := range deadlocks {
		fmt.Println("stuck:", deadlock.Stuck)
		manager.Lease(deadlock.Victim).Revoke(ternlease.Revocation{Reason: ternlease.ReasonDeadlockVictim})
	}
	deadlocks, err = manager.Deadlocks()
	fmt.Println(len(deadlocks), err)
	// Output:
	// stuck: [ann bob]
	// 0 <nil>
}

// Compute a result here, or fetch it?
func ExampleMachine_Verdict() {
	machine, err := ternlease.ReadMachine(".", ternlease.MachineOptions{NoBenchmarks: true, NoNetwork: true})
	if err != nil {
		log.Fatal(err)
	}
	defer machine.Close()
	task := ternlease.Task{Cost: ternlease.CostMatmul(1000, 1000, 1000, 8_000_000), Kind: ternlease.KindDense64}
	verdict, err := machine.Verdict(task)
	fmt.Println(verdict.Words, err)
	// Output: must compute (no network) <nil>
}
