//! A simulated machine's connection to the simulated engine.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::machine::{self, Process, Sim, TaskId};
use super::server::{self, Shared};
use ternlease::sim_api::kv::{
    Answer, Engine, Entry, Kv, Listener, Op, Range, Revision, Session, SessionNews, Trouble, Txn,
    Watch, WatchNews,
};
use ternlease::table::Time;

thread_local! {
    /// The engine of the simulation that runs here.
    static SERVER: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// From now on, machines that run here reach this one.
pub(super) fn serve(server: Option<Shared>) {
    SERVER.with(|it| *it.borrow_mut() = server);
}

fn server() -> Shared {
    SERVER.with(|it| it.borrow().clone()).expect("there is an engine")
}

/// Of each second of the engine's, so much surely passes here: see `cluster/etcd/session.rs`.
const SURE_MICROS: u64 = 990_000;

/// The shortest time between two renewals.
const SHORTEST_PAUSE: u64 = 200_000;

/// So much can be compared, or done, together: as with etcd, unless it is told otherwise.
const MOST_TOGETHER: usize = 128;

/// So long it takes to learn that nobody opens.
const REFUSAL: Duration = Duration::from_micros(300);

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

    /// Asks, and waits for the answer.
    fn ask<T: 'static>(&self, work: impl Fn(&Rc<Sim>) -> T + 'static) -> Result<T, Trouble> {
        let (sim, task) = Self::inside();
        if server().borrow().turns_away(self.process, sim.now()) {
            sim.wait(task, Some(REFUSAL));
            return Err(Trouble::Unreachable("nobody opens".to_owned()));
        }
        let told = Rc::new(RefCell::new(None));
        let place = told.clone();
        server::request(&server(), &sim, self.process, work, move |sim, answer| {
            *place.borrow_mut() = Some(answer);
            sim.wake(task);
        });
        let until = sim.instant_of(self.process) + self.timeout;
        loop {
            if let Some(answer) = told.borrow_mut().take() {
                return Ok(answer);
            }
            let left = until.saturating_duration_since(sim.instant_of(self.process));
            if left.is_zero() {
                return Err(Trouble::Unknown("no answer".to_owned()));
            }
            sim.wait(task, Some(left));
        }
    }
}

impl Kv for Link {
    fn txn(&self, txn: &Txn) -> Result<Answer, Trouble> {
        if txn.unchanged.len().max(txn.then.len()) > MOST_TOGETHER {
            return Err(Trouble::Refused("too much at once".to_owned()));
        }
        let (server, txn) = (server(), txn.clone());
        let answer = self.ask(move |sim| {
            // As etcd does: a request that comes late, or again, brings back no key of a session that is over.
            let is_over = |op: &Op| matches!(op, Op::Put { session: Some(id), .. } if !server.borrow().knows(*id));
            if txn.then.iter().any(is_over) {
                return Err(Trouble::Unreachable("no such session".to_owned()));
            }
            let mut txn = txn.clone();
            if !txn.then.is_empty() && sim.in_a_thousand(server.borrow().careless) {
                txn.unchanged.clear();
            }
            let (answer, changed) = server.borrow_mut().keys.run(&txn);
            server::tell_watches(&server, sim, &changed);
            Ok(answer)
        });
        answer.flatten()
    }

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), Trouble> {
        let (server, range) = (server(), range.clone());
        let answer = self.ask(move |_| {
            let server = server.borrow();
            (server.keys.read(&range), server.keys.revision)
        });
        // What only reads has surely done nothing.
        answer.map_err(|trouble| Trouble::Unreachable(trouble.to_string()))
    }
}

impl Engine for Link {
    fn session(
        &self,
        ttl: Duration,
        tell: Listener<SessionNews>,
    ) -> Result<Box<dyn Session>, Trouble> {
        let (sim, _) = Self::inside();
        let (sent, ttl) = (sim.clock_of(self.process), ttl.as_micros() as u64);
        let server = server();
        let id = self.ask(move |sim| server::grant(&server, sim, ttl))?;
        let deadline = Arc::new(AtomicU64::new(sure_until(sent, ttl)));
        let keeper = Keeper {
            process: self.process,
            id,
            ttl,
            deadline: Arc::downgrade(&deadline),
            in_jeopardy: false,
            tell,
        };
        renew_later(&sim, Rc::new(RefCell::new(keeper)));
        Ok(Box::new(SimSession { id, process: self.process, timeout: self.timeout, deadline }))
    }

    fn watch(
        &self,
        range: Range,
        _known: &str,
        tell: Listener<WatchNews>,
    ) -> Result<Box<dyn Watch>, Trouble> {
        let (server, process) = (server(), self.process);
        let tell = RefCell::new(Some(tell));
        // A watch that is begun twice is the same one: a request that comes again finds nobody to tell.
        let id = self.ask({
            let server = server.clone();
            move |_| Some(server::watch(&server, process, range.clone(), tell.take()?))
        })?;
        Ok(Box::new(SimWatch(id.ok_or_else(|| Trouble::Unknown("no answer".to_owned()))?)))
    }

    /// Early, so that short runs meet whole copies.
    fn changes_per_base(&self) -> u64 {
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
        self.deadline.load(Ordering::Acquire)
    }

    fn revoke(self: Box<Self>) -> Result<(), Trouble> {
        let (server, id) = (server(), self.id);
        let link = Link { process: self.process, timeout: self.timeout };
        link.ask(move |sim| server::end_session(&server, sim, id))
    }
}

/// Renews a session for as long as somebody has it.
struct Keeper {
    process: Process,
    id: i64,
    ttl: u64,
    deadline: std::sync::Weak<AtomicU64>,
    in_jeopardy: bool,
    tell: Listener<SessionNews>,
}

fn sure_until(sent: Time, ttl: u64) -> Time {
    sent + ttl / 1_000_000 * SURE_MICROS
}

/// Between half of a time and all of it, as in `cluster/etcd/random.rs`.
fn half_to_whole(sim: &Sim, micros: u64) -> u64 {
    micros / 2 + sim.below(micros / 2 + 1)
}

fn renew_later(sim: &Rc<Sim>, keeper: Rc<RefCell<Keeper>>) {
    let inner = keeper.borrow();
    let Some(deadline) = inner.deadline.upgrade() else { return };
    let left = deadline.load(Ordering::Acquire).saturating_sub(sim.clock_of(inner.process));
    let pause = half_to_whole(sim, left / 2);
    let process = inner.process;
    drop(inner);
    sim.after(pause.max(SHORTEST_PAUSE), Some(process), move |sim| renew(sim, keeper));
}

fn renew(sim: &Rc<Sim>, keeper: Rc<RefCell<Keeper>>) {
    let inner = keeper.borrow();
    let (process, id, ttl) = (inner.process, inner.id, inner.ttl);
    drop(inner);
    let (server, sent) = (server(), sim.clock_of(process));
    let answered = Rc::new(RefCell::new(false));
    let (work, heard, waiting) = (server.clone(), answered.clone(), keeper.clone());
    server::request(
        &server,
        sim,
        process,
        move |sim| server::renew(&work, sim, id),
        move |sim, known| {
            // One that comes after its time counts too: it was sent when it was sent.
            let late = heard.replace(true);
            let mut inner = waiting.borrow_mut();
            let Some(deadline) = inner.deadline.upgrade() else { return };
            if !known {
                deadline.store(0, Ordering::Release);
                return (inner.tell)(SessionNews::Lost);
            }
            deadline.fetch_max(sure_until(sent, ttl), Ordering::AcqRel);
            if std::mem::replace(&mut inner.in_jeopardy, false) {
                (inner.tell)(SessionNews::Safe);
            }
            drop(inner);
            if !late {
                renew_later(sim, waiting);
            }
        },
    );
    sim.after((ttl / 8).max(SHORTEST_PAUSE), Some(process), move |sim| {
        if answered.replace(true) {
            return;
        }
        let mut inner = keeper.borrow_mut();
        if !std::mem::replace(&mut inner.in_jeopardy, true) {
            let since = sim.clock_of(process);
            (inner.tell)(SessionNews::Jeopardy { since });
        }
        drop(inner);
        renew_later(sim, keeper);
    });
}
