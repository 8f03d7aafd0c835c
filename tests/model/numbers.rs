//! Which ids of the real table stand for the model's numbers, and the model's words with those ids in them.

use ternlease::table::{
    Cancelled, Deadlock, Error, Event, LeaseId, LeaseInfo, Outcome, TicketId, TicketState, Wait,
    What,
};

use super::compare::same;
use super::step::Answer;

/// Real ids of the leases and tickets 1, 2, 3, ...
#[derive(Default)]
pub struct Numbers {
    pub leases: Vec<LeaseId>,
    pub tickets: Vec<TicketId>,
}

impl Numbers {
    pub fn lease(&self, number: u64) -> LeaseId {
        let known = number.checked_sub(1).and_then(|place| self.leases.get(place as usize));
        known.copied().unwrap_or(LeaseId(u64::MAX - number))
    }

    pub fn ticket(&self, number: u64) -> TicketId {
        let known = number.checked_sub(1).and_then(|place| self.tickets.get(place as usize));
        known.copied().unwrap_or(TicketId(u64::MAX - number))
    }

    /// Events that must be the same. New ids are paired here, in the order in which they come into being.
    pub fn compare_event(&mut self, event: &Event, expected: &Event) -> Result<(), String> {
        if let (What::Granted { .. }, What::Granted { lease, .. }) = (&expected.what, &event.what) {
            if self.leases.last().is_some_and(|last| last >= lease) {
                return Err(format!("lease id {lease} does not grow"));
            }
            self.leases.push(*lease);
        }
        if let (What::Queued { .. }, What::Queued { ticket }) = (&expected.what, &event.what) {
            if self.tickets.last().is_some_and(|last| last >= ticket) {
                return Err(format!("ticket id {ticket} does not grow"));
            }
            self.tickets.push(*ticket);
        }
        same(format_args!("event"), event, &self.event(expected))
    }

    fn event(&self, event: &Event) -> Event {
        let mut event = event.clone();
        match &mut event.what {
            What::Granted { lease, ticket } => {
                *lease = self.lease(lease.0);
                *ticket = ticket.map(|ticket| self.ticket(ticket.0));
            }
            What::RenewedLate { lease, .. }
            | What::Revoking { lease, .. }
            | What::Ended { lease, .. } => {
                *lease = self.lease(lease.0);
            }
            What::Queued { ticket } | What::Refused { ticket, .. } => {
                *ticket = self.ticket(ticket.0)
            }
            What::Health { .. } => {}
            unknown => panic!("the model does not know {unknown:?}"),
        }
        event
    }

    pub fn answer(&self, answer: Result<Answer, Error>) -> Result<Answer, Error> {
        Ok(match answer? {
            Answer::Outcome(Outcome::Granted(lease)) => {
                Answer::Outcome(Outcome::Granted(self.lease(lease.0)))
            }
            Answer::Outcome(Outcome::Waiting(ticket)) => {
                Answer::Outcome(Outcome::Waiting(self.ticket(ticket.0)))
            }
            Answer::Cancelled(Cancelled::WasGranted(lease)) => {
                Answer::Cancelled(Cancelled::WasGranted(self.lease(lease.0)))
            }
            Answer::Cancelled(Cancelled::WasCollected(lease)) => {
                Answer::Cancelled(Cancelled::WasCollected(self.lease(lease.0)))
            }
            Answer::Deadlocks(found) => Answer::Deadlocks(
                found.into_iter().map(|deadlock| self.deadlock(deadlock)).collect(),
            ),
            other => other,
        })
    }

    pub fn deadlock(&self, deadlock: Deadlock) -> Deadlock {
        let wait = |wait: Wait| Wait {
            ticket: wait.ticket.map(|ticket| self.ticket(ticket.0)),
            lease: self.lease(wait.lease.0),
            ..wait
        };
        Deadlock {
            stuck: deadlock.stuck,
            cycle: deadlock.cycle.into_iter().map(wait).collect(),
            victim: self.lease(deadlock.victim.0),
        }
    }

    pub fn lease_info(&self, info: LeaseInfo) -> LeaseInfo {
        LeaseInfo {
            id: self.lease(info.id.0),
            parent: info.parent.map(|parent| self.lease(parent.0)),
            ..info
        }
    }

    pub fn ticket_state(&self, state: TicketState) -> TicketState {
        match state {
            TicketState::Granted(lease) => TicketState::Granted(self.lease(lease.0)),
            other => other,
        }
    }
}
