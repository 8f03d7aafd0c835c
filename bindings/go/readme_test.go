package ternlease_test

import (
	"os"
	"strings"
	"testing"
)

// between is the part of a file between two texts.
func between(t *testing.T, path, begin, end string) string {
	t.Helper()
	text := string(must(os.ReadFile(path)))
	_, text, found := strings.Cut(text, begin)
	text, _, ended := strings.Cut(text, end)
	if !found || !ended {
		t.Fatalf("%s has no part from %q to %q", path, begin, end)
	}
	return text
}

// The quick start of the README is the example that is run.
func TestQuickStart(t *testing.T) {
	example := between(t, "example_test.go", "// quick start: begin\n", "\n\t// quick start: end\n")
	readme := between(t, "README.md", "func main() {\n", "\n}\n")
	wantEqual(t, "quick start", readme, example)
}
