//go:build tern_static

package ternlease

// #cgo pkg-config: ternlease-static
import "C"
