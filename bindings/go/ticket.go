package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"sync/atomic"
)

// TicketID names one waiting claim for ever. 0 is none.
type TicketID uint64

// TicketState is what a ticket is.
type TicketState int8

const (
	// Granted: there is a lease.
	Granted TicketState = 1
	// InLine: it waits.
	InLine TicketState = 0
	// Denied: there will be no lease.
	Denied TicketState = -1
	// TicketUnknown: nothing is remembered of it, or its manager is closed.
	TicketUnknown TicketState = -128
)

// String is "granted", "in line", "denied" or "unknown".
func (s TicketState) String() string {
	return word(s, "TicketState", map[TicketState]string{
		Granted: "granted", InLine: "in line", Denied: "denied", TicketUnknown: "unknown",
	})
}

// Ticket is a claim in line, or one that was granted at once.
type Ticket struct {
	manager *Manager
	id      TicketID

	// Of a claim that was granted at once the table has no ticket: how that one came to its end is known here.
	granted LeaseID
	end     atomic.Int32
}

const (
	endOpen int32 = iota
	endTold
	endCancelled
)

// newTicket is what came of standing in line.
func newTicket(m *Manager, c *call, status C.tern_status_t) (*Ticket, error) {
	switch status {
	case C.TERN_OK:
		return &Ticket{manager: m, granted: LeaseID(c.lease)}, nil
	case C.TERN_WAITING:
		return &Ticket{manager: m, id: TicketID(c.ticket)}, nil
	default:
		return nil, c.check(status)
	}
}

// Ticket is the ticket of that id, whoever waits. Whether there is one, its state tells.
func (m *Manager) Ticket(id TicketID) *Ticket { return &Ticket{manager: m, id: id} }

// ID is its id; 0 if its claim was granted at once and never stood in line.
func (t *Ticket) ID() TicketID { return t.id }

// State is what it is. Asking is not the end of the ticket.
func (t *Ticket) State() TicketState {
	switch {
	case t.granted != 0 && t.end.Load() == endCancelled:
		return Denied
	case t.granted != 0:
		return Granted
	case t.manager == nil:
		return TicketUnknown
	}
	ptr := t.manager.handle.enter()
	if ptr == nil {
		return TicketUnknown
	}
	defer t.manager.handle.leave()
	return TicketState(C.tern_ticket_state((*C.tern_manager_t)(ptr), C.tern_ticket_t(t.id), nil))
}

// Wait waits until the ticket is decided: with a lease, which is the caller's, or with ErrTimeout or ErrRefused. Asking again
// gives the same as long as it is remembered. No thread is blocked meanwhile.
//
// When the context is done first, errors.Is finds ctx.Err() in the error, and the ticket is still in line: wait again, or
// cancel it. A ticket that is decided is told whatever the context says.
func (t *Ticket) Wait(ctx context.Context) (Lease, error) {
	lease, waits, err := t.ask()
	if !waits {
		return lease, err
	}
	if err := stopped(ctx); err != nil {
		return Lease{}, err
	}
	decided, err := t.readable()
	if err != nil {
		return Lease{}, err
	}
	defer decided.close()
	waitErr := decided.wait(ctx, t.manager.handle.closing, func(int) bool {
		lease, waits, err = t.ask()
		return !waits
	})
	if waitErr != nil {
		return Lease{}, waitErr
	}
	return lease, err
}

// ask takes the decision, if there is one.
func (t *Ticket) ask() (lease Lease, waits bool, err error) {
	if t.granted != 0 {
		if t.end.CompareAndSwap(endOpen, endTold) || t.end.Load() == endTold {
			return Lease{t.manager, t.granted}, false, nil
		}
		return Lease{}, false, errCancelled
	}
	c, err := t.manager.begin()
	if err != nil {
		return Lease{}, false, err
	}
	defer c.end()
	switch status := C.tern_ticket_wait(c.manager(), C.tern_ticket_t(t.id), 0, &c.lease, &c.err); status {
	case C.TERN_OK:
		return Lease{t.manager, LeaseID(c.lease)}, false, nil
	case C.TERN_WAITING:
		return Lease{}, true, nil
	default:
		return Lease{}, false, c.check(status)
	}
}

func (t *Ticket) readable() (*readable, error) {
	c, err := t.manager.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.check(C.tern_ticket_fd(c.manager(), C.tern_ticket_t(t.id), &c.fd, &c.err)); err != nil {
		return nil, err
	}
	return newReadable(int(c.fd), "ternlease ticket")
}

// waitOrLeave is Wait for those who do not come back: a ticket that gave no lease is withdrawn.
func (t *Ticket) waitOrLeave(ctx context.Context) (Lease, error) {
	lease, err := t.Wait(ctx)
	if err != nil {
		_, _ = t.Cancel()
	}
	return lease, err
}

// Cancel withdraws the claim, the end of the ticket: what it was granted meanwhile is given back, and whoever waits for it is
// told ErrRefused with ReasonCancelled. Not changed: it had come to its end before, and a lease that Wait told of stays the
// caller's.
func (t *Ticket) Cancel() (changed bool, err error) {
	if t.granted != 0 {
		if !t.end.CompareAndSwap(endOpen, endCancelled) {
			return false, nil
		}
		return true, Lease{t.manager, t.granted}.Release()
	}
	c, err := t.manager.begin()
	if err != nil {
		return false, err
	}
	defer c.end()
	return c.changed(C.tern_ticket_cancel(c.manager(), C.tern_ticket_t(t.id), &c.err))
}

// TicketInfo is everything about one waiting claim.
type TicketInfo struct {
	// Its id.
	ID TicketID
	// Who waits.
	Holder string
	// Since when it waits.
	QueuedAt Moment
	// Its place in line, from 1.
	Place uint32
	// How many resources it needs.
	Count uint32
	// Out of how many: Ticket.Resources tells them.
	ResourceCount uint32
	// Its effective priority.
	Priority int32
}

func newTicketInfo(raw *C.tern_ticket_info_t) TicketInfo {
	return TicketInfo{
		ID:            TicketID(raw.ticket),
		Holder:        C.GoString(&raw.holder[0]),
		QueuedAt:      Moment(raw.queued_at),
		Place:         uint32(raw.place),
		Count:         uint32(raw.count),
		ResourceCount: uint32(raw.resource_count),
		Priority:      int32(raw.priority),
	}
}

// Info is everything about a ticket that waits. ErrEmpty once it is decided.
func (t *Ticket) Info() (TicketInfo, error) {
	c, err := t.manager.begin()
	if err != nil {
		return TicketInfo{}, err
	}
	defer c.end()
	raw := C.tern_ticket_info_t{struct_size: C.sizeof_tern_ticket_info_t}
	if err := c.check(C.tern_ticket_info(c.manager(), C.tern_ticket_t(t.id), &raw, &c.err)); err != nil {
		return TicketInfo{}, err
	}
	return newTicketInfo(&raw), nil
}

// Resources are those that a waiting ticket may be served from.
func (t *Ticket) Resources() ([]string, error) {
	c, err := t.manager.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_name_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_ticket_resources(c.manager(), C.tern_ticket_t(t.id), into, capacity, needed, &c.err)
	}, newName)
}

func newName(raw *C.tern_name_t) string { return C.GoString(&raw.text[0]) }

// Tickets are all waiting claims, in order.
func (m *Manager) Tickets() ([]TicketInfo, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_ticket_info_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_tickets(c.manager(), into, capacity, needed, &c.err)
	}, newTicketInfo)
}
