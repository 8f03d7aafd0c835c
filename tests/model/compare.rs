//! Both tables side by side: the same command, then everything that can be seen.

use std::fmt::{Arguments, Debug};

use ternlease::table::{
    Cancelled, Deadlock, Error, Event, FOREVER, LeaseId, Outcome, Reason, Settings, TicketState,
    Time, Wait, What,
};

use super::Model;
use super::invariants::{Invariants, Seen};
use super::step::{Answer, Real, Step, run_on_model};
use super::tally::Tally;

/// How far ahead readers look.
const AHEAD: [Time; 4] = [0, 1, 4, 30];

pub struct Pair {
    pub model: Model,
    real: Real,
    invariants: Invariants,
    pub tally: Tally,
    names: Vec<String>,
    holders: Vec<String>,
    steps: u64,
    /// What to do about comparisons that are made now and then: make them, leave them out.
    pub look: Option<bool>,
}

impl Pair {
    pub fn new(settings: Settings, names: &[String], holders: &[String], flat: bool) -> Pair {
        Pair {
            model: Model::new(settings),
            real: Real::new(settings),
            invariants: Invariants::new(flat),
            tally: Tally::default(),
            names: names.to_vec(),
            holders: holders.iter().cloned().chain(["h".repeat(255)]).collect(),
            steps: 0,
            look: None,
        }
    }

    /// Is it time for something that is done once in so many steps?
    fn each(&self, steps: u64) -> bool {
        self.look.unwrap_or(self.steps.is_multiple_of(steps))
    }

    /// One command on both; an error says what differs.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        self.steps += 1;
        let step =
            &step.without_future(self.real.leases.len() as u64, self.real.tickets.len() as u64);
        let seen = self.model.events.len();
        let expected = run_on_model(&mut self.model, &self.real.ids, step);
        let answer = self.real.run(step);
        self.tally.answer(&expected);

        let mut events = Vec::new();
        let missed = self.real.table.events_since(seen as u64, &mut events);
        same(format_args!("missed events"), &missed, &0)?;
        self.compare_events(seen, &events).map_err(|text| {
            format!(
                "{text}\nmodel's events\n{}table's events\n{}",
                lines(&self.model.events[seen..]),
                lines(&events)
            )
        })?;
        same(format_args!("answer"), &answer, &self.translate_answer(expected))?;
        self.compare_totals()?;
        // What is refused changes nothing: now and then is enough.
        if answer.is_ok() || !events.is_empty() || self.each(4) {
            self.compare_leases(&events)?;
            self.compare_tickets(&events)?;
            self.compare_names()?;
        }
        if self.each(6) {
            self.compare_deadlocks()?;
        }
        self.real.table.verify().map_err(|text| format!("verify: {text}"))?;
        let overtakers =
            self.model.overtakers.iter().map(|ticket| self.real.ticket(*ticket)).collect();
        let now = self.model.now();
        let seen = Seen { step, now, answer: &answer, events: &events, overtakers };
        self.invariants.check(&seen, &self.real, &self.holders, &self.names)
    }

    /// New ids are paired here, in the order in which they come into being.
    fn compare_events(&mut self, seen: usize, events: &[Event]) -> Result<(), String> {
        for (place, expected) in self.model.events[seen..].iter().enumerate() {
            self.tally.event(expected);
            let Some(event) = events.get(place) else {
                return Err(format!("event missing: {expected:?}"));
            };
            if let (What::Granted { .. }, What::Granted { lease, .. }) =
                (&expected.what, &event.what)
            {
                if self.real.leases.last().is_some_and(|last| last >= lease) {
                    return Err(format!("lease id {lease} does not grow"));
                }
                self.real.leases.push(*lease);
            }
            if let (What::Queued { .. }, What::Queued { ticket }) = (&expected.what, &event.what) {
                if self.real.tickets.last().is_some_and(|last| last >= ticket) {
                    return Err(format!("ticket id {ticket} does not grow"));
                }
                self.real.tickets.push(*ticket);
            }
            same(format_args!("event"), event, &self.translate_event(expected))?;
        }
        match events.get(self.model.events.len() - seen) {
            Some(event) => Err(format!("event too many: {event:?}")),
            None => Ok(()),
        }
    }

    fn lease(&self, id: LeaseId) -> LeaseId {
        self.real.lease(id.0)
    }

    fn translate_event(&self, event: &Event) -> Event {
        let mut event = event.clone();
        match &mut event.what {
            What::Granted { lease, ticket } => {
                *lease = self.lease(*lease);
                *ticket = ticket.map(|ticket| self.real.ticket(ticket.0));
            }
            What::RenewedLate { lease, .. }
            | What::Revoking { lease, .. }
            | What::Ended { lease, .. } => {
                *lease = self.lease(*lease);
            }
            What::Queued { ticket } | What::Refused { ticket, .. } => {
                *ticket = self.real.ticket(ticket.0)
            }
            What::Health { .. } => {}
            unknown => panic!("the model does not know {unknown:?}"),
        }
        event
    }

    fn translate_answer(&self, answer: Result<Answer, Error>) -> Result<Answer, Error> {
        Ok(match answer? {
            Answer::Outcome(Outcome::Granted(lease)) => {
                Answer::Outcome(Outcome::Granted(self.lease(lease)))
            }
            Answer::Outcome(Outcome::Waiting(ticket)) => {
                Answer::Outcome(Outcome::Waiting(self.real.ticket(ticket.0)))
            }
            Answer::Cancelled(Cancelled::WasGranted(lease)) => {
                Answer::Cancelled(Cancelled::WasGranted(self.lease(lease)))
            }
            Answer::Cancelled(Cancelled::WasCollected(lease)) => {
                Answer::Cancelled(Cancelled::WasCollected(self.lease(lease)))
            }
            Answer::Deadlocks(found) => Answer::Deadlocks(
                found.into_iter().map(|deadlock| self.translate_deadlock(deadlock)).collect(),
            ),
            other => other,
        })
    }

    fn translate_deadlock(&self, deadlock: Deadlock) -> Deadlock {
        let wait = |wait: Wait| Wait {
            ticket: wait.ticket.map(|ticket| self.real.ticket(ticket.0)),
            lease: self.lease(wait.lease),
            ..wait
        };
        Deadlock {
            stuck: deadlock.stuck,
            cycle: deadlock.cycle.into_iter().map(wait).collect(),
            victim: self.lease(deadlock.victim),
        }
    }

    fn compare_totals(&self) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        same(format_args!("held"), &table.held(), &(model.held.len() as u32))?;
        same(format_args!("waiting"), &table.waiting(), &(model.waiting.len() as u32))?;
        same(format_args!("revocations"), &table.revocations(), &model.revocations())?;
        for reason in Reason::ALL {
            same(format_args!("count of {reason}"), &table.count(*reason), &model.count(*reason))?;
        }
        Ok(())
    }

    /// The state of every lease; the rest of those that are held or changed, now and then of all.
    fn compare_leases(&self, events: &[Event]) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        let now = model.now();
        let all = self.each(16);
        for number in 1..=self.real.leases.len() as u64 {
            let id = self.real.lease(number);
            // What has ended does not change with time: once is enough.
            let ahead = if model.held.contains_key(&number) { &AHEAD[..] } else { &AHEAD[..1] };
            for later in ahead {
                let at = (now + later).min(FOREVER - 1);
                same(
                    format_args!("state of {number} at {at}"),
                    &table.state(id, at),
                    &model.state(number, at),
                )?;
            }
            let changed = || {
                events
                    .iter()
                    .any(|event| matches!(event.what, What::Ended { lease, .. } if lease == id))
            };
            if all || model.held.contains_key(&number) || changed() {
                let mut expected = model.lease(number);
                if let Some(info) = &mut expected {
                    info.id = id;
                    info.parent = info.parent.map(|parent| self.lease(parent));
                }
                same(format_args!("lease {number}"), &table.lease(id), &expected)?;
            }
        }
        let unknown = self.real.lease(0);
        same(format_args!("state of an unknown lease"), &table.state(unknown, now), &None)?;
        same(format_args!("unknown lease"), &table.lease(unknown), &None)
    }

    fn compare_tickets(&self, events: &[Event]) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        let all = self.each(16) || !events.is_empty();
        for number in 1..=self.real.tickets.len() as u64 {
            if !all && !model.waiting.contains_key(&number) {
                continue;
            }
            let id = self.real.ticket(number);
            let expected = model.ticket(number).map(|state| match state {
                TicketState::Granted(lease) => TicketState::Granted(self.lease(lease)),
                other => other,
            });
            same(format_args!("ticket {number}"), &table.ticket(id), &expected)?;
        }
        let mut line = model.tickets();
        for info in &mut line {
            info.id = self.real.ticket(info.id.0);
            same(format_args!("place of {}", info.id), &table.place(info.id), &Some(info.place))?;
        }
        same(format_args!("line"), &table.tickets(), &line)?;
        for ticket in self
            .real
            .tickets
            .iter()
            .filter(|ticket| table.ticket(**ticket) != Some(TicketState::Waiting))
        {
            same(format_args!("place of a decided ticket"), &table.place(*ticket), &None)?;
        }
        let unknown = self.real.ticket(0);
        same(format_args!("unknown ticket"), &table.ticket(unknown), &None)?;
        same(format_args!("place of an unknown ticket"), &table.place(unknown), &None)
    }

    fn compare_names(&self) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        let loads = model.loads();
        for name in self.names.iter().map(String::as_str).chain(["nobody's"]) {
            same(
                format_args!("resource {name}"),
                &table.resource(name),
                &model.resource(&loads, name),
            )?;
        }
        for holder in &self.holders {
            let expected: Vec<LeaseId> =
                model.held_by(holder).into_iter().map(|id| self.real.lease(id)).collect();
            same(format_args!("held by {holder}"), &table.held_by(holder), &expected)?;
        }
        Ok(())
    }

    /// Asking changes nothing, because the table was just brought up to this time.
    fn compare_deadlocks(&self) -> Result<(), String> {
        let found = self.real.table.find_deadlocks(self.model.now());
        let expected = self.model.deadlocks_now();
        let expected: Vec<Deadlock> =
            expected.into_iter().map(|deadlock| self.translate_deadlock(deadlock)).collect();
        same(format_args!("deadlocks"), &found, &Ok(expected))
    }
}

fn same<T: Debug + PartialEq>(what: Arguments<'_>, table: &T, model: &T) -> Result<(), String> {
    if table == model {
        Ok(())
    } else {
        Err(format!("{what}:\n  table {table:?}\n  model {model:?}"))
    }
}

fn lines(events: &[Event]) -> String {
    events.iter().map(|event| format!("  {event:?}\n")).collect()
}
