//! Sessions: the cluster takes this process for alive for as long as it hears of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::engine::{Core, Engine, Task};
use super::error::{EngineError, Failure};
use super::links::{Links, Repeat, Stream};
use super::messages::*;
use super::of_this_process::OfThisProcess;
use super::random::{self, Backoff};
use crate::home::clock::Clock;
use crate::table::Time;

/// The shortest time between two attempts while the session lives.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);

/// Microseconds of a second of the server that are surely over there only after they are over here: its clock may go
/// faster than ours by one in a hundred.
const SURE_MICROS: Time = 990_000;

/// What a session has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionNews {
    /// A renewal failed, and why. The session lives on until its deadline, and perhaps longer.
    Jeopardy { since: Time, why: String },
    /// It was renewed after all.
    Safe,
    /// It is over: the cluster does not know it any more, or the role of this process was taken
    /// away.
    Lost,
}

/// A lease of etcd, renewed until this goes. Keys that were written with it vanish some time after.
#[derive(Debug)]
pub(crate) struct Session {
    id: i64,
    deadline: Arc<AtomicU64>,
    core: Arc<OfThisProcess<Core>>,
    _keeper: OfThisProcess<Task>,
}

impl Engine {
    /// Begins a session. News go to `tell`, on the engine's thread: it must be quick, and cannot wait for the engine.
    pub fn session(
        &self,
        ttl: Duration,
        tell: impl FnMut(SessionNews) + Send + 'static,
    ) -> Result<Session, EngineError> {
        let links = self.links()?;
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        let grant = LeaseGrantRequest { ttl: i64::try_from(seconds).unwrap_or(i64::MAX) };
        let (id, deadline) = self.ask(links.timeout, {
            let links = links.clone();
            async move { begin(&links, grant).await }
        })?;
        let deadline = Arc::new(AtomicU64::new(deadline));
        let keeper = Keeper {
            id,
            deadline: deadline.clone(),
            line: None,
            in_jeopardy: false,
            backoff: Backoff::new(),
            tell,
        };
        let task = self.start(async move { keeper.run(&links).await })?;
        Ok(Session { id, deadline, core: self.core().clone(), _keeper: task })
    }
}

impl Session {
    /// The number of its lease.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Until when the session is surely alive, by [`Clock::Real`]; 0 after it was lost.
    pub fn deadline(&self) -> Time {
        self.deadline.load(Ordering::Acquire)
    }

    /// Ends the session at once, and deletes the keys that were written with it.
    pub fn revoke(self) -> Result<(), EngineError> {
        let core = self.core.get()?;
        let (links, id) = (core.links().clone(), self.id);
        core.ask(links.timeout, async move {
            let until = Instant::now() + links.timeout;
            match links.call(LeaseRevokeRequest { id }, until, Repeat::Freely).await {
                Err(failure) if !failure.not_found() => Err(failure.into()),
                _ => Ok(()),
            }
        })
    }
}

async fn begin(links: &Links, grant: LeaseGrantRequest) -> Result<(i64, Time), EngineError> {
    let until = Instant::now() + links.timeout;
    let sent = Clock::Real.now();
    // One that was granted and is not known here is never renewed, and ends by itself.
    let granted = links.call(grant, until, Repeat::Freely).await?;
    links.seen.observe(granted.header.as_ref())?;
    Ok((granted.id, sure_until(sent, granted.ttl)))
}

/// Until when a lease surely lives that was renewed for so many seconds after this moment.
fn sure_until(sent: Time, ttl: i64) -> Time {
    sent.saturating_add((ttl.max(0) as Time).saturating_mul(SURE_MICROS))
}

/// By what renewals are sent.
struct RenewalLine {
    stream: Stream<LeaseKeepAliveRequest>,
    /// When the renewals were sent that are not answered yet, the oldest first. An answer does not say which one it
    /// is for: it is taken to be for the oldest, which promises least.
    unanswered: VecDeque<Time>,
}

struct Keeper<F> {
    id: i64,
    deadline: Arc<AtomicU64>,
    line: Option<RenewalLine>,
    in_jeopardy: bool,
    backoff: Backoff,
    tell: F,
}

/// What came of an attempt.
enum Renewal {
    Done(Time),
    /// The cluster does not know the lease, or does not let this process renew it.
    Gone,
    Failed(Failure),
}

impl<F: FnMut(SessionNews)> Keeper<F> {
    async fn run(mut self, links: &Links) {
        loop {
            sleep(self.pause()).await;
            // As many attempts as there may be servers and one more, then a pause.
            for _ in 0..=links.count() {
                match self.attempt(links).await {
                    Renewal::Done(deadline) => {
                        self.deadline.fetch_max(deadline, Ordering::AcqRel);
                        self.backoff = Backoff::new();
                        if std::mem::replace(&mut self.in_jeopardy, false) {
                            (self.tell)(SessionNews::Safe);
                        }
                        break;
                    }
                    Renewal::Gone => {
                        self.deadline.store(0, Ordering::Release);
                        return (self.tell)(SessionNews::Lost);
                    }
                    Renewal::Failed(failure) => {
                        if !std::mem::replace(&mut self.in_jeopardy, true) {
                            let why = failure.why().to_owned();
                            let since = Clock::Real.now();
                            (self.tell)(SessionNews::Jeopardy { since, why });
                        }
                    }
                }
            }
        }
    }

    fn left(&self) -> Duration {
        let deadline = self.deadline.load(Ordering::Acquire);
        Duration::from_micros(deadline.saturating_sub(Clock::Real.now()))
    }

    /// How long to wait before the next renewal: up to half of the time that is left, but not all processes the same.
    fn pause(&mut self) -> Duration {
        match self.left() {
            // Perhaps the cluster has not noticed either: a new leader gives every lease its full time again.
            Duration::ZERO => self.backoff.next().max(SHORTEST_PAUSE),
            left => random::half_to_whole(left / 2).max(SHORTEST_PAUSE),
        }
    }

    /// Sends one renewal. First by the stream that there is, and once more by that if its answer is late; then by a new one.
    async fn attempt(&mut self, links: &Links) -> Renewal {
        let limit = (self.left() / 4).clamp(SHORTEST_PAUSE, links.patience().max(SHORTEST_PAUSE));
        let sent = Clock::Real.now();
        let request = LeaseKeepAliveRequest { id: self.id };
        let mut line = match self.line.take() {
            Some(mut line) => {
                line.unanswered.push_back(sent);
                // One that cannot be sent is not answered, and there are few that are not.
                let _ = line.stream.requests.try_send(request);
                line
            }
            None => match links.stream(request, limit).await {
                Ok(stream) => RenewalLine { stream, unanswered: VecDeque::from([sent]) },
                Err(failure) if failure.ends_session() => return Renewal::Gone,
                Err(failure) => return Renewal::Failed(failure),
            },
        };
        let failure = match timeout(limit, line.stream.answers.message()).await {
            Ok(Ok(Some(answer))) if answer.ttl <= 0 => return Renewal::Gone,
            // Another cluster may have a lease of the same number.
            Ok(Ok(Some(answer))) if links.seen.observe(answer.header.as_ref()).is_err() => {
                return Renewal::Gone;
            }
            Ok(Ok(Some(answer))) => {
                let sent = line.unanswered.pop_front().unwrap_or(sent);
                self.line = Some(line);
                return Renewal::Done(sure_until(sent, answer.ttl));
            }
            Ok(Ok(None)) => Failure::ended(),
            Ok(Err(status)) => Failure::from(status),
            Err(_) if line.unanswered.len() < 2 => {
                self.line = Some(line);
                return Renewal::Failed(Failure::silence());
            }
            Err(_) => Failure::silence(),
        };
        links.blame(line.stream.used, &failure);
        if failure.ends_session() {
            return Renewal::Gone;
        }
        Renewal::Failed(failure)
    }
}
