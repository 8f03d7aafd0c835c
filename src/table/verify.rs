//! Does the memory make sense? Walks everything and checks what must always hold.

use super::Table;
use super::layout::flag;
use super::memory::Memory;
use super::names::pieces;
use super::resource::Usage;
use super::slot::Word;
use super::types::FOREVER;

impl<M: Memory> Table<M> {
    /// Checks the table's structure from end to end; what is wrong, in words.
    pub fn verify(&self) -> Result<(), String> {
        if self.header().sequence.get() == 0 {
            return Err("ids begin at nothing".into());
        }
        self.verify_leases()?;
        self.verify_resources()?;
        self.verify_queue()?;
        self.verify_timers()?;
        self.verify_names()?;
        match self.corrupt.get() {
            true => Err("an index or a list makes no sense".into()),
            false => Ok(()),
        }
    }

    fn verify_leases(&self) -> Result<(), String> {
        let header = self.header();
        let (mut held, mut ended, mut takeable, mut holds) = (0, 0, 0, 0);
        for index in 1..=self.last_lease_record() {
            let record = self.lease_record(index);
            let id = record.slot.id.get();
            if id == 0 {
                continue;
            }
            if self.lease_index(id) != index {
                return Err(format!("lease {id} is in record {index}"));
            }
            let word = Word(record.slot.word.get());
            holds += self.holds_of(index).count() as u32;
            if self.holds_of(index).count() as u32 != record.hold_count.get() {
                return Err(format!("lease {id} has lost a hold"));
            }
            if !word.held() {
                ended += 1;
                continue;
            }
            held += 1;
            let flags = record.flags.get();
            let can_be_taken = flags & (flag::SPARE | flag::PREEMPTIBLE) != 0;
            takeable += (can_be_taken && flags & flag::REVOKING == 0) as u32;
            if !self.leases_of(record.holder.get()).any(|other| other == index) {
                return Err(format!("lease {id} is missing from its holder's list"));
            }
            if word.time() != FOREVER && record.timer.get() == 0 {
                return Err(format!("lease {id} ends at {} but has no timer", word.time()));
            }
            let known = self.memory.kept().is_none() || self.keeps(index);
            if known && self.parent_end(index) < self.end_of(index) {
                return Err(format!("lease {id} outlives its parent"));
            }
        }
        for (what, counted, found) in [
            ("held leases", header.held.get(), held),
            ("ended leases", header.ended_leases.len.get(), ended),
            ("takeable leases", header.takeable.get(), takeable),
            ("holds", header.holds.live.get(), holds),
        ] {
            if counted != found {
                return Err(format!("{what}: counted {counted}, found {found}"));
            }
        }
        Ok(())
    }

    fn verify_resources(&self) -> Result<(), String> {
        let mut found = 0;
        for name in 1..=self.last_name_record() {
            let index = self.name_record(name).resource.get();
            if index == 0 {
                continue;
            }
            found += 1;
            let record = self.resource_record(index);
            let mut sum = Usage::default();
            for hold in self.holds_on(index) {
                sum = sum.plus(self.held_usage(hold));
            }
            let counted = super::resource::usage(record);
            if sum != counted {
                return Err(format!("resource {index}: counted {counted:?}, found {sum:?}"));
            }
            if sum.slots > record.slots.get()
                || sum.memory > record.memory.get()
                || (sum.shared > 0 && sum.slots > 0)
            {
                return Err(format!("resource {index} is over capacity: {sum:?}"));
            }
        }
        let counted = self.header().resources.live.get();
        if counted != found {
            return Err(format!("resources: counted {counted}, found {found}"));
        }
        Ok(())
    }

    fn verify_queue(&self) -> Result<(), String> {
        let header = self.header();
        let (mut waiting, mut children, mut overtakers, mut last) = (0, 0, 0, None);
        for ticket in self.queue() {
            let record = self.ticket_record(ticket);
            waiting += 1;
            children += self.has_flag(ticket, flag::CHILD) as u32;
            overtakers += self.has_flag(ticket, flag::OVERTAKE) as u32;
            if record.result.get() != 0 {
                return Err(format!("ticket {} is decided and waits", record.id.get()));
            }
            let rank = self.rank(ticket);
            if last.is_some_and(|last| last >= rank) {
                return Err(format!("ticket {} is out of order", record.id.get()));
            }
            last = Some(rank);
            if !self.tickets_in(record.line.get()).any(|other| other == ticket) {
                return Err(format!("ticket {} is missing from its line", record.id.get()));
            }
        }
        for (what, counted, found) in [
            ("waiting tickets", header.waiting.get(), waiting),
            ("waiting children", header.waiting_children.get(), children),
            ("overtakers", header.overtakers.get(), overtakers),
        ] {
            if counted != found {
                return Err(format!("{what}: counted {counted}, found {found}"));
            }
        }
        let entangled = (1..=self.last_holder_record())
            .map(|holder| self.holder_record(holder))
            .filter(|record| record.holding.get() != 0 && record.waiting.get() != 0)
            .count() as u32;
        if entangled != header.entangled.get() {
            return Err(format!(
                "entangled: counted {}, found {entangled}",
                header.entangled.get()
            ));
        }
        Ok(())
    }

    fn verify_timers(&self) -> Result<(), String> {
        let count = self.header().timers.get();
        if count as usize > self.memory.timers().len() {
            return Err(format!("{count} timers are more than there can be"));
        }
        for place in 2..=count {
            if self.timer_at((place - 2) / 4 + 1) > self.timer_at(place) {
                return Err(format!("timer {place} is before its parent"));
            }
        }
        let (due, first) = (self.next_due(), self.first_timer());
        if due > first {
            return Err(format!("next due is {due} but the first timer is {first}"));
        }
        Ok(())
    }

    /// Names are found by their text, and remembered for as long as something bears or uses them, no longer.
    fn verify_names(&self) -> Result<(), String> {
        let header = self.header();
        let (mut records, mut holders) = (0, 0);
        let (mut of_holders, mut of_resources, mut of_revokers) = (0, 0, 0);
        for index in 1..=self.last_name_record() {
            let record = self.name_record(index);
            let (resource, holder) = (record.resource.get(), record.holder.get());
            let revokers = record.revokers.get();
            if resource == 0 && holder == 0 && revokers == 0 {
                continue;
            }
            if self.find_name(&self.name_text(index)) != index {
                return Err(format!("name {index} is not found"));
            }
            records += u64::from(pieces(record.len.get() as usize));
            of_revokers += u64::from(revokers);
            if holder != 0 {
                holders += 1;
                of_holders += u64::from(self.holder_record(holder).refs.get());
            }
            if resource != 0 {
                of_resources += u64::from(self.resource_record(resource).refs.get());
            }
        }
        let revoked = (1..=self.last_lease_record()).filter(|&index| self.has_revoker(index));
        let [leases, ended, tickets, wants, holds, members, named, held_names] = [
            &header.held,
            &header.ended_leases.len,
            &header.tickets.live,
            &header.wants.live,
            &header.holds.live,
            &header.members.live,
            &header.names.live,
            &header.holders.live,
        ]
        .map(|count| u64::from(count.get()));
        for (what, counted, found) in [
            ("names", named, records),
            ("holders", held_names, holders),
            ("uses of holders", of_holders, leases + ended + tickets + wants),
            ("uses of resources", of_resources, holds + members + wants),
            ("names of revokers", of_revokers, revoked.count() as u64),
        ] {
            if counted != found {
                return Err(format!("{what}: counted {counted}, found {found}"));
            }
        }
        Ok(())
    }

    fn has_revoker(&self, index: u32) -> bool {
        let record = self.lease_record(index);
        record.slot.id.get() != 0
            && record.flags.get() & flag::EXTRA != 0
            && self.extra_record(index).revoker.get() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::layout::Header;
    use super::super::{Claim, Settings};
    use super::*;
    use crate::home::process::new_table;

    /// Says something untrue of a table in use, and what is found.
    fn damaged(lie: impl FnOnce(&Header)) -> Result<(), String> {
        let table = new_table(Settings::default());
        let held = Claim { spare: true, ttl: 9, ..Claim::one("holder", &["resource"]) };
        table.claim(0, &held).unwrap();
        table.claim(0, &Claim { spare: true, wait: 9, ..held }).unwrap();
        assert_eq!(table.verify(), Ok(()));
        lie(table.memory.header());
        table.verify()
    }

    #[test]
    fn each_count_is_compared_with_what_there_is() {
        for (what, lie) in [
            ("ids begin", (|header| header.sequence.put(0)) as fn(&Header)),
            ("held leases", |header| header.held.put(7)),
            ("ended leases", |header| header.ended_leases.len.put(7)),
            ("takeable leases", |header| header.takeable.put(7)),
            ("holds", |header| header.holds.live.put(7)),
            ("resources", |header| header.resources.live.put(7)),
            ("waiting tickets", |header| header.waiting.put(7)),
            ("waiting children", |header| header.waiting_children.put(7)),
            ("overtakers", |header| header.overtakers.put(7)),
            ("entangled", |header| header.entangled.put(7)),
            ("next due", |header| header.next_due.put(FOREVER)),
            ("names", |header| header.names.live.put(7)),
            ("holders", |header| header.holders.live.put(7)),
            ("uses of holders", |header| header.tickets.live.put(7)),
            ("uses of resources", |header| header.members.live.put(7)),
        ] {
            let found = damaged(lie).expect_err(what);
            assert!(found.starts_with(what), "{what}: {found}");
        }
    }
}
