//! Reads of several ranges at one revision, in pages of a bounded size.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::error::{EngineError, Failure};
use super::links::{Links, Repeat};
use super::messages::{KeyValue, RangeRequest};
use super::txn::Read;

/// The size of a page: large enough that round trips do not count, and small enough that other
/// requests are answered between two pages.
const PAGE_BYTES: usize = 1 << 20;

/// The number of keys of the first page, when their size is unknown.
const FIRST_PAGE: i64 = 16;

/// What several reads found, all at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// One list for each read, in the order of the keys.
    pub found: Vec<Vec<KeyValue>>,
    pub revision: i64,
}

impl Engine {
    /// Reads all of these, of which there is at least one, at one revision: the one that the
    /// cluster has after the call began.
    pub fn read(&self, reads: Vec<Read>, timeout: Duration) -> Result<Snapshot, EngineError> {
        let links = self.links()?;
        self.ask(timeout, async move {
            let until = Instant::now() + timeout;
            let requests: Vec<_> = reads.into_iter().map(RangeRequest::from).collect();
            loop {
                match read_all(&links, &requests, until).await {
                    // The revision was compacted between two requests: a later one will do.
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

/// Why a page was not read.
enum Unread {
    Failed(Failure),
    /// The cluster is not the one that replied before.
    Replaced(EngineError),
}

async fn read_all(
    links: &Links,
    requests: &[RangeRequest],
    until: Instant,
) -> Result<Snapshot, Unread> {
    let mut snapshot = Snapshot { found: Vec::with_capacity(requests.len()), revision: 0 };
    for request in requests {
        let request = RangeRequest { revision: snapshot.revision, ..request.clone() };
        let (keys, revision) = read_pages(links, request, until).await?;
        snapshot.found.push(keys);
        snapshot.revision = revision;
    }
    Ok(snapshot)
}

/// Reads one range, at the revision of the request or, if that is 0, at the current one.
async fn read_pages(
    links: &Links,
    mut request: RangeRequest,
    until: Instant,
) -> Result<(Vec<KeyValue>, i64), Unread> {
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
            return Ok((keys, request.revision));
        };
        request.key = [last.key.as_slice(), &[0]].concat();
        request.limit = (PAGE_BYTES / (bytes / count).max(1)).clamp(1, 4096) as i64;
    }
}
