//go:build !race

package ternlease_test

const raceDetector = false
