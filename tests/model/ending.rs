//! How leases and tickets end: by time, by command, with their parents, after a notice.

use ternlease::table::{FOREVER, LeaseId, Reason, Revoked, TicketState, Time, What};

use super::line::after;
use super::{Lease, Model, Notice, Over, ticket_id};

/// Something that happens by itself at its time. The order is that of the fields.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Lease(u64),
    Ticket(u64),
}

impl Model {
    /// Everything whose time is `<= now` happens, earliest first.
    pub fn bring_up_to_now(&mut self) {
        while let Some((at, due)) = self.next_due() {
            match due {
                Due::Lease(id) => self.end_by_time(id),
                Due::Ticket(id) => self.refuse(id, at, Reason::WaitTimedOut),
            }
            self.settle();
        }
    }

    fn next_due(&self) -> Option<(Time, Due)> {
        let leases = self.held.values().map(|lease| (lease.end(), Due::Lease(lease.id)));
        let tickets = self.waiting.values().map(|ticket| (ticket.deadline, Due::Ticket(ticket.id)));
        leases.chain(tickets).filter(|(at, _)| *at <= self.now).min()
    }

    /// The end of a lease has come: that of its notice, or its own.
    pub fn end_by_time(&mut self, id: u64) {
        let lease = &self.held[&id];
        let at = lease.end();
        match lease.ending_notice().cloned() {
            Some(notice) => self.end_lease(id, at, notice.reason, notice.by),
            None => self.end_lease(id, at, Reason::TimedOut, None),
        }
    }

    pub fn refuse(&mut self, id: u64, at: Time, reason: Reason) {
        let ticket = self.waiting.remove(&id).expect("a waiting ticket");
        self.decided.insert(id, TicketState::Refused(reason));
        *self.counts.entry(reason).or_default() += 1;
        self.emit(
            at,
            What::Refused {
                ticket: ticket_id(id),
                reason,
                waited: at.saturating_sub(ticket.arrived),
            },
        );
    }

    /// A held lease ends, after all that hang on it; claims that were to hang on it are refused.
    pub fn end_lease(&mut self, id: u64, at: Time, reason: Reason, by: Option<String>) {
        let below = if reason.is_revocation() { Reason::ParentRevoked } else { reason };
        for child in self.children_youngest_first(id) {
            self.note("child ended with its parent");
            // One whose end has come already ends by its own rule, as readers have seen it.
            if self.held[&child].end() <= at {
                self.end_by_time(child);
            } else {
                self.end_lease(child, at, below, None);
            }
        }
        let mut lease = self.held.remove(&id).expect("a held lease");
        if reason.is_revocation() {
            self.revocations += 1;
        }
        *self.counts.entry(reason).or_default() += 1;
        let held = at.saturating_sub(lease.granted_at);
        for taken in lease.takes.clone() {
            let name = taken.resource.as_str();
            let itself = self.resource_itself(name);
            let empty = !self.held.values().any(|other| other.takes_of(name));
            if itself.traits.checked && empty {
                self.note("drained by its last lease");
                self.change(at, name, |resource| resource.cleaning = true);
            }
            if empty {
                self.note_if_lost(name);
            }
        }
        lease.over = Some(Over { at, reason, by });
        self.ended.insert(id, lease);
        self.emit(at, What::Ended { lease: LeaseId(id), reason, held });
        let hangs_on_it = |ticket: &u64| {
            self.waiting.get(ticket).is_some_and(|ticket| ticket.ask.parent == Some(id))
        };
        let orphans: Vec<u64> = self.line_before.iter().copied().filter(hangs_on_it).collect();
        for ticket in orphans {
            self.refuse(ticket, at, Reason::ParentEnded);
        }
    }

    fn children_youngest_first(&self, parent: u64) -> Vec<u64> {
        let children = self.held.values().filter(|lease| lease.ask.parent == Some(parent));
        children.map(|lease| lease.id).rev().collect()
    }

    /// Revoke a held lease, now or after a notice.
    pub fn take_away(
        &mut self,
        id: u64,
        reason: Reason,
        by: Option<String>,
        notice: Time,
    ) -> Revoked {
        let until = after(self.now, notice).min(FOREVER - 1);
        if until <= self.now {
            self.give_credit(id, reason);
            self.end_lease(id, self.now, reason, by);
            return Revoked::AtOnce;
        }
        if let Some(running) = &self.held[&id].notice
            && running.until <= until
        {
            return Revoked::AlreadyNotified(running.until);
        }
        self.give_credit(id, reason);
        self.notify(id, reason, by, until);
        Revoked::Notified(until)
    }

    /// The victim's holder gets the age of its claim back, the better one if it has one already. A lease gives its age once.
    fn give_credit(&mut self, id: u64, reason: Reason) {
        if reason == Reason::DeadlockVictim && self.gave_age.insert(id) {
            let Lease { ask, age, .. } = &self.held[&id];
            let credit = self.credits.entry(ask.holder.clone()).or_insert(*age);
            *credit = *age.min(credit);
        }
    }

    /// A notice to a lease is one to all below it, unless they have an earlier one.
    pub fn notify(&mut self, id: u64, reason: Reason, by: Option<String>, until: Time) {
        let lease = self.held.get_mut(&id).expect("a held lease");
        if lease.notice.as_ref().is_none_or(|running| until < running.until) {
            lease.notice = Some(Notice { until, reason, by });
            self.emit(self.now, What::Revoking { lease: LeaseId(id), reason, until });
        }
        for child in self.children_youngest_first(id) {
            self.notify(child, Reason::ParentRevoked, None, until);
        }
    }
}
