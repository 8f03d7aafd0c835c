package main

import (
	"fmt"
	"strings"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func (d *driver) ticketState(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	return trit(d.ticket(label).State())
}

func (d *driver) state(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	return trit(d.lease(label).State())
}

func (d *driver) ids(labels []string) []ternlease.LeaseID {
	ids := make([]ternlease.LeaseID, len(labels))
	for i, label := range labels {
		ids[i] = d.labels.leases[label]
	}
	return ids
}

func (d *driver) states(w *words) string {
	ids := d.ids(w.plain)
	states := make([]ternlease.LeaseState, len(ids))
	if err := d.manager.States(states, ids); err != nil {
		return status(err)
	}
	return strings.Join(each(states, trit[ternlease.LeaseState]), " ")
}

func (d *driver) renew(w *words) string {
	lease := d.lease(w.next())
	if len(w.plain) == 0 && !w.bad {
		end, err := lease.Renew()
		return okay(err, "%s", moment(end))
	}
	ttl := w.span(w.next())
	if w.bad {
		return nonsense
	}
	end, err := lease.RenewFor(ttl)
	return okay(err, "%s", moment(end))
}

func (d *driver) renewAll(w *words) string {
	renewed, err := d.manager.RenewAll(d.ids(w.plain))
	return okay(err, "%d", renewed)
}

func (d *driver) release(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	return status(d.lease(label).Release())
}

func (d *driver) revoke(w *words) string {
	label, reason := w.next(), w.reason()
	by, _ := w.option("by")
	notice := w.optionSpan("notice")
	if w.bad {
		return nonsense
	}
	at, changed, err := d.lease(label).Revoke(ternlease.Revocation{Reason: reason, By: by, Notice: notice})
	if err == nil && !changed {
		return name(ternlease.ErrUnchanged) + " " + moment(at)
	}
	return okay(err, "%s", moment(at))
}

func (d *driver) info(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	info, err := d.lease(label).Info()
	if err != nil {
		return status(err)
	}
	takes, err := d.lease(label).Takes()
	taken := each(takes, func(take ternlease.Take) string {
		return fmt.Sprintf("%s:%d:%d", take.Resource, take.Slots, take.MemoryMiB)
	})
	return okay(err, "state=%s holder=%s ttl=%s granted=%s end=%s reason=%s priority=%d flags=%s parent=%s by=%s takes=%s",
		trit(info.State), info.Holder, units(info.TTL), moment(info.GrantedAt), moment(info.End), info.Reason, info.Priority,
		orDash(strings.Join(flags(info), ",")), d.labels.ofLease(info.Parent), orDash(info.Revoker),
		orDash(strings.Join(taken, ",")))
}

func flags(info ternlease.LeaseInfo) (flags []string) {
	for _, flag := range []struct {
		is   bool
		name string
	}{
		{info.Revoking, "revoking"}, {info.Spare, "spare"}, {info.Preemptible, "preemptible"}, {info.Shared, "shared"},
	} {
		if flag.is {
			flags = append(flags, flag.name)
		}
	}
	return flags
}

func (d *driver) ticketInfo(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	info, err := d.ticket(label).Info()
	if err != nil {
		return status(err)
	}
	resources, err := d.ticket(label).Resources()
	return okay(err, "holder=%s place=%d queued=%s count=%d of=%s priority=%d", info.Holder, info.Place,
		moment(info.QueuedAt), info.Count, strings.Join(resources, ","), info.Priority)
}

func (d *driver) resource(w *words) string {
	resource := w.next()
	if w.bad {
		return nonsense
	}
	info, err := d.manager.Resource(resource)
	declared := map[bool]string{true: "yes", false: "no"}[info.Declared]
	return okay(err, "slots=%d/%d memory=%d/%d shared=%d health=%s declared=%s", info.UsedSlots, info.Slots,
		info.UsedMemoryMiB, info.MemoryMiB, info.Shared, trit(info.Health), declared)
}

func (d *driver) resources(*words) string {
	infos, err := d.manager.Resources()
	return list(err, each(infos, func(info ternlease.ResourceInfo) string { return info.Name }))
}

func (d *driver) find(w *words) string {
	label, resource := w.next(), w.next()
	if w.bad {
		return nonsense
	}
	leases, err := d.manager.LeasesOn(resource)
	if err != nil {
		return status(err)
	}
	if len(leases) == 0 {
		return name(ternlease.ErrEmpty)
	}
	d.labels.giveLease(label, leases[0])
	return "OK"
}

func (d *driver) on(w *words) string {
	resource := w.next()
	if w.bad {
		return nonsense
	}
	leases, err := d.manager.LeasesOn(resource)
	return list(err, each(leases, d.labels.ofLease))
}

func (d *driver) held(w *words) string {
	holder := w.next()
	if w.bad {
		return nonsense
	}
	leases, err := d.manager.HeldBy(holder)
	return list(err, each(leases, d.labels.ofLease))
}

func (d *driver) leases(*words) string {
	infos, err := d.manager.Leases()
	return list(err, each(infos, func(info ternlease.LeaseInfo) string { return d.labels.ofLease(info.ID) }))
}

func (d *driver) tickets(*words) string {
	infos, err := d.manager.Tickets()
	return list(err, each(infos, func(info ternlease.TicketInfo) string { return d.labels.ofTicket(info.ID) }))
}
