//! etcd, as the engine of a table.

use std::time::Duration;

use super::etcd::{self, Compare, Engine, EngineError, Keys, OpAnswer};
use super::kv::{Answer, Entry, Kv, Op, Range, Revision, Trouble, Txn};

/// A connection, and how long an answer may take.
#[derive(Debug)]
pub(crate) struct OnEtcd {
    pub engine: Engine,
    pub timeout: Duration,
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Unknown(why) => Trouble::Unknown(why),
            EngineError::Unauthenticated(why) => Trouble::Refused(why),
            EngineError::Refused(why) => Trouble::Unreachable(why),
            EngineError::Forked | EngineError::Closed => Trouble::Unreachable(error.to_string()),
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
    fn txn(&self, txn: &Txn) -> Result<Answer, Trouble> {
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

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), Trouble> {
        let found = self.engine.range(keys(&range.from, &range.to), self.timeout)?;
        Ok((entries(found.keys), found.revision))
    }
}
