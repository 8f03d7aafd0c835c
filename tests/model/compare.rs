//! Both tables side by side: the same command, then everything that can be seen.

use std::fmt::{Arguments, Debug};

use ternlease::table::{
    Deadlock, Event, FOREVER, LeaseId, Reason, Settings, TicketState, Time, What,
};

use super::Model;
use super::invariants::{Invariants, Seen};
use super::step::{Real, Step, run_on_model};
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
        let step = &step.without_future(
            self.real.numbers.leases.len() as u64,
            self.real.numbers.tickets.len() as u64,
        );
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
        same(format_args!("answer"), &answer, &self.real.numbers.answer(expected))?;
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
            self.model.overtakers.iter().map(|ticket| self.real.numbers.ticket(*ticket)).collect();
        let now = self.model.now();
        let seen = Seen { step, now, answer: &answer, events: &events, overtakers };
        self.invariants.check(&seen, &self.real, &self.holders, &self.names)
    }

    fn compare_events(&mut self, seen: usize, events: &[Event]) -> Result<(), String> {
        for (place, expected) in self.model.events[seen..].iter().enumerate() {
            self.tally.event(expected);
            let Some(event) = events.get(place) else {
                return Err(format!("event missing: {expected:?}"));
            };
            self.real.numbers.compare_event(event, expected)?;
        }
        match events.get(self.model.events.len() - seen) {
            Some(event) => Err(format!("event too many: {event:?}")),
            None => Ok(()),
        }
    }

    fn compare_totals(&self) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        same(format_args!("held"), &table.held(), &(model.held.len() as u32))?;
        same(format_args!("waiting"), &table.waiting(), &(model.waiting.len() as u32))?;
        same(format_args!("revocations"), &table.revocations(), &model.revocations())?;
        let foreign = model.foreign_revocations();
        same(format_args!("foreign revocations"), &table.foreign_revocations(), &foreign)?;
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
        for number in 1..=self.real.numbers.leases.len() as u64 {
            let id = self.real.numbers.lease(number);
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
                let expected = model.lease(number).map(|info| self.real.numbers.lease_info(info));
                same(format_args!("lease {number}"), &table.lease(id), &expected)?;
            }
        }
        let unknown = self.real.numbers.lease(0);
        same(format_args!("state of an unknown lease"), &table.state(unknown, now), &None)?;
        same(format_args!("unknown lease"), &table.lease(unknown), &None)
    }

    fn compare_tickets(&self, events: &[Event]) -> Result<(), String> {
        let (model, table) = (&self.model, &self.real.table);
        let all = self.each(16) || !events.is_empty();
        for number in 1..=self.real.numbers.tickets.len() as u64 {
            if !all && !model.waiting.contains_key(&number) {
                continue;
            }
            let id = self.real.numbers.ticket(number);
            let expected = model.ticket(number).map(|state| self.real.numbers.ticket_state(state));
            same(format_args!("ticket {number}"), &table.ticket(id), &expected)?;
        }
        let mut line = model.tickets();
        for info in &mut line {
            info.id = self.real.numbers.ticket(info.id.0);
            same(format_args!("place of {}", info.id), &table.place(info.id), &Some(info.place))?;
        }
        same(format_args!("line"), &table.tickets(), &line)?;
        for ticket in self
            .real
            .numbers
            .tickets
            .iter()
            .filter(|ticket| table.ticket(**ticket) != Some(TicketState::Waiting))
        {
            same(format_args!("place of a decided ticket"), &table.place(*ticket), &None)?;
        }
        let unknown = self.real.numbers.ticket(0);
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
                model.held_by(holder).into_iter().map(|id| self.real.numbers.lease(id)).collect();
            same(format_args!("held by {holder}"), &table.held_by(holder), &expected)?;
        }
        Ok(())
    }

    /// Asking changes nothing, because the table was just brought up to this time.
    fn compare_deadlocks(&self) -> Result<(), String> {
        let found = self.real.table.find_deadlocks(self.model.now());
        let expected = self.model.deadlocks_now();
        let expected: Vec<Deadlock> =
            expected.into_iter().map(|deadlock| self.real.numbers.deadlock(deadlock)).collect();
        same(format_args!("deadlocks"), &found, &Ok(expected))
    }
}

pub fn same<T: Debug + PartialEq>(what: Arguments<'_>, table: &T, model: &T) -> Result<(), String> {
    if table == model {
        Ok(())
    } else {
        Err(format!("{what}:\n  table {table:?}\n  model {model:?}"))
    }
}

pub fn lines(events: &[Event]) -> String {
    events.iter().map(|event| format!("  {event:?}\n")).collect()
}
