package ternlease

// #include <ternlease.h>
import "C"

import (
	"time"
	"unsafe"
)

// LeaseID names one lease for ever. It only grows and is never used again, so it is also the fencing token of what the
// lease protects: pass it along with every write, and let that refuse an id smaller than the largest it has seen. 0 is none.
type LeaseID uint64

// LeaseState is what a lease is.
type LeaseState int8

const (
	// Held: it may be used.
	Held LeaseState = 1
	// Expired: it ran out, was released, or its holder died.
	Expired LeaseState = 0
	// Revoked: it was taken away, for a reason.
	Revoked LeaseState = -1
	// StateUnknown: nothing is remembered of it, or its manager is closed.
	StateUnknown LeaseState = -128
)

// String is "held", "expired", "revoked" or "unknown".
func (s LeaseState) String() string {
	return word(s, "LeaseState", map[LeaseState]string{
		Held: "held", Expired: "expired", Revoked: "revoked", StateUnknown: "unknown",
	})
}

// Lease is the right to use a resource for a while. It is a number and where to ask about it: it may be copied, and
// forgetting it releases nothing. Give it back:
//
//	lease, err := manager.Acquire("gpu0", "trainer", 30*time.Second)
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
type Lease struct {
	manager *Manager
	id      LeaseID
}

// Acquire makes a lease on one slot of a resource, now or not at all: ErrBusy. The resource comes into being with one slot
// if it was not declared. The lease lasts for `ttl` unless it is renewed.
func (m *Manager) Acquire(resource, holder string, ttl time.Duration) (Lease, error) {
	c, err := m.begin()
	if err != nil {
		return Lease{}, err
	}
	defer c.end()
	what, whatLength := chars(resource)
	who, whoLength := chars(holder)
	status := C.tern_lease_acquire(c.manager(), what, whatLength, who, whoLength, toUnits(ttl), &c.lease, &c.err)
	if err := c.check(status); err != nil {
		return Lease{}, err
	}
	return Lease{m, LeaseID(c.lease)}, nil
}

// Lease is the lease of that id, whoever holds it. Whether there is one, its state tells.
func (m *Manager) Lease(id LeaseID) Lease { return Lease{m, id} }

// ID is its id, which is also its fencing token.
func (l Lease) ID() LeaseID { return l.id }

// State is what it is. It takes no lock of the table, and never says Held once the end has passed.
func (l Lease) State() LeaseState {
	if l.manager == nil {
		return StateUnknown
	}
	ptr := l.manager.handle.enter()
	if ptr == nil {
		return StateUnknown
	}
	state := C.tern_lease_state((*C.tern_manager_t)(ptr), C.tern_lease_t(l.id), nil)
	l.manager.handle.leave()
	return LeaseState(state)
}

// Renew moves its end to now + its ttl, and tells it. ErrNotHeld if the lease is over: stop using what it protects.
func (l Lease) Renew() (Moment, error) {
	c, err := l.manager.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	if status := C.tern_lease_renew(c.manager(), C.tern_lease_t(l.id), &c.number, &c.err); status != C.TERN_OK {
		return 0, c.check(status)
	}
	return Moment(c.number), nil
}

// RenewFor is as Renew, with another ttl from now on.
func (l Lease) RenewFor(ttl time.Duration) (Moment, error) {
	c, err := l.manager.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	status := C.tern_lease_renew_for(c.manager(), C.tern_lease_t(l.id), toUnits(ttl), &c.number, &c.err)
	if status != C.TERN_OK {
		return 0, c.check(status)
	}
	return Moment(c.number), nil
}

// Release gives it back. Whoever is first in line has what it frees before this returns. ErrNotHeld if it was over
// already, ErrUnknownLease if nothing is remembered of it.
func (l Lease) Release() error {
	c, err := l.manager.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_lease_release(c.manager(), C.tern_lease_t(l.id), &c.err))
}

// Revocation says how a lease is to be taken away. What is zero: at once, for ReasonOperator, by nobody in particular.
type Revocation struct {
	// Why.
	Reason Reason
	// Who does it.
	By string
	// The holder keeps the lease for so long, to save its work. It must end.
	Notice time.Duration
}

// Revoke takes the lease away, and tells from when on. Not changed: a notice was running that ends no later, at that time.
// ErrNotHeld if the lease was over.
func (l Lease) Revoke(how Revocation) (at Moment, changed bool, err error) {
	c, err := l.manager.begin()
	if err != nil {
		return 0, false, err
	}
	defer c.end()
	by, length := chars(how.By)
	c.number = 0
	changed, err = c.changed(C.tern_lease_revoke(c.manager(), C.tern_lease_t(l.id), C.int32_t(how.Reason), by, length,
		toUnits(how.Notice), &c.number, &c.err))
	return Moment(c.number), changed, err
}

// States are the states of several leases in one call, each as Lease.State gives it. `states` is as long as `leases`.
func (m *Manager) States(states []LeaseState, leases []LeaseID) error {
	if len(states) != len(leases) {
		return badValue("there must be as many states as leases")
	}
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_lease_states(c.manager(), (*C.tern_lease_t)(unsafe.SliceData(leases)),
		C.size_t(len(leases)), (*C.tern_trit_t)(unsafe.SliceData(states)), &c.err))
}

// RenewAll renews several leases in one call, each as Lease.Renew, and tells how many it renewed. Those that are over are
// passed over.
func (m *Manager) RenewAll(leases []LeaseID) (int, error) {
	c, err := m.begin()
	if err != nil {
		return 0, err
	}
	defer c.end()
	c.count = 0
	status := C.tern_lease_renew_all(c.manager(), (*C.tern_lease_t)(unsafe.SliceData(leases)), C.size_t(len(leases)),
		&c.count, &c.err)
	return int(c.count), c.check(status)
}
