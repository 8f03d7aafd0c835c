//! The driver's own names for leases and tickets.

use std::collections::HashMap;

use ternlease::{LeaseId, Outcome, TicketId};

#[derive(Default)]
pub struct Labels {
    leases: HashMap<String, LeaseId>,
    tickets: HashMap<String, TicketId>,
}

impl Labels {
    pub fn give(&mut self, label: &str, outcome: Outcome) {
        match outcome {
            Outcome::Granted(lease) => {
                self.tickets.remove(label);
                self.give_lease(label, lease);
            }
            Outcome::Waiting(ticket) => {
                self.leases.remove(label);
                self.tickets.insert(label.to_owned(), ticket);
            }
        }
    }

    pub fn give_lease(&mut self, label: &str, lease: LeaseId) {
        self.leases.insert(label.to_owned(), lease);
    }

    /// Nothing is remembered of the lease 0.
    pub fn lease(&self, label: &str) -> LeaseId {
        self.leases.get(label).copied().unwrap_or(LeaseId(0))
    }

    pub fn ticket(&self, label: &str) -> TicketId {
        self.tickets.get(label).copied().unwrap_or(TicketId(0))
    }

    pub fn of_lease(&self, lease: LeaseId) -> String {
        name(&self.leases, lease, LeaseId(0))
    }

    pub fn of_ticket(&self, ticket: TicketId) -> String {
        name(&self.tickets, ticket, TicketId(0))
    }
}

fn name<T: PartialEq>(known: &HashMap<String, T>, wanted: T, none: T) -> String {
    if wanted == none {
        return "-".to_owned();
    }
    known.iter().find(|(_, id)| **id == wanted).map_or("?".to_owned(), |(label, _)| label.clone())
}
