//! A table with its lock, its clock and its waiters.
//!
//! One lock guards the table. What a release frees is given to the first ticket it serves before the lock is free again, and
//! only that ticket's waiter is woken, after the lock is free: nobody barges in, nobody wakes for nothing. The woken waiter reads
//! its lease from the ticket without the lock.
//!
//! One whose table lies in a file (`shared.rs`) does all that, and the same for the other processes that use the file.

#[cfg(target_os = "linux")]
mod attached;
#[cfg(feature = "cluster")]
mod clustered;
mod guard;
#[cfg(feature = "cluster")]
mod held;
#[cfg(feature = "cluster")]
mod joined;
mod keeper;
#[cfg(feature = "cluster")]
mod lost;
#[cfg(feature = "cluster")]
mod published;
mod quick;
#[cfg(feature = "cluster")]
mod returned;
#[cfg(target_os = "linux")]
mod shared;
mod telling;
mod waiting;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Dropped;
use super::actor;
use super::arrays::{Arrays, NoUndo, Undo, try_new_table};
use super::clock::Clock;
#[cfg(feature = "cluster")]
use super::cluster::{Conditions, Group, Part};
#[cfg(target_os = "linux")]
use super::host::Host;
use super::wake::{Listeners, Wakers, Woken};
use super::world::{self, JoinHandle, Mutex};
use crate::table::command::{GrantDetail, Place, Withdraw};
use crate::table::{
    Cancelled, Claim, Command, Error, FOREVER, Placed, Query, Settings, Table, TicketId, Time,
    first_sequence,
};
use guard::Guard;

/// A table with its lock, its clock and its waiters.
#[derive(Debug)]
pub(crate) struct Core<U: Undo> {
    /// For the keeper, which is started wherever somebody begins to wait.
    me: Weak<Core<U>>,
    memory: Arrays<U>,
    clock: Clock,
    state: Mutex<State<U>>,
    keeper_refused: AtomicBool,
    abandoned: AtomicBool,
    /// The file in which the table lies, if others share it.
    #[cfg(target_os = "linux")]
    host: Option<Host>,
    /// This process's part in a table that many machines share.
    #[cfg(feature = "cluster")]
    part: Option<Part>,
}

#[derive(Debug)]
struct State<U: Undo> {
    table: Table<Arrays<U>>,
    wakers: Wakers,
    listeners: Listeners,
    /// Until when the keeper sleeps; `None` while there is no keeper.
    keeper_until: Option<Time>,
    keeper: Option<JoinHandle<()>>,
    /// The number of the last event that this process told others of who share the table.
    #[cfg(target_os = "linux")]
    told_others: u64,
    /// A panic has cut short a command on a shared table: this process must not use it any more.
    #[cfg(target_os = "linux")]
    spoiled: bool,
    closing: bool,
    #[cfg(feature = "cluster")]
    session_watcher: Option<JoinHandle<()>>,
    /// What the other machines do not know yet.
    #[cfg(feature = "cluster")]
    group: Option<Group>,
}

impl<U: Undo> State<U> {
    fn wake_keeper(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.thread().unpark();
        }
    }

    /// This process must not use the table any more. Others who share it may.
    fn spoil(&mut self) {
        #[cfg(target_os = "linux")]
        if U::SHARED {
            self.spoiled = true;
            return;
        }
        self.table.mark_corrupt();
    }

    /// May what is in this record be undone, because the other machines do not know it yet?
    #[cfg(feature = "cluster")]
    fn is_under_way<T>(&self, record: Option<&T>) -> bool {
        self.group.as_ref().zip(record).is_some_and(|(group, record)| group.is_about(record))
    }

    /// Does anybody want to know of what time brings, without calling?
    fn anybody_waits(&self) -> bool {
        self.table.waiting() != 0 || !self.listeners.is_empty()
    }
}

/// How far a table may be ahead of the clock of a process, in microseconds: far more than clocks differ.
#[cfg(target_os = "linux")]
const AHEAD: Time = 1_000_000;

/// How often those who wait look at the clock if there is nobody else to do it.
const LOOK: Duration = Duration::from_millis(10);

/// No id of any table of this process is larger.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// Numbers for the ids of one table: no other table of this process gets the same ids, so that none takes another's for its own.
fn numbers(bits: u32) -> Range<u64> {
    // So many ids, which a clock passes in 1/64 of a second.
    let count = (1 << 25 >> bits).max(16);
    let range = |last: u64| (last >> bits) + 1..(last >> bits) + 1 + count;
    let next = |last| Some(range(last).end << bits);
    let (Ok(last) | Err(last)) = LAST_ID.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    range(last)
}

impl Core<NoUndo> {
    /// A fresh table; `None` if the system does not give the memory. With a real clock ids go on growing from table to
    /// table: from the wall clock, and within this process from whatever was given out before.
    pub fn try_new(mut settings: Settings, real_clock: bool) -> Option<Arc<Self>> {
        settings.numbers = Some(numbers);
        if real_clock {
            let since_1970 = world::since_1970();
            let bits = settings.limits.sizes().id_bits();
            let first = first_sequence(settings.limits, since_1970) << bits;
            LAST_ID.fetch_max(first, Ordering::AcqRel);
        }
        let table = try_new_table(settings)?;
        table.act_as(0, actor::of_process());
        let clock = if real_clock { Clock::Real } else { Clock::Ticks(AtomicU64::new(0)) };
        Some(Arc::new_cyclic(|me| Core::around(me, table, clock)))
    }
}

impl<U: Undo> Core<U> {
    fn around(me: &Weak<Core<U>>, table: Table<Arrays<U>>, clock: Clock) -> Self {
        let memory = table.memory().clone();
        let state = State {
            table,
            wakers: Wakers::default(),
            listeners: Listeners::default(),
            keeper_until: None,
            keeper: None,
            #[cfg(target_os = "linux")]
            told_others: 0,
            #[cfg(target_os = "linux")]
            spoiled: false,
            closing: false,
            #[cfg(feature = "cluster")]
            session_watcher: None,
            #[cfg(feature = "cluster")]
            group: None,
        };
        Core {
            me: me.clone(),
            memory,
            clock,
            state: Mutex::new(state),
            keeper_refused: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            #[cfg(target_os = "linux")]
            host: None,
            #[cfg(feature = "cluster")]
            part: None,
        }
    }

    /// This process's part in a table that many machines share.
    #[cfg(feature = "cluster")]
    #[inline(always)]
    fn part(&self) -> Option<&Part> {
        if U::SHARED { self.part.as_ref() } else { None }
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The file in which the table lies.
    #[cfg(target_os = "linux")]
    #[inline(always)]
    fn host(&self) -> Option<&Host> {
        // Known when it is compiled, so that a table of one process does not ask.
        if U::SHARED { self.host.as_ref() } else { None }
    }

    /// Do other processes use the table too?
    pub fn is_shared(&self) -> bool {
        self.owner() != 0
    }

    /// The number of this process among those that share the table; 0 if it is alone.
    #[inline(always)]
    pub fn owner(&self) -> u16 {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return host.owner();
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return part.owner();
        }
        0
    }

    /// Runs one command on the table, and wakes whoever that served.
    #[inline(always)]
    pub fn run<T>(&self, mut command: impl FnMut(&Table<Arrays<U>>, Time) -> T) -> T {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.run_clustered(part, Conditions::default, command);
        }
        let state = self.lock();
        let now = self.time_for(&state);
        let answer = command(&state.table, now);
        if state.must_hand_over() {
            self.hand_over(state);
        }
        answer
    }

    /// Runs a command.
    #[inline(always)]
    pub fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        self.run(|table, now| table.apply(command, now))
    }

    /// Answers a query at the present time.
    #[inline(always)]
    pub fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        self.look(|table| query.answer(table))
    }

    /// Answers a query by what is known here: time does not move on.
    #[inline(always)]
    pub fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        self.peek(|table| query.answer(table))
    }

    /// Asks for a lease, for this process.
    #[inline(always)]
    pub fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.claim_shared(host, claim);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.claim_clustered(part, claim);
        }
        self.execute(&Place::new(claim))
    }

    /// Gives something back. If the engine of a table that machines share cannot be reached, that is an error, and it happens as soon as it can be.
    #[inline(always)]
    pub fn let_go(&self, dropped: Dropped) -> Result<(), Error> {
        self.or_later(dropped, self.run(|table, now| dropped.give_back(table, now)))
    }

    /// As [`let_go`](Self::let_go), for a claim; what it was.
    pub fn withdraw(&self, id: TicketId) -> Result<Cancelled, Error> {
        self.or_later(Dropped::Ticket(id), self.execute(&Withdraw { ticket: id }))
    }

    #[inline(always)]
    fn or_later<T>(&self, _dropped: Dropped, given: Result<T, Error>) -> Result<T, Error> {
        #[cfg(feature = "cluster")]
        if U::SHARED && matches!(given, Err(clustered::UNREACHABLE)) {
            self.let_go_later(_dropped);
        }
        given
    }

    /// Looks at the table as it is now.
    pub fn look<T>(&self, query: impl FnOnce(&Table<Arrays<U>>) -> T) -> T {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            self.reap(host);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            self.bring_up_to_date(part);
            return query(&self.lock().table);
        }
        let state = self.lock();
        let now = self.time_for(&state);
        // Fails only for a time beyond all times, and then looking is still right.
        let _ = state.table.advance(now);
        let answer = query(&state.table);
        if state.must_hand_over() {
            self.hand_over(state);
        }
        answer
    }

    /// The time of a command. Another thread may have read the clock later and run its command earlier.
    #[inline(always)]
    fn time_for(&self, guard: &Guard<'_, U>) -> Time {
        let clock = self.clock.now();
        let now = clock.max(guard.table.now());
        #[cfg(target_os = "linux")]
        if U::SHARED
            && let Some(host) = guard.host
        {
            host.note_time(now);
            // All have one clock: a table that is ahead of it would have everybody wait until its time has come.
            if now - clock > AHEAD {
                guard.table.mark_corrupt();
            }
        }
        now
    }

    /// After a command that left, or had, tickets, or that somebody listens to: time may have moved on meanwhile, the keeper may have to start or to
    /// get up earlier, and those that were served are woken.
    #[cold]
    fn hand_over(&self, mut guard: Guard<'_, U>) {
        let goes_on = !guard.closing && guard.anybody_waits();
        if goes_on && guard.table.next_due() != FOREVER {
            let now = self.time_for(&guard);
            if now >= guard.table.next_due() {
                // Fails only for a time beyond all times; the next command says so.
                let _ = guard.table.advance(now);
            }
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return shared::hand_over(host, guard);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            drop(guard);
            return part.hearing.wake_keeper();
        }
        let mut woken = Woken::default();
        let state = &mut *guard;
        let State { table, wakers, listeners, .. } = state;
        table.take_decided(|place| wakers.take(place, &mut woken));
        listeners.take(table.last_event(), &mut woken);
        let mut start_keeper = false;
        if goes_on && self.clock.is_real() {
            match state.keeper_until {
                None => {
                    state.keeper_until = Some(0);
                    start_keeper = true;
                }
                Some(until) if state.table.next_due() < until => state.wake_keeper(),
                Some(_) => {}
            }
        }
        drop(guard);
        if start_keeper {
            self.start_keeper();
        }
        woken.wake();
    }

    /// Has the last user of the table gone?
    pub fn is_closed(&self) -> bool {
        self.is_forked() || self.state.lock().closing
    }

    /// Acts while no thread of this process has the table.
    #[cfg(target_os = "linux")]
    pub fn at_rest(&self, act: &mut dyn FnMut()) {
        // A forked child has no other threads, and never gets what they had locked.
        let _state = (!self.is_forked()).then(|| self.state.lock());
        act();
    }

    /// Was the table of others when this process was forked? Then it must not touch anything, its own memory included: a fork may have cut short any change of it.
    fn is_forked(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return host.is_forked();
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return part.is_forked();
        }
        false
    }

    /// A command was cut short by a panic: the table can no longer be trusted, and nobody waits for it in vain.
    pub fn abandon(&self) {
        if self.is_forked() {
            return;
        }
        let mut woken = Woken::default();
        let mut state = self.lock();
        state.spoil();
        self.abandoned.store(true, Ordering::Release);
        state.wakers.take_all(&mut woken);
        state.listeners.take_all(&mut woken);
        drop(state);
        woken.wake();
    }

    /// Looks at what does not change with time.
    #[inline(always)]
    pub fn peek<T>(&self, query: impl FnOnce(&Table<Arrays<U>>) -> T) -> T {
        query(&self.lock().table)
    }

    /// Will a ticket that waits never be decided?
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// An error if nobody looks at the clock, so that what is told by descriptors alone would never be told.
    #[cfg(target_os = "linux")]
    pub fn check_keeper(&self) -> Result<(), Error> {
        match self.keeper_refused.load(Ordering::Acquire) {
            true => Err(Error::System(libc::EAGAIN)),
            false => Ok(()),
        }
    }

    /// Until when to sleep before looking at the clock oneself: as long as one likes, unless the system refused to start a keeper.
    pub fn look_by(&self, until: Option<Instant>) -> Option<Instant> {
        if !self.keeper_refused.load(Ordering::Acquire) {
            return until;
        }
        let soon = world::instant() + LOOK;
        Some(until.map_or(soon, |until| until.min(soon)))
    }
}
