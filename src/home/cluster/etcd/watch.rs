//! Watches: each change of some keys, in order, none twice and none left out, also across changes
//! of servers and connections.

use std::time::Instant;

use tokio::time::{sleep, timeout};
use tonic::Code;

use super::engine::{Engine, Task};
use super::error::{EngineError, Failure};
use super::links::{Links, Repeat, Stream};
use super::messages::*;
use super::of_this_process::OfThisProcess;
use super::random::Backoff;
use super::txn::Keys;
use crate::home::clock::Clock;
use crate::table::Time;

/// One change of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub key: Vec<u8>,
    /// `None`: the key was deleted.
    pub value: Option<Vec<u8>>,
    /// How often the key was written since it was created; 0 if it was deleted.
    pub version: i64,
    pub mod_revision: i64,
}

/// What a watch reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchEvent {
    /// All changes of one revision.
    Changed { revision: i64, changes: Vec<Change> },
    /// No server has replied since then, and why. Changes are late.
    Lost { since: Time, why: String },
    /// A server replies again. The changes since follow.
    Back,
    /// Changes before this revision may have been missed: the cluster has deleted them. Later ones
    /// follow.
    Compacted(i64),
    /// The cluster is not the one that replied before. Nothing follows.
    Replaced,
}

/// A watch, until it is dropped. Its listener may be called once more while it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    _task: OfThisProcess<Task>,
}

impl Engine {
    /// Watches keys from a revision on. Events go to `listener`, on the engine's thread: it must be
    /// quick, and cannot wait for the engine.
    pub fn watch(
        &self,
        keys: Keys,
        from_revision: i64,
        listener: impl FnMut(WatchEvent) + Send + 'static,
    ) -> Result<Watch, EngineError> {
        self.watch_filtered(keys, from_revision, Vec::new(), listener)
    }

    /// As [`Self::watch`], of deletions only.
    pub fn watch_deletions(
        &self,
        keys: Keys,
        from_revision: i64,
        listener: impl FnMut(WatchEvent) + Send + 'static,
    ) -> Result<Watch, EngineError> {
        self.watch_filtered(keys, from_revision, vec![FilterType::NoPut.into()], listener)
    }

    fn watch_filtered(
        &self,
        keys: Keys,
        from_revision: i64,
        filters: Vec<i32>,
        listener: impl FnMut(WatchEvent) + Send + 'static,
    ) -> Result<Watch, EngineError> {
        let links = self.links()?;
        let (key, range_end) = keys.bounds();
        let watcher = Watcher {
            key,
            range_end,
            filters,
            // 0 would mean from now on: another revision after each reconnection.
            next: from_revision.max(1),
            pending: Vec::new(),
            heard: Clock::Real.now(),
            lost: false,
            backoff: Backoff::new(),
            listener,
        };
        Ok(Watch { _task: self.start(async move { watcher.run(&links).await })? })
    }
}

/// Why a stream has ended.
enum End {
    Compacted(i64),
    Replaced,
    Failed(Failure),
}

struct Watcher<F> {
    key: Vec<u8>,
    range_end: Vec<u8>,
    filters: Vec<i32>,
    /// The first revision that was not reported yet.
    next: i64,
    /// Changes of one revision, of which more may follow.
    pending: Vec<Change>,
    /// When a server replied last.
    heard: Time,
    lost: bool,
    backoff: Backoff,
    listener: F,
}

impl<F: FnMut(WatchEvent)> Watcher<F> {
    async fn run(mut self, links: &Links) {
        loop {
            match self.listen(links).await {
                End::Compacted(revision) => {
                    self.next = revision;
                    (self.listener)(WatchEvent::Compacted(revision));
                }
                End::Replaced => return (self.listener)(WatchEvent::Replaced),
                End::Failed(failure) => {
                    if !std::mem::replace(&mut self.lost, true) {
                        let why = failure.why().to_owned();
                        (self.listener)(WatchEvent::Lost { since: self.heard, why });
                    }
                    sleep(self.backoff.next()).await;
                }
            }
        }
    }

    /// Listens to one server until that fails.
    async fn listen(&mut self, links: &Links) -> End {
        let (key, range_end) = (self.key.clone(), self.range_end.clone());
        if let Err(end) = check_cluster(links, key.clone(), range_end.clone()).await {
            return end;
        }
        let create = WatchCreateRequest {
            key,
            range_end,
            start_revision: self.next,
            filters: self.filters.clone(),
            // Otherwise one message has all that was missed, up to a thousand revisions.
            fragment: true,
        };
        let first = WatchRequest { request: Some(AnyWatchRequest::Create(create)) };
        let mut stream = match links.stream(first, links.patience()).await {
            Ok(stream) => stream,
            Err(failure) => return End::Failed(failure),
        };
        // The next stream repeats what a broken one left unfinished.
        self.pending.clear();
        let end = self.follow(links, &mut stream).await;
        if let End::Failed(failure) = &end {
            links.blame(stream.used, failure);
        }
        end
    }

    async fn follow(&mut self, links: &Links, stream: &mut Stream<WatchRequest>) -> End {
        let mut progress_requested = false;
        loop {
            let response = match timeout(links.timeout, stream.answers.message()).await {
                Ok(Ok(Some(response))) => response,
                Ok(Ok(None)) => return End::Failed(Failure::ended()),
                Ok(Err(status)) => return End::Failed(status.into()),
                // A server without changes replies to this request.
                Err(_) if !progress_requested => {
                    progress_requested = true;
                    let progress = AnyWatchRequest::Progress(WatchProgressRequest {});
                    let _ = stream.requests.try_send(WatchRequest { request: Some(progress) });
                    continue;
                }
                Err(_) => return End::Failed(Failure::silence()),
            };
            progress_requested = false;
            self.heard = Clock::Real.now();
            if links.seen.observe(response.header.as_ref()).is_err() {
                return End::Replaced;
            }
            if response.canceled {
                return match response.compact_revision {
                    revision if revision > self.next => End::Compacted(revision),
                    _ => End::Failed(cancelled(response.cancel_reason)),
                };
            }
            if response.created {
                self.backoff = Backoff::new();
                if std::mem::replace(&mut self.lost, false) {
                    (self.listener)(WatchEvent::Back);
                }
                continue;
            }
            self.take(response);
        }
    }

    fn take(&mut self, response: WatchResponse) {
        let is_progress = response.events.is_empty() && !response.fragment;
        for event in response.events {
            let deleted = event.r#type() == EventType::Delete;
            let Some(kv) = event.kv else { continue };
            if self.pending.last().is_some_and(|last| last.mod_revision != kv.mod_revision) {
                self.report_pending();
            }
            let KeyValue { key, value, version, mod_revision, .. } = kv;
            let (value, version) = if deleted { (None, 0) } else { (Some(value), version) };
            self.pending.push(Change { key, value, version, mod_revision });
        }
        if !response.fragment {
            self.report_pending();
        }
        if is_progress {
            // All changes up to this revision were reported: compaction may delete them.
            let revision = response.header.unwrap_or_default().revision;
            self.next = self.next.max(revision + 1);
        }
    }

    fn report_pending(&mut self) {
        let changes = std::mem::take(&mut self.pending);
        let Some(revision) = changes.last().map(|last| last.mod_revision) else { return };
        // A server does not repeat a revision; if it did, it would not be reported twice.
        if revision >= self.next {
            self.next = revision + 1;
            (self.listener)(WatchEvent::Changed { revision, changes });
        }
    }
}

/// Checks that the cluster has not been restored from a backup. The revision of a watch response
/// may be old and does not show this; that of a read does. Without this check, a watch would report
/// the changes of another history.
async fn check_cluster(links: &Links, key: Vec<u8>, range_end: Vec<u8>) -> Result<(), End> {
    let request =
        RangeRequest { key, range_end, limit: 1, keys_only: true, ..RangeRequest::default() };
    let least = links.seen.revision();
    let until = Instant::now() + links.timeout;
    let response = links.call(request, until, Repeat::Freely).await.map_err(End::Failed)?;
    links.seen.accept(response.header.as_ref(), least).map_err(|_| End::Replaced)
}

/// The failure for a server's reason to end a watch.
fn cancelled(reason: String) -> Failure {
    if reason.contains("permission denied") {
        Failure::Refused(Code::PermissionDenied, reason)
    } else if reason.contains("auth") || reason.contains("user name") {
        Failure::Token(reason)
    } else {
        Failure::Unknown { why: reason, broken: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(listener: impl FnMut(WatchEvent)) -> Watcher<impl FnMut(WatchEvent)> {
        Watcher {
            key: vec![],
            range_end: vec![],
            filters: vec![],
            next: 1,
            pending: vec![],
            heard: 0,
            lost: false,
            backoff: Backoff::new(),
            listener,
        }
    }

    /// A response with events of these revisions; with `fragment`, more of the last one may follow.
    fn response(revisions: &[i64], fragment: bool) -> WatchResponse {
        let event = |&mod_revision: &i64| {
            let kv = KeyValue { mod_revision, ..KeyValue::default() };
            Event { r#type: EventType::Put.into(), kv: Some(kv) }
        };
        let header = Some(Header { revision: 100, ..Header::default() });
        let events = revisions.iter().map(event).collect();
        WatchResponse { header, events, fragment, ..WatchResponse::default() }
    }

    #[test]
    fn fragments_are_reported_by_revision() {
        let mut reported = Vec::new();
        let mut watcher = watcher(|event| match event {
            WatchEvent::Changed { revision, changes } => reported.push((revision, changes.len())),
            other => panic!("{other:?}"),
        });
        watcher.take(response(&[2, 2, 3], true));
        watcher.take(response(&[3], true));
        watcher.take(response(&[], true));
        watcher.take(response(&[3, 5], false));
        // A repeated revision is dropped.
        watcher.take(response(&[5, 6], false));
        drop(watcher);
        assert_eq!(reported, [(2, 2), (3, 3), (5, 1), (6, 1)]);
    }

    #[test]
    fn progress_advances_the_next_revision() {
        let mut watcher = watcher(|_| {});
        watcher.take(response(&[7], false));
        assert_eq!(watcher.next, 8);
        watcher.take(response(&[], false));
        assert_eq!(watcher.next, 101);
    }
}
