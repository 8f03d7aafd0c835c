package ternlease

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// readable is a descriptor of the library that becomes readable when something happens. Go's own poller watches it, so that
// a goroutine that waits blocks no thread.
type readable struct {
	file *os.File
	conn syscall.RawConn
}

// newReadable takes over a descriptor. The library makes them non-blocking, which os.NewFile needs to hand them to the poller.
func newReadable(fd int, name string) (*readable, error) {
	file := os.NewFile(uintptr(fd), name)
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &readable{file, conn}, nil
}

func (r *readable) close() { _ = r.file.Close() }

// wait waits until `ready` says so, asking it at first and whenever the descriptor has become readable. One goroutine at a time.
func (r *readable) wait(ctx, closing context.Context, ready func(fd int) bool) error {
	for {
		err := r.read(ctx, closing, ready)
		switch {
		case err == nil:
			return nil
		case closing.Err() != nil:
			return errClosed
		case ctx.Err() != nil:
			return stopped(ctx)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		}
		// An earlier wait was woken too late to notice. Again.
	}
}

// read is one try, which ends early when either context is done.
func (r *readable) read(ctx, closing context.Context, ready func(fd int) bool) error {
	if err := r.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	// A deadline in the past is what wakes a reader.
	wake := func() { _ = r.file.SetReadDeadline(time.Unix(1, 0)) }
	defer context.AfterFunc(ctx, wake)()
	defer context.AfterFunc(closing, wake)()
	return r.conn.Read(func(fd uintptr) bool { return ready(int(fd)) })
}
