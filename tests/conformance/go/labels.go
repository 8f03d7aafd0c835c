package main

import ternlease "github.com/ternlease/ternlease/bindings/go"

// labels are the driver's own names for leases and tickets.
type labels struct {
	leases  map[string]ternlease.LeaseID
	tickets map[string]ternlease.TicketID
}

func newLabels() labels {
	return labels{map[string]ternlease.LeaseID{}, map[string]ternlease.TicketID{}}
}

// giveLease gives the label to a lease that needed no ticket.
func (l labels) giveLease(label string, lease ternlease.LeaseID) {
	delete(l.tickets, label)
	l.leases[label] = lease
}

func (l labels) giveTicket(label string, ticket ternlease.TicketID) {
	delete(l.leases, label)
	l.tickets[label] = ticket
}

func (l labels) ofLease(id ternlease.LeaseID) string { return labelOf(l.leases, id) }

func (l labels) ofTicket(id ternlease.TicketID) string { return labelOf(l.tickets, id) }

func labelOf[ID ~uint64](known map[string]ID, wanted ID) string {
	if wanted == 0 {
		return "-"
	}
	for label, id := range known {
		if id == wanted {
			return label
		}
	}
	return "?"
}
