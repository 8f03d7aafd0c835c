package ternlease_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// With this variable the test binary is another process that uses the table which it names.
const childOf = "TERN_GO_TEST_CHILD_OF"

func TestMain(m *testing.M) {
	if url := os.Getenv(childOf); url != "" {
		child(url)
		return
	}
	os.Exit(m.Run())
}

// child opens the table, says so, stays until its input ends, and gives nothing back by itself.
func child(url string) {
	if url != "none" {
		must(ternlease.Open(url, ternlease.Options{}))
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startChild is another process, and what ends it.
func startChild(t *testing.T, url string) (pid uint32, end func()) {
	t.Helper()
	command := exec.Command(must(os.Executable()))
	command.Env = append(os.Environ(), childOf+"="+url)
	input := must(command.StdinPipe())
	output := must(command.StdoutPipe())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line := must(bufio.NewReader(output).ReadString('\n')); line != "ready\n" {
		t.Fatal(line)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			input.Close()
			command.Wait()
		}
	}
	t.Cleanup(end)
	return uint32(command.Process.Pid), end
}

func hostManager(t *testing.T) (manager *ternlease.Manager, url string) {
	t.Helper()
	url = "host:" + filepath.Join(t.TempDir(), "table")
	manager, err := ternlease.Open(url, ternlease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	return manager, url
}

func TestProcesses(t *testing.T) {
	manager, url := hostManager(t)
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	pid, end := startChild(t, url)
	host := must(manager.Host())
	if "host:"+host.Path != url || host.ProcessCount != 2 || host.Corrupt || host.Bytes == 0 {
		t.Fatalf("%+v", host)
	}
	found := 0
	for _, process := range must(manager.Processes()) {
		switch process.Process {
		case uint32(os.Getpid()):
			wantEqual(t, "leases", process.Leases, 1)
			found++
		case pid:
			wantEqual(t, "life", process.Life, ternlease.LifeLives)
			found++
		}
	}
	wantEqual(t, "processes", found, 2)

	// What is handed over ends with the other process.
	wantError(t, lease.HandTo(1), ternlease.ErrUnknownProcess)
	if err := lease.HandTo(pid); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "state", lease.State(), ternlease.Held)
	end()
	until(t, "the lease is over", func() bool { return lease.State() == ternlease.Expired })
	wantEqual(t, "reason", must(lease.Info()).Reason, ternlease.ReasonHolderDied)
}

func TestChildrenKeepALease(t *testing.T) {
	manager, _ := hostManager(t)
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	file := must(lease.KeepForChildren())
	_, end := startChild(t, "none")
	file.Close()
	notices := must(lease.Watch(soon(t)))
	wantEqual(t, "state", lease.State(), ternlease.Held)
	wantEqual(t, "life", must(manager.Processes())[1].Life, ternlease.LifeTree)
	end()
	notice, _ := next(t, notices)
	wantEqual(t, "reason", notice.Reason, ternlease.ReasonHolderDied)
}

// A claim of one process waits for a lease of another.
func TestWaitingForAnotherProcess(t *testing.T) {
	manager, url := hostManager(t)
	lease := must(manager.Acquire("gpu0", "a", ternlease.Forever))
	pid, end := startChild(t, url)
	if err := lease.HandTo(pid); err != nil {
		t.Fatal(err)
	}
	granted := make(chan ternlease.Lease)
	go func() { granted <- must(manager.Claim(soon(t), claimOf("b", "gpu0"))) }()
	pending(t, manager, 1)
	end()
	wantEqual(t, "state", (<-granted).State(), ternlease.Held)
}
