package ternlease

// #include <ternlease.h>
import "C"

// Wait is one step of a proof: a worker waits for a lease, which the worker of the next step holds.
type Wait struct {
	// Who waits.
	Worker string
	// By which claim; 0: by a declared want.
	Ticket TicketID
	// For which lease.
	Lease LeaseID
}

func newWait(raw *C.tern_wait_t) Wait {
	return Wait{C.GoString(&raw.worker[0]), TicketID(raw.ticket), LeaseID(raw.lease)}
}

// Deadlock is who waits for whom in a circle.
type Deadlock struct {
	// The lease whose revocation breaks it at the least cost.
	Victim LeaseID
	// Everybody who is stuck because of it, sorted.
	Stuck []string
	// The proof: each waits for a lease of the next, the last for one of the first.
	Cycle []Wait
}

// Deadlocks are all that there are now.
func (m *Manager) Deadlocks() ([]Deadlock, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	var found *C.tern_deadlocks_t
	var count C.size_t
	if err := c.check(C.tern_deadlocks_find(c.manager(), &found, &count, &c.err)); err != nil {
		return nil, err
	}
	defer C.tern_deadlocks_close(found)
	deadlocks := make([]Deadlock, count)
	for i := range deadlocks {
		if deadlocks[i], err = newDeadlock(c, found, C.size_t(i)); err != nil {
			return nil, err
		}
	}
	return deadlocks, nil
}

func newDeadlock(c *call, found *C.tern_deadlocks_t, index C.size_t) (deadlock Deadlock, err error) {
	if err := c.check(C.tern_deadlocks_victim(found, index, &c.lease, &c.err)); err != nil {
		return Deadlock{}, err
	}
	deadlock.Victim = LeaseID(c.lease)
	deadlock.Stuck, err = structs(c, func(into *C.tern_name_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_deadlocks_stuck(found, index, into, capacity, needed, &c.err)
	}, newName)
	if err != nil {
		return Deadlock{}, err
	}
	deadlock.Cycle, err = structs(c, func(into *C.tern_wait_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_deadlocks_cycle(found, index, into, capacity, needed, &c.err)
	}, newWait)
	return deadlock, err
}

// Want declares that a holder cannot go on without a resource, without claiming it. Only deadlock detection looks at it.
func (m *Manager) Want(holder, resource string) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	who, whoLength := chars(holder)
	what, whatLength := chars(resource)
	return c.check(C.tern_manager_want(c.manager(), who, whoLength, what, whatLength, &c.err))
}

// Unwant takes back what Want declared.
func (m *Manager) Unwant(holder, resource string) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	who, whoLength := chars(holder)
	what, whatLength := chars(resource)
	return c.check(C.tern_manager_unwant(c.manager(), who, whoLength, what, whatLength, &c.err))
}
