//! The simulated store: keys, sessions and watches as in etcd, behind a network that delays, loses,
//! reorders and repeats requests, with leaders that change. Transactions and reads are linearizable.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::guards::{self, Guard};
use super::keyspace::Keyspace;
use super::machine::{Process, Sim, TrueTime};
use super::plans::TABLE;
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::store::{
    Entry, Listener, Op, Range, Read, Revision, StoreError, Txn, TxnReply, WatchEvent,
};

/// How often each fault happens, in a thousand requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub lost: u64,
    pub unanswered: u64,
    pub repeated: u64,
    /// Takes longer than the timeout of a request.
    pub late: u64,
    /// Takes so long that later requests overtake it, and is answered in time.
    pub overtaken: u64,
    /// Takes much longer than the timeout: it may arrive after the session of its author has ended.
    pub delayed: u64,
    /// The same of a copy of the request.
    pub delayed_copy: u64,
    /// No request is delayed beyond this time.
    pub delayed_until: TrueTime,
    /// Watch events that are lost: the watch reports that it may have missed changes.
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
    /// The watch reports the changes after this revision.
    after: Revision,
    /// Has the store received the request?
    connected: bool,
    events: VecDeque<WatchEvent>,
    /// When its last event arrives: none overtakes another.
    last: TrueTime,
    listener: Option<Listener<WatchEvent>>,
}

pub(super) struct Server {
    pub keys: Keyspace,
    pub faults: Faults,
    /// How many of a thousand transactions ignore a conflict. A sound store ignores none.
    pub ignored_conflicts: u64,
    /// The guard that a test has removed.
    pub without: Option<Guard>,
    /// The transactions that were executed, if a script repeats one.
    pub executed: Option<Vec<Txn>>,
    /// The last entry that each machine has read, without [`Guard::Predecessor`].
    pub known_heads: BTreeMap<Process, Entry>,
    sessions: BTreeMap<i64, Session>,
    watches: BTreeMap<u64, WatchState>,
    /// There is no leader until then.
    leaderless_until: TrueTime,
    /// No message reaches these machines, or comes from them, until then.
    cut_off: BTreeMap<Process, TrueTime>,
    /// The same, and their connections are refused at once.
    refused: BTreeMap<Process, TrueTime>,
    /// Watch events reach these machines only after that time.
    slow: BTreeMap<Process, TrueTime>,
    /// All changes up to this revision are on their way to the watches.
    notified: Revision,
    /// How many microseconds its clock counts in a true second.
    rate: u64,
    granted: i64,
    watched: u64,
}

/// The store of a simulation.
pub(super) type Shared = Rc<RefCell<Server>>;

impl Server {
    pub fn new(rate: u64) -> Shared {
        Rc::new(RefCell::new(Server {
            keys: Keyspace::default(),
            faults: Faults::default(),
            ignored_conflicts: 0,
            without: None,
            executed: None,
            known_heads: BTreeMap::new(),
            sessions: BTreeMap::new(),
            watches: BTreeMap::new(),
            leaderless_until: 0,
            cut_off: BTreeMap::new(),
            refused: BTreeMap::new(),
            slow: BTreeMap::new(),
            notified: 0,
            rate,
            granted: 0,
            watched: 0,
        }))
    }

    /// A server whose clock is right, without this guard.
    pub fn without(guard: Option<Guard>) -> Shared {
        let server = Self::new(1_000_000);
        server.borrow_mut().without = guard;
        server
    }

    /// The sessions that last.
    pub fn sessions(&self) -> Vec<i64> {
        self.sessions.keys().copied().collect()
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

    /// Delays all watch events of a machine until then.
    pub fn slow_down(&mut self, process: Process, until: TrueTime) {
        self.slow.insert(process, until);
    }

    pub fn is_refused(&self, process: Process, now: TrueTime) -> bool {
        self.refused.get(&process).is_some_and(|until| *until > now)
    }

    fn reaches(&self, process: Process, now: TrueTime) -> bool {
        self.cut_off.get(&process).is_none_or(|until| *until <= now)
    }
}

/// Grants a session of so many microseconds of the store's time.
pub(super) fn grant_session(server: &Shared, sim: &Rc<Sim>, ttl: u64) -> i64 {
    let mut inner = server.borrow_mut();
    inner.granted += 1;
    let (id, expires) = (inner.granted, inner.expiry(sim.now(), ttl));
    inner.sessions.insert(id, Session { ttl, expires });
    drop(inner);
    expire_later(server, sim, id);
    id
}

/// Renews a session. False: it has ended.
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
    inner.keys.end_session(id);
    drop(inner);
    sim.note(|| format!("store: session {id} has ended"));
    notify_watches(server, sim);
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
    sim.note(|| format!("store: no leader for {away} us"));
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

/// How long after its answer an append is executed, without [`Guard::Execution`].
const UNCONFIRMED_US: u64 = 1000;

/// Executes a transaction now.
pub(super) fn run_txn(server: &Shared, sim: &Rc<Sim>, txn: &Txn) -> Result<TxnReply, StoreError> {
    let mut inner = server.borrow_mut();
    let mut txn = txn.clone();
    if !txn.then.is_empty() && sim.in_a_thousand(inner.ignored_conflicts) {
        txn.compare.clear();
    }
    let whole = inner.executed.is_some().then(|| txn.clone());
    if let Some(guard) = inner.without {
        guard.remove_from(&mut txn);
    }
    // As in etcd: a request that is late or repeated does not restore a key of a session that has
    // ended.
    let has_ended = |op: &Op| match op {
        Op::Put { session: Some(id), .. } => !inner.sessions.contains_key(id),
        _ => false,
    };
    if inner.keys.holds(&txn.compare) && txn.then.iter().any(has_ended) {
        return Err(StoreError::Unavailable("no such session".to_owned()));
    }
    if inner.without == Some(Guard::Execution)
        && guards::has_commands(&txn)
        && inner.keys.holds(&txn.compare)
    {
        let head = inner.keys.read(&Read::key(Keys::new(TABLE).head())).pop();
        let revision = inner.keys.revision + 1;
        drop(inner);
        let server = server.clone();
        sim.after(UNCONFIRMED_US, None, move |sim| {
            let _ = server.borrow_mut().keys.run(&txn);
            notify_watches(&server, sim);
        });
        return Ok(TxnReply::Done { revision, replaced: vec![head] });
    }
    let reply = inner.keys.run(&txn);
    if matches!(reply, TxnReply::Done { .. })
        && let Some(executed) = &mut inner.executed
    {
        executed.extend(whole);
    }
    drop(inner);
    notify_watches(server, sim);
    Ok(reply)
}

/// Delivers a request: `work` runs once, several times or never, and `answer` gets its result once
/// or never.
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
    if sim.in_a_thousand(faults.delayed_copy) {
        let (work, server, way) = (work.clone(), server.clone(), long_delay(sim, faults));
        sim.note(|| format!("network: a request of process {process} comes again in {way} us"));
        sim.after(way, None, move |sim| {
            arrive(&server, sim, move |sim| drop(work(sim)));
        });
    }
    let late = sim.in_a_thousand(faults.late);
    let delayed = sim.in_a_thousand(faults.delayed);
    let way = match () {
        () if late => 500_000 + sim.below(8_000_000),
        () if delayed => long_delay(sim, faults),
        () if sim.in_a_thousand(faults.overtaken) => sim.below(MAX_OVERTAKEN_US),
        () => delay(sim),
    };
    let unanswered = delayed || sim.in_a_thousand(faults.unanswered);
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

/// The longest way of a request that is answered in time, in microseconds.
const MAX_OVERTAKEN_US: u64 = 800_000;

/// How long a delayed request takes: up to ten times the TTL of a session.
fn long_delay(sim: &Sim, faults: Faults) -> u64 {
    let way = 500_000 + sim.below(30_000_000);
    way.min(faults.delayed_until.saturating_sub(sim.now())).max(delay(sim))
}

/// How long a message takes: mostly a short time.
fn delay(sim: &Sim) -> u64 {
    match sim.below(50) {
        0 => sim.below(100_000),
        1..5 => sim.below(5_000),
        _ => 50 + sim.below(400),
    }
}

/// How long a client waits until it repeats the request for a watch, in microseconds.
const WATCH_RETRY_US: u64 = 500_000;

/// Reports the changes of these keys after a revision. The request travels while its author goes
/// on, and is repeated until it arrives.
pub(super) fn watch(
    server: &Shared,
    sim: &Rc<Sim>,
    process: Process,
    (range, after): (Range, Revision),
    listener: Listener<WatchEvent>,
) -> u64 {
    let mut inner = server.borrow_mut();
    inner.watched += 1;
    let id = inner.watched;
    let state = WatchState {
        process,
        range,
        after,
        connected: false,
        events: VecDeque::new(),
        last: 0,
        listener: Some(listener),
    };
    inner.watches.insert(id, state);
    drop(inner);
    connect_watch(server, sim, id, delay(sim));
    id
}

fn connect_watch(server: &Shared, sim: &Rc<Sim>, id: u64, way: u64) {
    let server = server.clone();
    sim.after(way, None, move |sim| {
        let mut guard = server.borrow_mut();
        let inner = &mut *guard;
        let Some(state) = inner.watches.get_mut(&id) else { return };
        let cut_off = inner.cut_off.get(&state.process).copied().unwrap_or(0);
        let reachable = cut_off.max(inner.leaderless_until);
        if reachable > sim.now() || sim.in_a_thousand(inner.faults.lost) {
            drop(guard);
            let wait = reachable.saturating_sub(sim.now()).max(WATCH_RETRY_US);
            return connect_watch(&server, sim, id, wait + delay(sim));
        }
        state.connected = true;
        let missed = inner.keys.revision > state.after && sim.in_a_thousand(inner.faults.missed);
        let events = if missed {
            vec![WatchEvent::Missed]
        } else {
            let history = inner.keys.changes_after(&state.range, state.after);
            let event = |(revision, changes)| WatchEvent::Changed { revision, changes };
            history.into_iter().map(event).collect()
        };
        drop(guard);
        events.into_iter().for_each(|event| send_event(&server, sim, id, event));
    });
}

pub(super) fn unwatch(server: &Shared, id: u64) {
    let removed = server.borrow_mut().watches.remove(&id);
    // The listener is dropped while the store is not borrowed.
    drop(removed);
}

/// Sends all changes to the watches that were not sent yet.
fn notify_watches(server: &Shared, sim: &Rc<Sim>) {
    let mut guard = server.borrow_mut();
    let inner = &mut *guard;
    let from = std::mem::replace(&mut inner.notified, inner.keys.revision);
    let mut events = Vec::new();
    for (id, state) in inner.watches.iter().filter(|(_, state)| state.connected) {
        // A watch may start after a revision that is still to come.
        for (revision, changes) in inner.keys.changes_after(&state.range, from.max(state.after)) {
            let missed = sim.in_a_thousand(inner.faults.missed);
            let changed = WatchEvent::Changed { revision, changes };
            events.push((*id, if missed { WatchEvent::Missed } else { changed }));
        }
    }
    drop(guard);
    events.into_iter().for_each(|(id, event)| send_event(server, sim, id, event));
}

fn send_event(server: &Shared, sim: &Rc<Sim>, id: u64, event: WatchEvent) {
    let mut guard = server.borrow_mut();
    let inner = &mut *guard;
    let Some(state) = inner.watches.get_mut(&id) else { return };
    let stale = event == WatchEvent::Missed || sim.in_a_thousand(inner.faults.stale);
    let way = if stale { sim.below(6_000_000) } else { delay(sim) };
    // What a machine missed while it was cut off or slow comes afterwards.
    let until = |times: &BTreeMap<Process, TrueTime>| times.get(&state.process).copied();
    let reached = until(&inner.cut_off).max(until(&inner.slow)).unwrap_or(0);
    state.events.push_back(event);
    state.last = state.last.max(sim.now().max(reached) + way);
    let (process, way) = (state.process, state.last - sim.now());
    drop(guard);
    let server = server.clone();
    sim.after(way, Some(process), move |_| {
        let mut inner = server.borrow_mut();
        let Some(state) = inner.watches.get_mut(&id) else { return };
        let (event, listener) = (state.events.pop_front(), state.listener.take());
        drop(inner);
        let (Some(event), Some(mut listener)) = (event, listener) else { return };
        listener(event);
        if let Some(state) = server.borrow_mut().watches.get_mut(&id) {
            state.listener = Some(listener);
        }
    });
}
