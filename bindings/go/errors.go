package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"fmt"
	"syscall"
)

// Error is the details of a status that is not OK. Ask which one with errors.Is, and for the details with errors.As:
//
//	var failed *ternlease.Error
//	if errors.Is(err, ternlease.ErrNotHeld) && errors.As(err, &failed) {
//		log.Print("lost it: ", failed.Reason)
//	}
type Error struct {
	// What became of the call.
	Status Status
	// Why a lease is over or a claim was refused; otherwise ReasonNone.
	Reason Reason
	// What the operating system said; otherwise 0.
	OSErrno syscall.Errno
	// What a device's driver said; otherwise 0.
	DriverCode int32
	// What happened and what to do, for people.
	Message string
}

// Error is the message.
func (e *Error) Error() string { return "ternlease: " + e.Message }

// Unwrap gives the status, and what the operating system said, to errors.Is.
func (e *Error) Unwrap() []error {
	if e.OSErrno != 0 {
		return []error{e.Status, e.OSErrno}
	}
	return []error{e.Status}
}

func newError(raw *C.tern_error_t) *Error {
	return &Error{
		Status:     Status(raw.status),
		Reason:     Reason(raw.reason),
		OSErrno:    syscall.Errno(raw.os_errno),
		DriverCode: int32(raw.driver_code),
		Message:    C.GoString(&raw.message[0]),
	}
}

// What the library cannot say itself, because it is not called.
var (
	errClosed    error = &Error{Status: ErrClosed, Message: "it is closed, or was never open"}
	errCancelled error = &Error{Status: ErrRefused, Reason: ReasonCancelled, Message: "the claim was withdrawn"}
)

func badValue(message string) error { return &Error{Status: ErrBadValue, Message: message} }

// stopped is the error of a context that is done: errors.Is finds ctx.Err() in it, and the cause if there is another.
func stopped(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case cause == err:
		return fmt.Errorf("ternlease: stopped waiting: %w", err)
	default:
		return fmt.Errorf("ternlease: stopped waiting: %w: %w", err, cause)
	}
}
