package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"errors"
	"syscall"
)

// Notice is what happened to a lease that is watched.
type Notice struct {
	// Which one.
	Lease LeaseID
	// Held: it will be revoked. Otherwise it is over; StateUnknown if by now nothing else is remembered of it.
	State LeaseState
	// Why.
	Reason Reason
	// When it will be revoked, or was over.
	At Moment
}

// Watch tells when the lease gets a notice of its revocation (again if that comes to end earlier), and when it is over for
// whatever reason. After that the channel is closed; it is also closed when the context is done or the manager is closed. A
// reader that is slow is told the latest, not everything in between.
//
//	for notice := range notices {
//		if notice.State == ternlease.Held {
//			saveWorkUntil(notice.At)
//		} else {
//			stopUsingTheGPU(notice.Reason)
//		}
//	}
func (l Lease) Watch(ctx context.Context) (<-chan Notice, error) {
	c, err := l.manager.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.check(C.tern_lease_watch_fd(c.manager(), C.tern_lease_t(l.id), &c.fd, &c.err)); err != nil {
		return nil, err
	}
	signal, err := newReadable(int(c.fd), "ternlease watch")
	if err != nil {
		return nil, err
	}
	notices := make(chan Notice)
	go l.tell(ctx, signal, notices)
	return notices, nil
}

// tell sends what happens to the lease, until it is over or nobody listens any more.
func (l Lease) tell(ctx context.Context, signal *readable, notices chan<- Notice) {
	defer close(notices)
	defer signal.close()
	closing := l.manager.handle.closing
	for signal.wait(ctx, closing, take) == nil {
		notice, news := l.notice()
		if !news {
			continue
		}
		select {
		case notices <- notice:
		case <-ctx.Done():
			return
		case <-closing.Done():
			return
		}
		if notice.State != Held {
			return
		}
	}
}

// notice is what there is to tell, if anything.
func (l Lease) notice() (notice Notice, news bool) {
	info, err := l.Info()
	switch {
	case errors.Is(err, ErrUnknownLease):
		return Notice{Lease: l.id, State: StateUnknown}, true
	case err != nil:
		return Notice{}, false
	default:
		return Notice{l.id, info.State, info.Reason, info.End}, info.State != Held || info.Revoking
	}
}

// take makes the descriptor of a watch unreadable until the next time, and tells whether it was readable.
func take(fd int) bool {
	var count [8]byte
	n, err := syscall.Read(fd, count[:])
	return n == len(count) && err == nil
}
