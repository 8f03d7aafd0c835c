package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// libraryVerbs need nothing that is open.
var libraryVerbs = verbs{
	"version":     func(*driver, *words) string { return "OK " + ternlease.Version() },
	"status":      statusName,
	"reason":      reasonName,
	"open":        (*driver).open,
	"close":       func(d *driver, _ *words) string { d.close(); return "OK" },
	"cost":        cost,
	"nanoseconds": nanoseconds,
	"learned":     learned,
	"machine":     (*driver).readMachine,
}

var machineVerbs = verbs{
	"route":   (*driver).route,
	"verdict": (*driver).verdict,
}

func statusName(_ *driver, w *words) string {
	number, err := strconv.ParseInt(w.next(), 10, 32)
	if err != nil {
		return nonsense
	}
	name := ternlease.Status(number).String()
	if name == "TERN_STATUS_UNKNOWN" {
		name = "-"
	}
	return "OK " + name
}

func reasonName(_ *driver, w *words) string {
	reason := ternlease.Reason(w.number32())
	switch {
	case w.bad:
		return nonsense
	case reason.Class() == 0:
		return "OK -"
	default:
		return "OK " + reason.String() + " " + reason.Class().String()
	}
}

// fourNumbers are a cost.
func fourNumbers(w *words) ternlease.Cost {
	return ternlease.Cost{Flops: w.number(), MemBytes: w.number(), PeakMem: w.number(), ResultBytes: w.number()}
}

func cost(_ *driver, w *words) string {
	var made ternlease.Cost
	switch w.next() {
	case "scan":
		made = ternlease.CostScan(w.number(), w.number())
	case "sort":
		made = ternlease.CostSort(w.number(), w.number(), w.number())
	case "hash":
		made = ternlease.CostHash(w.number())
	case "matmul":
		made = ternlease.CostMatmul(w.number(), w.number(), w.number(), w.number())
	case "etl":
		made = ternlease.CostETL(w.number(), w.number(), w.number(), w.number())
	case "copy":
		made = ternlease.CostCopy(w.number())
	case "then":
		made = fourNumbers(w).Then(fourNumbers(w))
	case "par":
		made = fourNumbers(w).Par(fourNumbers(w))
	case "both":
		made = fourNumbers(w).Both(fourNumbers(w))
	case "repeat":
		made = fourNumbers(w).Repeat(w.number())
	default:
		return nonsense
	}
	if w.bad {
		return nonsense
	}
	return okay(nil, "%d %d %d %d", made.Flops, made.MemBytes, made.PeakMem, made.ResultBytes)
}

func nanoseconds(_ *driver, w *words) string {
	time := ternlease.Nanoseconds(w.number(), w.number())
	switch {
	case w.bad:
		return nonsense
	case time == math.MaxUint64:
		return "OK forever"
	default:
		return okay(nil, "%d", time)
	}
}

func learned(_ *driver, w *words) string {
	known := ternlease.Learned{Runs: w.number32(), Permille: w.number32()}
	predicted, measured := saturated(w.number(), time.Nanosecond), saturated(w.number(), time.Nanosecond)
	if w.bad {
		return nonsense
	}
	known, err := known.Record(predicted, measured)
	return okay(err, "%d %d", known.Runs, known.Permille)
}

func (d *driver) readMachine(*words) string {
	machine, err := ternlease.ReadMachine(".", ternlease.MachineOptions{NoBenchmarks: true, NoNetwork: true})
	if err == nil {
		d.machine.Close()
		d.machine = machine
	}
	return status(err)
}

func (d *driver) route(w *words) string {
	first := w.next()
	if first == "none" {
		return status(d.machine.SetRoute(nil))
	}
	route := ternlease.Route{
		RoundTrip:      saturated(w.parse(first, 64), time.Nanosecond),
		BytesPerSecond: w.number(),
		HitsPermille:   w.number32(),
	}
	if w.bad {
		return nonsense
	}
	return status(d.machine.SetRoute(&route))
}

func (d *driver) verdict(w *words) string {
	task := ternlease.Task{
		Cost:    fourNumbers(w),
		Kind:    ternlease.Kind(w.optionNumber("kind")),
		Threads: w.optionNumber("threads"),
	}
	if w.bad {
		return nonsense
	}
	verdict, err := d.machine.Verdict(task)
	return okay(err, "%s %s", trit(verdict.Trit), strings.ReplaceAll(verdict.Words, " ", "_"))
}
