//! The commands. Each checks its arguments, then its time, brings the table up to date,
//! acts, and does what follows.

use ternlease::table::{
    Actor, Cancelled, Deadlock, Error, FOREVER, Health, LeaseId, MAX_DEPTH, MAX_NAME, Outcome,
    Reaped, Reason, ReasonClass, Revoked, Take, TicketId, TicketState, Time, Traits, What,
};

use super::line::after;
use super::{Ask, Model, Resource, Ticket, Want, recorded_state, ticket_id};

fn check_name(name: &str) -> Result<(), Error> {
    match name.len() {
        0 => Err(Error::EmptyName),
        length if length > MAX_NAME => Err(Error::NameTooLong),
        _ => Ok(()),
    }
}

fn check_length(time: Time) -> Result<(), Error> {
    if time > FOREVER { Err(Error::TimeTooLarge) } else { Ok(()) }
}

/// A notice always ends.
fn check_notice(time: Time) -> Result<(), Error> {
    if time >= FOREVER { Err(Error::TimeTooLarge) } else { Ok(()) }
}

/// What of a claim can be judged without looking at the table.
fn check_ask(ask: &Ask) -> Result<(), Error> {
    check_name(&ask.holder)?;
    ask.candidates.iter().try_for_each(|name| check_name(name))?;
    if ask.count == 0 {
        return Err(Error::CountIsZero);
    }
    if ask.count as usize > ask.candidates.len() {
        return Err(Error::CountExceedsCandidates);
    }
    if ask.take == (Take::Amount { slots: 0, memory: 0 }) {
        return Err(Error::ZeroAmount);
    }
    if ask.ttl == 0 {
        return Err(Error::ZeroTtl);
    }
    [ask.ttl, ask.wait].into_iter().try_for_each(check_length)?;
    check_notice(ask.grace)
}

impl Model {
    /// The frame of every command whose arguments are good.
    fn command<T>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut Model) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if now >= FOREVER {
            return Err(Error::TimeTooLarge);
        }
        if now < self.now {
            return Err(Error::TimeBackwards);
        }
        self.now = now;
        self.bring_up_to_now();
        let answer = act(self);
        if answer.is_ok() {
            self.settle();
        }
        answer
    }

    fn check_held(&self, id: u64) -> Result<(), Error> {
        if self.held.contains_key(&id) {
            return Ok(());
        }
        let lease = self.ended.get(&id).ok_or(Error::UnknownLease)?;
        let over = lease.over.as_ref().expect("an ended lease");
        Err(Error::NotHeld(recorded_state(lease), over.reason))
    }

    pub fn declare(&mut self, now: Time, name: &str, slots: u32, memory: u32) -> Result<(), Error> {
        check_name(name)?;
        if slots == 0 && memory == 0 {
            return Err(Error::ZeroAmount);
        }
        self.command(now, |model| {
            let before = model.resource_itself(name);
            let changes = (slots, memory) != (before.slots, before.memory);
            let held = model.held.values().any(|lease| lease.takes_of(name));
            if changes && (held || model.is_waited_for(name)) {
                return Err(Error::InUse);
            }
            model.declared.insert(name.to_string(), Resource { slots, memory, ..before });
            Ok(())
        })
    }

    /// `None`: a resource that this table does not know.
    pub fn set_health(
        &mut self,
        now: Time,
        name: Option<&str>,
        health: Health,
    ) -> Result<(), Error> {
        self.command(now, |model| {
            let name = name.ok_or(Error::UnknownResource)?;
            model.change(now, name, model.actor(), |resource| resource.said = health);
            Ok(())
        })
    }

    pub fn set_traits(
        &mut self,
        now: Time,
        name: Option<&str>,
        mut traits: Traits,
        node: Option<&str>,
    ) -> Result<(), Error> {
        self.command(now, |model| {
            let name = name.ok_or(Error::UnknownResource)?;
            if traits.island == u32::MAX {
                return Err(Error::UnknownIsland);
            }
            if let Some(node) = node {
                traits.node = Some(*model.ids.get(node).ok_or(Error::UnknownResource)?);
            }
            let held = model.held.values().any(|lease| lease.takes_of(name));
            let in_use = held || model.is_waited_for(name);
            if in_use && traits.node != model.node_of(name) {
                return Err(Error::InUse);
            }
            model.change(now, name, model.actor(), |resource| {
                resource.traits = traits;
                resource.cleaning &= traits.checked;
            });
            Ok(())
        })
    }

    pub fn set_evidence(
        &mut self,
        now: Time,
        name: Option<&str>,
        health: Health,
        unused: bool,
    ) -> Result<(), Error> {
        self.command(now, |model| {
            let name = name.ok_or(Error::UnknownResource)?;
            model.change(now, name, model.actor(), |resource| {
                resource.seen = health;
                resource.cleaning &= !unused;
            });
            Ok(())
        })
    }

    pub fn fail(
        &mut self,
        now: Time,
        name: Option<&str>,
        reason: Reason,
        by: &str,
    ) -> Result<(), Error> {
        if !reason.is_revocation() {
            return Err(Error::NotARevocation(reason));
        }
        self.command(now, |model| {
            let name = name.ok_or(Error::UnknownResource)?;
            let actor = model.actor();
            model.change(now, name, actor, |resource| resource.seen = Health::Failed);
            // The youngest first, and some go with others.
            while let Some(id) =
                model.held.values().filter(|lease| lease.takes_of(name)).map(|lease| lease.id).max()
            {
                model.note("revoked with its resource");
                model.take_away(id, reason, Some(by.to_string()), 0, actor);
            }
            Ok(())
        })
    }

    /// `unknown`: a candidate was given by an id that this table does not know.
    pub fn claim(&mut self, now: Time, ask: &Ask, unknown: bool) -> Result<Outcome, Error> {
        check_ask(ask)?;
        let outcome = self.command(now, |model| {
            if unknown {
                return Err(Error::UnknownResource);
            }
            model.check_against_table(ask)?;
            model.take_in(&model.as_it_counts(ask))
        })?;
        Ok(match outcome {
            Outcome::Waiting(ticket) => match self.ticket(ticket.0) {
                Some(TicketState::Granted(lease)) => {
                    self.collected.insert(ticket.0);
                    Outcome::Granted(lease)
                }
                _ => outcome,
            },
            Outcome::Granted(_) => outcome,
        })
    }

    fn check_against_table(&self, ask: &Ask) -> Result<(), Error> {
        let twice = |(place, name): (usize, &String)| ask.candidates[..place].contains(name);
        if ask.candidates.iter().enumerate().any(twice) {
            return Err(Error::DuplicateCandidate);
        }
        if let Some(parent) = ask.parent {
            let parent = self.held.get(&parent).ok_or(Error::ParentNotHeld)?;
            if parent.depth + 1 > MAX_DEPTH {
                return Err(Error::TooDeep);
            }
        }
        if self.impossible(ask) { Err(Error::Impossible) } else { Ok(()) }
    }

    /// Grant the claim at once, put it in line, or refuse it.
    fn take_in(&mut self, ask: &Ask) -> Result<Outcome, Error> {
        let id = (self.waiting.len() + self.decided.len()) as u64 + 1;
        let credit = self.credits.get(&ask.holder).copied();
        let mut ticket = Ticket {
            id,
            ask: ask.clone(),
            age: credit.unwrap_or(self.arrivals + 1),
            worker: ask
                .parent
                .map_or(ask.holder.clone(), |parent| self.held[&parent].worker.clone()),
            arrived: self.now,
            deadline: after(self.now, ask.wait),
            may_overtake: false,
        };
        let at_once = self.may_go_at_once(&ticket);
        if !at_once && ask.wait == 0 {
            return Err(Error::Busy);
        }
        self.arrivals += 1;
        if at_once {
            ticket.age = self.arrivals;
            return Ok(Outcome::Granted(LeaseId(self.grant(ticket, None))));
        }
        self.ticket_owners.insert(id, ask.owner);
        self.waiting.insert(id, ticket);
        // The credit is for the holder's next ticket: what is granted at once does not use it up.
        if self.credits.remove(&ask.holder).is_some() {
            self.note("age taken over from a victim");
        }
        self.emit(self.now, What::Queued { ticket: ticket_id(id) }, self.actor());
        Ok(Outcome::Waiting(TicketId(id)))
    }

    pub fn renew(&mut self, now: Time, id: u64, ttl: Option<Time>) -> Result<Time, Error> {
        if ttl == Some(0) {
            return Err(Error::ZeroTtl);
        }
        check_length(ttl.unwrap_or(1))?;
        self.command(now, |model| {
            model.check_held(id)?;
            let parent = model.held[&id].ask.parent;
            let parent_end = parent.map_or(FOREVER, |parent| model.held[&parent].end());
            let lease = model.held.get_mut(&id).expect("just checked");
            let left = lease.end() - now;
            // A quarter of what has no end is not a time.
            let late = lease.ttl < FOREVER && lease.end() < FOREVER && left * 4 < lease.ttl;
            lease.ttl = ttl.unwrap_or(lease.ttl);
            lease.own_end = lease.own_end.max(after(now, lease.ttl).min(parent_end));
            let end = lease.end();
            if late {
                let renewed = What::RenewedLate { lease: LeaseId(id), until: end };
                model.emit(now, renewed, model.actor());
            }
            Ok(end)
        })
    }

    pub fn release(&mut self, now: Time, id: u64) -> Result<(), Error> {
        self.end(now, id, Reason::Released)
    }

    pub fn end(&mut self, now: Time, id: u64, reason: Reason) -> Result<(), Error> {
        self.command(now, |model| {
            model.check_held(id)?;
            match reason {
                Reason::Released => model.give_up(id),
                _ => model.end_lease(id, now, reason, None, None),
            }
            Ok(())
        })
    }

    pub fn revoke(
        &mut self,
        now: Time,
        id: u64,
        reason: Reason,
        by: &str,
        notice: Time,
    ) -> Result<Revoked, Error> {
        if !reason.is_revocation() {
            return Err(Error::NotARevocation(reason));
        }
        check_notice(notice)?;
        self.command(now, |model| {
            model.check_held(id)?;
            let actor = model.actor();
            Ok(model.take_away(id, reason, Some(by.to_string()), notice, actor))
        })
    }

    pub fn cancel(&mut self, now: Time, id: u64) -> Result<Cancelled, Error> {
        self.command(now, |model| match model.ticket(id) {
            None => Err(Error::UnknownTicket),
            Some(TicketState::Granted(lease)) if model.collected.contains(&id) => {
                Ok(Cancelled::WasCollected(lease))
            }
            Some(TicketState::Granted(lease)) => {
                model.decided.insert(id, TicketState::Refused(Reason::Cancelled));
                Ok(Cancelled::WasGranted(lease))
            }
            Some(TicketState::Refused(reason)) => Ok(Cancelled::WasRefused(reason)),
            Some(TicketState::Waiting) => {
                model.refuse(id, now, Reason::Cancelled, model.actor());
                Ok(Cancelled::Left)
            }
        })
    }

    /// Its claims leave the line in order, then its leases end, the oldest first.
    pub fn reap(&mut self, now: Time, owner: u16, reason: Reason) -> Result<Reaped, Error> {
        if reason.class() != ReasonClass::Ended {
            return Err(Error::NotARevocation(reason));
        }
        self.command(now, |model| {
            let mut reaped = Reaped::default();
            let leaves = reason == Reason::Released && owner == model.user.0;
            let actor = model.actor().filter(|_| leaves);
            let owned =
                |ticket: &u64| model.waiting.get(ticket).is_some_and(|of| of.ask.owner == owner);
            let tickets: Vec<u64> = model.line_before.iter().copied().filter(owned).collect();
            for ticket in tickets {
                model.note("claim of a dead owner");
                let lost = reason == Reason::EngineLost;
                let refusal = if lost { reason } else { Reason::Cancelled };
                model.refuse(ticket, now, refusal, actor);
                reaped.tickets += 1;
            }
            let gone = model.ticket_owners.iter().filter(|(_, of)| **of == owner);
            let gone: Vec<u64> = gone.map(|(ticket, _)| *ticket).collect();
            model.collected.extend(gone);
            let leases = model.held.values().filter(|lease| lease.ask.owner == owner);
            let leases: Vec<u64> = leases.map(|lease| lease.id).collect();
            for lease in leases {
                if model.held.contains_key(&lease) {
                    model.note("lease of a dead owner");
                    match leaves {
                        true => model.give_up(lease),
                        false => model.end_lease(lease, now, reason, None, None),
                    }
                    reaped.leases += 1;
                }
            }
            Ok(reaped)
        })
    }

    pub fn give_to(&mut self, now: Time, id: u64, owner: u16) -> Result<(), Error> {
        self.command(now, |model| {
            model.check_held(id)?;
            let is_root = model.actor().is_none_or(|actor| actor.principal == 0);
            if !is_root && model.is_foreign(id) {
                return Err(Error::OtherPrincipal);
            }
            model.held.get_mut(&id).expect("just checked").ask.owner = owner;
            Ok(())
        })
    }

    /// From now on the commands are those of this process.
    pub fn join(&mut self, owner: u16, actor: Actor) {
        self.user = (owner, Some(actor));
        self.principals.insert(owner, actor.principal);
    }

    pub fn advance(&mut self, now: Time) -> Result<(), Error> {
        self.command(now, |_| Ok(()))
    }

    pub fn want(&mut self, now: Time, holder: &str, resource: &str) -> Result<(), Error> {
        check_name(holder)?;
        check_name(resource)?;
        self.command(now, |model| {
            let want = Want { holder: holder.to_string(), resource: resource.to_string() };
            if !model.wants.contains(&want) {
                model.wants.push(want);
            }
            Ok(())
        })
    }

    pub fn unwant(&mut self, now: Time, holder: &str, resource: &str) -> Result<(), Error> {
        check_name(holder)?;
        check_name(resource)?;
        self.command(now, |model| {
            let before = model.wants.len();
            model.wants.retain(|want| want.holder != holder || want.resource != resource);
            if model.wants.len() == before { Err(Error::UnknownWant) } else { Ok(()) }
        })
    }

    pub fn find_deadlocks(&mut self, now: Time) -> Result<Vec<Deadlock>, Error> {
        self.command(now, |_| Ok(()))?;
        Ok(self.deadlocks())
    }
}
