//! A store in memory that loses or delays the requests that a test chooses. Its sessions last until
//! they are dropped, and its watches report when the test calls [`MemoryStore::deliver`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::keyspace::Keyspace;
use ternlease::sim_api::store::{
    Entry, Listener, Op, Range, Read, Revision, Session, SessionEvent, Store, StoreError, Txn,
    TxnReply, Watch, WatchEvent,
};
use ternlease::table::Time;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// It never arrives.
    Lost,
    /// It is executed, and its reply is lost.
    Mute,
    /// Its reply is lost, and it is executed after the next request.
    Late,
}

struct Watched {
    range: Range,
    /// The last revision that was reported.
    after: Revision,
    listener: Option<Listener<WatchEvent>>,
}

#[derive(Default)]
struct Inner {
    keys: Keyspace,
    late: Vec<Txn>,
    sessions: BTreeSet<i64>,
    watches: BTreeMap<u64, Watched>,
    /// The last id of a session or a watch.
    last_id: u64,
}

impl Inner {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn run(&mut self, txn: &Txn) -> Result<TxnReply, StoreError> {
        let is_over = |op: &Op| match op {
            Op::Put { session: Some(id), .. } => !self.sessions.contains(id),
            _ => false,
        };
        if self.keys.holds(&txn.compare) && txn.then.iter().any(is_over) {
            return Err(StoreError::Unavailable("no such session".to_owned()));
        }
        Ok(self.keys.run(txn))
    }

    fn end_session(&mut self, id: i64) {
        if self.sessions.remove(&id) {
            self.keys.end_session(id);
        }
    }
}

/// Clones are the same store.
#[derive(Clone)]
pub(crate) struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
    fate: Arc<Mutex<dyn FnMut() -> Fate + Send>>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().expect("no panic under it")
}

impl MemoryStore {
    pub fn new(fate: impl FnMut() -> Fate + Send + 'static) -> Self {
        MemoryStore { inner: Arc::default(), fate: Arc::new(Mutex::new(fate)) }
    }

    fn next_fate(&self) -> Fate {
        (self.fate.lock().expect("no panic under it"))()
    }

    /// Reports to all watches what has changed.
    pub fn deliver(&self) {
        let ids: Vec<u64> = lock(&self.inner).watches.keys().copied().collect();
        for id in ids {
            let mut inner = lock(&self.inner);
            let Inner { keys, watches, .. } = &mut *inner;
            let Some(watched) = watches.get_mut(&id) else { continue };
            let changed = keys.changes_after(&watched.range, watched.after);
            watched.after = keys.revision;
            let Some(mut listener) = watched.listener.take() else { continue };
            drop(inner);
            for (revision, changes) in changed {
                listener(WatchEvent::Changed { revision, changes });
            }
            if let Some(watched) = lock(&self.inner).watches.get_mut(&id) {
                watched.listener = Some(listener);
            }
        }
    }
}

impl Store for MemoryStore {
    fn txn(&self, txn: &Txn) -> Result<TxnReply, StoreError> {
        let fate = self.next_fate();
        let mut inner = lock(&self.inner);
        let late = std::mem::take(&mut inner.late);
        let no_reply = || Err(StoreError::Unknown("no reply".to_owned()));
        let reply = match fate {
            Fate::Answered => inner.run(txn),
            Fate::Lost => Err(StoreError::Unavailable("away".to_owned())),
            Fate::Mute => {
                let _ = inner.run(txn);
                no_reply()
            }
            Fate::Late => {
                inner.late.push(txn.clone());
                no_reply()
            }
        };
        late.iter().for_each(|txn| drop(inner.run(txn)));
        reply
    }

    fn read(&self, reads: &[Read]) -> Result<(Vec<Vec<Entry>>, Revision), StoreError> {
        match self.next_fate() {
            Fate::Answered => {
                let inner = lock(&self.inner);
                let found = reads.iter().map(|read| inner.keys.read(read)).collect();
                Ok((found, inner.keys.revision))
            }
            _ => Err(StoreError::Unavailable("away".to_owned())),
        }
    }

    fn session(
        &self,
        _ttl: Duration,
        _listener: Listener<SessionEvent>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let mut inner = lock(&self.inner);
        let id = inner.next_id() as i64;
        inner.sessions.insert(id);
        Ok(Box::new(MemorySession { id, inner: self.inner.clone() }))
    }

    fn watch(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        let mut inner = lock(&self.inner);
        let id = inner.next_id();
        inner.watches.insert(id, Watched { range, after, listener: Some(listener) });
        Ok(Box::new(MemoryWatch { id, inner: self.inner.clone() }))
    }

    /// Few, so that short runs have snapshots.
    fn entries_per_snapshot(&self) -> u64 {
        16
    }

    fn close(&self) {}
}

struct MemorySession {
    id: i64,
    inner: Arc<Mutex<Inner>>,
}

impl fmt::Debug for MemorySession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySession({})", self.id)
    }
}

impl Session for MemorySession {
    fn id(&self) -> i64 {
        self.id
    }

    fn deadline(&self) -> Time {
        if lock(&self.inner).sessions.contains(&self.id) { Time::MAX } else { 0 }
    }

    fn revoke(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Drop for MemorySession {
    fn drop(&mut self) {
        lock(&self.inner).end_session(self.id);
    }
}

struct MemoryWatch {
    id: u64,
    inner: Arc<Mutex<Inner>>,
}

impl fmt::Debug for MemoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryWatch({})", self.id)
    }
}

impl Watch for MemoryWatch {}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        let watched = lock(&self.inner).watches.remove(&self.id);
        // The listener is dropped while the store is not locked.
        drop(watched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ternlease::sim_api::store::{Change, Compare};

    fn put(key: &str, value: &str) -> Op {
        Op::Put { key: key.to_owned(), value: value.into(), session: None }
    }

    fn swap(key: &str, value: &str) -> Op {
        Op::Swap { key: key.to_owned(), value: value.into() }
    }

    fn always(then: Vec<Op>) -> Txn {
        Txn { then, ..Txn::default() }
    }

    fn all() -> Range {
        Range { from: "a".to_owned(), to: "z".to_owned() }
    }

    fn entry(key: &str, value: &str, created: i64, modified: i64, version: i64) -> Entry {
        Entry { key: key.to_owned(), value: value.into(), created, modified, version }
    }

    fn reliable() -> MemoryStore {
        MemoryStore::new(|| Fate::Answered)
    }

    #[test]
    fn revisions_and_versions_are_those_of_etcd() {
        let store = reliable();
        let done = |then| match store.txn(&always(then)).unwrap() {
            TxnReply::Done { revision, replaced } => (revision, replaced),
            failed => panic!("{failed:?}"),
        };
        assert_eq!(done(vec![put("a", "1"), swap("b", "1")]), (1, vec![None]));
        assert_eq!(done(vec![swap("a", "2")]), (2, vec![Some(entry("a", "1", 1, 1, 1))]));
        assert_eq!(done(vec![Op::Delete(Range::only("b".to_owned()))]), (3, vec![]));
        // A transaction that changes nothing has no revision of its own.
        assert_eq!(done(vec![Op::Delete(Range::only("b".to_owned()))]), (3, vec![]));
        assert_eq!(done(vec![put("b", "2")]), (4, vec![]));
        let late = Read { after: 2, ..Read::all(all()) };
        let names = Read { keys_only: true, ..Read::all(all()) };
        let expected = vec![
            vec![entry("b", "2", 4, 4, 1)],
            vec![entry("a", "", 1, 2, 2), entry("b", "", 4, 4, 1)],
        ];
        assert_eq!(store.read(&[late.clone(), names]), Ok((expected.clone(), 4)));

        for (compare, holds) in [
            (Compare::Created("a".to_owned(), 1), true),
            (Compare::Created("a".to_owned(), 2), false),
            (Compare::Modified("a".to_owned(), 2), true),
            (Compare::Modified("a".to_owned(), 1), false),
            (Compare::Created("c".to_owned(), 0), true),
            (Compare::Modified("b".to_owned(), 0), false),
        ] {
            let txn =
                Txn { compare: vec![compare.clone()], then: vec![], otherwise: vec![late.clone()] };
            let done = TxnReply::Done { revision: 4, replaced: vec![] };
            let failed = TxnReply::Failed(vec![expected[0].clone()]);
            assert_eq!(store.txn(&txn), Ok(if holds { done } else { failed }), "{compare:?}");
        }
    }

    #[test]
    fn watch_reports_each_revision_after_its_start_once() {
        let store = reliable();
        for ops in [vec![put("a", "1")], vec![put("a", "2"), put("b", "1"), put("zz", "1")]] {
            store.txn(&always(ops)).unwrap();
        }
        let session = store.session(Duration::from_secs(1), Box::new(|_| ())).unwrap();
        let held = Op::Put { key: "c".to_owned(), value: vec![], session: Some(session.id()) };
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = events.clone();
        let listener = Box::new(move |event| seen.lock().unwrap().push(event));
        let watch = store.watch(all(), 1, listener).unwrap();
        store.txn(&always(vec![held.clone()])).unwrap();
        store.deliver();
        session.revoke().unwrap();
        store.deliver();
        assert!(matches!(store.txn(&always(vec![held])), Err(StoreError::Unavailable(_))));
        drop(watch);
        store.txn(&always(vec![put("a", "3")])).unwrap();
        store.deliver();
        let change = |key: &str, value: Option<&str>, version| Change {
            key: key.to_owned(),
            value: value.map(Into::into),
            version,
        };
        let expected = [
            (2, vec![change("a", Some("2"), 2), change("b", Some("1"), 1)]),
            (3, vec![change("c", Some(""), 1)]),
            (4, vec![change("c", None, 0)]),
        ];
        let expected =
            expected.map(|(revision, changes)| WatchEvent::Changed { revision, changes });
        assert_eq!(*events.lock().unwrap(), expected);
    }

    #[test]
    fn requests_without_reply_are_executed_now_later_or_never() {
        let mut fates = vec![Fate::Answered, Fate::Answered, Fate::Late, Fate::Mute];
        let store = MemoryStore::new(move || fates.pop().unwrap_or(Fate::Lost));
        for value in ["mute", "late"] {
            let reply = store.txn(&always(vec![put("a", value)]));
            assert!(matches!(reply, Err(StoreError::Unknown(_))), "{reply:?}");
        }
        let reply = store.txn(&always(vec![swap("a", "next")]));
        let replaced = vec![Some(entry("a", "mute", 1, 1, 1))];
        assert_eq!(reply, Ok(TxnReply::Done { revision: 2, replaced }));
        let (found, _) = store.read(&[Read::key("a".to_owned())]).unwrap();
        assert_eq!(found, [[entry("a", "late", 1, 3, 3)]]);
        let reply = store.txn(&always(vec![put("a", "lost")]));
        assert!(matches!(reply, Err(StoreError::Unavailable(_))), "{reply:?}");
    }
}
