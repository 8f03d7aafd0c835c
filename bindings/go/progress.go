package ternlease

// #include <stdint.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// progress is whom to tell what is being measured. A panic must not pass through C: it waits here until C is done.
type progress struct {
	tell     func(step string, done, of int)
	panicked bool
	value    any
}

//export ternGoProgress
func ternGoProgress(user unsafe.Pointer, step *C.char, done, of C.uint32_t) {
	cgo.Handle(user).Value().(*progress).call(C.GoString(step), int(done), int(of))
}

func (p *progress) call(step string, done, of int) {
	if p.panicked {
		return
	}
	p.panicked = true
	defer func() { p.value = recover() }()
	p.tell(step, done, of)
	p.panicked = false
}

// rethrow goes on with the panic, now that C is done.
func (p *progress) rethrow() {
	if p.panicked {
		panic(p.value)
	}
}
