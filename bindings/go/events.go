package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"errors"
	"math"
	"syscall"
	"time"
	"unsafe"
)

// EventKind is what happened. There may be kinds in the future that are not known today.
type EventKind int32

const (
	// A claim became a lease, after standing in line if there is a ticket.
	EventGranted EventKind = 1
	// A lease was renewed in the last quarter of its time; it ends at Until.
	EventRenewedLate EventKind = 2
	// The holder was told that its lease will be revoked at Until, for a reason.
	EventRevoking EventKind = 3
	// A lease ended for a reason; it was held for Duration.
	EventEnded EventKind = 4
	// A claim took its place in line.
	EventQueued EventKind = 5
	// A claim left the line without a lease, for a reason; it had waited for Duration.
	EventRefused EventKind = 6
	// The health of a resource changed.
	EventHealth EventKind = 7
	// A process that shared the table was found dead, and what it had was given back.
	EventDied EventKind = 8
	// A process died in the middle of a change, which was undone.
	EventRolledBack EventKind = 9
)

// String is its name in lower case: "renewed late".
func (k EventKind) String() string {
	return word(k, "EventKind", map[EventKind]string{
		EventGranted: "granted", EventRenewedLate: "renewed late", EventRevoking: "revoking", EventEnded: "ended",
		EventQueued: "queued", EventRefused: "refused", EventHealth: "health", EventDied: "died",
		EventRolledBack: "rolled back",
	})
}

// Event is one change.
type Event struct {
	// Grows by one with each event.
	Number uint64
	// How many events this reader has missed so far, because it fell behind.
	Missed uint64
	// What happened.
	Kind EventKind
	// When.
	At Moment
	// The lease it is about, or 0.
	Lease LeaseID
	// The ticket it is about, or 0.
	Ticket TicketID
	// A time, where the kind says so.
	Until Moment
	// A length of time, where the kind says so.
	Duration time.Duration
	// Why, or ReasonNone.
	Reason Reason
	// EventHealth: the name of the resource.
	Resource string
	// EventHealth: how it is now.
	Health Health
	// EventDied, EventRolledBack: the process, by the number that it had for itself.
	Process uint32
	// The process whose command did it; zero: the table did it by itself.
	Actor Actor
	// EventEnded: the lease was revoked with notice, and its holder released it before the notice ended.
	Acknowledged bool
}

func newEvent(raw *C.tern_event_t) Event {
	return Event{
		Number:       uint64(raw.number),
		Missed:       uint64(raw.missed),
		Kind:         EventKind(raw.kind),
		At:           Moment(raw.at),
		Lease:        LeaseID(raw.lease),
		Ticket:       TicketID(raw.ticket),
		Until:        Moment(raw.until),
		Duration:     fromUnits(raw.duration),
		Reason:       Reason(raw.reason),
		Resource:     C.GoString(&raw.resource[0]),
		Health:       Health(raw.health),
		Process:      uint32(raw.process),
		Actor:        Actor{uint32(raw.actor_principal), uint32(raw.actor_process)},
		Acknowledged: raw.flags&C.TERN_EVENT_FLAG_ACKNOWLEDGED != 0,
	}
}

// Events is a reader of the history, with a place in it of its own. It may outlive its manager, and ends with Close. Any
// number of goroutines may use it, and each event goes to one of them.
type Events struct {
	handle   *handle
	readable *readable
	turn     chan struct{} // has one token: whoever waits takes it
}

// FromNow is the cursor of Manager.Events that skips what has happened so far.
const FromNow uint64 = math.MaxUint64

// Events reads the events after number `cursor`; 0: from the oldest that is remembered, FromNow: from now on.
func (m *Manager) Events(cursor uint64) (*Events, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	var opened *C.tern_events_t
	if err := c.check(C.tern_events_open(c.manager(), C.uint64_t(cursor), &opened, &c.err)); err != nil {
		return nil, err
	}
	reader := &Events{
		handle: newHandle(unsafe.Pointer(opened), func(ptr unsafe.Pointer) {
			C.tern_events_close((*C.tern_events_t)(ptr))
		}),
		turn: make(chan struct{}, 1),
	}
	reader.turn <- struct{}{}
	if reader.readable, err = reader.descriptor(); err != nil {
		reader.handle.close()
		return nil, err
	}
	return reader, nil
}

// descriptor is a copy of the reader's, which is its own.
func (e *Events) descriptor() (*readable, error) {
	c, err := e.handle.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.check(C.tern_events_fd(c.events(), &c.fd, &c.err)); err != nil {
		return nil, err
	}
	copied, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(c.fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	return newReadable(int(copied), "ternlease events")
}

// Close closes the reader; whoever waits gets ErrClosed. Closing again does nothing. The error is always nil.
func (e *Events) Close() error {
	if e != nil && e.handle != nil {
		e.handle.close()
		e.readable.close()
	}
	return nil
}

// TryNext is the next event, or ErrEmpty if there is none now. ErrClosed if there is none and the manager is gone.
func (e *Events) TryNext() (Event, error) {
	if e == nil {
		return Event{}, errClosed
	}
	c, err := e.handle.begin()
	if err != nil {
		return Event{}, err
	}
	defer c.end()
	raw := C.tern_event_t{struct_size: C.sizeof_tern_event_t}
	if err := c.check(C.tern_events_next(c.events(), &raw, &c.err)); err != nil {
		return Event{}, err
	}
	return newEvent(&raw), nil
}

// Next is the next event, and waits for it until the context is done; then errors.Is finds ctx.Err() in the error. ErrClosed
// if there is none and the manager or the reader is gone. No thread is blocked meanwhile.
func (e *Events) Next(ctx context.Context) (Event, error) {
	event, err := e.TryNext()
	if !errors.Is(err, ErrEmpty) {
		return event, err
	}
	select {
	case <-e.turn:
		defer func() { e.turn <- struct{}{} }()
	case <-ctx.Done():
		return Event{}, stopped(ctx)
	case <-e.handle.closing.Done():
		return Event{}, errClosed
	}
	waitErr := e.readable.wait(ctx, e.handle.closing, func(int) bool {
		event, err = e.TryNext()
		return !errors.Is(err, ErrEmpty)
	})
	if waitErr != nil {
		return Event{}, waitErr
	}
	return event, err
}

// All is every event from here on, for a loop. It ends when the manager or the reader is closed; when the context is done, or
// something fails, the error comes last. It is an iter.Seq2.
//
//	for event, err := range events.All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Kind, event.Lease)
//	}
func (e *Events) All(ctx context.Context) func(yield func(Event, error) bool) {
	return func(yield func(Event, error) bool) {
		for {
			event, err := e.Next(ctx)
			if errors.Is(err, ErrClosed) || !yield(event, err) || err != nil {
				return
			}
		}
	}
}
