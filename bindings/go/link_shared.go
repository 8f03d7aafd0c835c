//go:build !tern_static

package ternlease

// #cgo pkg-config: ternlease
import "C"
