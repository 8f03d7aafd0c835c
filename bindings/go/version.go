package ternlease

// #include <ternlease.h>
import "C"

import "sync"

// Version is that of the library that runs: "0.1.0".
func Version() string { return C.GoString(C.tern_version_text()) }

// VersionNumber is the same as a number: major * 1000000 + minor * 1000 + patch.
func VersionNumber() uint32 { return uint32(C.tern_version()) }

// fits tells whether the library that runs is one that this package was compiled for. Whatever opens something asks first.
var fits = sync.OnceValue(func() error {
	c := newCall()
	defer c.end()
	return c.check(C.tern_abi_check(C.TERN_VERSION_NUMBER, &c.err))
})
