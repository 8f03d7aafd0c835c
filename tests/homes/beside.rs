//! A table of some home and the model side by side: the same deed by one of the managers, and by whichever of them what came of it.
//!
//! The model is told the times at which the home did things, and nothing else: so it must come to the same answers and the same events, to the microsecond.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ternlease::table::{Actor, Cancelled, Error, Event, FOREVER, Reason, TicketState, Time};

use super::deed::{Deed, SOON, What, next_due};
use super::managers::{Home, Managers, Told};
use crate::model::Model;
use crate::model::compare::{lines, same};
use crate::model::generate::{Rng, World};
use crate::model::numbers::Numbers;
use crate::model::step::{Answer, Command, Step, run_on_model};
use crate::model::tally::Tally;

/// Nothing that should come takes so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Beside {
    pub model: Model,
    pub(super) home: Home,
    pub(super) managers: Managers,
    pub(super) numbers: Numbers,
    /// The table's numbers for processes, by the model's.
    pub(super) owners: BTreeMap<u16, u16>,
    pub(super) names: Vec<String>,
    pub(super) holders: Vec<String>,
    /// Who looks, and at what, has no part in what happens.
    pub(super) looks: Rng,
    pub(super) steps: u64,
    pub tally: Tally,
}

/// In place of an actor, whose numbers the model does not know.
pub(super) fn some_actor(_: Actor) -> Actor {
    Actor { principal: 0, process: 1 }
}

impl Beside {
    pub fn new(home: &Home, world: &World, seed: u64) -> Beside {
        Beside {
            model: Model::new(world.settings),
            home: home.clone(),
            managers: Managers::open(home, world),
            numbers: Numbers::default(),
            owners: BTreeMap::new(),
            names: world.names.clone(),
            holders: world.holders.iter().cloned().chain(["h".repeat(255)]).collect(),
            looks: Rng(seed),
            steps: 0,
            tally: Tally::default(),
        }
    }

    /// One deed on both; an error says what differs.
    pub fn step(&mut self, deed: &Deed) -> Result<(), String> {
        self.steps += 1;
        let what = self.without_future(&deed.what);
        let by = self.doer(deed.by, &what);
        let before = self.managers.all()[by].manager.tick_count();
        let owner = self.managers.all()[by].owner;
        let answer = self.managers.run(by, &what, &self.numbers);
        let events = self.news();
        let now = self.moment(before, &what, &answer, &events);
        let seen = self.model.events.len();
        let expected = self.run_on_model(now, owner, &what);
        let rest = self.compare_events(seen, events)?;
        let expected = match expected {
            Ok(Told::Answer(answer)) => self.numbers.answer(Ok(answer)).map(Told::Answer),
            Ok(Told::Ticket(state)) => Ok(Told::Ticket(self.numbers.ticket_state(state))),
            Err(error) => Err(error),
        };
        same(format_args!("answer"), &answer, &expected)?;
        if matches!(what, What::Replace) {
            self.managers.replace(by);
        }
        self.let_time_pass(rest)?;
        self.compare_all(by)
    }

    /// With 0, which is never given out, for numbers not given out before.
    fn without_future(&self, what: &What) -> What {
        let (leases, tickets) =
            (self.numbers.leases.len() as u64, self.numbers.tickets.len() as u64);
        match what {
            What::Do(command) => {
                let step = Step { now: 0, command: command.clone() };
                What::Do(step.without_future(leases, tickets).command)
            }
            What::Collect { ticket } => {
                What::Collect { ticket: if *ticket > tickets { 0 } else { *ticket } }
            }
            What::Replace => What::Replace,
        }
    }

    /// Who does it. Where owners keep the time of their leases, only they know the end from which a renewal or a lease that hangs on it is counted, and
    /// which of their tickets somebody was told of.
    fn doer(&mut self, by: usize, what: &What) -> usize {
        let owner_of = |lease: &u64| self.model.held.get(lease).map(|lease| lease.ask.owner);
        let owner = match what {
            What::Do(Command::Renew { lease, .. }) => owner_of(lease),
            What::Do(Command::Claim { ask, .. }) => ask.parent.as_ref().and_then(owner_of),
            What::Do(Command::Cancel { ticket }) | What::Collect { ticket } => {
                self.model.ticket_owners.get(ticket).copied()
            }
            _ => None,
        };
        let Some(owner) = owner.filter(|_| self.home.has_copies()) else { return by };
        self.managers.all().iter().position(|it| it.owner == owner).unwrap_or(by)
    }

    /// When it was done. Events tell, and so does the end that a renewal gave; if there is neither it has no consequence, and any time since it was
    /// asked for will do. (Nothing was due: so whatever happened, happened then.)
    fn moment(
        &self,
        before: Time,
        what: &What,
        answer: &Result<Told, Error>,
        events: &[Event],
    ) -> Time {
        let earliest = before.max(self.model.now());
        if let Some(event) = events.first() {
            return event.at;
        }
        let (What::Do(Command::Renew { lease, ttl }), Ok(Told::Answer(Answer::End(end)))) =
            (what, answer)
        else {
            return earliest;
        };
        let ttl = ttl.or(self.model.held.get(lease).map(|lease| lease.ttl)).unwrap_or(FOREVER);
        let since = end.saturating_sub(ttl);
        // An end that was limited by something else tells nothing.
        if since >= earliest && since - earliest < SOON { since } else { earliest }
    }

    fn run_on_model(&mut self, now: Time, owner: u16, what: &What) -> Result<Told, Error> {
        // Processes of this test are one, unless their sessions make them several.
        let process = if self.home.has_copies() { u32::from(owner) } else { 0 };
        let model = &mut self.model;
        model.user = (owner, Some(Actor { principal: 0, process: 1 + process }));
        let mut command = match what {
            What::Replace => {
                return model
                    .reap(now, owner, Reason::Released)
                    .map(|_| Told::Answer(Answer::Done));
            }
            What::Collect { ticket } => {
                let state = model.ticket(*ticket).ok_or(Error::UnknownTicket)?;
                // Of one that waits there is nothing to be told.
                if state != TicketState::Waiting {
                    model.collected.insert(*ticket);
                }
                return Ok(Told::Ticket(state));
            }
            What::Do(Command::Cancel { ticket }) => {
                let found = model.cancel(now, *ticket);
                if let Ok(Cancelled::WasGranted(lease)) = found {
                    // It may have ended already.
                    let _ = model.release(now, lease.0);
                }
                let found = found.map(Answer::Cancelled);
                self.tally.answer(&found);
                return found.map(Told::Answer);
            }
            What::Do(command) => command.clone(),
        };
        if let Command::Claim { ask, .. } = &mut command {
            ask.owner = owner;
        }
        let answer = run_on_model(model, &self.managers.ids, &Step { now, command });
        self.tally.answer(&answer);
        answer.map(Told::Answer)
    }

    /// What is new, asked of any of them.
    fn news(&mut self) -> Vec<Event> {
        let cursor = self.model.events.len() as u64;
        let (events, missed) = self.viewer().manager.events_since(cursor);
        assert_eq!(missed, 0, "missed events");
        events
    }

    /// The model's new events must be the first of these; the rest.
    fn compare_events(&mut self, seen: usize, events: Vec<Event>) -> Result<Vec<Event>, String> {
        for (place, expected) in self.model.events[seen..].iter().enumerate() {
            self.tally.event(expected);
            let expected = &Event { actor: expected.actor.map(some_actor), ..expected.clone() };
            let compared = match events.get(place) {
                Some(event) => {
                    let event = Event { actor: event.actor.map(some_actor), ..event.clone() };
                    self.numbers.compare_event(&event, expected)
                }
                None => Err(format!("event missing: {expected:?}")),
            };
            compared.map_err(|text| {
                let expected = lines(&self.model.events[seen..]);
                format!("{text}\nmodel's events\n{expected}table's events\n{}", lines(&events))
            })?;
        }
        Ok(events[self.model.events.len() - seen..].to_vec())
    }

    /// Until nothing is due soon. What was due happens at its time; what follows from it, when somebody noticed.
    fn let_time_pass(&mut self, mut news: Vec<Event>) -> Result<(), String> {
        loop {
            let due = next_due(&self.model);
            let soon = due.saturating_sub(self.model.now()) < SOON;
            if !soon && news.is_empty() {
                return Ok(());
            }
            if !soon {
                return Err(format!("events too many:\n{}", lines(&news)));
            }
            let begun = Instant::now();
            while news.is_empty() {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("nothing happens at {due}"));
                }
                std::thread::sleep(Duration::from_millis(1));
                news = self.news();
            }
            let noticed = news.iter().map(|event| event.at).find(|at| *at > due).unwrap_or(due);
            let seen = self.model.events.len();
            self.model.advance(noticed).map_err(|error| format!("{error:?} at {noticed}"))?;
            news = self.compare_events(seen, news)?;
        }
    }
}
