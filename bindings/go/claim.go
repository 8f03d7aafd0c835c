package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// Claim asks for several resources, or parts of them: all or nothing. Holder, Resources (or ResourceIDs) and TTL are needed;
// what is zero otherwise is as usual.
type Claim struct {
	// Who asks. Claims of one holder are taken to be one line of work: give each independent job a name of its own.
	Holder string
	// The resources it may be served from, the preferred ones first.
	Resources []string
	// The same, by their numbers; instead of Resources, not beside them.
	ResourceIDs []ResourceID
	// How many of the resources it needs; 0: one.
	Count uint32
	// Slots that it takes of each. If MemoryMiB is 0 too: one.
	Slots uint32
	// Memory that it takes of each.
	MemoryMiB uint32
	// How long the lease lasts without renewal; Forever: without end.
	TTL time.Duration
	// How long to stand in line at most, by the manager's clock: then ErrTimeout. 0: as long as it takes.
	MaxWait time.Duration
	// Higher goes first; from -32768 to 32767.
	Priority int32
	// The lease ends with this one, and never later; 0: with none.
	Parent LeaseID
	// Take each resource whole, alone.
	Exclusive bool
	// Take each resource together with any number of other shared leases, and nobody else.
	Shared bool
	// Take only what nobody else waits for, and give it back when somebody does.
	Spare bool
	// A claim of higher priority that asks to preempt may take the lease.
	Preemptible bool
	// With Spare or Preemptible: the notice that the lease gets when it is taken back.
	Notice time.Duration
	// Take preemptible leases of lower priority rather than wait for their end.
	Preempt bool
}

// lower makes the claim one of C, with so long a wait, until it is unpinned.
func (asked *Claim) lower(raw *C.tern_claim_t, wait C.uint64_t, pinned *pins) {
	*raw = C.tern_claim_t{
		struct_size:       C.sizeof_tern_claim_t,
		resource_id_count: C.size_t(len(asked.ResourceIDs)),
		ttl:               toUnits(asked.TTL),
		wait:              wait,
		notice:            toUnits(asked.Notice),
		parent:            C.tern_lease_t(asked.Parent),
		flags: flag(asked.Exclusive, C.TERN_CLAIM_EXCLUSIVE) | flag(asked.Shared, C.TERN_CLAIM_SHARED) |
			flag(asked.Spare, C.TERN_CLAIM_SPARE) | flag(asked.Preemptible, C.TERN_CLAIM_PREEMPTIBLE) |
			flag(asked.Preempt, C.TERN_CLAIM_PREEMPT),
		count:      C.uint32_t(asked.Count),
		slots:      C.uint32_t(asked.Slots),
		memory_mib: C.uint32_t(asked.MemoryMiB),
		priority:   C.int32_t(asked.Priority),
	}
	raw.holder, raw.holder_len = pinned.chars(asked.Holder)
	raw.resources, raw.resource_count = pinned.texts(asked.Resources)
	if len(asked.ResourceIDs) > 0 {
		ids := unsafe.SliceData(asked.ResourceIDs)
		pinned.pinner.Pin(ids)
		raw.resource_ids = (*C.tern_resource_t)(ids)
	}
}

// maxWait is what stands in a claim for as long as it may wait.
func maxWait(limit time.Duration) C.uint64_t {
	if limit == 0 {
		limit = Forever
	}
	return toUnits(limit)
}

// TryClaim asks for a lease, now or not at all: ErrBusy. MaxWait is not looked at.
func (m *Manager) TryClaim(asked Claim) (Lease, error) {
	c, err := m.begin()
	if err != nil {
		return Lease{}, err
	}
	defer c.end()
	var raw C.tern_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, 0, &pinned)
	if err := c.check(C.tern_manager_claim(c.manager(), &raw, &c.lease, &c.err)); err != nil {
		return Lease{}, err
	}
	return Lease{m, LeaseID(c.lease)}, nil
}

// Claim asks for a lease and waits for it in line until the context is done. No thread is blocked meanwhile.
//
// When the context is done first, the claim is withdrawn, what it was granted at the last moment is given back, and
// errors.Is finds ctx.Err() in the error. ErrTimeout if MaxWait came first, ErrRefused if the claim left the line for another
// reason.
func (m *Manager) Claim(ctx context.Context, asked Claim) (Lease, error) {
	if err := stopped(ctx); err != nil {
		return Lease{}, err
	}
	ticket, err := m.Enqueue(asked)
	if err != nil {
		return Lease{}, err
	}
	return ticket.waitOrLeave(ctx)
}

// Enqueue asks for a lease and returns at once with a ticket, which may be granted already. A ticket must come to an end
// with Wait or Cancel: until then it keeps its place in the table, and what it is granted.
func (m *Manager) Enqueue(asked Claim) (*Ticket, error) {
	c, err := m.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	var raw C.tern_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, maxWait(asked.MaxWait), &pinned)
	return newTicket(m, c, C.tern_manager_enqueue(c.manager(), &raw, &c.lease, &c.ticket, &c.err))
}
