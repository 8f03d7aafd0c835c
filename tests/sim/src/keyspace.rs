//! The keys of an engine, as a map in memory: for engines of tests.

use std::collections::BTreeMap;

use ternlease::sim_api::kv::{Answer, Entry, Op, Range, Revision, Txn};

struct Kept {
    value: Vec<u8>,
    modified: Revision,
    session: Option<i64>,
}

#[derive(Default)]
pub(crate) struct Keyspace {
    pub revision: Revision,
    entries: BTreeMap<String, Kept>,
}

/// Keys that were changed together, and whether they are there now.
pub(crate) type Changed = Vec<(String, bool)>;

impl Keyspace {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn read(&self, range: &Range) -> Vec<Entry> {
        let found = self.entries.range(range.from.clone()..range.to.clone());
        let entry = |(key, kept): (&String, &Kept)| Entry {
            key: key.clone(),
            value: kept.value.clone(),
            modified: kept.modified,
        };
        found.map(entry).collect()
    }

    pub fn run(&mut self, txn: &Txn) -> (Answer, Changed) {
        let modified = |key: &String| self.entries.get(key).map_or(0, |kept| kept.modified);
        if txn.unchanged.iter().any(|(key, revision)| modified(key) != *revision) {
            let read = txn.otherwise.iter().map(|range| self.read(range)).collect();
            return (Answer::Changed(read), Vec::new());
        }
        self.revision += 1;
        let mut changed = Vec::new();
        for op in &txn.then {
            match op {
                Op::Put { key, value, session } => {
                    let kept =
                        Kept { value: value.clone(), modified: self.revision, session: *session };
                    self.entries.insert(key.clone(), kept);
                    changed.push((key.clone(), true));
                }
                Op::Delete { from, to } => {
                    changed.extend(self.remove(|key, _| key >= from && key < to));
                }
            }
        }
        (Answer::Done(self.revision), changed)
    }

    /// Ends a session: the keys that were written with it are deleted.
    pub fn end_session(&mut self, session: i64) -> Changed {
        self.revision += 1;
        self.remove(|_, kept| kept.session == Some(session))
    }

    fn remove(&mut self, goes: impl Fn(&String, &Kept) -> bool) -> Changed {
        let removed = self.entries.extract_if(.., |key, kept| goes(key, kept));
        removed.map(|(key, _)| (key, false)).collect()
    }
}
