//! The home of a table that the processes of one machine share in a file.
//!
//! A command takes the lock of this process, then the lock of the file. While it runs, the journal
//! in the file has what it overwrites; dropping the [`Guard`] commits. A process that dies with the
//! lock of the file leaves the journal behind: the next owner of the lock rolls back, before it reads
//! anything. So [`HostHome::lock`] returns a guard only to a table that is consistent.
//!
//! After unlock a command wakes the threads that wait for the tickets it resolved, in whatever
//! process: they sleep on the ticket in the file ([`HostHome::wait_ticket`]). Wakers and descriptors
//! of another process are woken by the ticker of that process.
//!
//! Reads without the lock are valid only if no command was running (`settled.rs`).
//!
//! A forked child must not touch the home: a thread that does not exist in the child may have held
//! the mutex. Every way in checks that first.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::{CHECK_INTERVAL, Host, HostInfo, Inherited, Journal, Locked, Place, owner_of};
use crate::home::clock::Clock;
use crate::home::lifecycle::{Lifecycle, Steps};
use crate::home::open::OpenError;
use crate::home::signal_fd::SignalFd;
use crate::home::ticker::{self, Ticked, Ticker};
use crate::home::waiters::{Role, Subscription, Waiters, WakeList};
use crate::home::{Home, HomeError, HostOps, actor};
use crate::memory::{Arrays, UndoLog};
use crate::rt::atomic::{AtomicU32, Ordering};
use crate::rt::{self, Mutex, MutexGuard};
use crate::table::command::{
    Collected, GrantDetail, Place as PlaceClaim, ReapOwner, Renew, SetPrincipal, Transfer,
};
use crate::table::query::{HeldCount, LeaseById};
use crate::table::{
    self, Claim, Command, Error, Issuer, LeaseId, LeaseInfo, LeaseState, Memory, Outcome, Placed,
    Query, Reason, Settings, Table, TicketId, TicketState, Time, first_sequence,
};

/// How long a command waits for a process that has the lock of the file and does not run.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a waiter whose end has come waits for that lock.
const END_LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// How often a read without the lock is tried again while a command runs, before it takes the lock.
const READ_TRIES: u32 = 64;

/// How far a table may be ahead of the clock of a process, in microseconds: far more than the clocks
/// of two processors differ.
const AHEAD: Time = 1_000_000;

/// How often the ticker takes the lock while no thread of its process waits. It checks the file more
/// often.
const IDLE: Duration = Duration::from_secs(5);

/// How long the ticker sleeps while a command is due that does not happen, and while a process tree is
/// alive, whose end wakes no process.
const DUE: Duration = Duration::from_millis(1);
const TREES: Duration = Duration::from_millis(20);

/// See the module's text.
#[derive(Debug)]
pub(crate) struct HostHome {
    memory: Arrays<Journal>,
    host: Host,
    issuer: Issuer,
    steps: Steps,
    state: Mutex<State>,
    ticker: Ticker,
    /// Changes, and wakes the threads of this process that wait for tickets, when these will not be
    /// resolved by a command: the table is lost or damaged, or the home is closed or poisoned.
    alarm: AtomicU32,
    /// The tickets that threads of this process sleep on, by place.
    parked: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct State {
    table: Table<Arrays<Journal>>,
    waiters: Waiters,
    /// The number of the last event for which other processes were woken.
    last_event: u64,
    /// The ticker has woken all waiters because the table is lost or damaged.
    alarmed: bool,
}

/// Has the lock of this process and that of the file. Dropping it commits, or rolls back if a panic
/// cuts short what it was taken for.
struct Guard<'a> {
    home: &'a HostHome,
    state: ManuallyDrop<MutexGuard<'a, State>>,
    /// The thread was unwinding already when it took the lock, for the sake of another panic.
    unwinding: bool,
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
            host.journal().commit();
        }
        host.unlock();
        // SAFETY: it is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}

/// Opening and closing.
impl HostHome {
    /// The home of the table in a file, which is made with these settings if there is none.
    pub fn open(place: Place, mut settings: Settings) -> Result<Arc<Self>, OpenError> {
        settings.first_sequence = first_sequence(settings.limits, rt::since_1970());
        let host = Host::attach(place, settings)?;
        settings.limits = host.limits();
        let memory = host.arrays().clone();
        let table = Table::try_attach(memory.clone(), settings).ok_or_else(OpenError::no_memory)?;
        let state = State { table, waiters: Waiters::default(), last_event: 0, alarmed: false };
        let issuer = Issuer::new(host.owner(), actor::of_process());
        let home = Arc::new(HostHome {
            memory,
            host,
            issuer,
            steps: Steps::default(),
            state: Mutex::new(state),
            ticker: Ticker::default(),
            alarm: AtomicU32::new(0),
            parked: Mutex::new(Vec::new()),
        });
        let joined = home.join().and_then(|()| {
            home.start_ticker().map_err(|error| {
                OpenError::system("the system does not start the thread that it needs", &error)
            })
        });
        if joined.is_err() {
            home.close();
        }
        joined.map(|()| home)
    }

    /// Makes the slot of this process its own.
    fn join(&self) -> Result<(), OpenError> {
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
        let slot = host.own_slot_number();
        if host.is_haunted(slot) {
            self.reap_slot(&state, slot, now);
        }
        // Fails only if the table is damaged, which the next command reports.
        let _ = state.table.apply(self.issuer, &SetPrincipal { owner: host.owner() }, now);
        host.settle_in(now);
        Ok(())
    }

    /// The end of the ticker's thread reports the end of this process to others, so the thread has to
    /// be known to the kernel before the process waits for anything.
    fn start_ticker(self: &Arc<Self>) -> std::io::Result<()> {
        let (begun, begins) = mpsc::channel();
        let home = self.clone();
        self.ticker.start_with("tern-keeper", move || {
            let life = home.host.begin_life();
            let started = life.as_ref().map(|_| ()).map_err(|error| {
                std::io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EAGAIN))
            });
            let _ = begun.send(started);
            if life.is_ok() {
                ticker::run(&*home);
            }
        })?;
        begins.recv().unwrap_or_else(|_| Err(std::io::Error::from_raw_os_error(libc::EAGAIN)))
    }

    /// Withdraws the claims of this process, ends its leases and frees its slot.
    fn leave(&self) {
        let host = &self.host;
        if host.is_detached() {
            return;
        }
        if let Ok(state) = self.lock(LOCK_TIMEOUT) {
            let now = self.now(&state);
            // Fails only if the table is damaged, and then there is nothing to give back.
            let (owner, reason) = (host.owner(), Reason::Released);
            let reap = ReapOwner { owner, reason, limit: u32::MAX };
            let _ = state.table.apply(self.issuer, &reap, now);
            self.unlock_and_wake(state);
        }
        host.ring_own();
        self.ticker.join();
        if let Ok(_state) = self.lock(LOCK_TIMEOUT) {
            host.journal().commit();
            host.free_own_slot();
        }
        host.detach();
    }
}

/// The lock.
impl HostHome {
    /// Takes both locks. Waits at most so long for a process that has the lock of the file and does
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
            Ok(locked) => {
                let unwinding = std::thread::panicking();
                let guard = Guard { home: self, state: ManuallyDrop::new(state), unwinding };
                if locked != Locked::Freed || !host.journal().is_empty() || !host.is_sound() {
                    self.recover(&guard, locked);
                }
                Ok(guard)
            }
            Err(_) if host.is_lost() => Err(HomeError::EngineLost),
            Err(stuck) => Err(HomeError::LockTimeout { process: stuck.process }),
        }
    }

    /// The lock came from a process that died, or the table is damaged or lost.
    #[cold]
    fn recover(&self, state: &State, locked: Locked) {
        let host = &self.host;
        if host.is_corrupt() {
            return state.table.mark_corrupt();
        }
        if !host.journal().is_empty() {
            self.roll_back(state, locked);
        }
        if locked != Locked::Freed {
            self.notify_unacknowledged(&state.table);
        }
        // Before any other command: a release would grant what it frees to a waiter.
        if host.is_lost() && (state.table.held() != 0 || state.table.waiting() != 0) {
            let now = Clock::Real.now().max(state.table.now());
            // Fails only if the table is damaged, which marks it so.
            let _ = state.table.end_all(now, Reason::EngineLost);
            host.journal().commit();
        }
    }

    /// Rolls back the command of a process that died.
    fn roll_back(&self, state: &State, locked: Locked) {
        let host = &self.host;
        if host.journal().roll_back().is_err() || state.table.verify().is_err() {
            return state.table.mark_corrupt();
        }
        let process = match locked {
            Locked::Inherited { process } => process,
            Locked::Freed => 0,
        };
        let now = Clock::Real.now().max(state.table.now());
        state.table.record_roll_back(now, process);
        host.journal().commit();
    }

    /// Rolls back a command of this process that a panic has cut short, or that found the table
    /// damaged. This process's own notes about the table are not rolled back, so it is poisoned.
    #[cold]
    fn roll_back_own(&self, cut_short: bool) {
        let host = &self.host;
        let rolled_back = host.journal().is_empty() || host.journal().roll_back().is_ok();
        if !rolled_back || !cut_short {
            host.mark_corrupt();
        }
        self.steps.poison();
        self.wake_parked();
        // Wakers are called by the ticker: this thread has the locks.
        host.ring_own();
    }

    /// Reads the table of a home whose lock cannot be had. The answer may mix two states.
    #[cold]
    fn read_unlocked<T>(&self, read: impl FnOnce(&Table<Arrays<Journal>>) -> T) -> T {
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
        self.host.note_time(now);
        // All processes have one clock. A table that is ahead of it would make all leases last until
        // the clock has reached it.
        if now - clock > AHEAD {
            state.table.mark_corrupt();
        }
        now
    }

    #[inline(always)]
    fn run<T>(
        &self,
        limit: Duration,
        command: impl FnOnce(&Table<Arrays<Journal>>, Time) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = self.lock(limit)?;
        let reply = command(&state.table, self.now(&state));
        self.unlock(state);
        reply
    }

    /// Releases the locks after a command, and wakes what the command resolved.
    #[inline(always)]
    fn unlock(&self, state: Guard<'_>) {
        if self.host.is_listened_to()
            || state.table.any_decided()
            || state.table.waiting() != 0
            || state.waiters.has_subscribers()
        {
            self.unlock_and_wake(state);
        }
    }

    #[cold]
    fn unlock_and_wake(&self, mut state: Guard<'_>) {
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
        let has_events = std::mem::replace(&mut state.last_event, last_event) != last_event;
        drop(state);
        for (place, owner) in resolved {
            host.wake_ticket(place);
            if owner != host.owner() {
                host.tell_owner(owner);
            }
        }
        host.tell_others(has_events, next_due);
        wake.wake();
    }
}

/// Dead processes.
impl HostHome {
    /// Ends what dead processes had; were there any?
    fn reap(&self) -> bool {
        let host = &self.host;
        // Without the lock: this reads words of memory, unless a process may be dead.
        if host.is_forked() || host.is_detached() || !host.anybody_suspicious() {
            return false;
        }
        let Ok(state) = self.lock(LOCK_TIMEOUT) else { return false };
        let now = self.now(&state);
        let dead = host.find_dead();
        dead.iter().for_each(|&slot| self.reap_slot(&state, slot, now));
        self.unlock_and_wake(state);
        !dead.is_empty()
    }

    /// Ends what the process had that was in this slot.
    fn reap_slot(&self, state: &State, slot: usize, now: Time) {
        let (table, host) = (&state.table, &self.host);
        let Ok(reaped) = table.reap(now, owner_of(slot), Reason::HolderDied) else { return };
        // A tree that had nothing left has ended as it should.
        let died = !host.is_tree(slot) || reaped.leases != 0;
        if died {
            table.record_death(now, host.process_in(slot), reaped);
        }
        host.journal().commit();
        if died {
            host.count_death();
        }
        host.free_slot(slot);
        self.notify_unacknowledged(table);
    }

    /// Notifies the owners of all resolved tickets that were not collected: a process may have died
    /// between the commit of a command and the notifications that follow it.
    fn notify_unacknowledged(&self, table: &Table<Arrays<Journal>>) {
        table.each_untold(|place| {
            self.host.wake_ticket(place);
            self.host.tell_owner(table.owner_of_place(place));
        });
    }
}

/// Waiting.
impl HostHome {
    /// Wakes all that wait in this process: what they wait for will not happen.
    fn raise_alarm(&self, waiters: &mut Waiters, wake: &mut WakeList) {
        waiters.take_all(wake);
        self.wake_parked();
    }

    /// Wakes the threads of this process that wait for tickets. After the change that they are to see.
    fn wake_parked(&self) {
        self.alarm.fetch_add(1, Ordering::Release);
        self.host.wake_private(&self.alarm);
    }

    /// Puts a ticket on the list of those that threads of this process sleep on, and has the ticker
    /// watch what can resolve it: ends, deaths and the file.
    fn park_on(&self, place: usize) -> Parked<'_> {
        self.parked.lock().push(place);
        self.host.wake_idle_ticker();
        Parked { home: self, place }
    }

    /// The state of a ticket, which in a lost table is refused.
    fn unless_lost(&self, state: Option<TicketState>) -> Option<TicketState> {
        let lost = match state {
            Some(TicketState::Waiting) => self.host.is_lost(),
            None => self.host.has_forgotten(),
            _ => false,
        };
        if lost { Some(TicketState::Refused(Reason::EngineLost)) } else { state }
    }

    /// After a change of the waiters or subscribers: the ticker must know for what to wake.
    fn note_waiters(&self, state: &State) {
        self.host.listen(state.waiters.has_subscribers(), state.waiters.has_waiters());
        self.host.ring_own();
    }

    /// An error if a ticket will never be resolved.
    fn check_open(&self) -> Result<(), Error> {
        match self.lifecycle() {
            Lifecycle::Forked => Err(Error::Forked),
            Lifecycle::Poisoned => Err(Error::Corrupt),
            Lifecycle::Closed => Err(Error::Closed),
            _ if self.host.is_corrupt() => Err(Error::Corrupt),
            _ => Ok(()),
        }
    }

    fn place_of(&self, ticket: TicketId) -> usize {
        (ticket.0 & self.memory.index_mask()) as usize
    }
}

/// A ticket that a thread sleeps on. See [`HostHome::park_on`].
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
        let host = &self.host;
        let bell = host.bell();
        self.reap();
        // Before the list is read: a thread that parks later finds the ticker idle, and rings.
        host.set_interest(0);
        let parked = self.parked.lock().clone();
        let registered = self.state.lock().waiters.is_registered();
        let awaited = registered || !parked.is_empty();
        if awaited {
            // Before the next deadline is read: a process that sets an earlier one later rings.
            host.set_interest(u64::MAX);
        }
        let mut wake = WakeList::default();
        let next_due = || table::held_and_due(&self.memory).1;
        let mut due = host.settled(next_due).unwrap_or(0);
        if registered || host.is_listener() || due <= Clock::Real.now() || !host.is_sound() {
            due = table::FOREVER;
            if let Ok(mut state) = self.lock(LOCK_TIMEOUT) {
                // Fails only for a time beyond all times, which the next command reports.
                let _ = state.table.advance(self.now(&state));
                // Commands of other processes have resolved these, and had events.
                let State { table, waiters, .. } = &mut *state;
                waiters.take_if(|place| table.is_decided(place), &mut wake);
                waiters.take_subscribers(table.last_event(), &mut wake);
                host.listen(waiters.has_subscribers(), waiters.has_waiters());
                due = table.next_due();
                self.unlock_and_wake(state);
            }
        }
        // The process that resolved these may be stopped before it wakes the threads.
        parked.into_iter().for_each(|place| host.wake_resolved(place));
        let mut state = self.state.lock();
        if self.steps.is_closed() {
            return false;
        }
        let unusable = state.table.is_corrupt() || self.steps.is_poisoned() || !host.is_sound();
        let State { waiters, alarmed, .. } = &mut *state;
        if unusable && !std::mem::replace(alarmed, true) {
            self.raise_alarm(waiters, &mut wake);
        }
        drop(state);
        wake.wake();
        let mut sleep = if awaited { CHECK_INTERVAL } else { IDLE };
        if awaited {
            let left = match due.saturating_sub(Clock::Real.now()) {
                0 => DUE,
                left => Duration::from_micros(left),
            };
            sleep = sleep.min(left);
            sleep = if host.has_trees() { sleep.min(TREES) } else { sleep };
        }
        let wake_at = Instant::now() + sleep;
        loop {
            let left = wake_at.saturating_duration_since(Instant::now());
            host.sleep(bell, due, awaited, left.min(CHECK_INTERVAL));
            // A check of the file alone does not need the lock.
            let idle = !awaited && host.bell() == bell && (host.is_sound() || unusable);
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
        if self.host.is_forked() { Lifecycle::Forked } else { self.steps.get() }
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
        match self.lock(LOCK_TIMEOUT) {
            Ok(state) => query.answer(&state.table),
            Err(_) => self.read_unlocked(|table| query.answer(table)),
        }
    }

    /// Claims once more if the claim was not granted and processes were dead that had not been reaped.
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
        match self.lock(LOCK_TIMEOUT) {
            Ok(state) => Collected::of(&state.table, ticket),
            Err(_) => self.read_unlocked(|table| Collected::of(table, ticket)),
        }
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
            match host.settled(|| table::renew_quickly(&self.memory, lease, now)) {
                Ok(Some(end)) => return Ok(end),
                // The renewal stands: a roll-back leaves a word alone that was renewed since.
                Err(unsettled) if !unsettled.undone && unsettled.found.is_some() => {
                    return unsettled.found.ok_or(Error::Corrupt);
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
            match self.host.settled(read) {
                Ok(found) => return self.unless_lost(found),
                // It waits until the command that resolves it is committed.
                Err(dirty) if !dirty.undone && dirty.found == Some(TicketState::Waiting) => {
                    return self.unless_lost(dirty.found);
                }
                Err(_) => std::hint::spin_loop(),
            }
        }
        self.unless_lost(match self.lock(LOCK_TIMEOUT) {
            Ok(state) => state.table.ticket(ticket),
            Err(_) => self.read_unlocked(|table| table.ticket(ticket)),
        })
    }

    /// Sleeps on the ticket in the file, which any process wakes that resolves it, and on the alarm of
    /// this process.
    fn wait_ticket(
        &self,
        ticket: TicketId,
        _: Role,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error> {
        let host = &self.host;
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
            self.check_open()?;
            let mut sleep = left.unwrap_or(Duration::MAX);
            if let Some(end) = table::wait_end(&self.memory, ticket) {
                match end.saturating_sub(Clock::Real.now()) {
                    // No timer ends this ticket: only a damaged table has one.
                    0 if advanced => return Err(Error::Corrupt),
                    0 => {
                        self.run(END_LOCK_TIMEOUT, |table, now| table.advance(now))?;
                        advanced = true;
                        continue;
                    }
                    left => sleep = sleep.min(Duration::from_micros(left)),
                }
            }
            parked.get_or_insert_with(|| self.park_on(place));
            let begun = Clock::Real.now();
            host.sleep_on_ticket(place, (&self.alarm, alarm), sleep);
            host.check_file_after_sleep(begun);
        }
    }

    fn watch(&self, ticket: TicketId, role: Role, waker: &Waker) -> Option<TicketState> {
        if self.host.is_forked() {
            return None;
        }
        let waker = waker.clone();
        let place = self.place_of(ticket);
        let Ok(mut state) = self.lock(LOCK_TIMEOUT) else {
            let found = self.unless_lost(self.read_unlocked(|table| table.ticket(ticket)));
            let mut state = self.state.lock();
            let unused = match found {
                Some(TicketState::Waiting) => state.waiters.add(place, role, waker),
                _ => Some(waker),
            };
            drop(state);
            drop(unused);
            return found;
        };
        let found = self.unless_lost(state.table.ticket(ticket));
        let unused = match found {
            Some(TicketState::Waiting) => state.waiters.add(place, role, waker),
            _ => Some(waker),
        };
        self.note_waiters(&state);
        drop(state);
        drop(unused);
        found
    }

    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        if self.host.is_forked() {
            return Err(Error::Forked);
        }
        let mut fd = SignalFd::new()?;
        let mut state = self.lock(LOCK_TIMEOUT)?;
        match self.unless_lost(state.table.ticket(ticket)) {
            None => return Err(Error::UnknownTicket),
            Some(TicketState::Waiting) => {
                fd = state.waiters.descriptor(self.place_of(ticket), fd);
                self.note_waiters(&state);
            }
            Some(_) => fd.raise(),
        }
        drop(state);
        fd.share()
    }

    fn subscribe(&self, waker: Waker) -> Subscription {
        if self.host.is_forked() {
            return Subscription::default();
        }
        match self.lock(LOCK_TIMEOUT) {
            Ok(mut state) => {
                let last = state.table.last_event();
                let subscription = state.waiters.subscribe(last, waker);
                self.note_waiters(&state);
                self.unlock_and_wake(state);
                subscription
            }
            Err(_) => {
                let mut state = self.state.lock();
                let last = state.table.last_event();
                state.waiters.subscribe(last, waker)
            }
        }
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
        if self.host.is_forked() {
            return;
        }
        let mut wake = WakeList::default();
        self.steps.poison();
        self.raise_alarm(&mut self.state.lock().waiters, &mut wake);
        wake.wake();
    }

    fn close(&self) {
        if self.host.is_forked() {
            return;
        }
        let mut wake = WakeList::default();
        self.steps.close();
        self.raise_alarm(&mut self.state.lock().waiters, &mut wake);
        wake.wake();
        self.leave();
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
    /// The state of a lease. A state that may be rolled back is not reported, but that a lease is held
    /// is true until it is not.
    #[inline(always)]
    fn state_by(&self, lease: LeaseId, clock: impl Fn() -> Time) -> Option<LeaseState> {
        let host = &self.host;
        let found = match host.settled(|| table::lease_state(&self.memory, lease, &clock)) {
            Ok(found) => found,
            Err(unsettled) if !unsettled.undone && unsettled.found == Some(LeaseState::Held) => {
                unsettled.found
            }
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
            // Over, even if no process has been able to lock the table and end it.
            Some(LeaseState::Held) if host.is_lost() => Some(LeaseState::Expired),
            found => found,
        }
    }
}

impl HostOps for HostHome {
    fn info(&self) -> HostInfo {
        // As it was before this took the lock itself.
        let lock = self.host.lock_info();
        match self.lock(LOCK_TIMEOUT) {
            Ok(state) => self.host.info(&state.table, lock),
            Err(_) => self.read_unlocked(|table| self.host.info(table, lock)),
        }
    }

    fn keep_for_children(&self, lease: LeaseId) -> Result<Inherited, Error> {
        let host = &self.host;
        let (descriptor, slot) = host.new_tree()?;
        let state = self.lock(LOCK_TIMEOUT)?;
        let now = self.now(&state);
        if host.is_haunted(slot) {
            self.reap_slot(&state, slot, now);
        }
        // Before the lease is: what belongs to a slot that counts as free is never given back.
        host.settle_tree(slot, now);
        let to = owner_of(slot);
        let named = state.table.apply(self.issuer, &SetPrincipal { owner: to }, now);
        let transfer = Transfer { lease, to };
        let given = named.and_then(|()| state.table.apply(self.issuer, &transfer, now));
        if given.is_err() {
            host.free_slot(slot);
        }
        self.unlock_and_wake(state);
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
    use crate::table::{FOREVER, Limits, Settings, command};

    fn open(path: &std::path::Path) -> Arc<HostHome> {
        let limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };
        let place = Place { path: path.to_owned(), mode: 0o600 };
        HostHome::open(place, Settings { limits, ..Settings::default() }).expect("it is made")
    }

    fn is_granted(claimed: Result<Placed<()>, Error>) -> bool {
        matches!(claimed, Ok(Placed { outcome: Outcome::Granted(_), .. }))
    }

    /// What was begun is undone, the others go on, and the one that panicked is told so from then on.
    #[test]
    fn a_panic_in_a_command_is_one_processs_own_affair() {
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

    /// An owner that has only had the lock for a while is waited for, also if nobody has noted any time yet.
    #[test]
    fn who_takes_its_time_is_not_stuck() {
        let path = std::env::temp_dir().join(format!("tern-slow-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let guard = one.lock(LOCK_TIMEOUT).expect("it has the lock");
        one.host.note_time(0);
        let waits = std::thread::spawn(move || {
            let claimed = other.claim::<()>(&claim);
            other.close();
            claimed
        });
        // Longer than those who wait sleep before they look.
        std::thread::sleep(Duration::from_millis(100));
        drop(guard);
        assert!(is_granted(waits.join().expect("the claim does not panic")));
        one.close();
        std::fs::remove_file(path).expect("it is there");
    }

    /// A waiter of `one`, once it sleeps, and its ticket.
    fn waiter(home: &Arc<HostHome>) -> std::thread::JoinHandle<Result<Option<TicketState>, Error>> {
        let claim = Claim { ttl: FOREVER, wait: FOREVER, ..Claim::one("waiter", &["gpu"]) };
        let Ok(Placed::<()> { outcome: Outcome::Waiting(ticket), .. }) = home.claim(&claim) else {
            panic!("it is taken")
        };
        let own = home.clone();
        let waits = std::thread::spawn(move || own.wait_ticket(ticket, Role::Owner, None));
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

    /// Somebody drops a lease while a panic of its own unwinds: that is a command like any other.
    #[test]
    fn what_is_done_while_unwinding_counts() {
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
