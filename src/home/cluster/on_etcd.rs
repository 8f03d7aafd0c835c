//! etcd, as the engine of a table.

use std::time::Duration;

use super::etcd::{self, Compare, Config, EngineError, Keys, OpAnswer};
use super::kv::{
    Answer, Engine, Entry, Kv, Listener, Op, Range, Revision, Session, SessionNews, StoreError,
    Txn, Watch, WatchNews,
};
use crate::table::{Error, Time};

/// A connection, and how long an answer may take.
#[derive(Debug)]
struct OnEtcd {
    engine: etcd::Engine,
    timeout: Duration,
}

/// Connects with etcd.
pub(crate) fn connect(config: &Config) -> Result<Box<dyn Engine>, StoreError> {
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

fn keys(from: &str, to: &str) -> Keys {
    Keys::Between(from.as_bytes().to_vec(), to.as_bytes().to_vec())
}

fn entries(found: Vec<etcd::KeyValue>) -> Vec<Entry> {
    let entry = |found: etcd::KeyValue| Entry {
        // All keys of a table are ASCII; another one is nobody's.
        key: String::from_utf8_lossy(&found.key).into_owned(),
        value: found.value,
        modified: found.mod_revision,
    };
    found.into_iter().map(entry).collect()
}

impl Kv for OnEtcd {
    fn txn(&self, txn: &Txn) -> Result<Answer, StoreError> {
        let compare = |(key, revision): &(String, Revision)| Compare {
            key: key.as_bytes().to_vec(),
            mod_revision: *revision,
        };
        let op = |op: &Op| match op {
            Op::Put { key, value, session } => etcd::Op::Put {
                key: key.as_bytes().to_vec(),
                value: value.clone(),
                lease: session.unwrap_or(0),
            },
            Op::Delete { from, to } => etcd::Op::Delete(keys(from, to)),
        };
        let read = |range: &Range| etcd::Op::Range(keys(&range.from, &range.to));
        let sent = etcd::Txn {
            compares: txn.unchanged.iter().map(compare).collect(),
            then: txn.then.iter().map(op).collect(),
            otherwise: txn.otherwise.iter().map(read).collect(),
        };
        let told = self.engine.txn(sent, self.timeout)?;
        if told.succeeded {
            return Ok(Answer::Done(told.revision));
        }
        let read = |answer| match answer {
            OpAnswer::Range(found) => entries(found),
            _ => Vec::new(),
        };
        Ok(Answer::Changed(told.answers.into_iter().map(read).collect()))
    }

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), StoreError> {
        let found = self.engine.range(keys(&range.from, &range.to), self.timeout)?;
        Ok((entries(found.keys), found.revision))
    }
}

impl Engine for OnEtcd {
    fn session(
        &self,
        ttl: Duration,
        mut tell: Listener<SessionNews>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let session = self.engine.session(ttl, move |news| match news {
            etcd::SessionNews::Jeopardy { since, .. } => tell(SessionNews::Jeopardy { since }),
            etcd::SessionNews::Safe => tell(SessionNews::Safe),
            etcd::SessionNews::Lost => tell(SessionNews::Lost),
        })?;
        Ok(Box::new(session))
    }

    fn watch(
        &self,
        range: Range,
        known: &str,
        mut tell: Listener<WatchNews>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        // Whatever key it is, the answer tells the revision.
        let any = Keys::One(known.as_bytes().to_vec());
        let from = self.engine.range_keys(any, self.timeout)?.revision + 1;
        let watch = self.engine.watch(keys(&range.from, &range.to), from, move |news| {
            tell(match news {
                etcd::WatchNews::Changed { changes, .. } => {
                    let key = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
                    let changed = changes.iter().map(|it| (key(&it.key), it.value.is_some()));
                    WatchNews::Changed(changed.collect())
                }
                _ => WatchNews::Missed,
            });
        })?;
        Ok(Box::new(watch))
    }

    fn refusal(&self) -> Option<Error> {
        Some(match self.engine.replaced()? {
            etcd::Replaced::Cluster => Error::OtherStore,
            etcd::Replaced::Revision { seen, found } => Error::StoreWentBack { seen, found },
        })
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
