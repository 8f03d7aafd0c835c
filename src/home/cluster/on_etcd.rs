//! etcd, as the store of a table.

use std::time::Duration;

use super::etcd::{self, Config, EngineError, Keys, OpReply};
use super::store::{
    Change, Compare, Entry, Listener, Op, Range, Read, Revision, Session, SessionEvent, Store,
    StoreError, Txn, TxnReply, Watch, WatchEvent,
};
use crate::home::ClusterInfo;
use crate::table::{Error, Time};

/// A connection, and how long a reply may take.
#[derive(Debug)]
struct OnEtcd {
    engine: etcd::Engine,
    timeout: Duration,
}

/// Connects with etcd.
pub(crate) fn connect(config: &Config) -> Result<Box<dyn Store>, StoreError> {
    let engine = etcd::Engine::connect(config)?;
    Ok(Box::new(OnEtcd { engine, timeout: config.timeout }))
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Unknown(why) => StoreError::Unknown(why),
            EngineError::Unauthenticated(why) => StoreError::Denied(why),
            EngineError::Refused(why) => StoreError::Unavailable(why),
            EngineError::Forked | EngineError::Closed => StoreError::Unavailable(error.to_string()),
        }
    }
}

fn keys(range: &Range) -> Keys {
    Keys::Between(range.from.as_bytes().to_vec(), range.to.as_bytes().to_vec())
}

fn read(read: &Read) -> etcd::Read {
    etcd::Read {
        keys: keys(&read.range),
        // 0 is no condition. With a condition, etcd reads the whole range for each page.
        min_mod_revision: if read.after > 0 { read.after.saturating_add(1) } else { 0 },
        keys_only: read.keys_only,
    }
}

/// All keys of a table are ASCII; any other key is of no table.
fn key(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn entry(found: etcd::KeyValue) -> Entry {
    Entry {
        key: key(&found.key),
        value: found.value,
        created: found.create_revision,
        modified: found.mod_revision,
        version: found.version,
    }
}

fn entries(found: Vec<etcd::KeyValue>) -> Vec<Entry> {
    found.into_iter().map(entry).collect()
}

fn compare(compare: &Compare) -> etcd::Compare {
    match compare {
        Compare::Created(key, revision) => etcd::Compare::Created(key.clone().into(), *revision),
        Compare::Modified(key, revision) => etcd::Compare::Modified(key.clone().into(), *revision),
    }
}

fn op(op: &Op) -> etcd::Op {
    let put = |key: &String, value: &[u8], lease, previous| etcd::Op::Put {
        key: key.clone().into(),
        value: value.to_vec(),
        lease,
        previous,
    };
    match op {
        Op::Put { key, value, session } => put(key, value, session.unwrap_or(0), false),
        Op::Swap { key, value } => put(key, value, 0, true),
        Op::Delete(range) => etcd::Op::Delete(keys(range)),
    }
}

fn report_to(mut listener: Listener<WatchEvent>) -> impl FnMut(etcd::WatchEvent) + Send {
    move |event| match event {
        etcd::WatchEvent::Changed { revision, changes } => {
            let change = |change: etcd::Change| Change {
                key: key(&change.key),
                value: change.value,
                version: change.version,
            };
            let changes = changes.into_iter().map(change).collect();
            listener(WatchEvent::Changed { revision, changes });
        }
        etcd::WatchEvent::Compacted(_) | etcd::WatchEvent::Replaced => {
            listener(WatchEvent::Missed);
        }
        // The watch resumes behind the last change that it reported: it misses nothing.
        etcd::WatchEvent::Lost { .. } | etcd::WatchEvent::Back => {}
    }
}

impl Store for OnEtcd {
    fn txn(&self, txn: &Txn) -> Result<TxnReply, StoreError> {
        let request = etcd::Txn {
            compares: txn.compare.iter().map(compare).collect(),
            then: txn.then.iter().map(op).collect(),
            otherwise: txn.otherwise.iter().map(|it| etcd::Op::Read(read(it))).collect(),
        };
        let reply = self.engine.txn(request, self.timeout)?;
        if !reply.succeeded {
            let found = |reply| match reply {
                OpReply::Read(found) => entries(found),
                OpReply::Put(_) | OpReply::Deleted(_) => Vec::new(),
            };
            return Ok(TxnReply::Failed(reply.replies.into_iter().map(found).collect()));
        }
        let replaced = txn.then.iter().zip(reply.replies).filter_map(|pair| match pair {
            (Op::Swap { .. }, OpReply::Put(previous)) => Some(previous.map(entry)),
            _ => None,
        });
        Ok(TxnReply::Done { revision: reply.revision, replaced: replaced.collect() })
    }

    fn read(&self, reads: &[Read]) -> Result<(Vec<Vec<Entry>>, Revision), StoreError> {
        let requests = reads.iter().map(read).collect();
        match self.engine.read(requests, self.timeout) {
            Ok(snapshot) => {
                Ok((snapshot.found.into_iter().map(entries).collect(), snapshot.revision))
            }
            // A read changes nothing, so its outcome is never unknown.
            Err(EngineError::Unknown(why)) => Err(StoreError::Unavailable(why)),
            Err(error) => Err(error.into()),
        }
    }

    fn session(
        &self,
        ttl: Duration,
        mut listener: Listener<SessionEvent>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let session = self.engine.session(ttl, move |news| match news {
            etcd::SessionNews::Jeopardy { since, .. } => listener(SessionEvent::Jeopardy { since }),
            etcd::SessionNews::Safe => listener(SessionEvent::Safe),
            etcd::SessionNews::Lost => listener(SessionEvent::Lost),
        })?;
        Ok(Box::new(session))
    }

    fn watch(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        let from = after.saturating_add(1);
        Ok(Box::new(self.engine.watch(keys(&range), from, report_to(listener))?))
    }

    fn watch_deletions(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        let from = after.saturating_add(1);
        Ok(Box::new(self.engine.watch_deletions(keys(&range), from, report_to(listener))?))
    }

    fn refusal(&self) -> Option<Error> {
        Some(match self.engine.replaced()? {
            etcd::Replaced::Cluster => Error::OtherStore,
            etcd::Replaced::Revision { seen, found } => Error::StoreWentBack { seen, found },
        })
    }

    fn status(&self, readable: &str) -> Result<ClusterInfo, StoreError> {
        Ok(self.engine.status(readable, self.timeout)?)
    }

    fn close(&self) {
        self.engine.close();
    }
}

impl Session for etcd::Session {
    fn id(&self) -> i64 {
        self.id()
    }

    fn deadline(&self) -> Time {
        self.deadline()
    }

    fn revoke(self: Box<Self>) -> Result<(), StoreError> {
        Ok((*self).revoke()?)
    }
}

impl Watch for etcd::Watch {}
