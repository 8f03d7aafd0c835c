//! Does the memory make sense? Walks everything and checks what must always hold.

use super::Table;
use super::layout::flag;
use super::memory::Memory;
use super::names::pieces;
use super::resource::Usage;
use super::slot::Word;
use super::ticket::{effective_priority, own_priority};
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
        if self.has_marks() {
            return Err("a line is marked between commands".into());
        }
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
            if self.parent_end(index) < self.end_of(index) {
                return Err(format!("lease {id} outlives its parent"));
            }
        }
        let (foreign, all) = (self.foreign_revocations(), self.revocations());
        if foreign > all {
            return Err(format!("revocations: {all}, but {foreign} by other principals"));
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
        let (mut not_spare, mut raised) = (0, 0);
        for ticket in self.queue() {
            let record = self.ticket_record(ticket);
            waiting += 1;
            children += self.has_flag(ticket, flag::CHILD) as u64;
            overtakers += self.has_flag(ticket, flag::OVERTAKE) as u64;
            not_spare += !self.has_flag(ticket, flag::SPARE) as u64;
            raised += (effective_priority(record) != own_priority(record)) as u64;
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
        let crossings = self.count_crossings();
        let (mut holding, mut waited, mut entangled) = (0, 0, 0);
        for worker in 1..=self.last_holder_record() {
            let record = self.holder_record(worker);
            let (holds, waits) = (record.holding.get(), record.waiting.get());
            holding += u64::from(holds);
            waited += u64::from(waits);
            entangled += (holds != 0 && waits != 0) as u64;
        }
        for (what, counted, found) in [
            ("waiting tickets", &header.waiting, waiting),
            ("waiting children", &header.waiting_children, children),
            ("overtakers", &header.overtakers, overtakers),
            ("not spare", &header.waiting_not_spare, not_spare),
            ("raised", &header.raised, raised),
            ("crossings", &header.crossings, crossings),
            ("leases of workers", &header.held, holding),
            ("tickets of workers", &header.waiting, waited),
            ("entangled", &header.entangled, entangled),
        ] {
            let counted = counted.get();
            if u64::from(counted) != found {
                return Err(format!("{what}: counted {counted}, found {found}"));
            }
        }
        Ok(())
    }

    /// As [`Header::crossings`](super::layout::Header::crossings).
    fn count_crossings(&self) -> u64 {
        let mut crossings = 0;
        for resource in 1..=self.last_resource_record() {
            crossings += self.lines_of(resource).skip(1).count() as u64;
        }
        for ticket in self.queue() {
            let next = self.ticket_record(ticket).next_in_line.get();
            crossings += (next != 0 && self.asks_differ(ticket, next)) as u64;
        }
        crossings
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
        // What is not in use names nobody.
        let revoker = |index| self.extra_record(index).revoker.get();
        let revoked = (1..=self.last_lease_record()).filter(|&index| revoker(index) != 0);
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
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::layout::{Header, NURSERY};
    use super::super::{Claim, Error, Outcome, Settings, Take};
    use super::*;
    use crate::memory::{Arrays, new_table};

    /// Says something untrue of a table in use, and what is found.
    fn damaged(lie: impl FnOnce(&Header)) -> Result<(), String> {
        damaged_table(|table| lie(table.memory.header()))
    }

    fn damaged_table(lie: impl FnOnce(&Table<Arrays>)) -> Result<(), String> {
        let table = new_table(Settings::default());
        let held = Claim { spare: true, ttl: 9, ..Claim::one("holder", &["resource"]) };
        table.claim(0, &held).unwrap();
        table.claim(0, &Claim { spare: true, wait: 9, ..held }).unwrap();
        assert_eq!(table.verify(), Ok(()));
        lie(&table);
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
            ("not spare", |header| header.waiting_not_spare.put(7)),
            ("raised", |header| header.raised.put(7)),
            ("crossings", |header| header.crossings.put(7)),
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

    #[test]
    fn what_workers_hold_and_wait_for_is_counted() {
        let found = damaged_table(|table| table.holder_record(1).holding.put(7)).unwrap_err();
        assert!(found.starts_with("leases of workers"), "{found}");
        let found = damaged_table(|table| table.holder_record(1).waiting.put(7)).unwrap_err();
        assert!(found.starts_with("tickets of workers"), "{found}");
    }

    /// What is found after that.
    fn found_after(table: &Table<Arrays>, lie: impl FnOnce()) -> String {
        assert_eq!(table.verify(), Ok(()));
        lie();
        table.verify().unwrap_err()
    }

    #[test]
    fn nothing_is_taken_beyond_what_there_is() {
        let taken = |take| {
            let table = new_table(Settings::default());
            table.declare(0, "gpu", 2, 9).unwrap();
            table.claim(0, &Claim { take, ..Claim::one("holder", &["gpu"]) }).unwrap();
            table
        };
        let both = Take::Amount { slots: 2, memory: 4 };
        for (take, lie) in [
            (both, (|table| table.resource_record(1).slots.put(1)) as fn(&Table<Arrays>)),
            (both, |table| table.resource_record(1).memory.put(3)),
            (Take::ONE_SLOT, |table| {
                table.resource_record(1).shared.put(1);
                table.lease_record(1).flags.put(flag::SHARED);
            }),
        ] {
            let table = taken(take);
            let found = found_after(&table, || lie(&table));
            assert!(found.starts_with("resource 1 is over capacity"), "{found}");
        }
    }

    #[test]
    fn no_child_outlives_its_parent() {
        let table = new_table(Settings::default());
        let parent = Claim { ttl: 10, ..Claim::one("holder", &["one"]) };
        let Ok(Outcome::Granted(id)) = table.claim(0, &parent) else { panic!("it is free") };
        let child = Claim { parent: Some(id), ttl: 5, ..Claim::one("holder", &["other"]) };
        table.claim(0, &child).unwrap();
        let word = &table.lease_record(2).slot.word;
        let found = found_after(&table, || word.put(Word(word.get()).with_end(11, false, true).0));
        assert!(found.ends_with("outlives its parent"), "{found}");
    }

    #[test]
    fn timers_are_in_order() {
        for place in [1, 2] {
            let table = new_table(Settings::default());
            for (nth, name) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().enumerate() {
                let names = [name];
                let claim = Claim { ttl: nth as u64 + 1, ..Claim::one("holder", &names) };
                table.claim(0, &claim).unwrap();
            }
            table.advance(1).unwrap();
            assert_eq!(table.header().timers.get(), 7);
            let timer = table.timer_record(NURSERY + 2 + place);
            let found = found_after(&table, || timer.at.put(100));
            let first_below = if place == 1 { 2 } else { 6 };
            assert_eq!(found, format!("timer {first_below} is before its parent"));
        }
    }

    #[test]
    fn no_more_timers_are_looked_at_than_there_can_be() {
        let table = new_table(Settings::default());
        let most = table.memory.timers().len() as u32;
        let found = found_after(&table, || table.header().timers.put(most + 1));
        assert!(found.ends_with("more than there can be"), "{found}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_for_good() {
        let table = new_table(Settings::default());
        table.memory.header().leases.fresh.put(u32::MAX);
        assert!(!table.is_corrupt());
        assert!(table.verify().is_err());
        assert!(table.is_corrupt());
        // Reading does not make it sound.
        table.read_unlocked(|_| ());
        assert_eq!(table.advance(0), Err(Error::Corrupt));
    }

    #[test]
    fn an_unlocked_read_changes_nothing() {
        let table = new_table(Settings::default());
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let changed = table.read_unlocked(|table| {
            table.mark_corrupt();
            table.claim(0, &claim)
        });
        assert_eq!((changed, table.held()), (Err(Error::Corrupt), 0));
        assert_eq!(table.advance(0), Ok(()));
    }
}
