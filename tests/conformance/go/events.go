package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	ternlease "github.com/ternlease/ternlease/bindings/go"
)

func (d *driver) readEvents(*words) string {
	if d.events == nil {
		events, err := d.manager.Events(ternlease.FromNow)
		if err != nil {
			return status(err)
		}
		d.events = events
	}
	var told []string
	for {
		event, err := d.events.TryNext()
		if errors.Is(err, ternlease.ErrEmpty) {
			return "OK " + orDash(strings.Join(told, "; "))
		}
		if err != nil {
			return status(err)
		}
		told = append(told, d.tell(event))
	}
}

func (d *driver) tell(event ternlease.Event) string {
	lease, ticket := d.labels.ofLease(event.Lease), d.labels.ofTicket(event.Ticket)
	switch event.Kind {
	case ternlease.EventGranted:
		if event.Ticket == 0 {
			return "granted " + lease
		}
		return "granted " + lease + " " + ticket
	case ternlease.EventRenewedLate:
		return fmt.Sprintf("renewed-late %s %s", lease, moment(event.Until))
	case ternlease.EventRevoking:
		return fmt.Sprintf("revoking %s %s %s", lease, event.Reason, moment(event.Until))
	case ternlease.EventEnded:
		return fmt.Sprintf("ended %s %s %s", lease, event.Reason, units(event.Duration))
	case ternlease.EventQueued:
		return "queued " + ticket
	case ternlease.EventRefused:
		return fmt.Sprintf("refused %s %s %s", ticket, event.Reason, units(event.Duration))
	case ternlease.EventHealth:
		return fmt.Sprintf("health %s %s", event.Resource, trit(event.Health))
	case ternlease.EventDied:
		return "died"
	case ternlease.EventRolledBack:
		return "rolled-back"
	default:
		return nonsense
	}
}

func (d *driver) watch(w *words) string {
	label := w.next()
	if w.bad {
		return nonsense
	}
	notices, err := d.lease(label).Watch(context.Background())
	if err == nil {
		d.watches[label] = notices
	}
	return status(err)
}

func (d *driver) notice(w *words) string {
	notices, watched := d.watches[w.next()]
	limit := saturated(w.number(), time.Millisecond)
	if w.bad || !watched {
		return nonsense
	}
	select {
	case notice, open := <-notices:
		if open {
			return fmt.Sprintf("OK %s %s", trit(notice.State), notice.Reason)
		}
	case <-time.After(limit):
	}
	return name(ternlease.ErrTimeout)
}
