//! How leases and tickets end: by time, by command, with their parents, after a notice.

use ternlease::table::{Actor, FOREVER, LeaseId, Reason, Revoked, TicketState, Time, What};

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
                Due::Ticket(id) => self.refuse(id, at, Reason::WaitTimedOut, None),
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
            Some(notice) => {
                let over = Over {
                    at,
                    reason: notice.reason,
                    by: notice.by,
                    ended_by: notice.given_by,
                    acknowledged: false,
                };
                self.end_as(id, over, notice.given_by);
            }
            None => self.end_lease(id, at, Reason::TimedOut, None, None),
        }
    }

    pub fn refuse(&mut self, id: u64, at: Time, reason: Reason, actor: Option<Actor>) {
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
            actor,
        );
    }

    /// A held lease ends, after all that hang on it; claims that were to hang on it are refused.
    pub fn end_lease(
        &mut self,
        id: u64,
        at: Time,
        reason: Reason,
        by: Option<String>,
        actor: Option<Actor>,
    ) {
        // A notice to it and to its parent tells who gave it.
        let ended_by = match &self.held[&id].notice {
            Some(notice) if reason == Reason::ParentRevoked => notice.given_by,
            _ => self.unless_owner(id, actor),
        };
        self.end_as(id, Over { at, reason, by, ended_by, acknowledged: false }, actor);
    }

    /// The user gives a lease back.
    pub fn give_up(&mut self, id: u64) {
        let (at, actor) = (self.now, self.actor());
        if self.is_foreign(id) {
            self.note("released by another principal");
            return self.end_lease(id, at, Reason::Operator, None, actor);
        }
        let Some(Notice { reason, by, given_by, .. }) = self.held[&id].notice.clone() else {
            return self.end_lease(id, at, Reason::Released, None, actor);
        };
        self.note("released during its notice");
        let over = Over { at, reason, by, ended_by: given_by, acknowledged: true };
        self.end_as(id, over, actor);
    }

    fn end_as(&mut self, id: u64, over: Over, actor: Option<Actor>) {
        let Over { at, reason, acknowledged, .. } = over;
        let below_by = if acknowledged { over.ended_by } else { actor };
        let below = if reason.is_revocation() { Reason::ParentRevoked } else { reason };
        for child in self.children_youngest_first(id) {
            self.note("child ended with its parent");
            // One whose end has come already ends by its own rule, as readers have seen it.
            if self.held[&child].end() <= at {
                self.end_by_time(child);
            } else {
                self.end_lease(child, at, below, None, below_by);
            }
        }
        let mut lease = self.held.remove(&id).expect("a held lease");
        if reason.is_revocation() {
            self.revocations += 1;
            let owner = self.principal_of(lease.ask.owner);
            let foreign = over.ended_by.is_some_and(|actor| actor.principal != owner);
            self.foreign_revocations += u64::from(foreign);
        }
        *self.counts.entry(reason).or_default() += 1;
        let held = at.saturating_sub(lease.granted_at);
        for taken in lease.takes.clone() {
            let name = taken.resource.as_str();
            let itself = self.resource_itself(name);
            let empty = !self.held.values().any(|other| other.takes_of(name));
            if itself.traits.checked && empty {
                self.note("drained by its last lease");
                self.change(at, name, None, |resource| resource.cleaning = true);
            }
            if empty {
                self.note_if_lost(name);
            }
        }
        lease.over = Some(over);
        self.ended.insert(id, lease);
        let ended = What::Ended { lease: LeaseId(id), reason, held, acknowledged };
        self.emit(at, ended, actor);
        let hangs_on_it = |ticket: &u64| {
            self.waiting.get(ticket).is_some_and(|ticket| ticket.ask.parent == Some(id))
        };
        let orphans: Vec<u64> = self.line_before.iter().copied().filter(hangs_on_it).collect();
        for ticket in orphans {
            self.refuse(ticket, at, Reason::ParentEnded, None);
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
        actor: Option<Actor>,
    ) -> Revoked {
        let until = after(self.now, notice).min(FOREVER - 1);
        if until <= self.now {
            self.give_credit(id, reason);
            self.end_lease(id, self.now, reason, by, actor);
            return Revoked::AtOnce;
        }
        if let Some(running) = &self.held[&id].notice
            && running.until <= until
        {
            return Revoked::AlreadyNotified(running.until);
        }
        self.give_credit(id, reason);
        self.notify(id, reason, by, until, actor);
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
    pub fn notify(
        &mut self,
        id: u64,
        reason: Reason,
        by: Option<String>,
        until: Time,
        actor: Option<Actor>,
    ) {
        let given_by = self.unless_owner(id, actor);
        let lease = self.held.get_mut(&id).expect("a held lease");
        if lease.notice.as_ref().is_none_or(|running| until < running.until) {
            lease.notice = Some(Notice { until, reason, by, given_by });
            let notice = What::Revoking { lease: LeaseId(id), reason, until };
            self.emit(self.now, notice, actor);
        }
        for child in self.children_youngest_first(id) {
            self.notify(child, Reason::ParentRevoked, None, until, actor);
        }
    }
}
