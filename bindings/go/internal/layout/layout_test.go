package layout

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"testing"
)

const record = "../../../../tests/abi/layout.def"

func number(t *testing.T, text string) uintptr {
	t.Helper()
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(value)
}

func lines(t *testing.T, pattern string) [][]string {
	t.Helper()
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^`+pattern+`$`).FindAllStringSubmatch(string(text), -1)
	if len(found) < 30 {
		t.Fatalf("only %d lines of %s in %s", len(found), pattern, record)
	}
	return found
}

func TestTypesAreThoseOfTheRecord(t *testing.T) {
	recorded := lines(t, `TYPE\((\w+), (\d+), (\d+)\)`)
	for _, line := range recorded {
		name, size, align := line[1], number(t, line[2]), number(t, line[3])
		switch is, found := Types[name]; {
		case !found:
			t.Errorf("%s is not known here", name)
		case is.Size() != size || uintptr(is.Align()) != align:
			t.Errorf("%s: %d bytes, aligned to %d; not %d and %d", name, is.Size(), is.Align(), size, align)
		}
	}
	if len(recorded) != len(Types) {
		t.Errorf("%d types are known here, and %d recorded", len(Types), len(recorded))
	}
}

func TestFieldsAreThoseOfTheRecord(t *testing.T) {
	counted := map[string]int{}
	for _, line := range lines(t, `FIELD\((\w+), (\w+), (\d+), (\d+)\)`) {
		name, field, offset, size := line[1], line[2], number(t, line[3]), number(t, line[4])
		counted[name]++
		is, found := Types[name].FieldByName(field)
		if !found || is.Offset != offset || is.Type.Size() != size {
			t.Errorf("%s.%s: %d bytes at %d, not %d at %d", name, field, is.Type.Size(), is.Offset, size, offset)
		}
	}
	for name, is := range Types {
		if is.Kind() == reflect.Struct && is.NumField() != counted[name] {
			t.Errorf("%s has %d fields, and %d are recorded", name, is.NumField(), counted[name])
		}
	}
}
