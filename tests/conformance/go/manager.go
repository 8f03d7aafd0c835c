package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

type verbs map[string]func(*driver, *words) string

var managerVerbs = verbs{
	"tick":        (*driver).tick,
	"declare":     (*driver).declare,
	"health":      (*driver).health,
	"acquire":     (*driver).acquire,
	"claim":       (*driver).claim,
	"enqueue":     (*driver).enqueue,
	"wait":        (*driver).wait,
	"cancel":      (*driver).cancel,
	"ticket":      (*driver).ticketState,
	"state":       (*driver).state,
	"states":      (*driver).states,
	"renew":       (*driver).renew,
	"renew-all":   (*driver).renewAll,
	"release":     (*driver).release,
	"revoke":      (*driver).revoke,
	"info":        (*driver).info,
	"ticket-info": (*driver).ticketInfo,
	"resource":    (*driver).resource,
	"resources":   (*driver).resources,
	"find":        (*driver).find,
	"on":          (*driver).on,
	"held":        (*driver).held,
	"leases":      (*driver).leases,
	"tickets":     (*driver).tickets,
	"counts":      (*driver).counts,
	"counted":     (*driver).counted,
	"want":        (*driver).want,
	"unwant":      (*driver).unwant,
	"deadlocks":   (*driver).deadlocks,
	"events":      (*driver).readEvents,
	"watch":       (*driver).watch,
	"notice":      (*driver).notice,
	"processes":   (*driver).processes,
	"pool":        (*driver).openPool,
}

func (d *driver) lease(label string) ternlease.Lease { return d.manager.Lease(d.labels.leases[label]) }

func (d *driver) ticket(label string) *ternlease.Ticket {
	return d.manager.Ticket(d.labels.tickets[label])
}

func (d *driver) open(w *words) string {
	url := w.next()
	options := ternlease.Options{
		Ticks:          w.has("ticks"),
		OpenHouse:      w.has("open-house"),
		BreakDeadlocks: w.has("break-deadlocks"),
		Leases:         w.optionNumber("leases"),
		Tickets:        w.optionNumber("tickets"),
		Resources:      w.optionNumber("resources"),
		History:        w.optionNumber("history"),
	}
	if w.bad {
		return nonsense
	}
	manager, err := ternlease.Open(url, options)
	if err != nil {
		return status(err)
	}
	d.close()
	d.manager = manager
	return "OK"
}

func (d *driver) tick(w *words) string {
	times := uint64(1)
	if len(w.plain) > 0 {
		times = w.number()
	}
	if w.bad {
		return nonsense
	}
	for range times {
		if err := d.manager.Tick(); err != nil {
			return status(err)
		}
	}
	now, err := d.manager.Now()
	return okay(err, "%d", now)
}

func (d *driver) declare(w *words) string {
	resource, slots, memory := w.next(), w.number32(), w.number32()
	if w.bad {
		return nonsense
	}
	_, err := d.manager.Declare(resource, slots, memory)
	return status(err)
}

func (d *driver) health(w *words) string {
	resource := w.next()
	health, known := map[string]ternlease.Health{
		"+1": ternlease.Healthy, "0": ternlease.Draining, "-1": ternlease.Failed,
	}[w.next()]
	if w.bad || !known {
		return nonsense
	}
	return status(d.manager.SetHealth(resource, health))
}

func (d *driver) acquire(w *words) string {
	label, resource, holder, ttl := w.next(), w.next(), w.next(), w.span(w.next())
	if w.bad {
		return nonsense
	}
	lease, err := d.manager.Acquire(resource, holder, ttl)
	if err == nil {
		d.labels.giveLease(label, lease.ID())
	}
	return status(err)
}

// asked is the claim that a step describes, and whether it waits.
func (d *driver) asked(w *words) (claim ternlease.Claim, waits bool) {
	claim = ternlease.Claim{
		Holder:      w.next(),
		TTL:         w.span(w.next()),
		Resources:   strings.Split(w.next(), ","),
		Count:       w.optionNumber("count"),
		Slots:       w.optionNumber("slots"),
		MemoryMiB:   w.optionNumber("memory"),
		Priority:    w.optionSigned("priority"),
		Notice:      w.optionSpan("notice"),
		MaxWait:     w.optionSpan("wait"),
		Exclusive:   w.has("exclusive"),
		Shared:      w.has("shared"),
		Spare:       w.has("spare"),
		Preemptible: w.has("preemptible"),
		Preempt:     w.has("preempt"),
	}
	if parent, found := w.option("parent"); found {
		claim.Parent = d.labels.leases[parent]
	}
	return claim, claim.MaxWait != 0
}

func (d *driver) claim(w *words) string {
	label := w.next()
	claim, waits := d.asked(w)
	if w.bad {
		return nonsense
	}
	var lease ternlease.Lease
	var err error
	if waits {
		lease, err = d.manager.Claim(context.Background(), claim)
	} else {
		lease, err = d.manager.TryClaim(claim)
	}
	if err == nil {
		d.labels.giveLease(label, lease.ID())
	}
	return status(err)
}

func (d *driver) enqueue(w *words) string {
	label := w.next()
	claim, waits := d.asked(w)
	if w.bad {
		return nonsense
	}
	if !waits {
		lease, err := d.manager.TryClaim(claim)
		if err == nil {
			d.labels.giveLease(label, lease.ID())
		}
		return status(err)
	}
	ticket, err := d.manager.Enqueue(claim)
	return d.enqueued(label, ticket, err)
}

// enqueued is the answer to a claim that may stand in line.
func (d *driver) enqueued(label string, ticket *ternlease.Ticket, err error) string {
	if err != nil {
		return status(err)
	}
	if ticket.ID() != 0 {
		d.labels.giveTicket(label, ticket.ID())
		return name(ternlease.ErrWaiting)
	}
	lease, err := ticket.Wait(context.Background())
	if err == nil {
		d.labels.giveLease(label, lease.ID())
	}
	return status(err)
}

func (d *driver) wait(w *words) string {
	label, limit := w.next(), w.next()
	ctx, cancel := context.Background(), func() {}
	if limit != "forever" {
		ctx, cancel = context.WithTimeout(ctx, saturated(w.parse(limit, 64), time.Millisecond))
	}
	defer cancel()
	if w.bad {
		return nonsense
	}
	lease, err := d.ticket(label).Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return name(ternlease.ErrWaiting)
	}
	if err == nil {
		d.labels.leases[label] = lease.ID()
	}
	return status(err)
}

func (d *driver) cancel(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	changed, err := d.ticket(label).Cancel()
	if err == nil && !changed {
		return name(ternlease.ErrUnchanged)
	}
	return status(err)
}

func (d *driver) counts(*words) string {
	active, err1 := d.manager.ActiveCount()
	pending, err2 := d.manager.PendingClaimers()
	revocations, err3 := d.manager.Revocations()
	return okay(errors.Join(err1, err2, err3), "active=%d pending=%d revocations=%d", active, pending, revocations)
}

func (d *driver) counted(w *words) string {
	reason := w.reason()
	if w.bad {
		return nonsense
	}
	count, err := d.manager.Count(reason)
	return okay(err, "%d", count)
}

func (d *driver) want(w *words) string {
	holder, resource := w.next(), w.next()
	if w.bad {
		return nonsense
	}
	return status(d.manager.Want(holder, resource))
}

func (d *driver) unwant(w *words) string {
	holder, resource := w.next(), w.next()
	if w.bad {
		return nonsense
	}
	return status(d.manager.Unwant(holder, resource))
}

func (d *driver) deadlocks(*words) string {
	found, err := d.manager.Deadlocks()
	told := each(found, func(deadlock ternlease.Deadlock) string {
		cycle := each(deadlock.Cycle, func(wait ternlease.Wait) string {
			return fmt.Sprintf("%s:%s>%s", wait.Worker, d.labels.ofTicket(wait.Ticket), d.labels.ofLease(wait.Lease))
		})
		return fmt.Sprintf("victim=%s stuck=%s cycle=%s",
			d.labels.ofLease(deadlock.Victim), strings.Join(deadlock.Stuck, ","), strings.Join(cycle, ","))
	})
	return okay(err, "%s", orDash(strings.Join(told, " ; ")))
}

func (d *driver) processes(*words) string {
	processes, err := d.manager.Processes()
	return okay(err, "%d", len(processes))
}
