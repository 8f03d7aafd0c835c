package ternlease

// #include <ternlease.h>
import "C"

import "time"

// Actor is a process that made a change, as the library knows it and not as the caller claims.
type Actor struct {
	// Its user: on one machine the user id, in a cluster a number of the node and the etcd user.
	Principal uint32
	// The process: on one machine the process id, in a cluster the owner number of its session. 0: none.
	Process uint32
}

// LeaseInfo is everything about one lease.
type LeaseInfo struct {
	// Its id, which is also its fencing token.
	ID LeaseID
	// The lease it hangs on; 0: none.
	Parent LeaseID
	// What it is.
	State LeaseState
	// Who holds or held it.
	Holder string
	// How long it lasts without renewal.
	TTL time.Duration
	// When it was granted.
	GrantedAt Moment
	// While held: its end. Afterwards: when it ended.
	End Moment
	// Why it ended, or will end if a notice is running; otherwise ReasonNone.
	Reason Reason
	// Who revoked it, as the caller that did so claimed. EndedBy is what the library knows.
	Revoker string
	// The process that released, revoked or is revoking it; zero: its owner, or the table by itself.
	EndedBy Actor
	// It was revoked with notice, and its holder released it before the notice ended.
	Acknowledged bool
	// Its own priority.
	Priority int32
	// How many resources it takes: Lease.Takes tells them.
	TakeCount uint32
	// The holder has been told that the lease will be revoked.
	Revoking bool
	// It is spare capacity.
	Spare bool
	// It may be preempted.
	Preemptible bool
	// Other shared leases may be beside it.
	Shared bool
}

func newLeaseInfo(raw *C.tern_lease_info_t) LeaseInfo {
	return LeaseInfo{
		ID:           LeaseID(raw.lease),
		Parent:       LeaseID(raw.parent),
		State:        LeaseState(raw.state),
		Holder:       C.GoString(&raw.holder[0]),
		TTL:          fromUnits(raw.ttl),
		GrantedAt:    Moment(raw.granted_at),
		End:          Moment(raw.end),
		Reason:       Reason(raw.reason),
		Revoker:      C.GoString(&raw.revoker[0]),
		EndedBy:      Actor{uint32(raw.ender_principal), uint32(raw.ender_process)},
		Acknowledged: raw.flags&C.TERN_LEASE_ACKNOWLEDGED != 0,
		Priority:     int32(raw.priority),
		TakeCount:    uint32(raw.take_count),
		Revoking:     raw.flags&C.TERN_LEASE_REVOKING != 0,
		Spare:        raw.flags&C.TERN_LEASE_SPARE != 0,
		Preemptible:  raw.flags&C.TERN_LEASE_PREEMPTIBLE != 0,
		Shared:       raw.flags&C.TERN_LEASE_SHARED != 0,
	}
}

// Take is what a lease takes of one resource.
type Take struct {
	// Name of the resource.
	Resource string
	// Slots of it.
	Slots uint32
	// Memory of it in MiB.
	MemoryMiB uint32
}

func newTake(raw *C.tern_take_t) Take {
	return Take{
		Resource:  C.GoString(&raw.resource[0]),
		Slots:     uint32(raw.slots),
		MemoryMiB: uint32(raw.memory_mib),
	}
}

// Info is everything about a lease that is held or remembered.
func (l Lease) Info() (LeaseInfo, error) {
	c, err := l.manager.begin()
	if err != nil {
		return LeaseInfo{}, err
	}
	defer c.end()
	raw := C.tern_lease_info_t{struct_size: C.sizeof_tern_lease_info_t}
	if err := c.check(C.tern_lease_info(c.manager(), C.tern_lease_t(l.id), &raw, &c.err)); err != nil {
		return LeaseInfo{}, err
	}
	return newLeaseInfo(&raw), nil
}

// Takes are what the lease takes, or took.
func (l Lease) Takes() ([]Take, error) {
	c, err := l.manager.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_take_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_lease_takes(c.manager(), C.tern_lease_t(l.id), into, capacity, needed, &c.err)
	}, newTake)
}

// HeldBy are the leases a holder holds, oldest first.
func (m *Manager) HeldBy(holder string) ([]LeaseID, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	data, length := chars(holder)
	return leaseIDs(c, func(into *C.tern_lease_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_held_by(c.manager(), data, length, into, capacity, needed, &c.err)
	})
}

// Leases are all that are held, oldest first.
func (m *Manager) Leases() ([]LeaseInfo, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	return structs(c, func(into *C.tern_lease_info_t, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return C.tern_manager_leases(c.manager(), into, capacity, needed, &c.err)
	}, newLeaseInfo)
}

func leaseIDs(
	c *call,
	ask func(into *C.tern_lease_t, capacity C.size_t, needed *C.size_t) C.tern_status_t,
) ([]LeaseID, error) {
	return fill(c, 8, func(into *LeaseID, capacity C.size_t, needed *C.size_t) C.tern_status_t {
		return ask((*C.tern_lease_t)(into), capacity, needed)
	})
}
