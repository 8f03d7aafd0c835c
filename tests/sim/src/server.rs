//! The simulated engine: keys, sessions and watches as etcd has them, behind a network that delays, loses and repeats, with leaders that change.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::keyspace::{Changed, Keyspace};
use super::machine::{Process, Sim, TrueTime};
use ternlease::sim_api::kv::{Listener, Range, WatchNews};

/// How often something goes wrong, in a thousand requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub lost: u64,
    pub unanswered: u64,
    pub repeated: u64,
    /// Takes longer than anybody waits.
    pub late: u64,
    /// News that are missed.
    pub missed: u64,
    /// News that come when they are none any more.
    pub stale: u64,
}

struct Session {
    ttl: u64,
    expires: TrueTime,
}

struct Watching {
    process: Process,
    range: Range,
    news: VecDeque<WatchNews>,
    /// The last of its news arrive then: none overtakes another.
    last: TrueTime,
    tell: Option<Listener<WatchNews>>,
}

pub(super) struct Server {
    pub keys: Keyspace,
    pub faults: Faults,
    /// So many in a thousand transactions are done although something has changed: no engine should.
    pub careless: u64,
    sessions: BTreeMap<i64, Session>,
    watches: BTreeMap<u64, Watching>,
    /// There is no leader until then.
    down_until: TrueTime,
    /// Machines that nothing reaches, and nothing of which arrives, until then.
    cut_off: BTreeMap<Process, TrueTime>,
    /// Those of them that learn it at once: nobody opens when they knock.
    turned_away: BTreeMap<Process, TrueTime>,
    /// How many microseconds its clock counts in a true second.
    rate: u64,
    granted: i64,
    watched: u64,
}

/// The engine of one simulation.
pub(super) type Shared = Rc<RefCell<Server>>;

impl Server {
    pub fn new(rate: u64) -> Shared {
        Rc::new(RefCell::new(Server {
            keys: Keyspace::default(),
            faults: Faults::default(),
            careless: 0,
            sessions: BTreeMap::new(),
            watches: BTreeMap::new(),
            down_until: 0,
            cut_off: BTreeMap::new(),
            turned_away: BTreeMap::new(),
            rate,
            granted: 0,
            watched: 0,
        }))
    }

    /// Is this session alive?
    pub fn knows(&self, session: i64) -> bool {
        self.sessions.contains_key(&session)
    }

    fn lasts_until(&self, now: TrueTime, ttl: u64) -> TrueTime {
        now + ttl * 1_000_000 / self.rate
    }

    /// Nothing reaches a machine, and nothing of it arrives, until then.
    pub fn cut_off(&mut self, process: Process, until: TrueTime) {
        self.cut_off.insert(process, until);
    }

    /// The same, and what it asks for is refused at once.
    pub fn turn_away(&mut self, process: Process, until: TrueTime) {
        self.cut_off(process, until);
        self.turned_away.insert(process, until);
    }

    pub fn turns_away(&self, process: Process, now: TrueTime) -> bool {
        self.turned_away.get(&process).is_some_and(|until| *until > now)
    }

    fn reaches(&self, process: Process, now: TrueTime) -> bool {
        self.cut_off.get(&process).is_none_or(|until| *until <= now)
    }
}

/// A session of so many microseconds of the engine's time.
pub(super) fn grant(server: &Shared, sim: &Rc<Sim>, ttl: u64) -> i64 {
    let mut inner = server.borrow_mut();
    inner.granted += 1;
    let (id, expires) = (inner.granted, inner.lasts_until(sim.now(), ttl));
    inner.sessions.insert(id, Session { ttl, expires });
    drop(inner);
    expire_later(server, sim, id);
    id
}

/// Does the engine know it still?
pub(super) fn renew(server: &Shared, sim: &Rc<Sim>, id: i64) -> bool {
    let mut inner = server.borrow_mut();
    let Some(ttl) = inner.sessions.get(&id).map(|session| session.ttl) else { return false };
    let expires = inner.lasts_until(sim.now(), ttl);
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
    tell_watches(server, sim, &changed);
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
        let over = session.expires <= sim.now() && inner.down_until <= sim.now();
        drop(inner);
        if over {
            end_session(&server, sim, id);
        } else {
            let server_down = server.borrow().down_until;
            let mut inner = server.borrow_mut();
            if let Some(session) = inner.sessions.get_mut(&id) {
                session.expires = session.expires.max(server_down + 1);
            }
            drop(inner);
            expire_later(&server, sim, id);
        }
    });
}

/// For so long nobody is answered. The new leader gives each session its full time again.
pub(super) fn change_leader(server: &Shared, sim: &Rc<Sim>, away: u64) {
    sim.note(|| format!("engine: no leader for {away} us"));
    let until = sim.now() + away;
    server.borrow_mut().down_until = until;
    let server = server.clone();
    sim.after(away, None, move |sim| {
        let mut inner = server.borrow_mut();
        let ids: Vec<(i64, u64)> = inner.sessions.iter().map(|(id, it)| (*id, it.ttl)).collect();
        for (id, ttl) in ids {
            let expires = inner.lasts_until(sim.now(), ttl);
            if let Some(session) = inner.sessions.get_mut(&id) {
                session.expires = session.expires.max(expires);
            }
        }
    });
}

/// What becomes of a request: `work` is done when it arrives, once, twice or never, and `answer` is called with what came of it, once or never.
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
        sim.note(|| format!("network: process {process} will not hear in time"));
    }
    let (server, network) = (server.clone(), server.clone());
    sim.after(way, None, move |sim| {
        arrive(&server, sim, move |sim| {
            let told = work(sim);
            if !unanswered && network.borrow().reaches(process, sim.now()) {
                sim.after(delay(sim), Some(process), move |sim| answer(sim, told));
            }
        });
    });
}

/// While there is no leader, requests wait for the next one, or are forgotten with the last.
fn arrive(server: &Shared, sim: &Rc<Sim>, work: impl FnOnce(&Rc<Sim>) + 'static) {
    let down_until = server.borrow().down_until;
    if down_until <= sim.now() {
        return work(sim);
    }
    if sim.below(2) == 0 {
        let server = server.clone();
        sim.after(down_until - sim.now() + sim.below(1000), None, move |sim| {
            arrive(&server, sim, work);
        });
    }
}

/// How long something is on its way: mostly short.
fn delay(sim: &Sim) -> u64 {
    match sim.below(50) {
        0 => sim.below(100_000),
        1..5 => sim.below(5_000),
        _ => 50 + sim.below(400),
    }
}

/// Tells of every change of these keys from now on.
pub(super) fn watch(
    server: &Shared,
    process: Process,
    range: Range,
    tell: Listener<WatchNews>,
) -> u64 {
    let mut inner = server.borrow_mut();
    inner.watched += 1;
    let watching = Watching { process, range, news: VecDeque::new(), last: 0, tell: Some(tell) };
    let id = inner.watched;
    inner.watches.insert(id, watching);
    id
}

pub(super) fn unwatch(server: &Shared, id: u64) {
    let gone = server.borrow_mut().watches.remove(&id);
    // What it told is dropped while nobody uses the engine.
    drop(gone);
}

pub(super) fn tell_watches(server: &Shared, sim: &Rc<Sim>, changed: &Changed) {
    let mut due = Vec::new();
    let mut guard = server.borrow_mut();
    let inner = &mut *guard;
    let faults = inner.faults;
    for (id, watching) in &mut inner.watches {
        let within = |key: &String| *key >= watching.range.from && *key < watching.range.to;
        let heard: Changed = changed.iter().filter(|(key, _)| within(key)).cloned().collect();
        if heard.is_empty() {
            continue;
        }
        let missed = sim.in_a_thousand(faults.missed);
        let news = if missed { WatchNews::Missed } else { WatchNews::Changed(heard) };
        let stale = missed || sim.in_a_thousand(faults.stale);
        let way = if stale { sim.below(6_000_000) } else { delay(sim) };
        // What a machine did not hear while it was cut off comes afterwards.
        let reached = inner.cut_off.get(&watching.process).copied().unwrap_or(0);
        watching.news.push_back(news);
        watching.last = watching.last.max(sim.now().max(reached) + way);
        due.push((*id, watching.process, watching.last - sim.now()));
    }
    drop(guard);
    for (id, process, way) in due {
        let server = server.clone();
        sim.after(way, Some(process), move |_| {
            let mut inner = server.borrow_mut();
            let Some(watching) = inner.watches.get_mut(&id) else { return };
            let (news, tell) = (watching.news.pop_front(), watching.tell.take());
            drop(inner);
            let (Some(news), Some(mut tell)) = (news, tell) else { return };
            tell(news);
            if let Some(watching) = server.borrow_mut().watches.get_mut(&id) {
                watching.tell = Some(tell);
            }
        });
    }
}
