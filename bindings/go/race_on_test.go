//go:build race

package ternlease_test

// raceDetector uses memory of its own.
const raceDetector = true
