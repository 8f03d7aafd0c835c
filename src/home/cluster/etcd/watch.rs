//! Watches: every change of some keys, in order, none twice and none left out, whatever happens to servers and connections.

use tokio::time::{sleep, timeout};
use tonic::Code;

use super::engine::{Engine, Task};
use super::error::{EngineError, Failure};
use super::links::{Links, Stream};
use super::messages::*;
use super::of_this_process::OfThisProcess;
use super::random::Backoff;
use super::txn::Keys;
use crate::home::clock::Clock;
use crate::table::Time;

/// What happened to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub key: Vec<u8>,
    /// `None` if it was deleted.
    pub value: Option<Vec<u8>>,
    /// When that was.
    pub mod_revision: i64,
}

/// What a watch has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchNews {
    /// Everything that changed at one revision.
    Changed { revision: i64, changes: Vec<Change> },
    /// Nothing has been heard since then, and why. Changes will be late.
    Lost { since: Time, why: String },
    /// It is heard again. Changes that were missed follow.
    Back,
    /// Changes before this revision are forgotten, also by the cluster, and those from it on follow: what was missed has to be read.
    Compacted(i64),
}

/// A watch, until it goes. It may have something to say once more while that happens.
#[derive(Debug)]
pub(crate) struct Watch {
    _task: OfThisProcess<Task>,
}

impl Engine {
    /// Watches keys from a revision on. News go to `tell`, on the engine's thread: it must be quick, and cannot wait for the engine.
    pub fn watch(
        &self,
        keys: Keys,
        from_revision: i64,
        tell: impl FnMut(WatchNews) + Send + 'static,
    ) -> Result<Watch, EngineError> {
        let links = self.links()?;
        let (key, range_end) = keys.bounds();
        let watcher = Watcher {
            key,
            range_end,
            // 0 would mean from now on, and now would be another time after each loss.
            next: from_revision.max(1),
            pending: Vec::new(),
            heard: Clock::Real.now(),
            lost: false,
            backoff: Backoff::new(),
            tell,
        };
        Ok(Watch { _task: self.start(async move { watcher.run(&links).await })? })
    }
}

/// Why a stream is over.
enum End {
    Compacted(i64),
    Failed(Failure),
}

struct Watcher<F> {
    key: Vec<u8>,
    range_end: Vec<u8>,
    /// The first revision that was not told yet.
    next: i64,
    /// Changes of one revision, of which more may come.
    pending: Vec<Change>,
    /// When the cluster was last heard.
    heard: Time,
    lost: bool,
    backoff: Backoff,
    tell: F,
}

impl<F: FnMut(WatchNews)> Watcher<F> {
    async fn run(mut self, links: &Links) {
        loop {
            match self.listen(links).await {
                End::Compacted(revision) => {
                    self.next = revision;
                    (self.tell)(WatchNews::Compacted(revision));
                }
                End::Failed(failure) => {
                    if !std::mem::replace(&mut self.lost, true) {
                        let why = failure.why().to_owned();
                        (self.tell)(WatchNews::Lost { since: self.heard, why });
                    }
                    sleep(self.backoff.next()).await;
                }
            }
        }
    }

    /// Listens to one server for as long as that goes well.
    async fn listen(&mut self, links: &Links) -> End {
        let create = WatchCreateRequest {
            key: self.key.clone(),
            range_end: self.range_end.clone(),
            start_revision: self.next,
            // Otherwise everything that was missed, up to a thousand revisions, would be one message.
            fragment: true,
        };
        let first = WatchRequest { request: Some(AnyWatchRequest::Create(create)) };
        let mut stream = match links.stream(first, links.patience()).await {
            Ok(stream) => stream,
            Err(failure) => return End::Failed(failure),
        };
        // What a broken stream left unfinished comes again.
        self.pending.clear();
        let end = self.follow(links, &mut stream).await;
        if let End::Failed(failure) = &end {
            links.blame(stream.used, failure);
        }
        end
    }

    async fn follow(&mut self, links: &Links, stream: &mut Stream<WatchRequest>) -> End {
        let mut asked = false;
        loop {
            let answer = match timeout(links.timeout, stream.answers.message()).await {
                Ok(Ok(Some(answer))) => answer,
                Ok(Ok(None)) => return End::Failed(Failure::ended()),
                Ok(Err(status)) => return End::Failed(status.into()),
                // A server that has nothing to tell says so if it is asked.
                Err(_) if !asked => {
                    asked = true;
                    let progress = AnyWatchRequest::Progress(WatchProgressRequest {});
                    let _ = stream.requests.try_send(WatchRequest { request: Some(progress) });
                    continue;
                }
                Err(_) => return End::Failed(Failure::silence()),
            };
            asked = false;
            self.heard = Clock::Real.now();
            // The next request reports the error.
            let _ = links.seen.observe(answer.header.as_ref());
            if answer.canceled {
                return match answer.compact_revision {
                    revision if revision > self.next => End::Compacted(revision),
                    _ => End::Failed(cancelled(answer.cancel_reason)),
                };
            }
            if answer.created {
                self.backoff = Backoff::new();
                if std::mem::replace(&mut self.lost, false) {
                    (self.tell)(WatchNews::Back);
                }
                continue;
            }
            self.take(answer);
        }
    }

    fn take(&mut self, answer: WatchResponse) {
        let nothing_new = answer.events.is_empty() && !answer.fragment;
        for event in answer.events {
            let deleted = event.r#type() == EventType::Delete;
            let Some(kv) = event.kv else { continue };
            if self.pending.last().is_some_and(|last| last.mod_revision != kv.mod_revision) {
                self.tell_pending();
            }
            let value = if deleted { None } else { Some(kv.value) };
            self.pending.push(Change { key: kv.key, value, mod_revision: kv.mod_revision });
        }
        if !answer.fragment {
            self.tell_pending();
        }
        if nothing_new {
            // All up to this revision was told, so that it may be forgotten.
            let revision = answer.header.unwrap_or_default().revision;
            self.next = self.next.max(revision + 1);
        }
    }

    fn tell_pending(&mut self) {
        let changes = std::mem::take(&mut self.pending);
        let Some(revision) = changes.last().map(|last| last.mod_revision) else { return };
        // A server never repeats itself; were it to, it would not be told twice.
        if revision >= self.next {
            self.next = revision + 1;
            (self.tell)(WatchNews::Changed { revision, changes });
        }
    }
}

/// What to make of a server's reason to end a watch.
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

    fn watcher(tell: impl FnMut(WatchNews)) -> Watcher<impl FnMut(WatchNews)> {
        Watcher {
            key: vec![],
            range_end: vec![],
            next: 1,
            pending: vec![],
            heard: 0,
            lost: false,
            backoff: Backoff::new(),
            tell,
        }
    }

    /// What a server says: events of these revisions, and whether more of the same follows.
    fn said(revisions: &[i64], fragment: bool) -> WatchResponse {
        let event = |&mod_revision: &i64| {
            let kv = KeyValue { mod_revision, ..KeyValue::default() };
            Event { r#type: EventType::Put.into(), kv: Some(kv) }
        };
        let header = Some(Header { revision: 100, ..Header::default() });
        let events = revisions.iter().map(event).collect();
        WatchResponse { header, events, fragment, ..WatchResponse::default() }
    }

    #[test]
    fn what_comes_in_pieces_is_told_by_revision() {
        let mut told = Vec::new();
        let mut watcher = watcher(|news| match news {
            WatchNews::Changed { revision, changes } => told.push((revision, changes.len())),
            other => panic!("{other:?}"),
        });
        watcher.take(said(&[2, 2, 3], true));
        watcher.take(said(&[3], true));
        watcher.take(said(&[], true));
        watcher.take(said(&[3, 5], false));
        // Were a server to repeat itself, nobody would notice.
        watcher.take(said(&[5, 6], false));
        drop(watcher);
        assert_eq!(told, [(2, 2), (3, 3), (5, 1), (6, 1)]);
    }

    #[test]
    fn that_nothing_happened_makes_the_past_needless() {
        let mut watcher = watcher(|_| {});
        watcher.take(said(&[7], false));
        assert_eq!(watcher.next, 8);
        watcher.take(said(&[], false));
        assert_eq!(watcher.next, 101);
    }
}
