package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// words are those of a step: some come in order, options come in any. One that is missing or makes no sense is remembered.
type words struct {
	all, plain []string
	bad        bool
}

func newWords(line string) *words {
	w := &words{all: strings.Fields(line)}
	for _, word := range w.all {
		// A URL may have options of its own.
		if key, _, option := strings.Cut(word, "="); !option || strings.Contains(key, ":") {
			w.plain = append(w.plain, word)
		}
	}
	return w
}

func (w *words) next() string {
	if len(w.plain) == 0 {
		w.bad = true
		return ""
	}
	word := w.plain[0]
	w.plain = w.plain[1:]
	return word
}

// has tells whether the word is there, by itself.
func (w *words) has(word string) bool { return slices.Contains(w.all, word) }

// option is what stands behind `key=`.
func (w *words) option(key string) (string, bool) {
	for _, word := range w.all {
		if value, found := strings.CutPrefix(word, key+"="); found {
			return value, true
		}
	}
	return "", false
}

func (w *words) parse(word string, bits int) uint64 {
	number, err := strconv.ParseUint(word, 10, bits)
	w.bad = w.bad || err != nil
	return number
}

func (w *words) number() uint64   { return w.parse(w.next(), 64) }
func (w *words) number32() uint32 { return uint32(w.parse(w.next(), 32)) }

func (w *words) optionNumber(key string) uint32 {
	if word, found := w.option(key); found {
		return uint32(w.parse(word, 32))
	}
	return 0
}

func (w *words) optionSigned(key string) int32 {
	word, found := w.option(key)
	if !found {
		return 0
	}
	number, err := strconv.ParseInt(word, 10, 32)
	w.bad = w.bad || err != nil
	return int32(number)
}

// span is a length of time in the manager's own unit.
func (w *words) span(word string) time.Duration {
	if word == "forever" {
		return ternlease.Forever
	}
	return saturated(w.parse(word, 64), ternlease.Tick)
}

func (w *words) optionSpan(key string) time.Duration {
	if word, found := w.option(key); found {
		return w.span(word)
	}
	return 0
}

// saturated is a length of time that is too long for the library if it is too long for Go.
func saturated(count uint64, unit time.Duration) time.Duration {
	if count > uint64(math.MaxInt64/unit) {
		return ternlease.Forever - 1
	}
	return time.Duration(count) * unit
}
