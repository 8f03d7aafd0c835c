package ternlease_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// What the operating system says of this process.

func entries(t testing.TB, directory string) int {
	t.Helper()
	names, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func threads(t testing.TB) int     { return entries(t, "/proc/self/task") }
func descriptors(t testing.TB) int { return entries(t, "/proc/self/fd") }

// residentKiB is how much memory it has.
func residentKiB(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			return must(strconv.Atoi(strings.Fields(rest)[0]))
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
