package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

// nonsense is the answer to a step that makes no sense.
const nonsense = "?"

// status is the answer of a call that tells nothing but its status.
func status(err error) string {
	var failed *ternlease.Error
	switch {
	case err == nil:
		return "OK"
	case !errors.As(err, &failed):
		return err.Error()
	case failed.Reason != ternlease.ReasonNone:
		return name(failed.Status) + " " + failed.Reason.String()
	default:
		return name(failed.Status)
	}
}

func name(status ternlease.Status) string { return strings.TrimPrefix(status.String(), "TERN_") }

// okay is what a call told, or its status.
func okay(err error, format string, values ...any) string {
	if err != nil {
		return status(err)
	}
	return "OK " + fmt.Sprintf(format, values...)
}

// list is the words, or a dash if there are none.
func list(err error, words []string) string { return okay(err, "%s", orDash(strings.Join(words, " "))) }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// each turns a list into words.
func each[T any](values []T, word func(T) string) []string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = word(value)
	}
	return words
}

func trit[T ~int8](value T) string {
	switch value {
	case 1:
		return "+1"
	case 0:
		return "0"
	case -1:
		return "-1"
	default:
		return "unknown"
	}
}

func moment(at ternlease.Moment) string {
	if at == ternlease.Never {
		return "forever"
	}
	return strconv.FormatUint(uint64(at), 10)
}

func units(length time.Duration) string {
	if length == ternlease.Forever {
		return "forever"
	}
	return strconv.FormatInt(int64(length/ternlease.Tick), 10)
}

var reasons = func() map[string]ternlease.Reason {
	known := map[string]ternlease.Reason{}
	for number := ternlease.Reason(0); number < 1000; number++ {
		if number.Class() != 0 {
			known[number.String()] = number
		}
	}
	return known
}()

func (w *words) reason() ternlease.Reason {
	reason, found := reasons[w.next()]
	w.bad = w.bad || !found
	return reason
}
