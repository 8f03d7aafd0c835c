//! A copy of a table, beside an engine in which anything may be. What a process does with etcd
//! (`home/cluster/member.rs`, `execute.rs`), it does here with an engine in memory.

use ternlease::sim_api::diff::{self, Change};
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::kv::{Answer, Kv, Op, Txn};
use ternlease::sim_api::replica::Replica;
use ternlease::sim_api::shape::Shape;
use ternlease::sim_api::store::{Delta, Failure, Made, Store};
use ternlease::sim_api::{Arrays, KeptAccess, TableAccess, UndoLog, catch_up};
use ternlease::table::{Limits, Memory, Settings, Table, Time};

use crate::memory_store::{Fate, MemoryStore};

/// The name of the table.
const NAME: &str = "fuzzed";

/// What an engine has: keys and values.
pub type Entries = Vec<(String, Vec<u8>)>;

/// One process.
pub struct Copy {
    table: Table<Arrays<Replica>>,
    replica: Replica,
    store: Store,
    kv: MemoryStore,
    owner: u16,
    mark: u128,
    /// Its own time.
    clock: Time,
}

impl Copy {
    /// The first process, which makes the table.
    pub fn first(limits: Limits) -> Option<Copy> {
        let shape = (Keys::new(NAME).shape(), Shape::from_now_on(limits).encode());
        Self::open(&vec![shape], 1)
    }

    /// Another process. `None` if what the engine has is corrupt.
    pub fn open(entries: &Entries, owner: u16) -> Option<Copy> {
        let kv = MemoryStore::new(|| Fate::Answered);
        replace(&kv, entries);
        let shape = Keys::new(NAME).shape();
        let shape = entries.iter().find(|(key, _)| *key == shape)?;
        let limits = Shape::decode(&shape.1)?.limits;
        let settings = Settings { limits, first_sequence: 1, ..Settings::default() };
        let (replica, arrays) = Replica::try_new(&limits.sizes())?;
        let table = Table::attach(arrays, settings)?;
        let store = Store::new(NAME, replica.clone(), 256);
        let mut copy =
            Copy { table, replica, store, kv, owner, mark: u128::from(owner) << 64, clock: 0 };
        if !copy.store.load(&copy.kv).ok()? {
            copy.table.prepare(settings);
            copy.tell().then_some(())?;
        }
        copy.replica.take_written();
        copy.table.verify().ok()?;
        if let Some(kept) = copy.replica.kept() {
            kept.be_of(owner);
        }
        copy.table.find_kept();
        Some(copy)
    }

    pub fn table(&self) -> &Table<impl Memory + use<>> {
        &self.table
    }

    /// The time of a command, so much later than the last.
    pub fn later(&mut self, by: Time) -> Time {
        self.clock = self.clock.saturating_add(by).max(self.table.now());
        self.clock
    }

    /// Commits what commands did, or rolls it back. Was it committed?
    pub fn tell(&mut self) -> bool {
        self.table.take_decided(|_| ());
        let written = self.replica.take_written();
        self.mark += 1;
        let changes = self.replica.changes(&written);
        let delta = Delta { made_by: self.owner, mark: self.mark, changes };
        match self.store.make(&self.kv, &delta, Vec::new(), &[self.owner]) {
            Ok(Made::Done) => true,
            Ok(Made::Overtaken(read) | Made::Forgotten(read)) => {
                self.replica.undo(&written);
                let known = self.store.number();
                let followed = self.store.follow(&self.kv, &read, known);
                self.others_did_something(followed.is_err());
                false
            }
            Err(failure) => {
                self.replica.undo(&written);
                self.others_did_something(failure == Failure::Corrupt);
                false
            }
        }
    }

    /// Puts something else into the engine, and reads it.
    pub fn follow(&mut self, entries: &Entries) {
        replace(&self.kv, entries);
        let followed = catch_up(&mut self.store, &self.kv);
        self.others_did_something(followed == Err(Failure::Corrupt));
    }

    fn others_did_something(&mut self, corrupt: bool) {
        if corrupt {
            self.table.mark_corrupt();
        }
        let moved = self.table.now().saturating_sub(self.clock);
        self.clock += moved;
        if let Some(kept) = self.replica.kept() {
            kept.lag_behind(moved);
        }
        self.table.find_kept();
        self.replica.take_written();
    }

    /// Writes a whole copy, if one is due.
    pub fn write_base(&mut self) {
        let due = self.store.base_if_due();
        if let Some(Ok(written)) = due.map(|base| base.write(&self.kv)) {
            self.store.has_base(written);
        }
    }

    /// What the engine has.
    pub fn entries(&self) -> Entries {
        all(&self.kv)
    }

    /// Is the copy corrupt?
    pub fn is_corrupt(&self) -> bool {
        self.table.is_corrupt()
    }
}

fn all(kv: &MemoryStore) -> Entries {
    let found = kv.read(&Keys::new(NAME).all()).map_or_else(|_| Vec::new(), |(found, _)| found);
    found.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

/// Replaces all that the engine has.
fn replace(kv: &MemoryStore, entries: &Entries) {
    let before = all(kv);
    let gone = before.iter().filter(|(key, _)| entries.iter().all(|(there, _)| there != key));
    let gone = gone.map(|(key, _)| Op::Delete { from: key.clone(), to: format!("{key}\0") });
    let new = entries.iter().filter(|entry| !before.contains(entry)).cloned();
    let new = new.map(|(key, value)| Op::Put { key, value, session: None });
    let told = kv.txn(&Txn { then: gone.chain(new).collect(), ..Txn::default() });
    assert!(matches!(told, Ok(Answer::Done(_))));
}

/// What can be decoded is the same after it was encoded and decoded again.
pub fn check_values(bytes: &[u8]) {
    if let Some(changes) = diff::decode(bytes) {
        assert_eq!(diff::decode(&diff::encode(&changes)), Some(changes));
    }
    if let Some(changes) = diff::decode_words(bytes) {
        let word = |it: &Change| (it.place / 2, it.value);
        let pieces = diff::encode_words(changes.iter().map(word), 100);
        let again: Option<Vec<Vec<Change>>> =
            pieces.iter().map(|it| diff::decode_words(it)).collect();
        assert_eq!(again.map(|pieces| pieces.concat()), Some(changes));
    }
    if let Some(shape) = Shape::decode(bytes) {
        assert_eq!(shape.encode(), bytes);
        assert!(shape.now() > 0);
    }
    let (keys, key) = (Keys::new(NAME), String::from_utf8_lossy(bytes));
    let key = format!("/ternlease/{NAME}/{key}");
    if let Some(owner) = keys.owner_of(&key) {
        assert_eq!(keys.owner_of(&keys.owner(owner)), Some(owner));
    }
    if let Some(number) = keys.number_of(&key) {
        assert_eq!(keys.number_of(&keys.change(number)), Some(number));
    }
    if let Some((number, part)) = keys.piece_of(&key) {
        assert_eq!(keys.piece_of(&keys.piece(number, part)), Some((number, part)));
    }
    if let Some(node) = keys.node_of(&key) {
        assert_eq!(keys.node(node), key);
    }
}
