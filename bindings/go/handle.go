package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"runtime"
	"sync"
	"unsafe"
)

// handle owns a handle of the C library: calls share it, and closing waits until none of them runs.
//
// No call blocks while it has the handle. Whoever waits does so without it, and is woken by `closing`.
type handle struct {
	mu      sync.RWMutex
	ptr     unsafe.Pointer // nil once closed
	free    func(unsafe.Pointer)
	closing context.Context
	cancel  context.CancelFunc
}

// newHandle takes over what an opening function of the library gave. The finalizer is for those who forgot to close.
func newHandle(ptr unsafe.Pointer, free func(unsafe.Pointer)) *handle {
	h := &handle{ptr: ptr, free: free}
	h.closing, h.cancel = context.WithCancel(context.Background())
	runtime.SetFinalizer(h, (*handle).close)
	return h
}

// enter gives the pointer for one call, which ends with leave; nil if the handle is closed or was never there, and then
// there is nothing to leave.
func (h *handle) enter() unsafe.Pointer {
	if h == nil {
		return nil
	}
	h.mu.RLock()
	ptr := h.ptr
	if ptr == nil {
		h.mu.RUnlock()
	}
	return ptr
}

func (h *handle) leave() { h.mu.RUnlock() }

// close is the last call. Doing it again is nothing.
func (h *handle) close() {
	if h == nil {
		return
	}
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ptr != nil {
		h.free(h.ptr)
		h.ptr = nil
		runtime.SetFinalizer(h, nil)
	}
}

// begin starts a call that can fail. Without an error, it ends with call.end.
func (h *handle) begin() (*call, error) {
	ptr := h.enter()
	if ptr == nil {
		return nil, errClosed
	}
	c := newCall()
	c.of, c.ptr = h, ptr
	return c, nil
}

// call is what one call into the library needs: its handle, and places for what comes out. It is used again, so that
// calls allocate nothing.
type call struct {
	of     *handle
	ptr    unsafe.Pointer
	err    C.tern_error_t
	lease  C.tern_lease_t
	ticket C.tern_ticket_t
	number C.uint64_t
	word   C.int32_t
	count  C.size_t
	fd     C.int
}

var calls = sync.Pool{New: func() any {
	return &call{err: C.tern_error_t{struct_size: C.sizeof_tern_error_t}}
}}

// newCall starts a call without a handle.
func newCall() *call { return calls.Get().(*call) }

func (c *call) end() {
	if c.of != nil {
		c.of.leave()
	}
	c.of, c.ptr = nil, nil
	calls.Put(c)
}

// check turns a status into an error.
func (c *call) check(status C.tern_status_t) error {
	if status == C.TERN_OK {
		return nil
	}
	return newError(&c.err)
}

// changed is check for calls that say TERN_UNCHANGED if it was so already.
func (c *call) changed(status C.tern_status_t) (bool, error) {
	if status == C.TERN_UNCHANGED {
		return false, nil
	}
	return status == C.TERN_OK, c.check(status)
}

func (c *call) manager() *C.tern_manager_t { return (*C.tern_manager_t)(c.ptr) }
func (c *call) pool() *C.tern_pool_t       { return (*C.tern_pool_t)(c.ptr) }
func (c *call) events() *C.tern_events_t   { return (*C.tern_events_t)(c.ptr) }
func (c *call) machine() *C.tern_machine_t { return (*C.tern_machine_t)(c.ptr) }
