//! Transactions: if all of this is so, do that, else do something else; all at once or not at all.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::error::EngineError;
use super::links::{Links, Repeat};
use super::messages::*;

/// Which keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    One(Vec<u8>),
    /// All that begin with this.
    #[cfg(test)]
    Prefix(Vec<u8>),
    /// From the first up to the second, which is not one of them.
    Between(Vec<u8>, Vec<u8>),
}

impl Keys {
    /// The first one, and the first one that is not meant any more: the form in which etcd takes them.
    pub(super) fn bounds(self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Keys::One(key) => (key, Vec::new()),
            Keys::Between(from, to) => (from, to),
            #[cfg(test)]
            Keys::Prefix(prefix) => {
                let end = match prefix.iter().rposition(|&byte| byte != 0xff) {
                    Some(last) => [&prefix[..last], &[prefix[last] + 1]].concat(),
                    // A lone zero stands for the end of all keys.
                    None => vec![0],
                };
                // Nor is there an empty key to begin with.
                (if prefix.is_empty() { vec![0] } else { prefix }, end)
            }
        }
    }
}

/// What must be so: when a key was last written, 0 if there is no such key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compare {
    pub key: Vec<u8>,
    pub mod_revision: i64,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Writes a value, which goes with the lease if that is not 0.
    Put {
        key: Vec<u8>,
        value: Vec<u8>,
        lease: i64,
    },
    Delete(Keys),
    Range(Keys),
}

/// What an [`Op`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpAnswer {
    Put,
    /// So many keys.
    Deleted(i64),
    Range(Vec<KeyValue>),
}

/// What a transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TxnAnswer {
    /// Was everything as it had to be?
    pub succeeded: bool,
    /// When that was.
    pub revision: i64,
    /// One for each [`Op`].
    pub answers: Vec<OpAnswer>,
}

/// A transaction that is not sent yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Txn {
    pub compares: Vec<Compare>,
    pub then: Vec<Op>,
    pub otherwise: Vec<Op>,
}

impl Engine {
    /// Does a transaction, and waits for its answer.
    pub fn txn(&self, txn: Txn, timeout: Duration) -> Result<TxnAnswer, EngineError> {
        let links = self.links()?;
        self.ask(timeout, async move { txn.run(&links, Instant::now() + timeout).await })
    }

    /// Begins a transaction, and does not wait. Its answer goes to `tell`, on the engine's thread: it must be quick, and cannot wait for the engine.
    #[cfg(test)]
    pub fn txn_then(
        &self,
        txn: Txn,
        timeout: Duration,
        tell: impl FnOnce(Result<TxnAnswer, EngineError>) + Send + 'static,
    ) -> Result<(), EngineError> {
        let links = self.links()?;
        self.begin(async move { txn.run(&links, Instant::now() + timeout).await }, tell)
    }
}

impl Txn {
    async fn run(self, links: &Links, until: Instant) -> Result<TxnAnswer, EngineError> {
        let request = TxnRequest {
            compare: self.compares.into_iter().map(CompareMessage::from).collect(),
            success: self.then.into_iter().map(RequestOp::from).collect(),
            failure: self.otherwise.into_iter().map(RequestOp::from).collect(),
        };
        let least = links.seen.revision();
        let answer = links.call(request, until, Repeat::Never).await?;
        links.seen.accept(answer.header.as_ref(), least)?;
        let header = answer.header.unwrap_or_default();
        Ok(TxnAnswer {
            succeeded: answer.succeeded,
            revision: header.revision,
            answers: answer.responses.into_iter().map(OpAnswer::from).collect(),
        })
    }
}

impl From<Compare> for CompareMessage {
    fn from(compare: Compare) -> Self {
        CompareMessage {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: compare.key,
            with: Some(CompareWith::ModRevision(compare.mod_revision)),
        }
    }
}

impl From<Op> for RequestOp {
    fn from(op: Op) -> Self {
        let request = match op {
            Op::Put { key, value, lease } => AnyRequest::Put(PutRequest { key, value, lease }),
            Op::Delete(keys) => {
                let (key, range_end) = keys.bounds();
                AnyRequest::Delete(DeleteRangeRequest { key, range_end })
            }
            Op::Range(keys) => {
                let (key, range_end) = keys.bounds();
                AnyRequest::Range(RangeRequest { key, range_end, ..RangeRequest::default() })
            }
        };
        RequestOp { request: Some(request) }
    }
}

impl From<ResponseOp> for OpAnswer {
    fn from(op: ResponseOp) -> Self {
        match op.response {
            Some(AnyResponse::Range(range)) => OpAnswer::Range(range.kvs),
            Some(AnyResponse::Delete(delete)) => OpAnswer::Deleted(delete.deleted),
            Some(AnyResponse::Put(_)) | None => OpAnswer::Put,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_keys_with_a_prefix_end() {
        let bounds = |prefix: &[u8]| Keys::Prefix(prefix.to_vec()).bounds();
        assert_eq!(bounds(b"/a/"), (b"/a/".to_vec(), b"/a0".to_vec()));
        assert_eq!(bounds(b"a\xff\xff"), (b"a\xff\xff".to_vec(), b"b".to_vec()));
        assert_eq!(bounds(b"\xff"), (b"\xff".to_vec(), vec![0]));
        assert_eq!(bounds(b""), (vec![0], vec![0]));
        assert_eq!(Keys::One(b"a".to_vec()).bounds(), (b"a".to_vec(), Vec::new()));
    }
}
