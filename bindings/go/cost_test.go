package ternlease_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// evaluate reads one expression, `( sort 3 8 24 )`, from the front of the words.
func evaluate(words []string) (cost ternlease.Cost, rest []string) {
	op, rest := words[1], words[2:]
	var costs []ternlease.Cost
	var n []uint64
	for rest[0] != ")" {
		if rest[0] == "(" {
			cost, rest = evaluate(rest)
			costs = append(costs, cost)
		} else {
			n = append(n, must(strconv.ParseUint(rest[0], 10, 64)))
			rest = rest[1:]
		}
	}
	switch rest = rest[1:]; fmt.Sprintf("%s/%d/%d", op, len(costs), len(n)) {
	case "new/0/4":
		return ternlease.Cost{Flops: n[0], MemBytes: n[1], PeakMem: n[2], ResultBytes: n[3]}, rest
	case "scan/0/2":
		return ternlease.CostScan(n[0], n[1]), rest
	case "sort/0/3":
		return ternlease.CostSort(n[0], n[1], n[2]), rest
	case "hash/0/1":
		return ternlease.CostHash(n[0]), rest
	case "matmul/0/4":
		return ternlease.CostMatmul(n[0], n[1], n[2], n[3]), rest
	case "etl/0/4":
		return ternlease.CostETL(n[0], n[1], n[2], n[3]), rest
	case "copy/0/1":
		return ternlease.CostCopy(n[0]), rest
	case "then/2/0":
		return costs[0].Then(costs[1]), rest
	case "par/2/0":
		return costs[0].Par(costs[1]), rest
	case "both/2/0":
		return costs[0].Both(costs[1]), rest
	case "repeat/1/1":
		return costs[0].Repeat(n[0]), rest
	default:
		panic("no such expression: " + op)
	}
}

func TestCostVectors(t *testing.T) {
	file, err := os.Open("../../tests/vectors/fncost.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := must(csv.NewReader(file).ReadAll())[1:]
	for _, line := range lines {
		spaced := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(line[1])
		cost, rest := evaluate(strings.Fields(spaced))
		got := fmt.Sprint(cost.Flops, cost.MemBytes, cost.PeakMem, cost.ResultBytes)
		if want := strings.Join(line[2:], " "); got != want || len(rest) != 0 {
			t.Errorf("%s: %s, not %s", line[0], got, want)
		}
	}
	if len(lines) < 94 {
		t.Fatalf("only %d vectors: lines may be added, none may be lost", len(lines))
	}
}

func TestLearned(t *testing.T) {
	learned := must(ternlease.Learned{}.Record(time.Microsecond, 2*time.Microsecond))
	wantEqual(t, "first", learned, ternlease.Learned{Runs: 1, Permille: 2000})
	learned = must(learned.Record(time.Microsecond, time.Microsecond))
	wantEqual(t, "second", learned, ternlease.Learned{Runs: 2, Permille: 1414})
	wantEqual(t, "nothing", must(learned.Record(0, time.Second)), learned)
	wantEqual(t, "nothing", must(learned.Record(time.Second, ternlease.Forever)), learned)
}
