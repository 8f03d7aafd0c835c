//! What a server reports of itself.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::error::{EngineError, Failure};
use super::links::{Links, Repeat};
use super::messages::{RangeRequest, StatusRequest};
use crate::home::ClusterInfo;

impl Engine {
    /// The version, the errors, the size and the revisions of a server. `readable` is a key that
    /// this process may read.
    pub fn status(&self, readable: &str, timeout: Duration) -> Result<ClusterInfo, EngineError> {
        let links = self.links()?;
        let key = readable.as_bytes().to_vec();
        self.ask(timeout, async move {
            let until = Instant::now() + timeout;
            let status = links.call(StatusRequest {}, until, Repeat::Freely).await?;
            let revision = status.header.unwrap_or_default().revision;
            let first = first_readable(&links, &key, revision, until).await?;
            let bytes = |size: i64| u64::try_from(size).unwrap_or(0);
            Ok(ClusterInfo {
                etcd_version: status.version,
                etcd_problems: status.errors,
                database_bytes: bytes(status.db_size),
                database_used_bytes: bytes(status.db_size_in_use),
                database_quota_bytes: Some(bytes(status.db_size_quota)).filter(|it| *it != 0),
                revisions: bytes(revision - first + 1),
                ..ClusterInfo::default()
            })
        })
    }
}

/// The first revision up to this one that was not compacted. etcd does not report it: a read at an
/// earlier one fails.
async fn first_readable(
    links: &Links,
    key: &[u8],
    revision: i64,
    until: Instant,
) -> Result<i64, Failure> {
    let (mut compacted, mut readable) = (0, revision);
    while readable - compacted > 1 {
        let middle = compacted + (readable - compacted) / 2;
        let key = key.to_vec();
        let request = RangeRequest { key, revision: middle, ..RangeRequest::default() };
        match links.call(request, until, Repeat::Freely).await {
            Ok(_) => readable = middle,
            Err(failure) if failure.compacted() => compacted = middle,
            Err(failure) => return Err(failure),
        }
    }
    Ok(readable)
}
