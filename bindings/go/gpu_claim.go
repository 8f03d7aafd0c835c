package ternlease

// #include <ternlease.h>
import "C"

import (
	"context"
	"time"
)

// GPUClaim asks a pool for devices: all or nothing. What is zero is as usual: any one device, alone, without end.
type GPUClaim struct {
	// Who asks. If empty, the claim gets a name of its own. Give all claims of one line of work the same name if it claims
	// more while it holds some, so that deadlocks are seen.
	Holder string
	// How many devices, linked to each other if that can be; 0: one.
	Count uint32
	// Only these, the preferred ones first: by UUID (or how it begins), PCI address, vendor and number ("nvidia:0"), or
	// number.
	Devices []string
	// Only devices with at least so much memory in all.
	MinMemoryMiB uint32
	// Only devices of at least this compute capability.
	MinCompute ComputeCapability
	// Only devices of this vendor.
	Vendor Vendor
	// Slots that it takes of each, together with others. If MemoryMiB is 0 too: all of each device, alone.
	Slots uint32
	// Memory that it takes of each, together with others. Nothing but the leases keeps anybody from using more.
	MemoryMiB uint32
	// How long the lease lasts without renewal; 0: without end, as Forever.
	TTL time.Duration
	// A thread of the library's own renews the lease in time while the pool is open. Should the process hang as a whole, the
	// lease ends. Needs a real clock.
	KeepAlive bool
	// How long to stand in line at most, by the manager's clock: then ErrTimeout. 0: as long as it takes.
	MaxWait time.Duration
	// Higher goes first; from -32768 to 32767.
	Priority int32
	// The lease ends with this one, and never later; 0: with none.
	Parent LeaseID
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
func (asked *GPUClaim) lower(raw *C.tern_gpu_claim_t, wait C.uint64_t, pinned *pins) {
	*raw = C.tern_gpu_claim_t{
		struct_size: C.sizeof_tern_gpu_claim_t,
		ttl:         toUnits(asked.TTL),
		wait:        wait,
		notice:      toUnits(asked.Notice),
		parent:      C.tern_lease_t(asked.Parent),
		flags: flag(asked.Spare, C.TERN_CLAIM_SPARE) | flag(asked.Preemptible, C.TERN_CLAIM_PREEMPTIBLE) |
			flag(asked.Preempt, C.TERN_CLAIM_PREEMPT),
		count:             C.uint32_t(asked.Count),
		slots:             C.uint32_t(asked.Slots),
		memory_mib:        C.uint32_t(asked.MemoryMiB),
		min_memory_mib:    C.uint32_t(asked.MinMemoryMiB),
		min_compute_major: C.uint32_t(asked.MinCompute.Major),
		min_compute_minor: C.uint32_t(asked.MinCompute.Minor),
		vendor:            C.int32_t(asked.Vendor),
		priority:          C.int32_t(asked.Priority),
	}
	raw.holder, raw.holder_len = pinned.chars(asked.Holder)
	raw.devices, raw.device_count = pinned.texts(asked.Devices)
}

// TryClaim asks for devices, now or not at all: ErrBusy. ErrEmpty if the pool has no devices at all: do without. ErrImpossible
// if it has not so many of that kind, ErrUnknownResource if it has none of that name. MaxWait is not looked at.
func (p *Pool) TryClaim(asked GPUClaim) (GPULease, error) {
	c, err := p.begin()
	if err != nil {
		return GPULease{}, err
	}
	defer c.end()
	var raw C.tern_gpu_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, 0, &pinned)
	raw.flags |= flag(asked.KeepAlive, C.TERN_CLAIM_KEEP_ALIVE)
	if err := c.check(C.tern_pool_claim(c.pool(), &raw, &c.lease, &c.err)); err != nil {
		return GPULease{}, err
	}
	return p.Lease(LeaseID(c.lease)), nil
}

// TryOne is the short and quick way to TryClaim(GPUClaim{}): any one device, alone and without end, if one is free now and
// nobody waits for it.
func (p *Pool) TryOne() (GPULease, error) {
	c, err := p.begin()
	if err != nil {
		return GPULease{}, err
	}
	defer c.end()
	if status := C.tern_pool_try_claim(c.pool(), &c.lease, &c.err); status != C.TERN_OK {
		return GPULease{}, c.check(status)
	}
	return p.Lease(LeaseID(c.lease)), nil
}

// Claim asks for devices and waits for them in line until the context is done. No thread is blocked meanwhile. ErrEmpty at
// once if the pool has no devices at all; other errors as from TryClaim and Manager.Claim.
//
// When the context is done first, the claim is withdrawn, what it was granted at the last moment is given back, and
// errors.Is finds ctx.Err() in the error.
func (p *Pool) Claim(ctx context.Context, asked GPUClaim) (GPULease, error) {
	if err := stopped(ctx); err != nil {
		return GPULease{}, err
	}
	ticket, err := p.Enqueue(asked)
	if err != nil {
		return GPULease{}, err
	}
	return ticket.kept(ticket.waitOrLeave(ctx))
}

// Enqueue asks for devices and returns at once with a ticket, which may be granted already. A ticket must come to an end
// with Wait or Cancel: until then it keeps its place in the table, and what it is granted.
func (p *Pool) Enqueue(asked GPUClaim) (*GPUTicket, error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer c.end()
	var raw C.tern_gpu_claim_t
	var pinned pins
	defer pinned.unpin()
	asked.lower(&raw, maxWait(asked.MaxWait), &pinned)
	ticket, err := newTicket(p.manager, c, C.tern_pool_enqueue(c.pool(), &raw, &c.lease, &c.ticket, &c.err))
	if err != nil {
		return nil, err
	}
	return &GPUTicket{ticket, p, asked.KeepAlive}, nil
}

// GPUTicket is a claim for devices in line, or one that was granted at once.
type GPUTicket struct {
	*Ticket
	pool      *Pool
	keepAlive bool
}

// Wait is as Ticket.Wait.
func (t *GPUTicket) Wait(ctx context.Context) (GPULease, error) { return t.kept(t.Ticket.Wait(ctx)) }

// kept sees to it that the lease that came is kept alive, if that was asked for.
func (t *GPUTicket) kept(lease Lease, err error) (GPULease, error) {
	if err != nil {
		return GPULease{}, err
	}
	gpus := GPULease{lease, t.pool}
	if !t.keepAlive {
		return gpus, nil
	}
	if err := gpus.KeepAlive(); err != nil {
		_ = gpus.Release()
		return GPULease{}, err
	}
	return gpus, nil
}

// ExpectedWait is how much longer the claim will wait; not at all if it is decided.
func (t *GPUTicket) ExpectedWait() (ExpectedWait, error) {
	if t.granted != 0 {
		return ExpectedWait{Kind: ExpectedWaitNone}, nil
	}
	c, err := t.pool.begin()
	if err != nil {
		return ExpectedWait{}, err
	}
	defer c.end()
	status := C.tern_pool_expected_wait_of(c.pool(), C.tern_ticket_t(t.ID()), &c.word, &c.number, &c.err)
	return newExpectedWait(c, status)
}
