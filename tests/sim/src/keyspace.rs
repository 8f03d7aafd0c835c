//! The keys of a store with their history, as a map in memory: for stores of tests. It follows
//! etcd.

use std::collections::{BTreeMap, BTreeSet};

use ternlease::sim_api::store::{Change, Compare, Entry, Op, Range, Read, Revision, Txn, TxnReply};

#[derive(Clone)]
struct Stored {
    value: Vec<u8>,
    created: Revision,
    modified: Revision,
    version: i64,
    session: Option<i64>,
}

#[derive(Clone, Default)]
pub(crate) struct Keyspace {
    pub revision: Revision,
    stored: BTreeMap<String, Stored>,
    /// The changes of each revision, in their order.
    history: BTreeMap<Revision, Vec<Change>>,
}

impl Keyspace {
    pub fn read(&self, read: &Read) -> Vec<Entry> {
        let range = read.range.from.clone()..read.range.to.clone();
        if range.start >= range.end {
            return Vec::new();
        }
        let found = self.stored.range(range).filter(|(_, stored)| stored.modified > read.after);
        let entry = |(key, stored): (&String, &Stored)| Entry {
            value: if read.keys_only { Vec::new() } else { stored.value.clone() },
            ..stored.entry(key)
        };
        found.map(entry).collect()
    }

    /// Do all conditions hold?
    pub fn holds(&self, compare: &[Compare]) -> bool {
        let revisions =
            |key| self.stored.get(key).map_or((0, 0), |stored| (stored.created, stored.modified));
        compare.iter().all(|compare| match compare {
            Compare::Created(key, revision) => revisions(key).0 == *revision,
            Compare::Modified(key, revision) => revisions(key).1 == *revision,
        })
    }

    pub fn run(&mut self, txn: &Txn) -> TxnReply {
        assert_single_writes(&txn.then);
        if !self.holds(&txn.compare) {
            return TxnReply::Failed(txn.otherwise.iter().map(|read| self.read(read)).collect());
        }
        let mut replaced = Vec::new();
        let mut changes = Vec::new();
        for op in &txn.then {
            match op {
                Op::Put { key, value, session } => {
                    self.put(key, value, *session, &mut changes);
                }
                Op::Swap { key, value } => {
                    let before = self.put(key, value, None, &mut changes);
                    replaced.push(before.map(|stored| stored.entry(key)));
                }
                Op::Delete(range) => {
                    self.delete(|key, _| *key >= range.from && *key < range.to, &mut changes)
                }
            }
        }
        self.commit(changes);
        TxnReply::Done { revision: self.revision, replaced }
    }

    /// Ends a session: the keys that were last written with it are deleted.
    pub fn end_session(&mut self, session: i64) {
        let mut changes = Vec::new();
        self.delete(|_, stored| stored.session == Some(session), &mut changes);
        self.commit(changes);
    }

    /// The changes of a range after a revision, by revision.
    pub fn changes_after(&self, range: &Range, after: Revision) -> Vec<(Revision, Vec<Change>)> {
        let within = |change: &&Change| change.key >= range.from && change.key < range.to;
        let later = self.history.range(after + 1..);
        let matching = later.map(|(revision, changes)| {
            (*revision, changes.iter().filter(within).cloned().collect::<Vec<_>>())
        });
        matching.filter(|(_, changes)| !changes.is_empty()).collect()
    }

    fn put(
        &mut self,
        key: &str,
        value: &[u8],
        session: Option<i64>,
        changes: &mut Vec<Change>,
    ) -> Option<Stored> {
        let revision = self.revision + 1;
        let before = self.stored.get(key).cloned();
        let (created, version) =
            before.as_ref().map_or((revision, 1), |before| (before.created, before.version + 1));
        let (value, modified) = (value.to_vec(), revision);
        changes.push(Change { key: key.to_owned(), value: Some(value.clone()), version });
        self.stored.insert(key.to_owned(), Stored { value, created, modified, version, session });
        before
    }

    fn delete(&mut self, matches: impl Fn(&String, &Stored) -> bool, changes: &mut Vec<Change>) {
        let deleted = self.stored.extract_if(.., |key, stored| matches(key, stored));
        changes.extend(deleted.map(|(key, _)| Change { key, value: None, version: 0 }));
    }

    /// As in etcd, a transaction that changes nothing has no revision of its own.
    fn commit(&mut self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.revision += 1;
            self.history.insert(self.revision, changes);
        }
    }
}

impl Stored {
    fn entry(&self, key: &str) -> Entry {
        let Stored { value, created, modified, version, .. } = self.clone();
        Entry { key: key.to_owned(), value, created, modified, version }
    }
}

/// etcd refuses a transaction that writes a key twice, or writes and deletes it.
fn assert_single_writes(ops: &[Op]) {
    let mut written = BTreeSet::new();
    for op in ops {
        if let Op::Put { key, .. } | Op::Swap { key, .. } = op {
            assert!(written.insert(key), "{key} is written twice");
        }
    }
    for op in ops {
        if let Op::Delete(range) = op {
            let found = written.iter().find(|key| ***key >= range.from && ***key < range.to);
            assert_eq!(found, None, "it is written and deleted");
        }
    }
}
