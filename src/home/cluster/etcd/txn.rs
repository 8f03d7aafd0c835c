//! Transactions: compares, and writes that are done if all of them hold.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::error::EngineError;
use super::links::{Links, Repeat};
use super::messages::*;

/// A range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    #[cfg(test)]
    One(Vec<u8>),
    /// All keys with this prefix.
    #[cfg(test)]
    Prefix(Vec<u8>),
    /// From the first up to the second, exclusive.
    Between(Vec<u8>, Vec<u8>),
}

impl Keys {
    /// The first key and the exclusive end, in the form that etcd takes.
    pub(super) fn bounds(self) -> (Vec<u8>, Vec<u8>) {
        match self {
            #[cfg(test)]
            Keys::One(key) => (key, Vec::new()),
            Keys::Between(from, to) => (from, to),
            #[cfg(test)]
            Keys::Prefix(prefix) => {
                let end = match prefix.iter().rposition(|&byte| byte != 0xff) {
                    Some(last) => [&prefix[..last], &[prefix[last] + 1]].concat(),
                    // A single zero byte is the end of all keys.
                    None => vec![0],
                };
                // No key is empty.
                (if prefix.is_empty() { vec![0] } else { prefix }, end)
            }
        }
    }
}

/// A condition. Revision 0: there is no such key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compare {
    Created(Vec<u8>, i64),
    Modified(Vec<u8>, i64),
}

/// What to read of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub keys: Keys,
    /// Skip keys that were last written before this revision.
    pub min_mod_revision: i64,
    /// Leave the values empty.
    pub keys_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Writes a value. The key is deleted with the lease if that is not 0.
    Put {
        key: Vec<u8>,
        value: Vec<u8>,
        lease: i64,
        /// Reply with the value that is replaced.
        previous: bool,
    },
    Delete(Keys),
    Read(Read),
}

/// The reply to an [`Op`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpReply {
    /// With what was replaced, if the put requests it and there was a value.
    Put(Option<KeyValue>),
    /// How many keys were deleted.
    Deleted(i64),
    Read(Vec<KeyValue>),
}

/// The reply to a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TxnReply {
    /// Did all compares hold?
    pub succeeded: bool,
    pub revision: i64,
    /// One for each [`Op`] of the branch that was taken.
    pub replies: Vec<OpReply>,
}

/// A transaction that has not been sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Txn {
    pub compares: Vec<Compare>,
    pub then: Vec<Op>,
    pub otherwise: Vec<Op>,
}

impl Engine {
    /// Sends a transaction, and waits for its reply.
    pub fn txn(&self, txn: Txn, timeout: Duration) -> Result<TxnReply, EngineError> {
        let links = self.links()?;
        self.ask(timeout, async move { txn.run(&links, Instant::now() + timeout).await })
    }

    /// Sends a transaction without waiting. Its reply goes to `listener`, on the engine's thread:
    /// it must be quick, and cannot wait for the engine.
    #[cfg(test)]
    pub fn txn_then(
        &self,
        txn: Txn,
        timeout: Duration,
        listener: impl FnOnce(Result<TxnReply, EngineError>) + Send + 'static,
    ) -> Result<(), EngineError> {
        let links = self.links()?;
        self.begin(async move { txn.run(&links, Instant::now() + timeout).await }, listener)
    }
}

impl Txn {
    async fn run(self, links: &Links, until: Instant) -> Result<TxnReply, EngineError> {
        let request = TxnRequest {
            compare: self.compares.into_iter().map(CompareMessage::from).collect(),
            success: self.then.into_iter().map(RequestOp::from).collect(),
            failure: self.otherwise.into_iter().map(RequestOp::from).collect(),
        };
        let least = links.seen.revision();
        let response = links.call(request, until, Repeat::Never).await?;
        links.seen.accept(response.header.as_ref(), least)?;
        let header = response.header.unwrap_or_default();
        Ok(TxnReply {
            succeeded: response.succeeded,
            revision: header.revision,
            replies: response.responses.into_iter().map(OpReply::from).collect(),
        })
    }
}

impl From<Compare> for CompareMessage {
    fn from(compare: Compare) -> Self {
        let (target, key, with) = match compare {
            Compare::Created(key, revision) => {
                (CompareTarget::Create, key, CompareWith::CreateRevision(revision))
            }
            Compare::Modified(key, revision) => {
                (CompareTarget::Mod, key, CompareWith::ModRevision(revision))
            }
        };
        let result = CompareResult::Equal.into();
        CompareMessage { result, target: target.into(), key, with: Some(with) }
    }
}

impl From<Read> for RangeRequest {
    fn from(read: Read) -> Self {
        let Read { keys, min_mod_revision, keys_only } = read;
        let (key, range_end) = keys.bounds();
        RangeRequest { key, range_end, min_mod_revision, keys_only, ..RangeRequest::default() }
    }
}

impl From<Op> for RequestOp {
    fn from(op: Op) -> Self {
        let request = match op {
            Op::Put { key, value, lease, previous } => {
                AnyRequest::Put(PutRequest { key, value, lease, prev_kv: previous })
            }
            Op::Delete(keys) => {
                let (key, range_end) = keys.bounds();
                AnyRequest::Delete(DeleteRangeRequest { key, range_end })
            }
            Op::Read(read) => AnyRequest::Range(read.into()),
        };
        RequestOp { request: Some(request) }
    }
}

impl From<ResponseOp> for OpReply {
    fn from(op: ResponseOp) -> Self {
        match op.response {
            Some(AnyResponse::Range(range)) => OpReply::Read(range.kvs),
            Some(AnyResponse::Delete(delete)) => OpReply::Deleted(delete.deleted),
            Some(AnyResponse::Put(put)) => OpReply::Put(put.prev_kv),
            None => OpReply::Put(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_a_prefix_enclose_its_keys() {
        let bounds = |prefix: &[u8]| Keys::Prefix(prefix.to_vec()).bounds();
        assert_eq!(bounds(b"/a/"), (b"/a/".to_vec(), b"/a0".to_vec()));
        assert_eq!(bounds(b"a\xff\xff"), (b"a\xff\xff".to_vec(), b"b".to_vec()));
        assert_eq!(bounds(b"\xff"), (b"\xff".to_vec(), vec![0]));
        assert_eq!(bounds(b""), (vec![0], vec![0]));
        assert_eq!(Keys::One(b"a".to_vec()).bounds(), (b"a".to_vec(), Vec::new()));
    }
}
