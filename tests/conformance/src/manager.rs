//! Managers: leases, tickets, resources.

use std::time::Duration;

use ternlease::{
    Cancelled, ClaimBuilder, DeadlockPolicy, Error, Health, LeaseManager, Limits, Options, Revoked,
    Span, Take, TicketState,
};

use crate::Driver;
use crate::answer::{Problem, Step, list, ok, or_dash, reason_named, time, trit};
use crate::labels::Labels;
use crate::words::Words;

impl Driver {
    pub fn manager(&self) -> Result<&LeaseManager, Problem> {
        self.manager.as_ref().ok_or(Problem::Nonsense)
    }

    pub fn manager_step(&mut self, verb: &str, mut words: Words) -> Step {
        match verb {
            "open" => return self.open(words),
            "close" => {
                *self = Driver::default();
                return ok();
            }
            _ => {}
        }
        let manager = self.manager.as_ref().ok_or(Problem::Nonsense)?;
        let labels = &mut self.labels;
        match verb {
            "tick" => {
                let times = words.rest().first().map_or(Ok(1), |n| n.parse::<u64>());
                (0..times.map_err(|_| Problem::Nonsense)?).for_each(|_| manager.tick());
                Ok(format!("OK {}", manager.tick_count()))
            }
            "declare" => {
                manager.declare(words.next()?, words.number()?, words.number()?)?;
                ok()
            }
            "health" => {
                manager.set_health(words.next()?, health(words.next()?)?)?;
                ok()
            }
            "acquire" => {
                let (label, resource, holder) = (words.next()?, words.next()?, words.next()?);
                labels.give_lease(label, manager.acquire(resource, holder, words.span()?)?);
                ok()
            }
            "claim" | "enqueue" => {
                let (label, holder) = (words.next()?, words.next()?);
                let (ttl, resources) = (words.span()?, words.next()?);
                let resources: Vec<&str> = resources.split(',').collect();
                let made = manager.claim(holder).of(&resources).ttl(ttl);
                let made = options(made, labels, &words)?;
                if verb == "claim" {
                    labels.give_lease(label, blocking(made, &words)?);
                    return ok();
                }
                let outcome = made.submit()?;
                labels.give(label, outcome);
                match outcome {
                    ternlease::Outcome::Granted(_) => ok(),
                    ternlease::Outcome::Waiting(_) => Err(Problem::Status("WAITING")),
                }
            }
            "wait" => {
                let label = words.next()?;
                let timeout = match words.span()? {
                    Span::Units(milliseconds) => Some(Duration::from_millis(milliseconds)),
                    _ => None,
                };
                match manager.wait_for_ticket(labels.ticket(label), timeout)? {
                    TicketState::Granted(lease) => {
                        labels.give_lease(label, lease);
                        ok()
                    }
                    TicketState::Waiting => Err(Problem::Status("WAITING")),
                    TicketState::Refused(reason) => Err(Error::Refused(reason).into()),
                }
            }
            "cancel" => match manager.cancel_ticket(labels.ticket(words.next()?))? {
                Cancelled::Left | Cancelled::WasGranted(_) => ok(),
                _ => Err(Problem::Status("UNCHANGED")),
            },
            "ticket" => {
                Ok(trit(manager.ticket_state(labels.ticket(words.next()?)).map(
                    |state| match state {
                        TicketState::Granted(_) => 1,
                        TicketState::Waiting => 0,
                        TicketState::Refused(_) => -1,
                    },
                ))
                .to_owned())
            }
            "state" => Ok(state(manager, labels, words.next()?).to_owned()),
            "states" => {
                let leases: Vec<_> = words.rest().iter().map(|it| labels.lease(it)).collect();
                let states = manager.states(&leases).into_iter();
                let told: Vec<&str> = states.map(|it| trit(it.map(|it| it as i8))).collect();
                Ok(told.join(" "))
            }
            "renew" => {
                let lease = labels.lease(words.next()?);
                let end = match words.span() {
                    Ok(ttl) => manager.renew_for(lease, ttl)?,
                    Err(_) => manager.renew(lease)?,
                };
                Ok(format!("OK {}", time(end)))
            }
            "renew-all" => {
                let leases: Vec<_> = words.rest().iter().map(|it| labels.lease(it)).collect();
                Ok(format!("OK {}", manager.renew_all(&leases)))
            }
            "release" => {
                manager.release(labels.lease(words.next()?))?;
                ok()
            }
            "revoke" => {
                let lease = labels.lease(words.next()?);
                let reason = reason_named(words.next()?)?;
                let by = words.option("by").unwrap_or("");
                let notice = words.option_span("notice")?.unwrap_or(Span::Zero);
                match manager.revoke_with(lease, reason, by, notice)? {
                    Revoked::AtOnce => {
                        let end = manager.lease(lease).map_or(0, |info| info.end);
                        Ok(format!("OK {}", time(end)))
                    }
                    Revoked::Notified(end) => Ok(format!("OK {}", time(end))),
                    Revoked::AlreadyNotified(end) => Ok(format!("UNCHANGED {}", time(end))),
                }
            }
            "find" => {
                let (label, resource) = (words.next()?, words.next()?);
                let oldest = manager.leases_on(resource).first().copied();
                labels.give_lease(label, oldest.ok_or(Problem::Status("EMPTY"))?);
                ok()
            }
            "on" => {
                list(manager.leases_on(words.next()?).into_iter().map(|it| labels.of_lease(it)))
            }
            "held" => {
                list(manager.held_by(words.next()?).into_iter().map(|it| labels.of_lease(it)))
            }
            "leases" => list(manager.leases().iter().map(|info| labels.of_lease(info.id))),
            "tickets" => list(manager.tickets().iter().map(|info| labels.of_ticket(info.id))),
            "resources" => list(manager.resources().into_iter().map(|info| info.name)),
            "counts" => Ok(format!(
                "OK active={} pending={} revocations={}",
                manager.active_count(),
                manager.pending_claimers(),
                manager.revocations()
            )),
            "counted" => Ok(format!("OK {}", manager.count(reason_named(words.next()?)?))),
            "want" => {
                manager.want(words.next()?, words.next()?)?;
                ok()
            }
            "unwant" => {
                manager.unwant(words.next()?, words.next()?)?;
                ok()
            }
            "processes" => {
                let host = manager.host().ok_or(Error::NotShared)?;
                Ok(format!("OK {}", host.processes.len()))
            }
            "info" => lease_info(manager, labels, words.next()?),
            "ticket-info" => ticket_info(manager, labels, words.next()?),
            "resource" => resource_info(manager, words.next()?),
            "deadlocks" => self.deadlocks(),
            _ => Err(Problem::Nonsense),
        }
    }

    fn open(&mut self, mut words: Words) -> Step {
        let url = words.next()?;
        let mut options = if words.has("ticks") { Options::ticks() } else { Options::real() };
        if words.has("open-house") {
            options = options.open_house();
        }
        if words.has("break-deadlocks") {
            options = options.deadlocks(DeadlockPolicy::Break);
        }
        let usual = Limits::default();
        let given = |key, usual| words.option_number(key).map(|given| given.unwrap_or(usual));
        let limits = Limits {
            leases: given("leases", usual.leases)?,
            tickets: given("tickets", usual.tickets)?,
            resources: given("resources", usual.resources)?,
            history: given("history", usual.history)?,
        };
        if limits != usual {
            options = options.limits(limits);
        }
        *self = Driver { manager: Some(LeaseManager::open_with(url, options)?), ..Self::default() };
        ok()
    }
}

fn health(word: &str) -> Result<Health, Problem> {
    match word {
        "+1" => Ok(Health::Healthy),
        "0" => Ok(Health::Draining),
        "-1" => Ok(Health::Failed),
        _ => Err(Problem::Nonsense),
    }
}

fn state(manager: &LeaseManager, labels: &Labels, label: &str) -> &'static str {
    trit(manager.state(labels.lease(label)).map(|state| state as i8))
}

fn options<'a>(
    mut claim: ClaimBuilder<'a>,
    labels: &Labels,
    words: &Words,
) -> Result<ClaimBuilder<'a>, Problem> {
    claim = claim.count(words.option_number("count")?.unwrap_or(1));
    claim = claim.priority(words.option_number("priority")?.unwrap_or(0));
    claim = claim.patience(words.option_span("wait")?.unwrap_or(Span::Zero));
    let (slots, memory) = (words.option_number("slots")?, words.option_number("memory")?);
    if words.has("exclusive") {
        claim = claim.take(Take::Exclusive);
    } else if words.has("shared") {
        claim = claim.take(Take::Shared);
    } else if slots.is_some() || memory.is_some() {
        claim = claim.take(Take::Amount { slots: slots.unwrap_or(0), memory: memory.unwrap_or(0) });
    }
    let notice = words.option_span("notice")?.unwrap_or(Span::Zero);
    if words.has("spare") {
        claim = claim.spare(notice);
    }
    if words.has("preemptible") {
        claim = claim.preemptible(notice);
    }
    if words.has("preempt") {
        claim = claim.preempt();
    }
    if let Some(parent) = words.option("parent") {
        claim = claim.child_of(labels.lease(parent));
    }
    Ok(claim)
}

/// As long as the claim says.
fn blocking(claim: ClaimBuilder, words: &Words) -> Result<ternlease::LeaseId, Problem> {
    Ok(match words.option_span("wait")? {
        None => claim.try_now()?,
        Some(patience) => claim.wait_for(patience)?,
    })
}

fn lease_info(manager: &LeaseManager, labels: &Labels, label: &str) -> Step {
    let info = manager.lease(labels.lease(label)).ok_or(Error::UnknownLease)?;
    let flags = [
        (info.revoking, "revoking"),
        (info.spare, "spare"),
        (info.preemptible, "preemptible"),
        (info.shared, "shared"),
    ];
    let flags: Vec<&str> = flags.into_iter().filter(|(is, _)| *is).map(|(_, it)| it).collect();
    let takes = info.takes.iter().map(|it| format!("{}:{}:{}", it.resource, it.slots, it.memory));
    Ok(format!(
        "OK state={} holder={} ttl={} granted={} end={} reason={} priority={} flags={} parent={} by={} takes={}",
        trit(Some(info.state as i8)),
        info.holder,
        time(info.ttl),
        info.granted_at,
        time(info.end),
        info.reason.map_or("NONE", |reason| reason.name()),
        info.priority,
        or_dash(flags.join(",")),
        info.parent.map_or("-".to_owned(), |parent| labels.of_lease(parent)),
        or_dash(info.revoker.unwrap_or_default()),
        or_dash(takes.collect::<Vec<_>>().join(",")),
    ))
}

fn ticket_info(manager: &LeaseManager, labels: &Labels, label: &str) -> Step {
    let id = labels.ticket(label);
    let Some(info) = manager.ticket(id) else {
        let known = manager.ticket_state(id).is_some();
        return Err(if known { Problem::Status("EMPTY") } else { Error::UnknownTicket.into() });
    };
    Ok(format!(
        "OK holder={} place={} queued={} count={} of={} priority={}",
        info.holder,
        info.place,
        info.queued_at,
        info.count,
        info.candidates.join(","),
        info.priority
    ))
}

fn resource_info(manager: &LeaseManager, name: &str) -> Step {
    let info = manager.resource(name).ok_or(Error::UnknownResource)?;
    Ok(format!(
        "OK slots={}/{} memory={}/{} shared={} health={} declared={}",
        info.used_slots,
        info.slots,
        info.used_memory,
        info.memory,
        info.shared,
        trit(Some(info.health as i8)),
        if info.declared { "yes" } else { "no" }
    ))
}
