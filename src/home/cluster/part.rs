//! What one process has of a table that many machines share: its connection, its session, and the number under which the table knows it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::diff::Change;
use super::etcd::Config;
use super::hearing::Hearing;
use super::keys::Keys;
use super::kv::{Answer, Engine, Kv, Op, Range, Revision, Session, StoreError, Txn};
use super::replica::Replica;
use super::shape::Shape;
use super::store::{Delta, Store};
use crate::home::actor::cluster_principal;
use crate::home::clock::Clock;
use crate::home::read_committed::{ReadCommitted, UncommittedFlag};
use crate::rt::{self, Condvar};
use crate::table::{Actor, Error, Issuer, LeaseId, Limits, TicketId, Time};

/// So many processes can share a table.
const OWNERS: u16 = 1024;

/// The leases that this process lost with its session, until the table records it.
#[derive(Debug)]
pub(crate) struct LostSession {
    /// Counts the losses of this process, from 1.
    pub number: u64,
    /// When the session ended, in the time of the table.
    pub at: Time,
    /// In the order of their ids, each with the time at which it was granted.
    pub leases: Vec<(LeaseId, Time)>,
}

impl LostSession {
    pub fn has(&self, lease: LeaseId) -> bool {
        self.leases.binary_search_by_key(&lease, |(id, _)| *id).is_ok()
    }
}

#[derive(Debug)]
pub(crate) struct Part {
    engine: Box<dyn Engine>,
    keys: Keys,
    replica: Replica,
    config: Config,
    owner: AtomicU16,
    /// Since when the others know of it under this number.
    since: AtomicI64,
    /// Not here while there is none. The number stays until there is another.
    session: Mutex<Option<Box<dyn Session>>>,
    /// Numbers that it had with sessions that were lost, and since when.
    former: Mutex<Vec<(u16, Revision)>>,
    /// What it held, and what it waited with, when it was cut off.
    cut_off: Mutex<(Vec<LeaseId>, Vec<TicketId>)>,
    /// Changed with the lock of the table.
    lost: Mutex<Option<Arc<LostSession>>>,
    /// Number of session losses and recoveries: odd while there is no session.
    turns: AtomicU64,
    /// Why nothing is asked of the engine any more.
    refused: OnceLock<Error>,
    pub hearing: Hearing,
    /// No other process has the same.
    author: u64,
    changes: AtomicU64,
    /// A transaction is over: those who wait for it may look.
    pub landed: Condvar,
    uncommitted: UncommittedFlag,
    closed: AtomicBool,
    process: u32,
    /// Of all processes of this node with this etcd user.
    principal: u32,
}

/// A session, and a number that is this process's for as long as it lasts.
#[derive(Debug)]
pub(crate) struct Seat {
    session: Box<dyn Session>,
    owner: u16,
    since: Revision,
}

impl Part {
    /// Agrees with the other processes on the size of the table and on the beginning of its time:
    /// the first process decides.
    pub fn agree(
        engine: &dyn Engine,
        config: &Config,
        limits: Limits,
    ) -> Result<Shape, StoreError> {
        let shape = Keys::new(&config.name).shape();
        let wanted = Shape::from_now_on(limits);
        let value = wanted.encode();
        let txn = Txn {
            unchanged: vec![(shape.clone(), 0)],
            then: vec![Op::Put { key: shape.clone(), value, session: None }],
            otherwise: vec![Range::only(shape)],
        };
        match engine.txn(&txn)? {
            Answer::Done(_) => Ok(wanted),
            Answer::Changed(read) => {
                let found = read.concat().into_iter().next();
                let found = found.and_then(|entry| Shape::decode(&entry.value));
                found.ok_or_else(|| {
                    let why = "its table is damaged, or another version of ternlease made it; \
                               use one version on all machines, or another name for the table";
                    StoreError::Denied(why.to_owned())
                })
            }
        }
    }

    pub fn new(engine: Box<dyn Engine>, config: Config, replica: Replica) -> Part {
        let user = config.login.as_ref().map(|login| login.user.as_str());
        let principal = cluster_principal(&rt::node_name(), user);
        Part {
            engine,
            principal,
            keys: Keys::new(&config.name),
            replica,
            config,
            owner: AtomicU16::new(0),
            since: AtomicI64::new(0),
            session: Mutex::default(),
            former: Mutex::default(),
            cut_off: Mutex::default(),
            lost: Mutex::default(),
            turns: AtomicU64::new(0),
            refused: OnceLock::new(),
            hearing: Hearing::default(),
            author: rt::below(u64::MAX),
            changes: AtomicU64::new(0),
            landed: Condvar::new(),
            uncommitted: UncommittedFlag::default(),
            closed: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    pub fn new_store(&self) -> Store {
        Store::new(&self.config.name, self.replica.clone(), self.engine.changes_per_base())
    }

    pub fn kv(&self) -> &dyn Kv {
        &*self.engine
    }

    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// The issuer of this process's commands. The owner number names its session, which changes.
    pub fn issuer(&self) -> Issuer {
        let owner = self.owner();
        Issuer::new(owner, Actor { principal: self.principal, process: owner.into() })
    }

    pub fn owner(&self) -> u16 {
        self.owner.load(Ordering::Acquire)
    }

    pub fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Do the others surely still take this process for alive? Once that was not sure, what it had is over, whatever becomes of the session.
    pub fn is_sure(&self) -> bool {
        !self.hearing.is_lost() && self.has_its_number()
    }

    /// May the others take this process for dead? Not asked of a forked child, which touches nothing of its parent's, nor of one that is closed.
    pub fn is_cut_off(&self) -> bool {
        !self.is_forked() && !self.is_closed() && !self.is_sure()
    }

    /// Does surely nobody else have its number?
    pub fn has_its_number(&self) -> bool {
        let sure = self.refusal().is_none() && !self.sure_for().is_zero();
        if !sure {
            self.hearing.set_lost();
        }
        sure
    }

    /// Why every command is refused: the engine no longer stores the table that this process has read.
    /// Final.
    pub fn refusal(&self) -> Option<Error> {
        self.engine.refusal().or_else(|| self.refused.get().copied())
    }

    /// From now on every command is this error: what the engine has is not the table of this
    /// process any more.
    pub fn refuse(&self, error: Error) {
        // Keep the first error.
        let _ = self.refused.set(error);
        self.hearing.set_lost();
    }

    /// Renews the session no longer. What the engine has of it ends by itself.
    pub fn drop_session(&self) {
        // Dropped without the lock.
        let _session = self.session.lock().take();
    }

    /// The copy is about to have what may be undone. With the lock of the table.
    pub fn take_off(&self) {
        self.uncommitted.set();
    }

    /// The copy has nothing any more that may be undone. With the lock of the table.
    pub fn land(&self) {
        self.uncommitted.clear();
    }

    /// Something was undone. With the lock of the table, and before it is said to be over.
    pub fn count_undone(&self) {
        self.uncommitted.count_roll_back();
    }

    /// What `read` finds without the lock, if nothing of it may be undone, or was while it read.
    pub fn settled<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        self.uncommitted.read_committed(read).ok()
    }

    /// What was changed, as a change that is to be made.
    pub fn delta_of(&self, changes: Vec<Change>) -> Delta {
        Delta { made_by: self.owner(), mark: self.next_mark(), changes }
    }

    fn next_mark(&self) -> u128 {
        let number = self.changes.fetch_add(1, Ordering::AcqRel);
        u128::from(self.author) << 64 | u128::from(number)
    }

    /// The numbers of the processes that live.
    pub fn present(&self) -> Result<Vec<u16>, StoreError> {
        let (found, _) = self.engine.read(&self.keys.owners())?;
        Ok(found.iter().filter_map(|it| self.keys.owner_of(&it.key)).collect())
    }

    /// Begins a session, and finds the lowest number that no living process has.
    pub fn find_seat(&self) -> Result<Seat, StoreError> {
        // Read first: a process that may not read must not leave sessions behind.
        let taken = self.present()?;
        let ttl = self.config.session_ttl;
        let session = self.engine.session(ttl, self.hearing.of_session())?;
        self.hearing.is_answered();
        for owner in (1..=OWNERS).filter(|owner| !taken.contains(owner)) {
            let key = self.keys.owner(owner);
            let value = format!("process {}, session {}", self.process, session.id()).into_bytes();
            // With the number goes the mark under it: as long as it is this process's, nobody else has the number.
            let mark = self.next_mark().to_le_bytes().to_vec();
            let txn = Txn {
                unchanged: vec![(key.clone(), 0)],
                then: vec![
                    Op::Put { key: key.clone(), value: value.clone(), session: Some(session.id()) },
                    Op::Put { key: self.keys.mark(owner), value: mark, session: None },
                ],
                otherwise: vec![Range::only(key)],
            };
            let answer = match self.engine.txn(&txn) {
                // The process may read and not write: the session would stay until its time is
                // over.
                Err(denied @ StoreError::Denied(_)) => {
                    // If that fails, it ends by itself.
                    let _ = session.revoke();
                    return Err(denied);
                }
                answer => answer?,
            };
            let since = match answer {
                Answer::Done(since) => Some(since),
                // A request may come twice: then the number is its own, and would be nobody's for as long as the session lasts.
                Answer::Changed(read) => {
                    let found = read.concat().into_iter().find(|entry| entry.value == value);
                    found.map(|entry| entry.modified)
                }
            };
            if let Some(since) = since {
                return Ok(Seat { session, owner, since });
            }
        }
        Err(StoreError::Denied("as many processes as can share a table do already".to_owned()))
    }

    /// From now on this is its number. With the lock of the table: what was begun under the one before counts no more.
    pub fn take_seat(&self, seat: Seat) {
        self.owner.store(seat.owner, Ordering::Release);
        self.since.store(seat.since, Ordering::Release);
        *self.session.lock() = Some(seat.session);
    }

    /// After a time in which the others may have taken this process for dead: another session; `None` if the old one lives after all.
    pub fn find_another_seat(&self) -> Result<Option<Seat>, StoreError> {
        let mut session = self.session.lock();
        if session.as_ref().is_some_and(|it| Clock::Real.now() < it.deadline()) {
            return Ok(None);
        }
        let old = session.take();
        drop(session);
        if let Some(session) = old {
            self.former.lock().push((self.owner(), self.since.load(Ordering::Acquire)));
            // If that fails, it ends by itself, and what it had is given back then.
            let _ = session.revoke();
        }
        self.find_seat().map(Some)
    }

    /// The numbers that this process had before, under which it may still have something.
    pub fn former(&self) -> Vec<(u16, Revision)> {
        self.former.lock().clone()
    }

    /// It has nothing under these any more.
    pub fn forget_former(&self, seats: &[(u16, Revision)]) {
        self.former.lock().retain(|seat| !seats.contains(seat));
    }

    /// What it has at the moment when it is cut off.
    pub fn remember_cut_off(&self, mut leases: Vec<LeaseId>, mut tickets: Vec<TicketId>) {
        leases.sort_unstable();
        tickets.sort_unstable();
        *self.cut_off.lock() = (leases, tickets);
    }

    pub fn cut_off(&self) -> Vec<LeaseId> {
        self.cut_off.lock().0.clone()
    }

    /// Did this process hold it when it was cut off, and was not heard of since?
    pub fn was_cut_off(&self, lease: LeaseId) -> bool {
        self.hearing.is_lost() && self.cut_off.lock().0.binary_search(&lease).is_ok()
    }

    /// Did it wait with this when it was cut off, and was not heard of since?
    pub fn waited_when_cut_off(&self, ticket: TicketId) -> bool {
        self.hearing.is_lost() && self.cut_off.lock().1.binary_search(&ticket).is_ok()
    }

    /// The session is lost, and with it these leases. With the lock of the table; does nothing if
    /// the loss is known.
    pub fn set_lost_leases(&self, at: Time, mut leases: Vec<(LeaseId, Time)>) {
        let mut lost = self.lost.lock();
        if lost.is_none() {
            leases.sort_unstable();
            let number = self.turns.fetch_add(1, Ordering::AcqRel) / 2 + 1;
            *lost = Some(Arc::new(LostSession { number, at, leases }));
        }
    }

    /// What was lost, while there is no session.
    pub fn lost_session(&self) -> Option<Arc<LostSession>> {
        self.lost.lock().clone()
    }

    /// Changes when the session is lost, and when it is found again.
    pub fn session_turns(&self) -> u64 {
        self.turns.load(Ordering::Acquire)
    }

    /// For how long the session has been over; zero if its deadline is not known any more.
    pub fn over_for(&self) -> Duration {
        let deadline = self.session.lock().as_ref().map_or(0, |session| session.deadline());
        match deadline {
            0 => Duration::ZERO,
            _ => Duration::from_micros(Clock::Real.now().saturating_sub(deadline)),
        }
    }

    /// For how long the others surely take this process for alive.
    pub fn sure_for(&self) -> Duration {
        let deadline = self.session.lock().as_ref().map_or(0, |session| session.deadline());
        Duration::from_micros(deadline.saturating_sub(Clock::Real.now()))
    }

    /// What this process had is over, also for the others: it may have something again. False if its session is not sure any more.
    pub fn find_again(&self) -> bool {
        let found = self.has_its_number();
        if found {
            *self.cut_off.lock() = Default::default();
            if self.lost.lock().take().is_some() {
                self.turns.fetch_add(1, Ordering::AcqRel);
            }
            self.hearing.set_found();
        }
        found
    }

    /// From now on it is heard who goes, and what others do to what is this process's.
    pub fn listen(&self) -> Result<(), StoreError> {
        self.hearing.listen(&*self.engine, &self.keys, self.owner())
    }

    /// From now on every change is heard, or no longer.
    pub fn listen_to_all(&self, all: bool) {
        self.hearing.listen_to_all(&*self.engine, &self.keys, all);
    }

    /// The key of this process, which must be there still when something of its counts: what comes too late must not bring back what others have
    /// taken from the dead, nor touch what belongs to whoever has its number by then. Between two sessions it is that of the first. With the lock of the table.
    pub fn presence(&self) -> (String, Revision) {
        (self.keys.owner(self.owner()), self.since.load(Ordering::Acquire))
    }

    /// The key of a process that must not be there while what it had is given back.
    pub fn absence_of(&self, owner: u16) -> (String, Revision) {
        (self.keys.owner(owner), 0)
    }

    /// The key of a number that it had, with a session that the engine has not ended yet: nobody else has it.
    pub fn remains_of(&self, (owner, since): (u16, Revision)) -> (String, Revision) {
        (self.keys.owner(owner), since)
    }

    /// Leaves: the others learn of it at once.
    pub fn leave(&self) {
        self.closed.store(true, Ordering::Release);
        self.landed.notify_all();
        self.hearing.stop();
        let session = self.session.lock().take();
        if let Some(session) = session {
            // If that fails, the session ends by itself.
            let _ = session.revoke();
        }
    }

    pub fn close(&self) {
        self.engine.close();
    }
}
