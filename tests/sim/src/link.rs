//! A simulated machine's connection to the simulated store.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::guards::{self, Guard};
use super::machine::{self, Process, Sim, TaskId};
use super::plans::TABLE;
use super::server::{self, Shared};
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::store::{
    Entry, Listener, Op, Range, Read, Revision, Session, SessionEvent, Store, StoreError, Txn,
    TxnReply, Watch, WatchEvent,
};
use ternlease::table::Time;

thread_local! {
    /// The store of the simulation that this real thread runs.
    static SERVER: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Sets the store that simulated machines connect with.
pub(super) fn set_server(server: Option<Shared>) {
    SERVER.with(|it| *it.borrow_mut() = server);
}

fn server() -> Shared {
    SERVER.with(|it| it.borrow().clone()).expect("there is a store")
}

fn is_without(guard: Guard) -> bool {
    SERVER.with(|it| it.borrow().as_ref().is_some_and(|it| it.borrow().without == Some(guard)))
}

/// How many microseconds certainly pass here in a second of the store: see
/// `cluster/etcd/session.rs`.
const CERTAIN_US_PER_SECOND: u64 = 990_000;

/// The shortest time between two renewals, in microseconds.
const MIN_RENEW_INTERVAL_US: u64 = 200_000;

/// How many keys a transaction can compare or change, and how many ranges it can read: as in etcd
/// by default.
const MAX_TXN_OPS: usize = 128;

/// How long it takes until a connection is refused.
const REFUSAL_TIME: Duration = Duration::from_micros(300);

#[derive(Debug)]
pub(super) struct Link {
    process: Process,
    timeout: Duration,
}

impl Link {
    /// The connection of the process that runs.
    pub fn new(timeout: Duration) -> Link {
        let (sim, task) = Self::inside();
        Link { process: sim.process_of(task), timeout }
    }

    fn inside() -> (Rc<Sim>, TaskId) {
        machine::inside().expect("only simulated threads use it")
    }

    /// Sends a request, and waits for the answer.
    fn request<T: 'static>(&self, work: impl Fn(&Rc<Sim>) -> T + 'static) -> Result<T, StoreError> {
        let (sim, task) = Self::inside();
        if server().borrow().is_refused(self.process, sim.now()) {
            sim.wait(task, Some(REFUSAL_TIME));
            return Err(StoreError::Unavailable("connection refused".to_owned()));
        }
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        server::request(&server(), &sim, self.process, work, move |sim, answer| {
            *slot.borrow_mut() = Some(answer);
            sim.wake(task);
        });
        let until = sim.instant_of(self.process) + self.timeout;
        loop {
            if let Some(answer) = answer.borrow_mut().take() {
                return Ok(answer);
            }
            let left = until.saturating_duration_since(sim.instant_of(self.process));
            if left.is_zero() {
                return Err(StoreError::Unknown("no answer".to_owned()));
            }
            sim.wait(task, Some(left));
        }
    }

    /// Without [`Guard::Predecessor`]: in place of the entry in front of the own one, an append is
    /// answered with the last one that this machine has read.
    fn hide_predecessor(&self, txn: &Txn, reply: &mut TxnReply) {
        let TxnReply::Done { revision, replaced } = reply else { return };
        let value = txn.then.iter().find_map(|op| match op {
            Op::Swap { value, .. } => Some(value.clone()),
            _ => None,
        });
        let (Some(head), Some(value)) = (replaced.first_mut(), value) else { return };
        let (server, process) = (server(), self.process);
        let mut inner = server.borrow_mut();
        *head = inner.known_heads.get(&process).cloned().or(head.take());
        let version = head.as_ref().map_or(0, |head| head.version) + 1;
        let (key, created) = (Keys::new(TABLE).head(), 1);
        let own = Entry { key, value, created, modified: *revision, version };
        inner.known_heads.insert(process, own);
    }

    /// Notes the last entry, if it was read.
    fn note_head(&self, reads: &[Read], found: &[Vec<Entry>]) {
        let head = Keys::new(TABLE).head();
        let mut entries = reads.iter().zip(found).filter(|(read, _)| !read.keys_only);
        let entry = entries.find_map(|(_, found)| found.iter().find(|entry| entry.key == head));
        if let Some(entry) = entry {
            server().borrow_mut().known_heads.insert(self.process, entry.clone());
        }
    }
}

impl Store for Link {
    fn txn(&self, txn: &Txn) -> Result<TxnReply, StoreError> {
        if txn.compare.len().max(txn.then.len()).max(txn.otherwise.len()) > MAX_TXN_OPS {
            return Err(StoreError::Denied("too much at once".to_owned()));
        }
        if is_without(Guard::Hint) && guards::is_hint(txn) {
            return Err(StoreError::Unavailable("hints are not written".to_owned()));
        }
        let (server, request) = (server(), txn.clone());
        let mut reply = self.request(move |sim| server::run_txn(&server, sim, &request)).flatten();
        if let Ok(reply) = &mut reply
            && is_without(Guard::Predecessor)
        {
            self.hide_predecessor(txn, reply);
        }
        reply
    }

    fn read(&self, reads: &[Read]) -> Result<(Vec<Vec<Entry>>, Revision), StoreError> {
        let (server, wanted) = (server(), reads.to_vec());
        let reply: Result<(Vec<Vec<Entry>>, Revision), StoreError> = self.request(move |_| {
            let keys = &server.borrow().keys;
            (wanted.iter().map(|read| keys.read(read)).collect(), keys.revision)
        });
        if let Ok((found, _)) = &reply
            && is_without(Guard::Predecessor)
        {
            self.note_head(reads, found);
        }
        // A read changes nothing, so its outcome is never unknown.
        reply.map_err(|failure| StoreError::Unavailable(failure.to_string()))
    }

    fn session(
        &self,
        ttl: Duration,
        listener: Listener<SessionEvent>,
    ) -> Result<Box<dyn Session>, StoreError> {
        let (sim, _) = Self::inside();
        let (sent, ttl) = (sim.clock_of(self.process), ttl.as_micros() as u64);
        let server = server();
        let id = self.request(move |sim| server::grant_session(&server, sim, ttl))?;
        let deadline = Arc::new(AtomicU64::new(valid_until(sent, ttl)));
        let keep_alive = KeepAlive {
            process: self.process,
            id,
            ttl,
            deadline: Arc::downgrade(&deadline),
            in_jeopardy: false,
            listener,
        };
        schedule_renewal(&sim, Rc::new(RefCell::new(keep_alive)));
        Ok(Box::new(SimSession { id, process: self.process, timeout: self.timeout, deadline }))
    }

    fn watch(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        let (sim, _) = Self::inside();
        let id = server::watch(&server(), &sim, self.process, (range, after), listener);
        Ok(Box::new(SimWatch(id)))
    }

    /// Few, so that short runs have snapshots.
    fn entries_per_snapshot(&self) -> u64 {
        16
    }

    fn close(&self) {}
}

#[derive(Debug)]
struct SimWatch(u64);

impl Watch for SimWatch {}

impl Drop for SimWatch {
    fn drop(&mut self) {
        if machine::here().is_some() {
            server::unwatch(&server(), self.0);
        }
    }
}

#[derive(Debug)]
struct SimSession {
    id: i64,
    process: Process,
    timeout: Duration,
    deadline: Arc<AtomicU64>,
}

impl Session for SimSession {
    fn id(&self) -> i64 {
        self.id
    }

    fn deadline(&self) -> Time {
        if is_without(Guard::Deadline) {
            return Time::MAX;
        }
        self.deadline.load(Ordering::Acquire)
    }

    fn revoke(self: Box<Self>) -> Result<(), StoreError> {
        let (server, id) = (server(), self.id);
        let link = Link { process: self.process, timeout: self.timeout };
        link.request(move |sim| server::end_session(&server, sim, id))
    }
}

/// Renews a session until it is dropped.
struct KeepAlive {
    process: Process,
    id: i64,
    ttl: u64,
    deadline: std::sync::Weak<AtomicU64>,
    in_jeopardy: bool,
    listener: Listener<SessionEvent>,
}

fn valid_until(sent: Time, ttl: u64) -> Time {
    sent + ttl / 1_000_000 * CERTAIN_US_PER_SECOND
}

/// Between half of a time and all of it, as in `cluster/etcd/random.rs`.
fn half_to_whole(sim: &Sim, micros: u64) -> u64 {
    micros / 2 + sim.below(micros / 2 + 1)
}

fn schedule_renewal(sim: &Rc<Sim>, keep_alive: Rc<RefCell<KeepAlive>>) {
    let inner = keep_alive.borrow();
    let Some(deadline) = inner.deadline.upgrade() else { return };
    let left = deadline.load(Ordering::Acquire).saturating_sub(sim.clock_of(inner.process));
    let pause = half_to_whole(sim, left / 2);
    let process = inner.process;
    drop(inner);
    sim.after(pause.max(MIN_RENEW_INTERVAL_US), Some(process), move |sim| renew(sim, keep_alive));
}

fn renew(sim: &Rc<Sim>, keep_alive: Rc<RefCell<KeepAlive>>) {
    let inner = keep_alive.borrow();
    let (process, id, ttl) = (inner.process, inner.id, inner.ttl);
    drop(inner);
    let (server, sent) = (server(), sim.clock_of(process));
    let answered = Rc::new(RefCell::new(false));
    let (work, heard, waiting) = (server.clone(), answered.clone(), keep_alive.clone());
    server::request(
        &server,
        sim,
        process,
        move |sim| server::renew_session(&work, sim, id),
        move |sim, known| {
            // A late answer counts: the TTL runs from when the request was sent.
            let late = heard.replace(true);
            let mut inner = waiting.borrow_mut();
            let Some(deadline) = inner.deadline.upgrade() else { return };
            if !known {
                deadline.store(0, Ordering::Release);
                return (inner.listener)(SessionEvent::Lost);
            }
            deadline.fetch_max(valid_until(sent, ttl), Ordering::AcqRel);
            if std::mem::replace(&mut inner.in_jeopardy, false) {
                (inner.listener)(SessionEvent::Safe);
            }
            drop(inner);
            if !late {
                schedule_renewal(sim, waiting);
            }
        },
    );
    sim.after((ttl / 8).max(MIN_RENEW_INTERVAL_US), Some(process), move |sim| {
        if answered.replace(true) {
            return;
        }
        let mut inner = keep_alive.borrow_mut();
        if !std::mem::replace(&mut inner.in_jeopardy, true) {
            let since = sim.clock_of(process);
            (inner.listener)(SessionEvent::Jeopardy { since });
        }
        drop(inner);
        schedule_renewal(sim, keep_alive);
    });
}
