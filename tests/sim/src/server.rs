//! The simulated engine: keys, sessions and watches as in etcd, behind a network that delays, loses
//! and repeats requests, with leaders that change.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::keyspace::{Changed, Keyspace};
use super::machine::{Process, Sim, TrueTime};
use ternlease::sim_api::kv::{Listener, Range, WatchNews};

/// How often each fault happens, in a thousand requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub lost: u64,
    pub unanswered: u64,
    pub repeated: u64,
    /// Takes longer than the timeout of a request.
    pub late: u64,
    /// Watch events that are lost.
    pub missed: u64,
    /// Watch events that come seconds late.
    pub stale: u64,
}

struct Session {
    ttl: u64,
    expires: TrueTime,
}

struct WatchState {
    process: Process,
    range: Range,
    events: VecDeque<WatchNews>,
    /// When its last event arrives: none overtakes another.
    last: TrueTime,
    listener: Option<Listener<WatchNews>>,
}

pub(super) struct Server {
    pub keys: Keyspace,
    pub faults: Faults,
    /// How many of a thousand transactions ignore a conflict. An engine that is sound ignores none.
    pub ignored_conflicts: u64,
    sessions: BTreeMap<i64, Session>,
    watches: BTreeMap<u64, WatchState>,
    /// There is no leader until then.
    leaderless_until: TrueTime,
    /// No message reaches these machines, or comes from them, until then.
    cut_off: BTreeMap<Process, TrueTime>,
    /// The same, and their connections are refused at once.
    refused: BTreeMap<Process, TrueTime>,
    /// How many microseconds its clock counts in a true second.
    rate: u64,
    granted: i64,
    watched: u64,
}

/// The engine of a simulation.
pub(super) type Shared = Rc<RefCell<Server>>;

impl Server {
    pub fn new(rate: u64) -> Shared {
        Rc::new(RefCell::new(Server {
            keys: Keyspace::default(),
            faults: Faults::default(),
            ignored_conflicts: 0,
            sessions: BTreeMap::new(),
            watches: BTreeMap::new(),
            leaderless_until: 0,
            cut_off: BTreeMap::new(),
            refused: BTreeMap::new(),
            rate,
            granted: 0,
            watched: 0,
        }))
    }

    /// Is this session alive?
    pub fn has_session(&self, session: i64) -> bool {
        self.sessions.contains_key(&session)
    }

    fn expiry(&self, now: TrueTime, ttl: u64) -> TrueTime {
        now + ttl * 1_000_000 / self.rate
    }

    /// Cuts a machine off until then.
    pub fn cut_off(&mut self, process: Process, until: TrueTime) {
        self.cut_off.insert(process, until);
    }

    /// Cuts a machine off, and refuses its connections.
    pub fn refuse_connections(&mut self, process: Process, until: TrueTime) {
        self.cut_off(process, until);
        self.refused.insert(process, until);
    }

    pub fn is_refused(&self, process: Process, now: TrueTime) -> bool {
        self.refused.get(&process).is_some_and(|until| *until > now)
    }

    fn reaches(&self, process: Process, now: TrueTime) -> bool {
        self.cut_off.get(&process).is_none_or(|until| *until <= now)
    }
}

/// Grants a session of so many microseconds of the engine's time.
pub(super) fn grant_session(server: &Shared, sim: &Rc<Sim>, ttl: u64) -> i64 {
    let mut inner = server.borrow_mut();
    inner.granted += 1;
    let (id, expires) = (inner.granted, inner.expiry(sim.now(), ttl));
    inner.sessions.insert(id, Session { ttl, expires });
    drop(inner);
    expire_later(server, sim, id);
    id
}

/// Renews a session. False: it is over.
pub(super) fn renew_session(server: &Shared, sim: &Rc<Sim>, id: i64) -> bool {
    let mut inner = server.borrow_mut();
    let Some(ttl) = inner.sessions.get(&id).map(|session| session.ttl) else { return false };
    let expires = inner.expiry(sim.now(), ttl);
    inner.sessions.get_mut(&id).expect("it is there").expires = expires;
    true
}

pub(super) fn end_session(server: &Shared, sim: &Rc<Sim>, id: i64) {
    let mut inner = server.borrow_mut();
    if inner.sessions.remove(&id).is_none() {
        return;
    }
    let changed = inner.keys.end_session(id);
    drop(inner);
    sim.note(|| format!("engine: session {id} is over"));
    notify_watches(server, sim, &changed);
}

fn expire_later(server: &Shared, sim: &Rc<Sim>, id: i64) {
    let Some(expires) = server.borrow().sessions.get(&id).map(|session| session.expires) else {
        return;
    };
    let server = server.clone();
    sim.after(expires.saturating_sub(sim.now()).max(1), None, move |sim| {
        let inner = server.borrow();
        let Some(session) = inner.sessions.get(&id) else { return };
        // Without a leader no session ends.
        let over = session.expires <= sim.now() && inner.leaderless_until <= sim.now();
        drop(inner);
        if over {
            end_session(&server, sim, id);
        } else {
            let leaderless_until = server.borrow().leaderless_until;
            let mut inner = server.borrow_mut();
            if let Some(session) = inner.sessions.get_mut(&id) {
                session.expires = session.expires.max(leaderless_until + 1);
            }
            drop(inner);
            expire_later(&server, sim, id);
        }
    });
}

/// There is no leader for so long. The new one gives each session its full TTL again.
pub(super) fn change_leader(server: &Shared, sim: &Rc<Sim>, away: u64) {
    sim.note(|| format!("engine: no leader for {away} us"));
    let until = sim.now() + away;
    server.borrow_mut().leaderless_until = until;
    let server = server.clone();
    sim.after(away, None, move |sim| {
        let mut inner = server.borrow_mut();
        let ids: Vec<(i64, u64)> = inner.sessions.iter().map(|(id, it)| (*id, it.ttl)).collect();
        for (id, ttl) in ids {
            let expires = inner.expiry(sim.now(), ttl);
            if let Some(session) = inner.sessions.get_mut(&id) {
                session.expires = session.expires.max(expires);
            }
        }
    });
}

/// Delivers a request: `work` runs once, twice or never, and `answer` gets its result once or
/// never.
pub(super) fn request<T: 'static>(
    server: &Shared,
    sim: &Rc<Sim>,
    process: Process,
    work: impl Fn(&Rc<Sim>) -> T + 'static,
    answer: impl FnOnce(&Rc<Sim>, T) + 'static,
) {
    let faults = server.borrow().faults;
    if sim.in_a_thousand(faults.lost) || !server.borrow().reaches(process, sim.now()) {
        return sim.note(|| format!("network: a request of process {process} is lost"));
    }
    let work = Rc::new(work);
    if sim.in_a_thousand(faults.repeated) {
        sim.note(|| format!("network: a request of process {process} comes twice"));
        let (work, server) = (work.clone(), server.clone());
        sim.after(delay(sim) * 20, None, move |sim| {
            arrive(&server, sim, move |sim| drop(work(sim)));
        });
    }
    let late = sim.in_a_thousand(faults.late);
    let way = if late { 500_000 + sim.below(8_000_000) } else { delay(sim) };
    let unanswered = sim.in_a_thousand(faults.unanswered);
    if late || unanswered {
        sim.note(|| format!("network: process {process} gets no answer in time"));
    }
    let (server, network) = (server.clone(), server.clone());
    sim.after(way, None, move |sim| {
        arrive(&server, sim, move |sim| {
            let result = work(sim);
            if !unanswered && network.borrow().reaches(process, sim.now()) {
                sim.after(delay(sim), Some(process), move |sim| answer(sim, result));
            }
        });
    });
}

/// While there is no leader, a request waits for the next one or is lost.
fn arrive(server: &Shared, sim: &Rc<Sim>, work: impl FnOnce(&Rc<Sim>) + 'static) {
    let leaderless_until = server.borrow().leaderless_until;
    if leaderless_until <= sim.now() {
        return work(sim);
    }
    if sim.below(2) == 0 {
        let server = server.clone();
        sim.after(leaderless_until - sim.now() + sim.below(1000), None, move |sim| {
            arrive(&server, sim, work);
        });
    }
}

/// How long a message takes: mostly a short time.
fn delay(sim: &Sim) -> u64 {
    match sim.below(50) {
        0 => sim.below(100_000),
        1..5 => sim.below(5_000),
        _ => 50 + sim.below(400),
    }
}

/// Reports every change of these keys from now on.
pub(super) fn watch(
    server: &Shared,
    process: Process,
    range: Range,
    listener: Listener<WatchNews>,
) -> u64 {
    let mut inner = server.borrow_mut();
    inner.watched += 1;
    let state =
        WatchState { process, range, events: VecDeque::new(), last: 0, listener: Some(listener) };
    let id = inner.watched;
    inner.watches.insert(id, state);
    id
}

pub(super) fn unwatch(server: &Shared, id: u64) {
    let gone = server.borrow_mut().watches.remove(&id);
    // The listener is dropped while the engine is not borrowed.
    drop(gone);
}

pub(super) fn notify_watches(server: &Shared, sim: &Rc<Sim>, changed: &Changed) {
    let mut due = Vec::new();
    let mut guard = server.borrow_mut();
    let inner = &mut *guard;
    let faults = inner.faults;
    for (id, state) in &mut inner.watches {
        let within = |key: &String| *key >= state.range.from && *key < state.range.to;
        let matching: Changed = changed.iter().filter(|(key, _)| within(key)).cloned().collect();
        if matching.is_empty() {
            continue;
        }
        let missed = sim.in_a_thousand(faults.missed);
        let events = if missed { WatchNews::Missed } else { WatchNews::Changed(matching) };
        let stale = missed || sim.in_a_thousand(faults.stale);
        let way = if stale { sim.below(6_000_000) } else { delay(sim) };
        // What a machine missed while it was cut off comes afterwards.
        let reached = inner.cut_off.get(&state.process).copied().unwrap_or(0);
        state.events.push_back(events);
        state.last = state.last.max(sim.now().max(reached) + way);
        due.push((*id, state.process, state.last - sim.now()));
    }
    drop(guard);
    for (id, process, way) in due {
        let server = server.clone();
        sim.after(way, Some(process), move |_| {
            let mut inner = server.borrow_mut();
            let Some(state) = inner.watches.get_mut(&id) else { return };
            let (events, listener) = (state.events.pop_front(), state.listener.take());
            drop(inner);
            let (Some(events), Some(mut listener)) = (events, listener) else { return };
            listener(events);
            if let Some(state) = server.borrow_mut().watches.get_mut(&id) {
                state.listener = Some(listener);
            }
        });
    }
}
