package ternlease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// patience is for what happens at once, unless something is broken.
const patience = time.Minute

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must is the value of a call that cannot fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func openWith(t testing.TB, options ternlease.Options) *ternlease.Manager {
	t.Helper()
	manager, err := ternlease.Open("process:", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	return manager
}

// ticking is a manager whose time goes on by Tick alone.
func ticking(t testing.TB) *ternlease.Manager {
	t.Helper()
	return openWith(t, ternlease.Options{Ticks: true})
}

func tick(t testing.TB, manager *ternlease.Manager, times int) {
	t.Helper()
	for range times {
		if err := manager.Tick(); err != nil {
			t.Fatal(err)
		}
	}
}

func fakePool(t testing.TB, devices string) *ternlease.Pool {
	t.Helper()
	pool, err := ternlease.OpenPool("process:", ternlease.PoolOptions{Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

func wantError(t testing.TB, err error, want ternlease.Status) *ternlease.Error {
	t.Helper()
	var failed *ternlease.Error
	if !errors.Is(err, want) || !errors.As(err, &failed) {
		t.Fatalf("error is %v, not %v", err, want)
	}
	return failed
}

func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, not %v", what, got, want)
	}
}

// until waits for a condition, which must come by itself.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to this: ", what)
		}
	}
}
