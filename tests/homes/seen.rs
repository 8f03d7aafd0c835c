//! All that can be seen of a table, by whichever manager, must be what the model says.

use std::time::{Duration, Instant};

use ternlease::table::{Deadlock, FOREVER, LeaseInfo, Reason, TicketInfo};

use super::beside::{Beside, PATIENCE, some_actor};
use super::managers::Member;
use crate::model::compare::same;

impl Beside {
    /// Some of it now and then. `by` has just done something, and knows what came of it.
    pub(super) fn compare_all(&mut self, by: usize) -> Result<(), String> {
        self.compare_totals()?;
        self.compare_leases()?;
        self.compare_line()?;
        self.compare_states(by)?;
        match self.steps % 6 {
            0 => self.compare_deadlocks(),
            1 => self.compare_any_lease(),
            2 => self.compare_holder(),
            3 => self.viewer().manager.verify().map_err(|text| format!("verify: {text}")),
            4 => self.compare_reader(),
            _ => self.compare_resources(),
        }
    }

    /// Whoever looks next.
    pub(super) fn viewer(&mut self) -> &mut Member {
        let all = self.managers.all();
        let who = self.looks.below(all.len() as u64) as usize;
        &mut all[who]
    }

    fn compare_totals(&mut self) -> Result<(), String> {
        let text = self.viewer().manager.metrics();
        let told = |name: &str, value: u64| {
            let line = format!("ternlease_{name} {value}");
            match text.lines().any(|it| it == line) {
                true => Ok(()),
                false => Err(format!("counters: {line} expected in\n{text}")),
            }
        };
        told("leases_held", self.model.held.len() as u64)?;
        told("claims_waiting", self.model.waiting.len() as u64)?;
        told("granted_total", self.numbers.leases.len() as u64)?;
        told("revoked_total", self.model.revocations())?;
        told("events_total", self.model.events.len() as u64)?;
        for reason in Reason::ALL {
            told(&format!("ended_total{{reason=\"{reason}\"}}"), self.model.count(*reason))?;
        }
        Ok(())
    }

    fn compare_leases(&mut self) -> Result<(), String> {
        let Member { manager, owner, .. } = self.viewer();
        let (found, viewer) = (manager.leases(), *owner);
        let numbers: Vec<u64> = self.model.held.keys().copied().collect();
        same(format_args!("number of leases"), &found.len(), &numbers.len())?;
        for (number, info) in numbers.into_iter().zip(found) {
            self.compare_lease(number, Some(info), viewer)?;
        }
        Ok(())
    }

    /// Any that ever was, and the one that never was.
    fn compare_any_lease(&mut self) -> Result<(), String> {
        let number = self.looks.below(self.numbers.leases.len() as u64 + 1);
        let id = self.numbers.lease(number);
        let Member { manager, owner, .. } = self.viewer();
        let (found, viewer) = (manager.lease(id), *owner);
        self.compare_lease(number, found, viewer)
    }

    fn compare_lease(
        &mut self,
        number: u64,
        mut found: Option<LeaseInfo>,
        viewer: u16,
    ) -> Result<(), String> {
        let mut expected = self.model.lease(number).map(|info| self.numbers.lease_info(info));
        if let (Some(found), Some(expected)) = (&mut found, &mut expected) {
            found.owner = self.model_owner(found.owner, expected.owner)?;
            found.ended_by = found.ended_by.map(some_actor);
            expected.ended_by = expected.ended_by.map(some_actor);
            if let Some(lease) = self.model.held.get(&number)
                && self.home.has_copies()
                && viewer != expected.owner
            {
                // Only owners keep the time of their leases: others know of no end but that of a notice.
                expected.end = lease.notice.as_ref().map_or(FOREVER, |notice| notice.until);
            }
        }
        same(format_args!("lease {number}"), &found, &expected)
    }

    /// The model's number for a process in place of the table's, which is always the same.
    fn model_owner(&mut self, found: u16, expected: u16) -> Result<u16, String> {
        let known = *self.owners.entry(expected).or_insert(found);
        same(format_args!("number of process {expected}"), &found, &known)?;
        Ok(expected)
    }

    fn compare_holder(&mut self) -> Result<(), String> {
        let holder = self.looks.pick(&self.holders).clone();
        let held = self.model.held_by(&holder).into_iter();
        let expected: Vec<_> = held.map(|id| self.numbers.lease(id)).collect();
        let found = self.viewer().manager.held_by(&holder);
        same(format_args!("held by {holder}"), &found, &expected)
    }

    fn compare_line(&mut self) -> Result<(), String> {
        let found = self.viewer().manager.tickets();
        let mut expected = self.model.tickets();
        for info in &mut expected {
            info.id = self.numbers.ticket(info.id.0);
        }
        let mut line = Vec::new();
        for (place, info) in found.into_iter().enumerate() {
            let owner = expected.get(place).map_or(0, |info| info.owner);
            line.push(TicketInfo { owner: self.model_owner(info.owner, owner)?, ..info });
        }
        same(format_args!("line"), &line, &expected)
    }

    fn compare_resources(&mut self) -> Result<(), String> {
        let found = self.viewer().manager.resources();
        let mut names: Vec<&String> = self.names.iter().chain(&self.holders).collect();
        names.sort();
        names.dedup();
        let loads = self.model.loads();
        let expected: Vec<_> =
            names.into_iter().filter_map(|name| self.model.resource(&loads, name)).collect();
        same(format_args!("resources"), &found, &expected)
    }

    fn compare_deadlocks(&mut self) -> Result<(), String> {
        let found = self.viewer().manager.find_deadlocks();
        let expected = self.model.deadlocks_now().into_iter();
        let expected: Vec<Deadlock> = expected.map(|it| self.numbers.deadlock(it)).collect();
        same(format_args!("deadlocks"), &found, &Ok(expected))
    }

    /// Each manager has a reader of events, which must be told of every event once.
    fn compare_reader(&mut self) -> Result<(), String> {
        let last = self.model.events.len() as u64;
        let Member { reader, owner, .. } = self.viewer();
        let cursor = reader.cursor();
        let numbers: Vec<u64> = reader.map(|event| event.number).collect();
        let expected: Vec<u64> = (cursor + 1..=last).collect();
        same(format_args!("numbers of the events that process {owner} reads"), &numbers, &expected)
    }

    /// What each of them says of every lease and ticket. Where they have copies, those who did nothing hear of it a moment later.
    fn compare_states(&mut self, by: usize) -> Result<(), String> {
        for who in 0..self.managers.all().len() {
            let begun = Instant::now();
            while let Err(text) = self.compare_states_of(who) {
                let may_not_know = self.home.has_copies() && who != by;
                if !may_not_know || begun.elapsed() > PATIENCE {
                    return Err(format!("manager {who}: {text}"));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    fn compare_states_of(&mut self, who: usize) -> Result<(), String> {
        let manager = &self.managers.all()[who].manager;
        let now = self.model.now();
        let numbers: Vec<u64> = (0..=self.numbers.leases.len() as u64).collect();
        let ids: Vec<_> = numbers.iter().map(|number| self.numbers.lease(*number)).collect();
        let expected: Vec<_> =
            numbers.iter().map(|number| self.model.state(*number, now)).collect();
        same(format_args!("states from 0"), &manager.states(&ids), &expected)?;
        let one = self.looks.below(ids.len() as u64) as usize;
        same(format_args!("state of {one}"), &manager.state(ids[one]), &expected[one])?;
        for number in 0..=self.numbers.tickets.len() as u64 {
            let found = manager.ticket_state(self.numbers.ticket(number));
            let expected = self.model.ticket(number).map(|it| self.numbers.ticket_state(it));
            same(format_args!("ticket {number}"), &found, &expected)?;
        }
        Ok(())
    }
}
