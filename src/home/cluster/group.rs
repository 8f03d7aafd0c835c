//! What this process has done and the others do not know yet.
//!
//! Commands run on the copy one after the other, while at most one transaction is under way. Those that come meanwhile form the next: so many
//! threads of a process cost one round trip. If others were faster, everything that is not known to count is undone, the latest first, and
//! each thread runs its command again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::diff::Change;
use super::kv::{Range, Revision};
use super::replica::{Replica, Written};
use super::store::{Delta, Store};
use crate::home::Dropped;
use crate::table::TicketId;
use crate::table::cell::Cell64;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pending,
    /// It counts.
    Done,
    /// It was undone, as others were faster: run the command again.
    Undone,
    /// It was undone, as the engine did not get it.
    Failed,
    /// It was undone, as something beside the table was not as it must be: for this command, or for one that went with it and needed more than others.
    Unmet,
    /// It was undone here, and nobody knows whether the engine has it: to run it again could be to do it twice.
    InDoubt,
}

/// Commands that count together or not at all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    written: Vec<Written>,
    /// Tickets that it decided, by their places.
    decided: Vec<usize>,
    conditions: Conditions,
    outcome: Arc<AtomicU8>,
}

/// What a command needs beside the table.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// Keys that must be as they were.
    pub unchanged: Vec<(String, Revision)>,
    /// Some of those are not what every command needs.
    pub special: bool,
    /// Processes that must hear of it.
    pub concerned: BTreeSet<u16>,
}

impl Batch {
    fn end(&self, outcome: Outcome) {
        self.outcome.store(outcome as u8, Ordering::Release);
    }
}

/// Batches of which nothing is left: those who wait for them have to be told.
#[must_use]
pub(crate) struct UndoneBatches([Option<Batch>; 2]);

impl UndoneBatches {
    pub fn end(self, outcome: Outcome) {
        self.0.iter().flatten().for_each(|batch| batch.end(outcome));
    }
}

/// Where a thread learns what became of its command.
#[derive(Debug)]
pub(crate) struct Receipt(Arc<AtomicU8>);

impl Receipt {
    pub fn outcome(&self) -> Outcome {
        match self.0.load(Ordering::Acquire) {
            0 => Outcome::Pending,
            1 => Outcome::Done,
            2 => Outcome::Undone,
            3 => Outcome::Failed,
            4 => Outcome::Unmet,
            _ => Outcome::InDoubt,
        }
    }
}

/// A transaction that is to be made.
#[derive(Debug)]
pub(crate) struct Flight {
    pub store: Store,
    pub delta: Delta,
    pub conditions: Conditions,
}

/// How far this process has come. Guarded by the lock of its table.
#[derive(Debug)]
pub(crate) struct Group {
    replica: Replica,
    /// Not here while a transaction is under way.
    store: Option<Store>,
    flying: Option<Batch>,
    open: Batch,
    /// Tickets of which somebody here was told what became of them, and the others do not know that yet. They have time.
    pub told: Vec<TicketId>,
    /// What was dropped here while the engine could not be reached, and who had it then.
    pub dropped: BTreeMap<Dropped, u16>,
    /// How often somebody has asked for a moment when nothing is under way, and how often there was one for them.
    moments: (u64, u64),
}

impl Group {
    pub fn new(replica: Replica, store: Store) -> Self {
        let open = Batch::default();
        Group {
            replica,
            store: Some(store),
            flying: None,
            open,
            told: Vec::new(),
            dropped: BTreeMap::new(),
            moments: (0, 0),
        }
    }

    /// A command has written this, and decided these tickets.
    pub fn add(
        &mut self,
        written: Vec<Written>,
        decided: Vec<usize>,
        conditions: Conditions,
    ) -> Receipt {
        self.open.written.extend(written);
        self.open.decided.extend(decided);
        self.open.conditions.unchanged.extend(conditions.unchanged);
        self.open.conditions.special |= conditions.special;
        self.open.conditions.concerned.extend(conditions.concerned);
        Receipt(self.open.outcome.clone())
    }

    /// May what is in this record be undone?
    pub fn is_about<T>(&self, record: &T) -> bool {
        let mut batches = self.flying.iter().chain([&self.open]);
        batches.any(|batch| self.replica.touches(&batch.written, record))
    }

    /// What was in this cell before the commands that are in flight, if they change it.
    pub fn committed(&self, cell: &Cell64) -> Option<u64> {
        let mut batches = self.flying.iter().chain([&self.open]);
        batches.find_map(|batch| self.replica.old_value(&batch.written, cell))
    }

    /// Is everything that was done known to all?
    pub fn is_settled(&self) -> bool {
        self.flying.is_none() && self.open.written.is_empty()
    }

    /// Somebody has to wait for a moment when nothing is under way.
    pub fn ask_for_a_moment(&mut self) {
        self.moments.0 += 1;
    }

    /// There is one, for somebody who has waited for it.
    pub fn have_a_moment(&mut self) {
        self.moments.1 += 1;
    }

    /// So many must have had their moment before a command that comes now may begin: if there were always another one under way, they would wait for ever.
    pub fn asked_before(&self) -> u64 {
        self.moments.0
    }

    pub fn is_the_turn_of(&self, asked_before: u64) -> bool {
        self.moments.1 >= asked_before
    }

    /// Takes off with what was done so far; `None` if there is nothing, or something is under way.
    pub fn take_off(&mut self, delta_of: impl FnOnce(Vec<Change>) -> Delta) -> Option<Flight> {
        if self.flying.is_some() || self.open.written.is_empty() {
            return None;
        }
        let store = self.store.take()?;
        let mut batch = std::mem::take(&mut self.open);
        let changes = self.replica.changes(&batch.written);
        let mut conditions = std::mem::take(&mut batch.conditions);
        // Most of them need the same, and an engine compares no more than it does together.
        conditions.unchanged.sort_unstable();
        conditions.unchanged.dedup();
        self.flying = Some(batch);
        Some(Flight { store, delta: delta_of(changes), conditions })
    }

    /// What was under way counts: the tickets that it decided.
    pub fn land(&mut self, store: Store) -> Vec<usize> {
        self.store = Some(store);
        self.flying.take().map_or_else(Vec::new, |batch| {
            batch.end(Outcome::Done);
            batch.decided
        })
    }

    /// Undoes what is not known to count.
    pub fn undo(&mut self) -> UndoneBatches {
        let batches = [Some(std::mem::take(&mut self.open)), self.flying.take()];
        for batch in batches.iter().flatten() {
            self.replica.undo(&batch.written);
        }
        UndoneBatches(batches)
    }

    pub fn come_back(&mut self, store: Store) {
        self.store = Some(store);
    }

    /// What to read to learn what others have done, and the number of the last change that the copy has.
    pub fn news(&mut self) -> Option<(Vec<Range>, u64)> {
        self.store.as_ref().map(|store| (store.news(), store.number()))
    }

    /// How far the copy has come, unless a transaction is under way.
    pub fn store(&mut self) -> Option<&mut Store> {
        self.store.as_mut()
    }
}
