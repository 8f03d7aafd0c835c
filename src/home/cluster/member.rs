//! A process as a member of a table that machines share.
//!
//! Every change of the table is an entry of a log in the store. A member appends entries, and
//! applies all entries in the order of the store to its replica. The reply to a command is what
//! its own replica replies when the entry is applied.
//!
//! Data structure: [`State`], under one lock: the replica, entries that were received before
//! their turn, the commands that are not appended yet, and the one batch that is being appended.
//!
//! Invariants:
//!
//! * *The store orders entries.* `head` is written with each entry, so its version is the position
//!   of the entry. Entries reach `State::early` from the reply to an append, from a watch of `head`
//!   and from reads, in any order and more than once. They are applied in the order of positions.
//! * *A command is applied once or not at all.* A request with an unknown outcome is repeated with
//!   the same key until the outcome is known or the session may have ended. The transaction
//!   requires that the key does not exist, and that the last entry of the session is unchanged.
//!   Truncation keeps the last entry of each session, so that a late request never appends an entry
//!   again. A store that was restored from a backup takes no entry of a session of which it knows
//!   less.
//! * *No command of an ended session is applied.* The transaction requires the key of the session.
//!   The end of a session is an entry too: it requires that this key does not exist, or deletes it.
//! * *At most one batch is in flight*, so that commands of a process keep their order.
//! * *Held here implies held in the store.* From the deadline of the session on, which is counted
//!   from when its renewal was sent, nothing is reported as held (`own.rs`).
//!
//! Locking rule: no thread waits for the store with the lock. Listeners of the store only take the
//! lock if it is free. Wakers are called after unlock ([`Locked`]). A waker that is not of this
//! library may call the member: a thread that appends, or waits for a reply, leaves it to the
//! ticker.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::Duration;

use super::counters::{self, Counters};
use super::entry::{LogEntry, What, hash_of};
use super::etcd::Config;
use super::keys::Keys;
use super::own::LostSession;
use super::replica::{Applied, Replica, Stop};
use super::shape::Shape;
use super::store::{
    Compare, Entry, Op, Read, Revision, Session, Store, StoreError, Txn, TxnReply, Watch,
};
use crate::home::Dropped;
use crate::home::clock::Clock;
use crate::home::ticker::Ticker;
use crate::home::waiters::{Waiters, WakeList, park_waker};
use crate::rt::{self, Condvar, Mutex, MutexGuard, Thread};
use crate::table::codec::{self, AnyReply, Decode};
use crate::table::command::{Collect, Release, Renew, Revoke, Transfer};
use crate::table::{Command, Effect, Error, FOREVER, LeaseId, Picks, TicketId, Time, wait_end};

/// How often a request is sent to a store that does not answer, before commands are refused.
pub(super) const ATTEMPTS: u32 = 3;

/// Between two such requests.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// How long a member that follows the log waits for an entry before it reads the log.
pub(super) const WATCH_DELAY: Duration = Duration::from_millis(50);

/// A batch has at most so many commands, and so many bytes unless it is one command.
const BATCH_COMMANDS: usize = 1000;
const BATCH_BYTES: usize = 256 << 10;

/// How long a thread waits for a reply before it looks again.
const LOOK: Duration = Duration::from_secs(1);

/// How long a member follows the log after it met entries of others, in microseconds.
pub(super) const CONTENDING: Time = 2_000_000;

/// An append notifies at most so many other members; the others are notified after it.
const NOTIFIED: usize = 64;

/// The fields of these commands begin with a lease.
const LEASE_COMMANDS: [u8; 4] = [Release::TAG, Renew::TAG, Revoke::<String>::TAG, Transfer::TAG];

/// See the module's text.
#[derive(Debug)]
pub(super) struct Member {
    pub me: Weak<Member>,
    pub store: Box<dyn Store>,
    pub config: Config,
    pub keys: Keys,
    pub shape: Shape,
    /// The last write of the shape. An entry requires that it is still the same.
    pub shape_revision: Revision,
    pub clock: Clock,
    /// Of all processes of this node with this etcd user.
    pub principal: u32,
    pub process: u32,
    state: Mutex<State>,
    /// Entries were applied, or an append has ended. Callers of commands park instead: each is
    /// woken when it has a reply, or when it appends the next batch.
    pub changed: Condvar,
    pub heard: parking_lot::Mutex<Heard>,
    /// Held while hints are written.
    pub notifying: Mutex<()>,
    /// The session; `None` before the first one and after it was dropped.
    pub session: parking_lot::Mutex<Option<Box<dyn Session>>>,
    /// The session may have ended. Stays set until there is another one.
    pub lost: AtomicBool,
    /// Counts the losses of the session and the recoveries: odd while there is no session.
    pub turns: AtomicU64,
    /// Since when the store does not answer, by [`Clock::Real`]; 0 if it answers.
    pub silent_since: AtomicU64,
    /// Why no request is sent any more. Final.
    refused: OnceLock<Error>,
    /// The last home is closed: no thread joins again.
    pub leaving: AtomicBool,
    pub closed: AtomicBool,
    /// How many homes of this process use it.
    pub homes: AtomicUsize,
    pub counters: Counters,
    pub ticker: Ticker,
    /// Notices the end of the session by the clock of this process.
    pub session_ticker: Ticker,
}

/// What listeners of the store have reported, until a thread that has the lock takes it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Positions, revisions and bytes of entries.
    pub entries: Vec<(u64, Revision, Vec<u8>)>,
    /// Sessions whose keys were deleted.
    pub ended: BTreeSet<i64>,
    /// Changes may have been missed, or another member has ended a lease of this one.
    pub stale: bool,
    /// Ends of sessions may have been missed.
    pub missed_ends: bool,
    /// Wakers that a listener must not call.
    wake: WakeList,
    ticker: Option<Thread>,
    session_ticker: Option<Thread>,
}

/// A session that has joined.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Joined {
    pub id: i64,
    /// The revision that created its key.
    pub created: Revision,
    pub owner: u16,
}

/// A command that a thread waits for.
#[derive(Debug)]
struct Call {
    caller: Waker,
    reply: Option<Result<AnyReply, Error>>,
}

/// A batch that is being appended.
#[derive(Debug)]
struct InFlight {
    number: u64,
    calls: Vec<u64>,
    /// Tickets that the first commands collect.
    collected: Vec<TicketId>,
    /// Sessions that the same transaction notifies.
    notified: BTreeSet<i64>,
}

#[derive(Debug)]
pub(super) struct State {
    pub replica: Replica,
    pub waiters: Waiters,
    /// To be called after unlock.
    pub wake: WakeList,
    pub early: BTreeMap<u64, (Revision, Vec<u8>)>,
    pub session: Joined,
    /// Commands with the numbers of their calls.
    pending: VecDeque<(u64, Vec<u8>)>,
    pub appending: bool,
    /// The thread that appends.
    appender: Option<Thread>,
    /// The call whose thread appends the next batch, while `appending` is set for it.
    next: Option<u64>,
    /// How many commands the next batch has if each thread that got a reply sends another one.
    expected: usize,
    in_flight: Option<InFlight>,
    last_call: u64,
    calls: HashMap<u64, Call>,
    /// By how much the time of the table is ahead of the clock of this process, which no other
    /// machine moves.
    pub lag: Time,
    /// The ends of the leases of this process, by its clock.
    pub ends: BTreeMap<LeaseId, Time>,
    /// No local end is earlier.
    pub ends_due: Time,
    /// Leases that are being renewed by an entry, one element for each renewal: they do not expire.
    pub renewing: Vec<LeaseId>,
    /// Claims of this process that may still wait.
    pub tickets: BTreeSet<TicketId>,
    /// Tickets whose reply was collected here, which the log does not know yet.
    pub collected: Vec<TicketId>,
    /// When the first of them was collected, by [`Clock::Real`].
    pub collected_at: Time,
    /// Tickets that are being withdrawn.
    pub withdrawing: BTreeSet<TicketId>,
    /// What is given back when the store can be reached.
    pub dropped: BTreeSet<Dropped>,
    pub lost: Option<Arc<LostSession>>,
    /// The last loss before this process joined again.
    pub lost_before: Option<Arc<LostSession>>,
    /// The claims that waited when a session was lost last.
    pub lost_tickets: BTreeSet<TicketId>,
    /// Sessions whose end this member has appended, or has tried to.
    pub ending: BTreeSet<i64>,
    /// Sessions to notify of changes of their leases.
    pub hints: BTreeSet<i64>,
    /// The position of the last known snapshot, and the last write of `base`.
    pub base: (u64, Revision),
    pub snapshot_due: bool,
    /// Reports new entries, while this member follows the log.
    pub following: Option<Box<dyn Watch>>,
    /// Until when it follows the log without a waiter, by [`Clock::Real`].
    pub contending_until: Time,
}

/// The lock. Wakers are called when it is dropped.
pub(super) struct Locked<'a> {
    member: &'a Member,
    guard: Option<MutexGuard<'a, State>>,
}

impl Deref for Locked<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.guard.as_deref().expect("the lock is held until it is dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.guard.as_deref_mut().expect("the lock is held until it is dropped")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.unlock();
    }
}

impl Locked<'_> {
    fn unlock(&mut self) {
        let appender = self.guard.as_ref().and_then(|state| state.appender.as_ref());
        let by_ticker = appender.is_some_and(|thread| thread.id() == rt::current().id());
        self.unlock_with(by_ticker);
    }

    /// Unlocks, and wakes threads. Other wakers are called here or on the ticker.
    fn unlock_with(&mut self, by_ticker: bool) {
        if let Some(mut state) = self.guard.take() {
            let mut wake = std::mem::take(&mut state.wake);
            drop(state);
            match by_ticker {
                true => self.member.wake_later(&mut wake),
                false => wake.wake(),
            }
            // A listener found the lock taken.
            if !self.member.heard.lock().entries.is_empty() {
                self.member.apply_heard();
            }
        }
    }

    /// Unlocks, waits until entries were applied or an append has ended, and locks. May return
    /// earlier.
    pub fn wait(&mut self, limit: Duration) {
        if self.wake.is_empty() {
            if let Some(guard) = &mut self.guard {
                self.member.changed.wait_for(guard, limit);
            }
        } else {
            // What the caller waits for may happen while the wakers are called.
            let member = self.member;
            self.unlock();
            self.guard = Some(member.state.lock());
        }
        self.member.take_entries(self);
    }

    /// Unlocks while the thread is parked, until a waker of it is called. May return earlier.
    fn park(&mut self, limit: Duration) {
        let member = self.member;
        self.unlock_with(true);
        rt::park_timeout(limit);
        self.guard = Some(member.state.lock());
        member.take_entries(self);
    }

    /// Lets other threads of the process add their commands to the next batch, for as long as they
    /// do: threads that have just got a reply often send their next command at once.
    fn gather(&mut self) {
        let member = self.member;
        let mut before = 0;
        while before < self.pending.len() && self.pending.len() < self.expected {
            before = self.pending.len();
            self.unlock_with(true);
            rt::yield_now();
            self.guard = Some(member.state.lock());
        }
        member.take_entries(self);
    }
}

/// A member whose thread has panicked between two steps answers nothing any more.
struct RefuseOnPanic<'a>(&'a Member);

impl Drop for RefuseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.refuse(Error::Corrupt);
        }
    }
}

/// What became of an append.
enum Sent {
    /// It was done at this revision; the value of `head` before.
    Done(Revision, Option<Entry>),
    /// An earlier request had done it at this revision.
    DoneBefore(Revision),
    /// It was not done, and never will be.
    NotDone,
    /// The session may have ended before the outcome was known.
    Unknown,
}

impl Member {
    /// A member that has read no entry yet, and has no session.
    pub fn new(
        store: Box<dyn Store>,
        config: Config,
        shape: Shape,
        shape_revision: Revision,
        replica: Replica,
        principal: u32,
    ) -> Arc<Member> {
        let clock = Clock::shared(|| shape.now());
        let state = State {
            replica,
            waiters: Waiters::default(),
            wake: WakeList::default(),
            early: BTreeMap::new(),
            session: Joined::default(),
            pending: VecDeque::new(),
            appending: false,
            appender: None,
            next: None,
            expected: 0,
            in_flight: None,
            last_call: 0,
            calls: HashMap::new(),
            lag: 0,
            ends: BTreeMap::new(),
            ends_due: Time::MAX,
            renewing: Vec::new(),
            tickets: BTreeSet::new(),
            collected: Vec::new(),
            collected_at: 0,
            withdrawing: BTreeSet::new(),
            dropped: BTreeSet::new(),
            lost: None,
            lost_before: None,
            lost_tickets: BTreeSet::new(),
            ending: BTreeSet::new(),
            hints: BTreeSet::new(),
            base: (0, 0),
            snapshot_due: false,
            following: None,
            contending_until: 0,
        };
        Arc::new_cyclic(|me| Member {
            me: me.clone(),
            store,
            keys: Keys::new(&config.name),
            config,
            shape,
            shape_revision,
            clock,
            principal,
            process: std::process::id(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            heard: parking_lot::Mutex::default(),
            notifying: Mutex::new(()),
            session: parking_lot::Mutex::new(None),
            lost: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            silent_since: AtomicU64::new(0),
            refused: OnceLock::new(),
            leaving: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            homes: AtomicUsize::new(1),
            counters: Counters::default(),
            ticker: Ticker::default(),
            session_ticker: Ticker::default(),
        })
    }

    pub fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Acquire)
    }

    /// Does the session certainly last? Once that was not certain, what the process held is over,
    /// also if the session continues.
    pub fn session_lasts(&self) -> bool {
        if self.lost.load(Acquire) {
            return false;
        }
        let lasts = self.refusal().is_none() && !self.session_left().is_zero();
        if !lasts {
            self.lose_session();
        }
        lasts
    }

    /// For how long the session certainly lasts without another answer of the store.
    pub fn session_left(&self) -> Duration {
        let deadline = self.session.lock().as_ref().map_or(0, |session| session.deadline());
        Duration::from_micros(deadline.saturating_sub(Clock::Real.now()))
    }

    /// For how long the session has been over; zero if its deadline is not known any more.
    pub fn over_for(&self) -> Duration {
        match self.session.lock().as_ref().map_or(0, |session| session.deadline()) {
            0 => Duration::ZERO,
            deadline => Duration::from_micros(Clock::Real.now().saturating_sub(deadline)),
        }
    }

    pub fn lose_session(&self) {
        if !self.lost.swap(true, AcqRel) {
            self.wake_threads();
        }
    }

    /// Wakes the threads of this member.
    pub fn wake_threads(&self) {
        let heard = self.heard.lock();
        for thread in [&heard.ticker, &heard.session_ticker].into_iter().flatten() {
            thread.unpark();
        }
    }

    pub fn set_threads(&self) {
        let mut heard = self.heard.lock();
        heard.ticker = self.ticker.thread();
        heard.session_ticker = self.session_ticker.thread();
    }

    pub fn wake_ticker(&self) {
        if let Some(ticker) = &self.heard.lock().ticker {
            ticker.unpark();
        }
    }

    /// Why every command is refused: the store does not have the table that this process has read.
    pub fn refusal(&self) -> Option<Error> {
        self.refused.get().copied().or_else(|| self.store.refusal())
    }

    /// From now on every command is refused with this error.
    pub fn refuse(&self, error: Error) {
        // Keep the first error.
        let _ = self.refused.set(error);
        self.lose_session();
    }

    /// Drops the session, which is not renewed any more.
    pub fn drop_session(&self) {
        let session = self.session.lock().take();
        drop(session);
    }

    pub fn lock(&self) -> Locked<'_> {
        let mut state = Locked { member: self, guard: Some(self.state.lock()) };
        self.take_entries(&mut state);
        state
    }

    /// Reads the replica of a forked child.
    #[allow(unsafe_code)]
    pub fn read_forked<T>(&self, read: impl FnOnce(&Replica) -> T) -> T {
        // SAFETY: a forked child has one thread, and this reads cells, which no thread changes.
        let state = unsafe { &*self.state.data_ptr() };
        read(&state.replica)
    }

    /// Sends a command, and returns the reply of the table.
    pub fn execute(&self, command: Vec<u8>) -> Result<AnyReply, Error> {
        let mut state = self.lock_joined()?;
        let call = state.enqueue(command);
        self.wait_for_reply(state, call).1
    }

    /// As [`Self::execute`], for commands that are sent together.
    pub fn execute_all(
        &self,
        commands: Vec<Vec<u8>>,
    ) -> Result<Vec<Result<AnyReply, Error>>, Error> {
        let mut state = self.lock_joined()?;
        let calls: Vec<u64> = commands.into_iter().map(|it| state.enqueue(it)).collect();
        let mut replies = Vec::new();
        for call in calls {
            let (unlocked, reply) = self.wait_for_reply(state, call);
            state = unlocked;
            replies.push(reply);
        }
        Ok(replies)
    }

    /// Appends what waits for the next entry, if another thread does not.
    pub fn flush(&self) {
        if let Ok(state) = self.lock_joined()
            && !state.appending
        {
            let _refuse = RefuseOnPanic(self);
            drop(self.append(state));
        }
    }

    /// The lock, if there is a session.
    fn lock_joined(&self) -> Result<Locked<'_>, Error> {
        let mut state = self.lock();
        let until = rt::instant() + PAUSE * ATTEMPTS;
        while !self.session_lasts() {
            if self.is_closed() {
                return Err(Error::Closed);
            }
            if let Some(error) = self.refusal() {
                return Err(error);
            }
            if rt::instant() >= until {
                return Err(Error::Unavailable);
            }
            state.wait(PAUSE);
        }
        Ok(state)
    }

    fn wait_for_reply<'a>(
        &'a self,
        mut state: Locked<'a>,
        call: u64,
    ) -> (Locked<'a>, Result<AnyReply, Error>) {
        let _refuse = RefuseOnPanic(self);
        loop {
            if let Some(reply) = state.take_reply(call) {
                return (state, reply);
            }
            if !state.appending || state.next == Some(call) {
                state = self.append(state);
            } else if self.refusal() == Some(Error::Corrupt) {
                // The thread that appends may have panicked.
                return (state, Err(Error::Corrupt));
            } else {
                state.park(LOOK);
            }
        }
    }

    /// Appends the first pending commands, and applies the log up to them.
    fn append<'a>(&'a self, mut state: Locked<'a>) -> Locked<'a> {
        if !self.session_lasts() {
            // The last entry of the session may be unknown.
            let error = self.refusal().unwrap_or(Error::Unavailable);
            for (call, _) in std::mem::take(&mut state.pending) {
                state.answer(call, Err(error));
            }
            state.appending = false;
            self.changed.notify_all();
            return state;
        }
        state.appending = true;
        state.appender = Some(rt::current());
        state.next = None;
        state.gather();
        let (mut batch, commands) = state.take_batch();
        let (session, number) = (state.session, batch.number);
        let last_revision = state.replica.last_of(session.id).map_or(0, |(_, revision)| revision);
        let others = commands.iter().filter_map(|command| state.other_session_of(command));
        let others: BTreeSet<i64> = others.take(NOTIFIED).collect();
        batch.notified.clone_from(&others);
        let now = self.entry_time(&state);
        let (seen, check) = (state.replica.seen(), state.replica.check());
        state.in_flight = Some(batch);
        drop(state);

        let count = commands.len();
        let what = What::Commands(commands);
        let bytes = LogEntry { session: session.id, number, now, seen, check, what }.encode();
        let key = self.keys.entry(session.id, number);
        let last = self.keys.entry(session.id, number - 1);
        let hints = others.into_iter().map(|other| self.hint(other));
        let txn = Txn {
            compare: vec![
                Compare::Created(self.keys.session(session.id), session.created),
                Compare::Modified(self.keys.shape(), self.shape_revision),
                Compare::Modified(last, last_revision),
                Compare::Created(key.clone(), 0),
            ],
            then: self.entry_ops(&key, &bytes).into_iter().chain(hints).collect(),
            otherwise: vec![Read { keys_only: true, ..Read::key(key) }],
        };
        let sent_at = Clock::Real.now();
        let sent = self.send(&txn);
        self.counters.note_append(count, Clock::Real.now().saturating_sub(sent_at));

        let mut state = self.lock();
        let mut appended = 0;
        match sent {
            Sent::Done(revision, head) => {
                appended = revision;
                self.receive(&mut state, head, revision, bytes);
            }
            Sent::DoneBefore(revision) => appended = revision,
            Sent::NotDone => state.fail_in_flight(Error::Unavailable),
            Sent::Unknown => {
                self.lose_session();
                state.fail_in_flight(Error::Unavailable);
            }
        }
        while state.in_flight.is_some()
            && state.session.id == session.id
            && state.replica.revision < appended
            && self.session_lasts()
            && !self.is_closed()
        {
            state.contending_until = Clock::Real.now() + CONTENDING;
            let position = state.replica.position;
            if state.following.is_some() {
                state.wait(WATCH_DELAY);
            }
            if state.in_flight.is_none() || state.replica.position != position {
                continue;
            }
            drop(state);
            if self.catch_up().is_err() {
                rt::sleep(PAUSE);
            }
            state = self.lock();
        }
        // The session has ended, or may have ended, or another member used its number.
        state.fail_in_flight(self.refusal().unwrap_or(Error::Unavailable));
        state.expected = count + state.pending.len();
        state.appender = None;
        state.pass_on();
        self.changed.notify_all();
        state
    }

    /// The time of the next entry.
    pub fn entry_time(&self, state: &State) -> Time {
        self.clock.now().max(state.replica.table.now()).min(FOREVER - 1)
    }

    /// The writes of an entry.
    pub fn entry_ops(&self, key: &str, bytes: &[u8]) -> Vec<Op> {
        vec![
            Op::Put { key: key.to_owned(), value: bytes.to_vec(), session: None },
            Op::Swap { key: self.keys.head(), value: bytes.to_vec() },
        ]
    }

    /// Notifies another member of a change of its leases.
    pub fn hint(&self, session: i64) -> Op {
        Op::Put { key: self.keys.hint(session), value: Vec::new(), session: None }
    }

    /// Sends an append until its outcome is known or the session may have ended.
    fn send(&self, txn: &Txn) -> Sent {
        let mut unknown = false;
        let mut attempts = 0;
        loop {
            match self.store.txn(txn) {
                Ok(TxnReply::Done { revision, replaced }) => {
                    return Sent::Done(revision, replaced.into_iter().next().flatten());
                }
                Ok(TxnReply::Failed(found)) => {
                    if let Some(entry) = found.into_iter().flatten().next() {
                        return Sent::DoneBefore(entry.modified);
                    }
                    // The session has ended, or the table was replaced; the next renewal of the
                    // session or the next read finds out which.
                    self.set_stale();
                    return Sent::Unknown;
                }
                Err(StoreError::Unknown(_)) => unknown = true,
                Err(error) => {
                    attempts += 1;
                    if !unknown && (error.is_final() || attempts == ATTEMPTS) {
                        return Sent::NotDone;
                    }
                }
            }
            if self.is_closed() || !self.session_lasts() {
                return if unknown { Sent::Unknown } else { Sent::NotDone };
            }
            rt::sleep(PAUSE);
        }
    }

    /// Takes an entry that this member has appended at a revision, and `head` before that.
    pub fn receive(
        &self,
        state: &mut State,
        head: Option<Entry>,
        revision: Revision,
        bytes: Vec<u8>,
    ) {
        let before = head.as_ref().map_or(0, position_of);
        let replica = &state.replica;
        let consistent = match before.cmp(&replica.position) {
            // A watch has reported it already.
            Ordering::Less => revision <= replica.revision,
            Ordering::Equal => head.as_ref().is_none_or(|head| is_last(head, replica)),
            Ordering::Greater => true,
        };
        if !consistent {
            return self.refuse(Error::OtherStore);
        }
        if let Some(head) = head {
            state.early.insert(before, (head.modified, head.value));
        }
        state.early.insert(before + 1, (revision, bytes));
        self.apply_early(state);
    }

    /// Takes what listeners have reported.
    fn take_entries(&self, state: &mut State) {
        let entries = std::mem::take(&mut self.heard.lock().entries);
        if !entries.is_empty() {
            for (position, revision, bytes) in entries {
                state.early.insert(position, (revision, bytes));
            }
            self.apply_early(state);
        }
    }

    /// Applies the entries whose turn it is.
    pub fn apply_early(&self, state: &mut State) {
        let before = state.replica.position;
        state.early = state.early.split_off(&(before + 1));
        if !state.early.is_empty() {
            // Entries may end what was lost with the session before.
            self.note_loss(state);
        }
        while let Some((revision, bytes)) = state.early.remove(&(state.replica.position + 1)) {
            match state.replica.apply(revision, &bytes) {
                Ok(applied) => {
                    counters::add(&self.counters.applied, 1);
                    state.lag += self.clock.at_least(state.replica.table.now());
                    self.note_applied(state, applied);
                }
                Err(Stop::OtherLog) => return self.refuse(Error::OtherStore),
                Err(Stop::OtherRules | Stop::Diverged | Stop::Corrupt) => {
                    // No answer is right from here on.
                    state.replica.table.mark_corrupt();
                    return self.refuse(Error::Corrupt);
                }
            }
        }
        if state.replica.position != before {
            self.publish_changes(state);
        }
    }

    /// The replica has changed: wakes what waits for that.
    pub fn publish_changes(&self, state: &mut State) {
        let State { replica, waiters, wake, .. } = state;
        replica.table.take_decided(|place| waiters.take(place, wake));
        waiters.take_subscribers(replica.table.last_event(), wake);
        self.changed.notify_all();
    }

    /// What an entry means for this process.
    fn note_applied(&self, state: &mut State, applied: Applied) {
        let Joined { id, owner, .. } = state.session;
        let ends_due = state.ends_due;
        let own = state.replica.owner_of(id).is_some();
        let by_this = applied.author.is_some_and(|(session, _)| session == id)
            || applied.ended.is_some_and(|session| state.ending.remove(&session));
        let snapshots = self.store.entries_per_snapshot();
        let position = state.replica.position;
        if by_this
            && (position.is_multiple_of(snapshots)
                || position.saturating_sub(state.base.0) >= 4 * snapshots)
        {
            state.snapshot_due = true;
            self.wake_ticker();
        }
        let mut others = BTreeSet::new();
        for (lease, before) in &applied.moved {
            if *before == owner {
                state.ends.remove(lease);
            } else {
                others.insert(*before);
            }
            if own && state.replica.table.owner_of_lease(*lease) == Some(owner) {
                state.restart_end(*lease);
            }
        }
        match applied.effects {
            None => {
                state.find_ends();
                others.extend(state.replica.sessions().filter_map(|it| state.replica.owner_of(it)));
            }
            Some(effects) => {
                for effect in effects {
                    match effect {
                        Effect::Granted { lease, owner: to } if own && to == owner => {
                            state.begin_end(lease);
                        }
                        Effect::Ended { lease, owner: of } if of == owner => {
                            state.ends.remove(&lease);
                        }
                        Effect::Revoking { owner: of, .. } | Effect::Ended { owner: of, .. } => {
                            others.insert(of);
                        }
                        _ => {}
                    }
                }
            }
        }
        if by_this {
            others.remove(&owner);
            let sessions = others.iter().filter_map(|owner| state.replica.session_of(*owner));
            state.hints.extend(sessions);
            for session in state.in_flight.iter().flat_map(|batch| &batch.notified) {
                state.hints.remove(session);
            }
            if !state.hints.is_empty() {
                self.wake_ticker();
            }
        }
        if id != 0 && !own {
            self.lose_session();
        }
        if state.ends_due < ends_due {
            self.wake_ticker();
        }
        if let Some((session, number)) = applied.author
            && session == id
        {
            state.answer_in_flight(number);
        }
    }

    /// Applies reported entries on a thread of the store, if the lock is free.
    pub fn apply_heard(&self) {
        let Some(guard) = self.state.try_lock() else { return self.wake_ticker() };
        let mut state = Locked { member: self, guard: Some(guard) };
        let due = state.replica.table.next_due();
        self.take_entries(&mut state);
        let mut wake = std::mem::take(&mut state.wake);
        let is_due_earlier = state.replica.table.next_due() < due;
        drop(state);
        self.wake_later(&mut wake);
        if is_due_earlier {
            self.wake_ticker();
        }
    }

    /// Wakes threads. Other wakers may call the member or the store: the ticker calls them.
    fn wake_later(&self, wake: &mut WakeList) {
        wake.wake_threads();
        if !wake.is_empty() {
            self.heard.lock().wake.append(std::mem::take(wake));
            self.wake_ticker();
        }
    }

    /// Calls the wakers that a listener of the store has left.
    pub fn wake_heard(&self) {
        let wake = std::mem::take(&mut self.heard.lock().wake);
        wake.wake();
    }

    /// May the replica lack something that was reported? Asked once for each report.
    pub fn take_stale(&self) -> bool {
        std::mem::take(&mut self.heard.lock().stale)
    }

    pub fn set_stale(&self) {
        self.heard.lock().stale = true;
    }

    /// The sessions that have ended and are not known to have ended in the log.
    pub fn take_ended(&self) -> BTreeSet<i64> {
        std::mem::take(&mut self.heard.lock().ended)
    }

    pub fn add_ended(&self, sessions: impl IntoIterator<Item = i64>) {
        self.heard.lock().ended.extend(sessions);
    }

    pub fn take_missed_ends(&self) -> bool {
        std::mem::take(&mut self.heard.lock().missed_ends)
    }

    pub fn set_missed_ends(&self) {
        self.heard.lock().missed_ends = true;
    }
}

impl State {
    /// Does something of this process depend on entries of others?
    pub fn is_awaited(&self) -> bool {
        !self.tickets.is_empty() || self.waiters.is_registered()
    }

    /// The first time at which a claim of this process stops waiting.
    pub fn first_wait_end(&self) -> Time {
        let memory = self.replica.table.memory();
        let ends = self.tickets.iter().filter_map(|ticket| wait_end(memory, *ticket));
        ends.min().unwrap_or(FOREVER)
    }

    /// A ticket was collected here: the log learns it with the next entry.
    pub fn collect(&mut self, ticket: TicketId) {
        if self.collected.is_empty() {
            self.collected_at = Clock::Real.now();
        }
        if !self.collected.contains(&ticket) {
            self.collected.push(ticket);
        }
    }

    /// Threads and tasks that wait in this process look again.
    pub fn wake_wakers(&mut self) {
        self.waiters.take_wakers(&mut self.wake);
        self.waiters.take_all_subscribers(&mut self.wake);
    }

    /// All that waits in this process looks again.
    pub fn wake_all(&mut self) {
        self.waiters.take_all(&mut self.wake);
    }

    fn enqueue(&mut self, command: Vec<u8>) -> u64 {
        self.last_call += 1;
        self.pending.push_back((self.last_call, command));
        let call = Call { caller: park_waker(), reply: None };
        self.calls.insert(self.last_call, call);
        self.last_call
    }

    fn answer(&mut self, call: u64, reply: Result<AnyReply, Error>) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.reply = Some(reply);
            self.wake.push(call.caller.clone());
        }
    }

    fn take_reply(&mut self, call: u64) -> Option<Result<AnyReply, Error>> {
        let reply = self.calls.get_mut(&call)?.reply.take()?;
        self.calls.remove(&call);
        Some(reply)
    }

    /// The thread of the first pending command appends the next batch. It is woken last, so that
    /// the others may add to it.
    fn pass_on(&mut self) {
        self.next = self.pending.front().map(|(call, _)| *call);
        self.appending = self.next.is_some();
        if let Some(call) = self.next.and_then(|call| self.calls.get(&call)) {
            self.wake.push(call.caller.clone());
        }
    }

    /// The next batch and its commands.
    fn take_batch(&mut self) -> (InFlight, Vec<Vec<u8>>) {
        let collected = std::mem::take(&mut self.collected);
        let mut commands: Vec<Vec<u8>> = collected
            .iter()
            .map(|ticket| {
                let mut command = Vec::new();
                codec::encode(&Collect::<Picks>::new(*ticket), &mut command);
                command
            })
            .collect();
        // No call waits for the replies to these.
        let mut calls = vec![0; commands.len()];
        let mut bytes = 0;
        while let Some((_, command)) = self.pending.front() {
            bytes += command.len();
            if commands.len() > collected.len()
                && (bytes > BATCH_BYTES || calls.len() >= BATCH_COMMANDS)
            {
                break;
            }
            let Some((call, command)) = self.pending.pop_front() else { break };
            calls.push(call);
            commands.push(command);
        }
        let notified = BTreeSet::new();
        let last = self.replica.last_of(self.session.id).map_or(0, |(last, _)| last);
        (InFlight { number: last + 1, calls, collected, notified }, commands)
    }

    /// The commands in flight, if there are any, get this reply.
    fn fail_in_flight(&mut self, error: Error) {
        if let Some(batch) = self.in_flight.take() {
            for call in batch.calls {
                self.answer(call, Err(error));
            }
            self.collected.extend(batch.collected);
        }
    }

    /// The commands of the batch in flight, if it has this number, get the replies of the replica.
    pub fn answer_in_flight(&mut self, number: u64) {
        if let Some(batch) = self.in_flight.take_if(|batch| batch.number == number) {
            let replies = self.replica.replies_to(self.session.id).to_vec();
            let mut replies = replies.into_iter();
            for call in batch.calls {
                // Another entry has this number only in a damaged log.
                self.answer(call, replies.next().ok_or(Error::Corrupt));
            }
        }
    }

    /// Is each new entry reported by the store?
    pub fn is_following(&self) -> bool {
        self.following.is_some()
    }

    /// The session that has the lease that an encoded command changes, if it is another one.
    fn other_session_of(&self, command: &[u8]) -> Option<i64> {
        let owner = self.replica.table.owner_of_lease(lease_in(command)?)?;
        self.replica.session_of(owner).filter(|session| *session != self.session.id)
    }
}

/// The lease that an encoded command changes.
pub(super) fn lease_in(command: &[u8]) -> Option<LeaseId> {
    let (head, mut rest) = command.split_at_checked(2)?;
    LEASE_COMMANDS.contains(&head[1]).then(|| LeaseId::take(&mut rest).ok())?
}

/// Is this `head` the last entry that the replica has applied?
pub(super) fn is_last(head: &Entry, replica: &Replica) -> bool {
    head.modified == replica.revision && hash_of(&head.value, 0) == replica.seen().1
}

/// The position of the entry in `head`.
pub(super) fn position_of(head: &Entry) -> u64 {
    head.version as u64
}

/// The position of the snapshot that `base` names.
pub(super) fn number_in(base: &Entry) -> Option<u64> {
    Some(u64::from_le_bytes(base.value.as_slice().try_into().ok()?))
}
