//! Reading many keys as they were at one moment, in pages of a bounded size.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::error::{EngineError, Failure};
use super::links::{Links, Repeat};
use super::messages::{KeyValue, RangeRequest};
use super::txn::Keys;

/// How much a page should hold: enough that round trips do not count, and little enough that others get through in between.
const PAGE_BYTES: usize = 1 << 20;

/// How many keys are asked for first, when nobody knows how large they are.
const FIRST_PAGE: i64 = 16;

/// Keys as they were at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// In the order of their keys.
    pub keys: Vec<KeyValue>,
    pub revision: i64,
}

impl Engine {
    /// Reads keys with their values, all as they were at one moment after the call began.
    pub fn range(&self, keys: Keys, timeout: Duration) -> Result<Snapshot, EngineError> {
        self.read(keys, false, timeout)
    }

    /// As [`Self::range`], without the values.
    pub fn range_keys(&self, keys: Keys, timeout: Duration) -> Result<Snapshot, EngineError> {
        self.read(keys, true, timeout)
    }

    fn read(
        &self,
        keys: Keys,
        keys_only: bool,
        timeout: Duration,
    ) -> Result<Snapshot, EngineError> {
        let links = self.links()?;
        self.ask(timeout, async move {
            let until = Instant::now() + timeout;
            let (key, range_end) = keys.bounds();
            let first = RangeRequest { key, range_end, keys_only, ..RangeRequest::default() };
            loop {
                match read_pages(&links, first.clone(), until).await {
                    // The moment was forgotten between two pages: another moment is as good.
                    Err(Unread::Failed(failure))
                        if failure.compacted() && Instant::now() < until => {}
                    Err(Unread::Failed(failure)) => return Err(failure.into()),
                    Err(Unread::Replaced(error)) => return Err(error),
                    Ok(snapshot) => return Ok(snapshot),
                }
            }
        })
    }
}

/// Why pages were not read.
enum Unread {
    Failed(Failure),
    /// What answers is not what answered before.
    Replaced(EngineError),
}

async fn read_pages(
    links: &Links,
    mut request: RangeRequest,
    until: Instant,
) -> Result<Snapshot, Unread> {
    request.limit = FIRST_PAGE;
    let mut keys: Vec<KeyValue> = Vec::new();
    loop {
        let least = links.seen.revision();
        let page =
            links.call(request.clone(), until, Repeat::Freely).await.map_err(Unread::Failed)?;
        links.seen.accept(page.header.as_ref(), least).map_err(Unread::Replaced)?;
        if request.revision == 0 {
            request.revision = page.header.unwrap_or_default().revision;
        }
        let bytes: usize = page.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        let count = page.kvs.len();
        keys.extend(page.kvs);
        let next = keys.last().filter(|_| page.more && count > 0);
        let Some(last) = next else {
            return Ok(Snapshot { keys, revision: request.revision });
        };
        request.key = [last.key.as_slice(), &[0]].concat();
        request.limit = (PAGE_BYTES / (bytes / count).max(1)).clamp(1, 4096) as i64;
    }
}
