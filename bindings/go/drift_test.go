package ternlease_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// What is in the C header is in this package: a function, a field, a flag or a number that is new there and is not followed
// here fails one of these tests.

// followed is what the sources of this package say of the header.
type followed struct {
	constants map[string]int64           // of Go: "errbusy": 1
	mentioned map[string]bool            // of C: "tern_lease_renew", "TERN_CLAIM_SPARE"
	fields    map[string]map[string]bool // of C: "tern_claim_t": "holder"
}

func readSources(t *testing.T) followed {
	t.Helper()
	found := followed{map[string]int64{}, map[string]bool{}, map[string]map[string]bool{}}
	for _, path := range must(filepath.Glob("*.go")) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.CONST {
				found.readConstants(general)
			}
			found.readMentions(declaration)
		}
	}
	return found
}

func (f followed) readConstants(group *ast.GenDecl) {
	for _, spec := range group.Specs {
		constant := spec.(*ast.ValueSpec)
		if len(constant.Values) != 1 || constant.Type == nil {
			continue
		}
		sign, value := int64(1), constant.Values[0]
		if negative, ok := value.(*ast.UnaryExpr); ok && negative.Op == token.SUB {
			sign, value = -1, negative.X
		}
		if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.INT {
			f.constants[strings.ToLower(constant.Names[0].Name)] = sign * must(strconv.ParseInt(literal.Value, 0, 64))
		}
	}
}

// readMentions notes what a declaration uses of C, and which names it uses as fields beside the structs.
func (f followed) readMentions(declaration ast.Decl) {
	var structs, names []string
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if from, ok := node.X.(*ast.Ident); ok && from.Name == "C" {
				f.mentioned[node.Sel.Name] = true
				structs = append(structs, node.Sel.Name)
			} else {
				names = append(names, node.Sel.Name)
			}
		case *ast.KeyValueExpr:
			if key, ok := node.Key.(*ast.Ident); ok {
				names = append(names, key.Name)
			}
		}
		return true
	})
	for _, name := range structs {
		if f.fields[name] == nil {
			f.fields[name] = map[string]bool{}
		}
		for _, field := range names {
			f.fields[name][field] = true
		}
	}
}

func readLines(t *testing.T, path, pattern string, least int) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(string(text), -1)
	if len(found) < least {
		t.Fatalf("only %d of %s in %s", len(found), pattern, path)
	}
	return found
}

func TestEveryFunctionIsUsed(t *testing.T) {
	// What waits, waits with Go's own poller; what calls back, calls from threads that are not Go's.
	unused := map[string]bool{"tern_lease_watch": true, "tern_events_wait": true}
	sources := readSources(t)
	for _, line := range readLines(t, "../../tests/abi/symbols.txt", `^tern_\w+$`, 100) {
		if sources.mentioned[line[0]] == unused[line[0]] {
			t.Errorf("%s: used is %v", line[0], sources.mentioned[line[0]])
		}
	}
}

func TestEveryFieldIsUsed(t *testing.T) {
	// Set by the C part of machine.go.
	elsewhere := map[string]bool{"tern_machine_options_t.progress": true, "tern_machine_options_t.user": true}
	sources := readSources(t)
	for _, line := range readLines(t, "../../tests/abi/layout.def", `^FIELD\((\w+), (\w+),`, 200) {
		name, field := line[1], line[2]
		// The library itself refuses a struct without its size.
		ours := field != "struct_size" && !strings.HasPrefix(field, "reserved") && !elsewhere[name+"."+field]
		if ours && !sources.fields[name][field] {
			t.Errorf("%s.%s is neither read nor written", name, field)
		}
	}
}

func TestEveryNumberIsKnown(t *testing.T) {
	// Written as math.MaxUint64, which means the same to every compiler; as time.Duration; or left to the library.
	without := map[string]bool{
		"TERN_FOREVER": true, "TERN_NEVER": true, "TERN_MILLISECOND": true, "TERN_SECOND": true, "TERN_NAME_MAX": true,
	}
	sources := readSources(t)
	header := map[string]int64{}
	for _, line := range readLines(t, "../../include/ternlease.h", `^    (TERN_\w+) = (-?\d+),$`, 150) {
		header[line[1]] = must(strconv.ParseInt(line[2], 10, 64))
	}
	for _, line := range readLines(t, "../../tests/abi/layout.def", `^VALUE\((\w+), (\w+|-\d+)\)$`, 200) {
		name := line[1]
		value, err := strconv.ParseInt(line[2], 0, 64)
		if in, found := header[name]; found && in != value {
			t.Errorf("%s: %d in the header, %d in the record", name, in, value)
		}
		delete(header, name)
		if without[name] || sources.mentioned[name] {
			continue
		}
		short := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "TERN_"), "_", ""))
		known, found := sources.constants[short]
		if !found {
			known, found = sources.constants["err"+short]
		}
		if err != nil || !found || known != value {
			t.Errorf("%s is %s, and here %d (%v)", name, line[2], known, found)
		}
	}
	for name := range header {
		t.Errorf("%s is not in the record", name)
	}
}

func TestVersionIsThatOfTheHeader(t *testing.T) {
	line := readLines(t, "../../include/ternlease.h", `^#define TERN_VERSION_NUMBER (\d+)$`, 1)[0]
	wantEqual(t, "version", strconv.Itoa(int(ternlease.VersionNumber())), line[1])
	if strings.Count(ternlease.Version(), ".") != 2 {
		t.Fatal(ternlease.Version())
	}
}
