//! The home of a table that the processes of one machine share in a file.
//!
//! Data structure: the table lies in the file. This process has its own view of it, with the
//! waiters and subscribers of its threads, behind a mutex; and a ticker, which runs what is due.
//!
//! Locking rule: a command takes the mutex of this process, then the lock of the file
//! ([`HostHome::lock`]). Wakers are called with neither.
//!
//! A command is: lock, roll back what a dead owner of the lock had begun, apply, commit, unlock,
//! notify. While it runs, the journal in the file has what it overwrites. Dropping the [`Guard`]
//! commits; if a panic cuts the command short, it rolls back.
//!
//! Invariants:
//!
//! 1. *`lock` returns a guard only to a table that is consistent*, and an error before anything is
//!    touched otherwise.
//! 2. *Reads without the lock return what is committed* (`read_committed.rs`).
//! 3. *A forked child touches nothing:* a thread that does not exist in the child may have had the
//!    mutex. Every entry checks that first.
//! 4. *A thread that waits for a ticket sleeps until a notification or a deadline*
//!    ([`HostHome::wait_ticket`]). It parks on the ticket in the file and on `alarm`:
//!
//! | what ends the wait | who notifies |
//! |---|---|
//! | a command resolves the ticket | its process, after it has unlocked |
//! | that process was killed before | the next owner of its lock, or the process that reaps it |
//! | that process was stopped before | the ticker of this process, when it checks the file |
//! | the home is closed, or a panic poisons it | that thread, by the alarm |
//! | the table is corrupt, its file is lost | the ticker of this process, by the alarm |
//! | the claim or the caller waits no longer | no process: the thread knows both times |
//! | a lease ends, its holder dies | a command: the ticker runs it, unless another is earlier |
//!
//! The kernel does not count the time for which the machine was suspended. After it, the ticker
//! ends the claim, when it checks the file.
//!
//! The ticker must watch while a thread waits: a thread that parks puts its ticket on the list
//! `parked` and then wakes the ticker if that watches nothing; the ticker says that it watches
//! nothing before it reads the list.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::layout::slot_state;
use super::liveness::Inherited;
use super::lock::Acquired;
use super::{Attachment, FILE_CHECK_INTERVAL, HostInfo, HostPath, Journal, owner_of};
use crate::home::clock::Clock;
use crate::home::event_fd::EventFd;
use crate::home::lifecycle::{Lifecycle, Steps};
use crate::home::open::OpenError;
use crate::home::read_committed::{Dirty, ReadCommitted};
use crate::home::ticker::{self, Ticked, Ticker};
use crate::home::waiters::{Subscription, Waiters, WakeList, WakerKind};
use crate::home::{Home, HomeError, HostOps, actor};
use crate::memory::{Arrays, UndoLog};
use crate::rt::atomic::{AtomicU32, Ordering};
use crate::rt::{self, Mutex, MutexGuard};
use crate::table::command::{
    Collected, GrantDetail, Place as PlaceClaim, ReapOwner, Renew, SetPrincipal, Transfer,
};
use crate::table::query::{HeldCount, LeaseById};
use crate::table::{
    self, Claim, Command, Error, FOREVER, Issuer, LeaseId, LeaseInfo, LeaseState, Memory, Outcome,
    Placed, Query, Reason, Settings, Table, TicketId, TicketState, Time, first_sequence,
};

/// How long a command waits for a process that has the lock of the file and does not run.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a thread waits for that lock after the wait of its claim is over.
const END_LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// How often a read without the lock is tried again while a command runs, before it takes the lock.
const READ_TRIES: u32 = 64;

/// How far a table may be ahead of the clock of a process, in microseconds: far more than the
/// clocks of two processors differ.
const CLOCK_SKEW_MAX: Time = 1_000_000;

/// How often the ticker runs what is due while no thread of its process waits.
const IDLE_INTERVAL: Duration = Duration::from_secs(5);

/// The interval at which the ticker retries what is due and failed.
const OVERDUE_INTERVAL: Duration = Duration::from_millis(1);

/// How often the ticker checks whether inherited leases have ended, which no event announces.
const INHERITED_POLL: Duration = Duration::from_millis(20);

type HostTable = Table<Arrays<Journal>>;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct HostHome {
    memory: Arrays<Journal>,
    host: Attachment,
    issuer: Issuer,
    steps: Steps,
    state: Mutex<State>,
    ticker: Ticker,
    /// Changes when tickets will not be resolved by a command any more. Threads park on it.
    alarm: AtomicU32,
    /// The places of the tickets that threads of this process park on.
    parked: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct State {
    table: HostTable,
    waiters: Waiters,
    /// The number of the last event of which other processes were notified.
    published_event: u64,
    /// The ticker has raised the alarm.
    alarmed: bool,
}

/// Holds the mutex of this process and the lock of the file.
struct Guard<'a> {
    home: &'a HostHome,
    state: ManuallyDrop<MutexGuard<'a, State>>,
    /// The thread was unwinding when it took the lock: that panic does not cut the command short.
    unwinding: bool,
    /// The next deadline when the lock was taken; after a recovery, later than all.
    due: Time,
}

impl Deref for Guard<'_> {
    type Target = State;
    #[inline(always)]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Guard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let host = &self.home.host;
        let cut_short = std::thread::panicking() && !self.unwinding;
        if cut_short || self.table.is_corrupt() {
            self.home.roll_back_own(cut_short);
        } else {
            self.home.journal().commit();
        }
        host.unlock();
        // SAFETY: it is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}

/// Opening and closing.
impl HostHome {
    /// The home of the table in a file, which is made with these settings if there is none.
    pub fn open(path: HostPath, mut settings: Settings) -> Result<Arc<Self>, OpenError> {
        settings.first_sequence = first_sequence(settings.limits, rt::since_1970());
        let host = Attachment::attach(path, settings)?;
        settings.limits = host.file.limits;
        let memory = host.file.arrays.clone();
        let table = Table::try_attach(memory.clone(), settings).ok_or_else(OpenError::no_memory)?;
        let waiters = Waiters::default();
        let issuer = Issuer::new(host.owner(), actor::of_process());
        let home = Arc::new(HostHome {
            memory,
            host,
            issuer,
            steps: Steps::default(),
            state: Mutex::new(State { table, waiters, published_event: 0, alarmed: false }),
            ticker: Ticker::default(),
            alarm: AtomicU32::new(0),
            parked: Mutex::new(Vec::new()),
        });
        let attached = home.finish_attach().and_then(|()| {
            home.start_ticker().map_err(|error| {
                OpenError::system("the system does not start the thread that it needs", &error)
            })
        });
        match attached {
            Ok(()) => Ok(home),
            Err(refused) => {
                home.close();
                Err(refused)
            }
        }
    }

    /// Checks the table, reaps the stale owner of the slot, and makes the slot this process's own.
    fn finish_attach(&self) -> Result<(), OpenError> {
        let host = &self.host;
        let stuck = "a process that uses it has its lock and does not go on; continue or end it";
        let state = self.lock(LOCK_TIMEOUT).map_err(|error| match error {
            HomeError::LockTimeout { .. } => OpenError::lock_timeout(stuck),
            _ => OpenError::corrupt(),
        })?;
        if state.table.verify().is_err() {
            state.table.mark_corrupt();
            return Err(OpenError::corrupt());
        }
        let now = self.now(&state);
        self.reap_stale_owner(&state.table, host.slot, now);
        // Fails only if the table is damaged, which the next command reports.
        let _ = state.table.apply(self.issuer, &SetPrincipal { owner: host.owner() }, now);
        host.finish_attach(now);
        Ok(())
    }

    /// The end of the ticker's thread announces the end of this process, so the kernel has to know
    /// the thread before the process waits for anything.
    fn start_ticker(self: &Arc<Self>) -> std::io::Result<()> {
        let system =
            |number: Option<i32>| std::io::Error::from_raw_os_error(number.unwrap_or(libc::EAGAIN));
        let (sender, started) = mpsc::channel();
        let home = self.clone();
        self.ticker.start_with("tern-ticker", move || {
            let armed = home.host.own_slot().life.arm();
            let _ = sender.send(armed.as_ref().map(|_| ()).map_err(|error| error.raw_os_error()));
            if armed.is_ok() {
                ticker::run(&*home);
            }
        })?;
        started.recv().unwrap_or(Err(None)).map_err(system)
    }

    /// Withdraws the claims of this process, ends its leases and frees its slot.
    fn detach(&self) {
        let host = &self.host;
        if host.is_detached() {
            return;
        }
        if let Ok(state) = self.lock(LOCK_TIMEOUT) {
            // Fails only if the table is damaged, and then there is nothing to give back.
            let now = self.now(&state);
            let (owner, reason) = (host.owner(), Reason::Released);
            let reap = ReapOwner { owner, reason, limit: u32::MAX };
            let _ = state.table.apply(self.issuer, &reap, now);
            self.unlock_and_notify(state);
        }
        host.own_slot().notify();
        self.ticker.join();
        if let Ok(_state) = self.lock(LOCK_TIMEOUT) {
            host.free_slot(host.slot);
        }
        host.detach();
    }
}

/// The lock.
impl HostHome {
    fn journal(&self) -> &Journal {
        &self.host.file.journal
    }

    /// Takes the mutex and the lock. Waits at most so long for a process that has the lock and does
    /// not run.
    #[inline(always)]
    fn lock(&self, limit: Duration) -> Result<Guard<'_>, HomeError> {
        let host = &self.host;
        if host.is_forked() {
            return Err(HomeError::Forked);
        }
        let state = self.state.lock();
        if host.is_detached() {
            return Err(HomeError::Closed);
        }
        if self.steps.is_poisoned() {
            return Err(HomeError::Poisoned);
        }
        match host.lock(limit) {
            Ok(acquired) => {
                let unwinding = std::thread::panicking();
                let due = state.table.next_due();
                let state = ManuallyDrop::new(state);
                let mut guard = Guard { home: self, state, unwinding, due };
                if acquired != Acquired::Clean || !self.journal().is_empty() || !host.is_sound() {
                    self.recover(&guard.table, acquired);
                    guard.due = Time::MAX;
                    if guard.table.is_corrupt() {
                        // The guard poisons the home as it is dropped.
                        return Err(HomeError::Poisoned);
                    }
                }
                Ok(guard)
            }
            Err(_) if host.is_lost() => Err(HomeError::EngineLost),
            Err(timeout) => Err(HomeError::LockTimeout { process: host.process_of(timeout.word) }),
        }
    }

    /// The last owner of the lock died, or the table is damaged or lost.
    #[cold]
    fn recover(&self, table: &HostTable, acquired: Acquired) {
        let host = &self.host;
        if host.is_corrupt() {
            return table.mark_corrupt();
        }
        if !self.journal().is_empty() {
            if self.journal().roll_back().is_err() || table.verify().is_err() {
                return table.mark_corrupt();
            }
            let process = match acquired {
                Acquired::OwnerDied { word } => host.process_of(word),
                Acquired::Clean => 0,
            };
            table.record_roll_back(Clock::Real.now().max(table.now()), process);
            self.journal().commit();
        }
        if acquired != Acquired::Clean {
            self.notify_uncollected(table);
        }
        // Before any other command: a release would grant what it frees to a waiter.
        if host.is_lost() && (table.held() != 0 || table.waiting() != 0) {
            // Fails only if the table is damaged, which marks it so.
            let _ = table.end_all(Clock::Real.now().max(table.now()), Reason::EngineLost);
            self.journal().commit();
        }
    }

    /// Rolls back a command of this process that a panic has cut short, or that found the table
    /// damaged. What this process itself has noted of the table is not rolled back, so it is
    /// poisoned.
    #[cold]
    fn roll_back_own(&self, cut_short: bool) {
        let rolled_back = self.journal().is_empty() || self.journal().roll_back().is_ok();
        if !rolled_back || !cut_short {
            self.host.mark_corrupt();
        }
        self.steps.poison();
        self.wake_parked();
        // Wakers are called by the ticker: this thread has the locks.
        self.host.own_slot().notify();
    }

    /// Reads the table with the lock; without, if the lock cannot be had.
    fn read<T>(&self, read: impl FnOnce(&HostTable) -> T) -> T {
        match self.lock(LOCK_TIMEOUT) {
            Ok(state) => read(&state.table),
            Err(_) => self.read_unlocked(read),
        }
    }

    /// Reads the table of a home whose lock cannot be had. The answer may mix two states.
    #[cold]
    fn read_unlocked<T>(&self, read: impl FnOnce(&HostTable) -> T) -> T {
        if self.host.is_forked() {
            // SAFETY: a forked child has one thread, and this reads cells, which no thread changes.
            let state = unsafe { &*self.state.data_ptr() };
            return state.table.read_unlocked(read);
        }
        self.state.lock().table.read_unlocked(read)
    }

    /// The time of a command.
    #[inline(always)]
    fn now(&self, state: &State) -> Time {
        let clock = Clock::Real.now();
        let now = clock.max(state.table.now());
        // The time of acquisition: waiters use it to detect a stuck owner.
        self.host.file.preamble.since.store(now, Ordering::Relaxed);
        // All processes have one clock. A table that is ahead of it would make all leases last
        // until the clock has reached it.
        if now - clock > CLOCK_SKEW_MAX {
            state.table.mark_corrupt();
        }
        now
    }

    #[inline(always)]
    fn run<T>(
        &self,
        limit: Duration,
        command: impl FnOnce(&HostTable, Time) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = self.lock(limit)?;
        let reply = command(&state.table, self.now(&state));
        self.unlock(state);
        reply
    }

    /// Commits, unlocks, and notifies what a command has to.
    #[inline(always)]
    fn unlock(&self, state: Guard<'_>) {
        if self.host.has_event_readers()
            || state.table.any_decided()
            || state.table.waiting() != 0
            || state.waiters.has_subscribers()
        {
            self.unlock_and_notify(state);
        }
    }

    #[cold]
    fn unlock_and_notify(&self, mut state: Guard<'_>) {
        let host = &self.host;
        let awaited = state.table.waiting() != 0 || state.waiters.has_subscribers();
        if awaited && !self.steps.is_closed() {
            let now = self.now(&state);
            if now >= state.table.next_due() {
                // Fails only for a time beyond all times, which the next command reports.
                let _ = state.table.advance(now);
            }
        }
        let mut wake = WakeList::default();
        let mut resolved = Vec::new();
        let State { table, waiters, .. } = &mut *state;
        table.take_decided(|place| {
            waiters.take(place, &mut wake);
            resolved.push((place, table.owner_of_place(place)));
        });
        waiters.take_subscribers(table.last_event(), &mut wake);
        let (next_due, last_event) = (table.next_due(), table.last_event());
        let due = state.due;
        let has_events = std::mem::replace(&mut state.published_event, last_event) != last_event;
        drop(state);
        for (place, owner) in resolved {
            host.notify_ticket(place);
            if owner != host.owner() {
                host.notify_owner(owner);
            }
        }
        host.notify_processes(has_events, (next_due < due).then_some(next_due));
        wake.wake();
    }
}

/// Dead processes.
impl HostHome {
    /// Ends the leases and claims of dead processes. Returns whether there were any. Takes the lock
    /// only if a process may be dead.
    fn reap(&self) -> bool {
        let host = &self.host;
        if host.is_forked() || host.is_detached() || !host.has_suspects() {
            return false;
        }
        let Ok(state) = self.lock(LOCK_TIMEOUT) else { return false };
        let now = self.now(&state);
        let dead = host.dead_slots();
        dead.iter().for_each(|&slot| self.reap_slot(&state.table, slot, now));
        self.unlock_and_notify(state);
        !dead.is_empty()
    }

    fn reap_stale_owner(&self, table: &HostTable, slot: usize, now: Time) {
        if self.host.has_stale_owner(slot) {
            self.reap_slot(table, slot, now);
        }
    }

    /// Ends the leases and claims of the owner of this slot, and frees the slot.
    fn reap_slot(&self, table: &HostTable, slot: usize, now: Time) {
        let host = &self.host;
        let Ok(reaped) = table.reap(now, owner_of(slot), Reason::HolderDied) else { return };
        // An inherited owner without leases has ended normally.
        let died = !host.is_inherited(slot) || reaped.leases != 0;
        if died {
            table.record_death(now, host.file.slots[slot].process.load(Ordering::Relaxed), reaped);
        }
        self.journal().commit();
        if died {
            host.file.preamble.deaths.fetch_add(1, Ordering::AcqRel);
        }
        host.free_slot(slot);
        self.notify_uncollected(table);
    }

    /// Notifies the owners of all resolved tickets that were not collected: a process that died may
    /// have died between the commit of a command and its notifications.
    fn notify_uncollected(&self, table: &HostTable) {
        table.each_untold(|place| {
            self.host.notify_ticket(place);
            self.host.notify_owner(table.owner_of_place(place));
        });
    }
}

/// Waiting.
impl HostHome {
    /// Wakes all waiters of this process: what they wait for will not happen.
    fn raise_alarm(&self, waiters: &mut Waiters, wake: &mut WakeList) {
        waiters.take_all(wake);
        self.wake_parked();
    }

    /// Wakes the threads of this process that wait for tickets, after the change that they must
    /// see.
    fn wake_parked(&self) {
        self.alarm.fetch_add(1, Ordering::Release);
        self.host.wake_private(&self.alarm);
    }

    /// Ends the home by this step, and wakes all waiters.
    fn end(&self, step: impl FnOnce(&Steps)) {
        let mut wake = WakeList::default();
        step(&self.steps);
        self.raise_alarm(&mut self.state.lock().waiters, &mut wake);
        wake.wake();
    }

    /// Puts a ticket on the list of parked tickets, and makes the ticker watch.
    fn park_on(&self, place: usize) -> Parked<'_> {
        self.parked.lock().push(place);
        self.host.wake_idle_ticker();
        Parked { home: self, place }
    }

    /// The state of a ticket, which in a lost table is refused.
    fn unless_lost(&self, state: Option<TicketState>) -> Option<TicketState> {
        let lost = match state {
            Some(TicketState::Waiting) => self.host.is_lost(),
            None => self.host.is_replaced(),
            _ => false,
        };
        if lost { Some(TicketState::Refused(Reason::EngineLost)) } else { state }
    }

    /// After a change of the waiters or subscribers: what other processes notify this one of.
    fn update_interest(&self, waiters: &Waiters) {
        self.host.set_interest(waiters.has_subscribers(), waiters.has_waiters());
    }

    /// Changes the waiters or subscribers, also if the lock of the file cannot be had.
    fn register<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = match self.lock(LOCK_TIMEOUT) {
            Ok(mut state) => {
                let result = change(&mut state);
                self.update_interest(&state.waiters);
                self.unlock(state);
                result
            }
            Err(_) => change(&mut self.state.lock()),
        };
        self.host.own_slot().notify();
        result
    }

    fn place_of(&self, ticket: TicketId) -> usize {
        (ticket.0 & self.memory.index_mask()) as usize
    }

    /// Runs what is due with the lock, and takes the waiters of what other processes have resolved.
    /// Returns the next deadline.
    fn advance(&self, wake: &mut WakeList) -> Option<Time> {
        let Ok(mut state) = self.lock(LOCK_TIMEOUT) else {
            // What other processes commit is visible without the lock.
            let State { table, waiters, .. } = &mut *self.state.lock();
            waiters.take_if(|place| self.host.is_resolved(place), wake);
            if let Ok(last_event) = self.journal().read_committed(|| table.last_event()) {
                waiters.take_subscribers(last_event, wake);
            }
            return None;
        };
        // Fails only for a time beyond all times, which the next command reports.
        let _ = state.table.advance(self.now(&state));
        let State { table, waiters, .. } = &mut *state;
        waiters.take_if(|place| table.is_decided(place), wake);
        waiters.take_subscribers(table.last_event(), wake);
        self.update_interest(waiters);
        let next_due = table.next_due();
        self.unlock_and_notify(state);
        Some(next_due)
    }
}

/// A ticket that a thread parks on. See [`HostHome::park_on`].
struct Parked<'a> {
    home: &'a HostHome,
    place: usize,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        let mut parked = self.home.parked.lock();
        if let Some(at) = parked.iter().position(|&place| place == self.place) {
            parked.swap_remove(at);
        }
    }
}

impl Ticked for HostHome {
    fn run_due(&self) -> bool {
        let (host, own) = (&self.host, self.host.own_slot());
        let seq = own.events.seq();
        self.reap();
        // Before the list is read: a thread that parks later wakes the ticker.
        own.set_wake_before(0);
        let parked = self.parked.lock().clone();
        let registered = self.state.lock().waiters.is_registered();
        let awaited = registered || !parked.is_empty();
        let mut due = own.watch_deadline(awaited, || {
            let next_due = || table::held_and_due(&self.memory).1;
            self.journal().read_committed(next_due).unwrap_or(0)
        });
        let mut wake = WakeList::default();
        if registered || host.has_interest() || due <= Clock::Real.now() || !host.is_sound() {
            let advance = || self.advance(&mut wake).unwrap_or(FOREVER);
            due = own.watch_deadline(awaited, advance);
        }
        // The processes that resolved these may be stopped before they notify.
        parked.into_iter().for_each(|place| host.notify_if_resolved(place));
        let mut state = self.state.lock();
        if self.steps.is_closed() {
            // `close` does not find the waiters that were taken above.
            drop(state);
            wake.wake();
            return false;
        }
        let unusable = state.table.is_corrupt() || self.steps.is_poisoned() || !host.is_sound();
        let State { waiters, alarmed, .. } = &mut *state;
        if unusable && !std::mem::replace(alarmed, true) {
            self.raise_alarm(waiters, &mut wake);
        }
        drop(state);
        wake.wake();
        let mut sleep = if awaited { FILE_CHECK_INTERVAL } else { IDLE_INTERVAL };
        if awaited {
            let left = match due.saturating_sub(Clock::Real.now()) {
                0 => OVERDUE_INTERVAL,
                left => Duration::from_micros(left),
            };
            sleep = sleep.min(left);
            sleep = if host.has_inherited() { sleep.min(INHERITED_POLL) } else { sleep };
        }
        let wake_at = Instant::now() + sleep;
        loop {
            let left = wake_at.saturating_duration_since(Instant::now());
            // No dead process can be reaped from a corrupt table.
            let watch = awaited && !host.is_corrupt();
            host.park_ticker(seq, watch, left.min(FILE_CHECK_INTERVAL));
            // A check of the file alone needs nothing else.
            let idle = !awaited && own.events.seq() == seq && (host.is_sound() || unusable);
            if !idle || Instant::now() >= wake_at {
                return true;
            }
        }
    }
}

impl Home for HostHome {
    fn clock(&self) -> &Clock {
        &Clock::Real
    }

    #[inline(always)]
    fn owner(&self) -> u16 {
        self.host.owner()
    }

    fn lifecycle(&self) -> Lifecycle {
        match self.steps.get() {
            _ if self.host.is_forked() => Lifecycle::Forked,
            Lifecycle::Open if self.host.is_corrupt() => Lifecycle::Poisoned,
            lifecycle => lifecycle,
        }
    }

    fn is_closed(&self) -> bool {
        self.host.is_forked() || self.steps.is_closed()
    }

    #[inline(always)]
    fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        self.run(LOCK_TIMEOUT, |table, now| table.apply(self.issuer, command, now))
    }

    fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        self.reap();
        match self.lock(LOCK_TIMEOUT) {
            Ok(state) => {
                // Fails only for a time beyond all times, and then the answer is still right.
                let _ = state.table.advance(self.now(&state));
                let answer = query.answer(&state.table);
                self.unlock(state);
                answer
            }
            Err(_) => self.read_unlocked(|table| query.answer(table)),
        }
    }

    fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        self.read(|table| query.answer(table))
    }

    /// Claims once more if the claim was not granted and processes were dead that had not been
    /// reaped.
    fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        let host = &self.host;
        let limit = match claim.wait {
            0 => LOCK_TIMEOUT,
            wait => Duration::from_micros(wait).min(LOCK_TIMEOUT),
        };
        let place = || {
            self.run(limit, |table, now| match host.is_lost() {
                true => Err(HomeError::EngineLost.into()),
                false => table.apply(self.issuer, &PlaceClaim::new(claim), now),
            })
        };
        match place() {
            Err(Error::Busy) if self.reap() => place(),
            Ok(Placed { outcome: Outcome::Waiting(id), detail }) if self.reap() => {
                if let Some(TicketState::Granted(lease)) = self.ticket(id)
                    && let Collected { withdrawn: false, detail } = self.collect(id)
                {
                    return Ok(Placed { outcome: Outcome::Granted(lease), detail });
                }
                Ok(Placed { outcome: Outcome::Waiting(id), detail })
            }
            // The memory may have been replaced in the middle of the command.
            Ok(Placed { outcome: Outcome::Granted(_), .. }) if host.is_lost() => {
                Err(HomeError::EngineLost.into())
            }
            placed => placed,
        }
    }

    fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D> {
        self.read(|table| Collected::of(table, ticket))
    }

    #[inline(always)]
    fn state(&self, lease: LeaseId) -> Option<LeaseState> {
        self.state_by(lease, || Clock::Real.now())
    }

    #[inline(always)]
    fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState> {
        self.state_by(lease, || now)
    }

    fn renew_at(&self, lease: LeaseId, now: Time) -> Result<Time, Error> {
        let host = &self.host;
        if !host.is_forked() && !host.is_detached() && host.is_sound() {
            let renew = || table::renew_quickly(&self.memory, lease, now);
            match self.journal().read_committed(renew) {
                // A roll-back leaves a word alone that was renewed since.
                Ok(Some(end)) | Err(Dirty { value: Some(end), rolled_back: false }) => {
                    return Ok(end);
                }
                _ => {}
            }
        }
        self.execute(&Renew { lease, ttl: None })
    }

    fn held(&self) -> u32 {
        self.query(&HeldCount {})
    }

    fn tick(&self) {
        if Clock::Real.now() >= table::held_and_due(&self.memory).1 {
            self.query(&HeldCount {});
        }
    }

    fn lease(&self, lease: LeaseId) -> Option<LeaseInfo> {
        let found = self.query(&LeaseById { lease });
        if !self.host.is_lost() {
            return found;
        }
        found.map(|info| match info.state {
            LeaseState::Held => info.with_engine_lost(Clock::Real.now()),
            _ => info,
        })
    }

    fn ticket(&self, ticket: TicketId) -> Option<TicketState> {
        let read = || table::ticket_state(&self.memory, ticket);
        for _ in 0..READ_TRIES {
            match self.journal().read_committed(read) {
                Ok(found) => return self.unless_lost(found),
                // It waits until the command that resolves it is committed.
                Err(Dirty { value: found @ Some(TicketState::Waiting), rolled_back: false }) => {
                    return self.unless_lost(found);
                }
                Err(_) => std::hint::spin_loop(),
            }
        }
        self.unless_lost(self.read(|table| table.ticket(ticket)))
    }

    /// See the table in the module's text.
    fn wait_ticket(
        &self,
        ticket: TicketId,
        _: WakerKind,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error> {
        let place = self.place_of(ticket);
        let mut parked = None;
        let mut advanced = false;
        loop {
            // Before anything that an alarm is raised for is read.
            let alarm = self.alarm.load(Ordering::Acquire);
            let found = self.ticket(ticket);
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if found != Some(TicketState::Waiting) || left.is_some_and(|left| left.is_zero()) {
                return Ok(found);
            }
            self.lifecycle().check_open()?;
            let mut time = left.unwrap_or(Duration::MAX);
            if let Some(end) = table::wait_end(&self.memory, ticket) {
                match end.saturating_sub(Clock::Real.now()) {
                    // Only in a damaged table does a ticket outlast its end.
                    0 if advanced => return Err(Error::Corrupt),
                    0 => {
                        self.run(END_LOCK_TIMEOUT, |table, now| table.advance(now))?;
                        advanced = true;
                        continue;
                    }
                    left => time = time.min(Duration::from_micros(left)),
                }
            }
            parked.get_or_insert_with(|| self.park_on(place));
            self.host.park_on_ticket(place, (&self.alarm, alarm), time);
        }
    }

    fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState> {
        if self.host.is_forked() {
            return None;
        }
        let waker = waker.clone();
        let (found, unused) = self.register(|state| {
            let found = self.unless_lost(state.table.ticket(ticket));
            match found {
                Some(TicketState::Waiting) => {
                    (found, state.waiters.add(self.place_of(ticket), kind, waker))
                }
                _ => (found, Some(waker)),
            }
        });
        drop(unused);
        found
    }

    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        if self.host.is_forked() {
            return Err(Error::Forked);
        }
        let fd = EventFd::new()?;
        let fd = self.register(|state| match self.unless_lost(state.table.ticket(ticket)) {
            None => Err(Error::UnknownTicket),
            Some(TicketState::Waiting) => {
                // Of a home that has ended, nothing notifies the descriptor any more.
                self.lifecycle().check_open()?;
                Ok(state.waiters.descriptor(self.place_of(ticket), fd))
            }
            Some(_) => {
                fd.notify();
                Ok(fd)
            }
        })?;
        fd.share()
    }

    fn subscribe(&self, waker: Waker) -> Subscription {
        if self.host.is_forked() {
            return Subscription::default();
        }
        self.register(|state| state.waiters.subscribe(state.table.last_event(), waker))
    }

    fn unsubscribe(&self, subscription: Subscription) {
        if !self.host.is_forked() {
            let waker = self.state.lock().waiters.unsubscribe(subscription);
            drop(waker);
        }
    }

    fn session_turns(&self) -> u64 {
        self.host.is_lost().into()
    }

    fn poison(&self) {
        if !self.host.is_forked() {
            self.end(Steps::poison);
        }
    }

    fn close(&self) {
        if !self.host.is_forked() {
            self.end(Steps::close);
            self.detach();
        }
    }

    fn at_rest(&self, act: &mut dyn FnMut()) {
        let _state = (!self.host.is_forked()).then(|| self.state.lock());
        act();
    }

    fn host(&self) -> Option<&dyn HostOps> {
        Some(self)
    }
}

impl HostHome {
    /// The state of a lease. An uncommitted state is not returned, except that a lease is held: it
    /// is until the command that ends it is committed.
    #[inline(always)]
    fn state_by(&self, lease: LeaseId, clock: impl Fn() -> Time) -> Option<LeaseState> {
        let read = || table::lease_state(&self.memory, lease, &clock);
        let found = match self.journal().read_committed(read) {
            Ok(found)
            | Err(Dirty { value: found @ Some(LeaseState::Held), rolled_back: false }) => found,
            Err(_) => match self.lock(LOCK_TIMEOUT) {
                Ok(state) => {
                    let found = state.table.state(lease, self.now(&state));
                    self.unlock(state);
                    found
                }
                Err(_) => self.read_unlocked(|table| table.state(lease, clock())),
            },
        };
        match found {
            // The lease is over, even if no process was able to lock the table and record that.
            Some(LeaseState::Held) if self.host.is_lost() => Some(LeaseState::Expired),
            found => found,
        }
    }
}

impl HostOps for HostHome {
    fn info(&self) -> HostInfo {
        // Before this takes the lock itself.
        let lock = self.host.lock_info();
        self.read(|table| self.host.info(table, lock))
    }

    fn keep_for_children(&self, lease: LeaseId) -> Result<Inherited, Error> {
        let host = &self.host;
        let (descriptor, slot) = host.new_inherited()?;
        let state = self.lock(LOCK_TIMEOUT)?;
        let now = self.now(&state);
        self.reap_stale_owner(&state.table, slot, now);
        // Before the lease is transferred: what belongs to a free slot is never reaped.
        host.fill_slot(slot, slot_state::INHERITED, now);
        let to = owner_of(slot);
        let named = state.table.apply(self.issuer, &SetPrincipal { owner: to }, now);
        let transfer = Transfer { lease, to };
        let given = named.and_then(|()| state.table.apply(self.issuer, &transfer, now));
        if given.is_err() {
            host.free_slot(slot);
        }
        self.unlock_and_notify(state);
        given?;
        Ok(Inherited::new(lease, descriptor))
    }

    fn transfer(&self, lease: LeaseId, process: u32) -> Result<(), Error> {
        self.run(LOCK_TIMEOUT, |table, now| {
            let to = self.host.owner_with(process).ok_or(Error::UnknownProcess)?;
            table.apply(self.issuer, &Transfer { lease, to }, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;
    use crate::table::query::Verify;
    use crate::table::{Limits, command};

    fn open(path: &std::path::Path) -> Arc<HostHome> {
        let limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };
        let path = HostPath { path: path.to_owned(), mode: 0o600 };
        HostHome::open(path, Settings { limits, ..Settings::default() }).expect("it is made")
    }

    fn is_granted(claimed: Result<Placed<()>, Error>) -> bool {
        matches!(claimed, Ok(Placed { outcome: Outcome::Granted(_), .. }))
    }

    /// The command is rolled back. Other processes continue to use the table; this one gets an
    /// error.
    #[test]
    fn panic_in_a_command_poisons_its_own_process_only() {
        let path = std::env::temp_dir().join(format!("tern-panic-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let cut_short = catch_unwind(AssertUnwindSafe(|| {
            one.run::<()>(LOCK_TIMEOUT, |table, now| {
                table.claim(now, &claim).expect("it is free");
                panic!("on purpose, for a test")
            })
        }));
        assert!(cut_short.is_err());
        assert_eq!(one.claim::<()>(&claim), Err(Error::Corrupt));
        assert_eq!(one.claim::<()>(&claim), Err(Error::Corrupt));
        assert_eq!((other.held(), other.query(&Verify {})), (0, Ok(())));
        assert!(is_granted(other.claim(&claim)));
        one.close();
        assert!(open(&path).query(&Verify {}).is_ok());
        other.close();
        std::fs::remove_file(path).expect("it is there");
    }

    /// The owner has not stored the time of acquisition yet.
    #[test]
    fn owner_without_a_time_is_waited_for() {
        let path = std::env::temp_dir().join(format!("tern-slow-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let guard = one.lock(LOCK_TIMEOUT).expect("it has the lock");
        one.host.file.preamble.since.store(0, Ordering::Relaxed);
        let waits = std::thread::spawn(move || {
            let claimed = other.claim::<()>(&claim);
            other.close();
            claimed
        });
        // Longer than `OWNER_POLL`.
        std::thread::sleep(Duration::from_millis(100));
        drop(guard);
        assert!(is_granted(waits.join().expect("the claim does not panic")));
        one.close();
        std::fs::remove_file(path).expect("it is there");
    }

    /// A thread that waits for the resource, once its ticket is on the list.
    fn waiter(home: &Arc<HostHome>) -> std::thread::JoinHandle<Result<Option<TicketState>, Error>> {
        let claim = Claim { ttl: FOREVER, wait: FOREVER, ..Claim::one("waiter", &["gpu"]) };
        let Ok(Placed::<()> { outcome: Outcome::Waiting(ticket), .. }) = home.claim(&claim) else {
            panic!("it is taken")
        };
        let own = home.clone();
        let waits = std::thread::spawn(move || own.wait_ticket(ticket, WakerKind::Primary, None));
        while home.parked.lock().is_empty() {
            std::thread::yield_now();
        }
        waits
    }

    #[test]
    fn resolved_ticket_whose_notification_is_missing_wakes_its_waiter() {
        let path = std::env::temp_dir().join(format!("tern-missing-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let Ok(Placed::<()> { outcome: Outcome::Granted(lease), .. }) = other.claim(&claim) else {
            panic!("it is free")
        };
        let waits = waiter(&one);
        let state = other.lock(LOCK_TIMEOUT).expect("it has the lock");
        state.table.release(other.now(&state), lease).expect("it is held");
        // As a process that is stopped after it has unlocked.
        drop(state);
        let found = waits.join().expect("the wait does not panic");
        assert!(matches!(found, Ok(Some(TicketState::Granted(_)))), "{found:?}");
        one.close();
        other.close();
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn command_without_an_earlier_deadline_notifies_no_ticker() {
        let path = std::env::temp_dir().join(format!("tern-quiet-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        assert!(is_granted(one.claim(&claim)));
        let claim = Claim { wait: FOREVER, ..claim };
        assert!(matches!(one.claim::<()>(&claim), Ok(Placed { outcome: Outcome::Waiting(_), .. })));
        let slot = other.host.own_slot();
        let seq = slot.events.seq();
        // As while its ticker runs what is due.
        slot.set_wake_before(Time::MAX);
        let declare = command::Declare { resource: "new", slots: 1, memory: 0 };
        one.execute(&declare).expect("it is declared");
        assert_eq!(slot.events.seq(), seq);
        one.close();
        other.close();
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn panic_in_a_command_wakes_other_threads_that_wait() {
        let path = std::env::temp_dir().join(format!("tern-poison-{}", std::process::id()));
        let one = open(&path);
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        assert!(is_granted(one.claim(&claim)));
        let waits = waiter(&one);
        let cut_short = catch_unwind(AssertUnwindSafe(|| {
            one.run::<()>(LOCK_TIMEOUT, |_, _| panic!("on purpose, for a test"))
        }));
        assert!(cut_short.is_err());
        assert_eq!(waits.join().expect("the wait does not panic"), Err(Error::Corrupt));
        one.close();
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn waker_of_poisoned_home_is_called_when_another_process_resolves_its_ticket() {
        struct Called(mpsc::Sender<()>);
        impl std::task::Wake for Called {
            fn wake(self: Arc<Self>) {
                let _ = self.0.send(());
            }
        }
        let path = std::env::temp_dir().join(format!("tern-late-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let Ok(Placed::<()> { outcome: Outcome::Granted(lease), .. }) = other.claim(&claim) else {
            panic!("it is free")
        };
        let claim = Claim { wait: FOREVER, ..claim };
        let Ok(Placed::<()> { outcome: Outcome::Waiting(ticket), .. }) = one.claim(&claim) else {
            panic!("it is taken")
        };
        let cut_short = catch_unwind(AssertUnwindSafe(|| {
            one.run::<()>(LOCK_TIMEOUT, |_, _| panic!("on purpose, for a test"))
        }));
        assert!(cut_short.is_err());
        let (send, called) = mpsc::channel();
        let waker = Waker::from(Arc::new(Called(send)));
        // Poisoning wakes all waiters once. A waker that is registered later is for the ticket.
        while !one.state.lock().alarmed {
            std::thread::yield_now();
        }
        assert_eq!(one.watch(ticket, WakerKind::Primary, &waker), Some(TicketState::Waiting));
        other.execute(&command::Release { lease }).expect("it is held");
        called.recv_timeout(Duration::from_secs(60)).expect("the waker is called");
        assert!(matches!(one.ticket(ticket), Some(TicketState::Granted(_))));
        one.close();
        other.close();
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn release_while_another_panic_unwinds_is_committed() {
        struct Release<'a>(&'a HostHome, LeaseId);
        impl Drop for Release<'_> {
            fn drop(&mut self) {
                let release = command::Release { lease: self.1 };
                self.0.execute(&release).expect("it is held");
            }
        }
        let path = std::env::temp_dir().join(format!("tern-unwind-{}", std::process::id()));
        let home = open(&path);
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let Ok(Placed { outcome: Outcome::Granted(lease), .. }) = home.claim::<()>(&claim)
            else {
                panic!("it is free")
            };
            let _release = Release(&home, lease);
            panic!("on purpose, for a test")
        }));
        assert!(unwound.is_err());
        assert!(is_granted(home.claim(&claim)));
        home.close();
        std::fs::remove_file(path).expect("it is there");
    }
}
