//! What one process has of a table that many machines share: its connection, its session, and the number under which the table knows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::thread::Thread;

use parking_lot::{Condvar, Mutex};

use super::etcd::{Config, Engine, Keys as EtcdKeys, Session, SessionNews, Watch, WatchNews};
use super::keys::Keys;
use super::kv::{Answer, Kv, Op, Range, Revision, Trouble, Txn};
use super::on_etcd::OnEtcd;
use super::replica::{Replica, Written};
use super::store::{Delta, Store};
use crate::home::clock::Clock;
use crate::table::Limits;

/// So many processes can share a table.
const OWNERS: u16 = 1024;

/// What the engine's thread has heard and the keeper has not looked at yet.
#[derive(Debug, Default)]
struct Heard {
    changed: AtomicBool,
    gone: Mutex<Vec<u16>>,
    lost: AtomicBool,
    keeper: Mutex<Option<Thread>>,
}

impl Heard {
    fn tell_keeper(&self) {
        if let Some(keeper) = &*self.keeper.lock() {
            keeper.unpark();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Part {
    kv: OnEtcd,
    keys: Keys,
    replica: Replica,
    config: Config,
    owner: AtomicU16,
    /// The session, and since when the others know of it.
    session: Mutex<Option<(Session, Revision)>>,
    /// Numbers that it had with sessions that were lost.
    former: Mutex<Vec<u16>>,
    watch: Mutex<Option<Watch>>,
    heard: Arc<Heard>,
    /// No other process has the same.
    author: u64,
    changes: AtomicU64,
    /// A transaction is over: those who wait for it may look.
    pub landed: Condvar,
    /// The copy has what may be undone.
    in_the_air: AtomicBool,
    /// How often something was undone.
    undone: AtomicU64,
    closed: AtomicBool,
    process: u32,
}

impl Part {
    /// Connects, and agrees with the others on how much fits into the table: as its first process said.
    pub fn connect(config: Config, limits: Limits) -> Result<(OnEtcd, Config, Limits), Trouble> {
        let kv = OnEtcd { engine: Engine::connect(&config)?, timeout: config.timeout };
        let shape = Keys::new(&config.name).shape();
        let numbers = [limits.leases, limits.tickets, limits.resources, limits.history];
        let value = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let txn = Txn {
            unchanged: vec![(shape.clone(), 0)],
            then: vec![Op::Put { key: shape.clone(), value, session: None }],
            otherwise: vec![Range { to: format!("{shape}\0"), from: shape }],
        };
        let agreed = match kv.txn(&txn)? {
            Answer::Done(_) => limits,
            Answer::Changed(read) => {
                let found =
                    read.concat().into_iter().next().and_then(|entry| limits_in(&entry.value));
                found.ok_or_else(|| Trouble::Refused("its shape makes no sense".to_owned()))?
            }
        };
        Ok((kv, config, agreed))
    }

    pub fn new(kv: OnEtcd, config: Config, replica: Replica) -> Part {
        Part {
            kv,
            keys: Keys::new(&config.name),
            replica,
            config,
            owner: AtomicU16::new(0),
            session: Mutex::default(),
            former: Mutex::default(),
            watch: Mutex::default(),
            heard: Arc::default(),
            author: unique(),
            changes: AtomicU64::new(0),
            landed: Condvar::new(),
            in_the_air: AtomicBool::new(false),
            undone: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    pub fn new_store(&self) -> Store {
        Store::new(&self.config.name, self.replica.clone())
    }

    pub fn kv(&self) -> &dyn Kv {
        &self.kv
    }

    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    pub fn replica(&self) -> &Replica {
        &self.replica
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
        if self.heard.lost.load(Ordering::Acquire) {
            return false;
        }
        let deadline = self.session.lock().as_ref().map_or(0, |(session, _)| session.deadline());
        if Clock::Real.now() < deadline {
            return true;
        }
        self.heard.lost.store(true, Ordering::Release);
        self.heard.tell_keeper();
        false
    }

    /// The copy is about to have what may be undone. With the lock of the table.
    pub fn take_off(&self) {
        self.in_the_air.store(true, Ordering::Release);
    }

    /// The copy has nothing any more that may be undone. With the lock of the table.
    pub fn land(&self) {
        self.in_the_air.store(false, Ordering::Release);
    }

    /// Something was undone. With the lock of the table, and before it is said to be over.
    pub fn count_undone(&self) {
        self.undone.fetch_add(1, Ordering::AcqRel);
    }

    /// What `read` finds without the lock, if nothing of it may be undone, or was while it read.
    pub fn settled<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        let before = self.undone.load(Ordering::Acquire);
        let found = read();
        let undone = self.undone.load(Ordering::Acquire) != before;
        (!undone && !self.in_the_air.load(Ordering::Acquire)).then_some(found)
    }

    /// For a change that is to be made.
    pub fn next_author(&self) -> u128 {
        u128::from(self.author) << 64 | u128::from(self.changes.fetch_add(1, Ordering::AcqRel))
    }

    /// What was changed, as a change that is to be made.
    pub fn delta_of(&self, written: Vec<Written>) -> Delta {
        Delta { author: self.next_author(), changes: self.replica.changes(&written) }
    }

    /// The numbers of the processes that live.
    pub fn present(&self) -> Result<Vec<u16>, Trouble> {
        let (found, _) = self.kv.read(&self.keys.owners())?;
        Ok(found.iter().filter_map(|it| self.keys.owner_of(&it.key)).collect())
    }

    /// Begins a session, and takes the lowest number that no living process has.
    pub fn settle_in(&self) -> Result<(), Trouble> {
        let heard = self.heard.clone();
        let session = self.kv.engine.session(self.config.session_ttl, move |news| {
            if news == SessionNews::Lost {
                heard.lost.store(true, Ordering::Release);
                heard.tell_keeper();
            }
        })?;
        let taken = self.present()?;
        for owner in (1..=OWNERS).filter(|owner| !taken.contains(owner)) {
            let key = self.keys.owner(owner);
            let value = format!("process {}", self.process).into_bytes();
            let txn = Txn {
                unchanged: vec![(key.clone(), 0)],
                then: vec![Op::Put { key, value, session: Some(session.id()) }],
                otherwise: Vec::new(),
            };
            if let Answer::Done(revision) = self.kv.txn(&txn)? {
                self.owner.store(owner, Ordering::Release);
                *self.session.lock() = Some((session, revision));
                return Ok(());
            }
        }
        Err(Trouble::Refused("as many processes as can share a table do already".to_owned()))
    }

    /// After a time in which the others may have taken this process for dead: a session, the old one if it lives after all.
    pub fn have_session(&self) -> Result<(), Trouble> {
        let mut session = self.session.lock();
        if session.as_ref().is_some_and(|(it, _)| Clock::Real.now() < it.deadline()) {
            return Ok(());
        }
        let old = session.take();
        drop(session);
        if let Some((session, _)) = old {
            self.former.lock().push(self.owner());
            // If that fails, it ends by itself, and what it had is given back then.
            let _ = session.revoke();
        }
        self.settle_in()
    }

    /// The numbers that this process had before, under which it may still have something.
    pub fn take_former(&self) -> Vec<u16> {
        std::mem::take(&mut self.former.lock())
    }

    pub fn remember_former(&self, owner: u16) {
        self.former.lock().push(owner);
    }

    /// What this process had is over, also for the others: it may have something again.
    pub fn set_found(&self) {
        self.heard.lost.store(false, Ordering::Release);
    }

    /// Whom to tell of whatever happens.
    pub fn set_keeper(&self, keeper: Thread) {
        *self.heard.keeper.lock() = Some(keeper);
    }

    /// From now on whatever happens is heard.
    pub fn listen(&self) -> Result<(), Trouble> {
        let (heard, keys) = (self.heard.clone(), self.keys.clone());
        let Range { from, to } = self.keys.all();
        let watched = EtcdKeys::Between(from.into_bytes(), to.into_bytes());
        let from_now =
            self.kv.engine.range_keys(EtcdKeys::One(b"\0".to_vec()), self.config.timeout)?;
        let watch = self.kv.engine.watch(watched, from_now.revision + 1, move |news| {
            if let WatchNews::Changed { changes, .. } = &news {
                for change in changes.iter().filter(|change| change.value.is_none()) {
                    let owner =
                        std::str::from_utf8(&change.key).ok().and_then(|key| keys.owner_of(key));
                    heard.gone.lock().extend(owner);
                }
            }
            heard.changed.store(true, Ordering::Release);
            heard.tell_keeper();
        })?;
        *self.watch.lock() = Some(watch);
        Ok(())
    }

    /// Has anything happened since this was asked last?
    pub fn take_changed(&self) -> bool {
        self.heard.changed.swap(false, Ordering::AcqRel)
    }

    /// The processes that have gone since this was asked last.
    pub fn take_gone(&self) -> Vec<u16> {
        std::mem::take(&mut self.heard.gone.lock())
    }

    /// To be looked at again: what it had could not be given back.
    pub fn is_still_gone(&self, owner: u16) {
        self.heard.gone.lock().push(owner);
    }

    pub fn is_session_lost(&self) -> bool {
        self.heard.lost.load(Ordering::Acquire)
    }

    /// The key of this process, which must be there still when something of its counts: what comes too late must not bring back what others have
    /// taken from the dead.
    pub fn presence(&self) -> Option<(String, Revision)> {
        let session = self.session.lock();
        session.as_ref().map(|(_, revision)| (self.keys.owner(self.owner()), *revision))
    }

    /// The key of a process that must not be there while what it had is given back.
    pub fn absence_of(&self, owner: u16) -> (String, i64) {
        (self.keys.owner(owner), 0)
    }

    pub fn wake_keeper(&self) {
        self.heard.tell_keeper();
    }

    /// Leaves: the others learn of it at once.
    pub fn leave(&self) {
        self.closed.store(true, Ordering::Release);
        self.landed.notify_all();
        *self.watch.lock() = None;
        if let Some((session, _)) = self.session.lock().take() {
            // If that fails, the session ends by itself.
            let _ = session.revoke();
        }
    }

    pub fn close(&self) {
        self.kv.engine.close();
    }
}

fn limits_in(value: &[u8]) -> Option<Limits> {
    let number = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
    let (leases, tickets) = (number(0)?, number(4)?);
    let limits = Limits { leases, tickets, resources: number(8)?, history: number(12)? };
    // No table is larger: a number that is would only ask for memory that nobody has.
    let sensible = |limit: u32| (1..=Limits::MAX).contains(&limit);
    [limits.leases, limits.tickets, limits.resources, limits.history]
        .into_iter()
        .all(sensible)
        .then_some(limits)
}

/// A number that no other process has chosen, as far as can be: from the hasher's own randomness.
fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}
