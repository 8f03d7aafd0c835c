//! What a home does whose table lies in a file that other processes share.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::guard::Guard;
use super::{Core, State};
use crate::home::arrays::{Arrays, Undo};
use crate::home::clock::Clock;
use crate::home::host::{Host, HostInfo, Inherited, Journal, Locked, Place, owner_of};
use crate::home::refused::{Cause, Refused};
use crate::home::thread;
use crate::home::wake::Woken;
use crate::table::{
    self, Claim, Error, LeaseId, LeaseState, Outcome, Reason, Settings, Table, TicketId,
    TicketState, Time, first_sequence,
};

/// How long to wait for a process that has the lock and does not go on.
pub(super) const STUCK: Duration = Duration::from_secs(5);

/// How often a thread that sleeps on a ticket looks whether anybody has forgotten to wake it.
const GLANCE: Duration = Duration::from_millis(100);

/// How often a keeper looks on its own: while somebody in its process waits, while nobody does, while a process is dying, and while a tree is alive, of whose
/// end nobody tells.
const WATCHFUL: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(5);
const DYING: Duration = Duration::from_millis(1);
const TREES: Duration = Duration::from_millis(20);

impl Core<Journal> {
    /// The home of the table in a file, which is made with these settings if there is none.
    pub fn open_host(place: Place, mut settings: Settings) -> Result<Arc<Self>, Refused> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        settings.first_sequence = first_sequence(settings.limits, since_1970);
        let host = Host::attach(place, settings)?;
        settings.limits = host.limits();
        let memory = host.arrays().clone();
        let table = Table::try_attach(memory, settings).ok_or_else(Refused::no_memory)?;
        let home =
            Arc::new_cyclic(|me| Core { host: Some(host), ..Core::around(me, table, Clock::Real) });
        match home.settle_in() {
            Ok(()) => Ok(home),
            Err(refused) => {
                home.close();
                Err(refused)
            }
        }
    }
}

impl<U: Undo> Core<U> {
    fn settle_in(self: &Arc<Self>) -> Result<(), Refused> {
        let Some(host) = self.host() else { return Ok(()) };
        let stuck = "a process that uses it has its lock and does not go on; continue or end it";
        let state = self.lock();
        if state.host.is_none() {
            let corrupt = host.is_corrupt() || host.is_detached();
            return Err(if corrupt { Refused::corrupt() } else { Refused::stuck(stuck) });
        }
        if state.table.verify().is_err() {
            state.table.mark_corrupt();
            return Err(Refused::corrupt());
        }
        let now = self.time_for(&state.table);
        let slot = host.own_slot_number();
        if host.is_haunted(slot) {
            reap_slot(host, &state, slot, now);
        }
        host.settle_in(now);
        drop(state);
        self.start_shared_keeper().map_err(|error| Refused {
            problem: "the system does not start the thread that it needs",
            cause: Cause::System(error.raw_os_error().unwrap_or(libc::EAGAIN)),
        })
    }

    /// The lock of this process, and then that of the file. If the latter cannot be had, the table refuses commands.
    #[inline(always)]
    pub(super) fn lock_shared<'a>(&'a self, host: &'a Host, limit: Duration) -> Guard<'a, U> {
        if host.is_forked() {
            return self.lock_forked();
        }
        let mut guard = Guard::new(self.state.lock());
        guard.table.accept();
        let refusal = if host.is_detached() {
            Some(Error::Closed)
        } else {
            match host.lock(limit) {
                Ok(Locked::Freed) if host.journal().is_empty() && !host.is_corrupt() => {
                    guard.host = Some(host);
                    host.note_time(guard.table.now());
                    return guard;
                }
                Ok(locked) => {
                    guard.host = Some(host);
                    self.recover(host, &guard, locked);
                    None
                }
                Err(stuck) => Some(Error::Stuck(stuck.process)),
            }
        };
        if let Some(error) = refusal {
            guard.table.refuse_all(error);
        }
        guard
    }

    /// A forked child: nothing is its own, and any lock may be taken for ever.
    #[cold]
    #[allow(unsafe_code)]
    fn lock_forked(&self) -> Guard<'_, U> {
        // SAFETY: no thread but this one came into the child, and the guard does not free the lock.
        let mut guard = Guard::new(unsafe { self.state.make_guard_unchecked() });
        guard.forked = true;
        guard.table.refuse_all(Error::Forked);
        guard
    }

    /// The lock came from a process that died, or the file is not as it should be.
    #[cold]
    fn recover(&self, host: &Host, state: &State<U>, locked: Locked) {
        if host.is_corrupt() {
            return state.table.mark_corrupt();
        }
        if host.journal().is_empty() {
            return;
        }
        let undone = host.journal().roll_back().is_ok();
        if !undone || state.table.verify().is_err() {
            return state.table.mark_corrupt();
        }
        let process = match locked {
            Locked::Inherited { process } => process,
            Locked::Freed => 0,
        };
        let now = self.time_for(&state.table);
        state.table.record_roll_back(now, process);
        host.journal().commit();
    }

    /// Asks for a lease. If there is none to be had, perhaps only because nobody has noticed that somebody died.
    pub(super) fn claim_shared(&self, host: &Host, claim: Claim<'_>) -> Result<Outcome, Error> {
        let claim = Claim { owner: host.owner(), ..claim };
        let limit = Duration::from_micros(claim.wait.max(1)).min(STUCK);
        let limit = if claim.wait == 0 { STUCK } else { limit };
        let ask = || self.run_shared(host, limit, |table, now| table.claim(now, &claim));
        match ask() {
            Err(Error::Busy) if self.reap(host) => ask(),
            Ok(Outcome::Waiting(id)) if self.reap(host) => Ok(match self.ticket(id) {
                Some(TicketState::Granted(lease)) if self.collect(id) => Outcome::Granted(lease),
                _ => Outcome::Waiting(id),
            }),
            answer => answer,
        }
    }

    fn run_shared<T>(
        &self,
        host: &Host,
        limit: Duration,
        command: impl FnOnce(&Table<Arrays<U>>, Time) -> T,
    ) -> T {
        let state = self.lock_shared(host, limit);
        let now = self.time_for(&state.table);
        let answer = command(&state.table, now);
        if state.must_hand_over() {
            self.hand_over(state);
        }
        answer
    }

    /// Gives back what dead processes had; whether there were any.
    pub(super) fn reap(&self, host: &Host) -> bool {
        // Without the lock: a look at words of memory, unless somebody may be dead.
        if host.is_forked() || host.is_detached() || !host.anybody_suspicious() {
            return false;
        }
        let state = self.lock();
        if state.host.is_none() {
            return false;
        }
        let now = self.time_for(&state.table);
        let dead = host.find_dead();
        dead.iter().for_each(|&slot| reap_slot(host, &state, slot, now));
        self.hand_over(state);
        !dead.is_empty()
    }

    /// The state of a lease. What may yet be undone is not told: but that a lease is held is true until it is not.
    #[inline(always)]
    pub(super) fn shared_state(
        &self,
        host: &Host,
        id: LeaseId,
        read: impl FnOnce() -> Option<LeaseState>,
    ) -> Option<LeaseState> {
        match host.settled(read) {
            Ok(state) => state,
            Err(unsettled) if !unsettled.undone && unsettled.found == Some(LeaseState::Held) => {
                unsettled.found
            }
            Err(_) => self.run(|table, now| table.state(id, now)),
        }
    }

    pub(super) fn renew_shared(&self, host: &Host, id: LeaseId) -> Result<Time, Error> {
        if !host.is_forked() && !host.is_detached() && !host.is_corrupt() {
            let renewed = host.settled(|| table::renew_quickly(&self.memory, id, self.clock.now()));
            match renewed {
                Ok(Some(end)) => return Ok(end),
                // It was renewed, and nobody undoes that: the word is what this renewal made of it.
                Err(unsettled) if !unsettled.undone && unsettled.found.is_some() => {
                    return unsettled.found.ok_or(Error::Corrupt);
                }
                _ => {}
            }
        }
        self.run(|table, now| table.renew(now, id, None))
    }

    /// Sleeps on the ticket itself, which whoever decides it wakes.
    pub(super) fn await_shared(
        &self,
        host: &Host,
        id: TicketId,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error> {
        let place = self.peek(|table| table.place_of(id));
        let _sleeper = host.sleeper();
        loop {
            let state = self.ticket(id);
            if state != Some(TicketState::Waiting) {
                return Ok(state);
            }
            if host.is_forked() {
                return Err(Error::Forked);
            }
            self.check_open()?;
            if host.is_corrupt() {
                return Err(Error::Corrupt);
            }
            let left =
                until.map_or(GLANCE, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(state);
            }
            if table::wait_end(&self.memory, id).is_some_and(|end| self.clock.now() > end + 50_000)
            {
                // Nobody has refused it in time: does anybody keep the lock from those who would?
                let limit = Duration::from_millis(50);
                self.run_shared(host, limit, |table, now| table.advance(now))?;
            }
            host.sleep_on_ticket(place, left.min(GLANCE));
        }
    }

    fn start_shared_keeper(self: &Arc<Self>) -> std::io::Result<()> {
        let (begun, begins) = mpsc::channel();
        let home = self.clone();
        let keep = move || {
            let Some(host) = home.host() else { return };
            let (life, news) = match host.begin_life() {
                Ok(life) => (Some(life), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let _ = begun.send(news);
            drop(begun);
            let Some(life) = life else { return };
            let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                while home.keep_shared(host) {}
            }));
            if kept.is_err() {
                home.abandon();
            }
            drop(life);
        };
        let keeper = thread::spawn("ternlease-keeper", keep)?;
        self.state.lock().keeper = Some(keeper);
        begins.recv().unwrap_or_else(|_| Err(std::io::Error::from_raw_os_error(libc::EAGAIN)))
    }

    /// Lets due things happen, notices who died, tells those in this process who wait; then sleeps. False when the home is closed.
    fn keep_shared(&self, host: &Host) -> bool {
        let bell = host.bell();
        if !host.is_in_place() {
            host.mark_corrupt();
        }
        self.look(|_| ());
        let mut woken = Woken::default();
        let mut state = self.lock();
        if state.closing {
            return false;
        }
        let State { table, wakers, listeners, .. } = &mut *state;
        wakers.take_if(|place| table.is_decided(place), &mut woken);
        listeners.take(table.last_event(), &mut woken);
        if state.table.is_corrupt() {
            let State { wakers, listeners, .. } = &mut *state;
            wakers.take_all(&mut woken);
            listeners.take_all(&mut woken);
        }
        let (listens, watches) = (!state.listeners.is_empty(), !state.wakers.is_empty());
        host.listen(listens, watches);
        let due = state.table.next_due();
        drop(state);
        woken.wake();
        let cares = listens || watches || host.has_sleepers();
        let mut nap = if cares { WATCHFUL } else { IDLE };
        if cares {
            let (dying, trees) = host.anybody_goes();
            let left = match due.saturating_sub(self.clock.now()) {
                0 => DYING,
                left => Duration::from_micros(left),
            };
            nap = nap.min(left);
            nap = if trees { nap.min(TREES) } else { nap };
            nap = if dying { nap.min(DYING) } else { nap };
        }
        host.sleep(bell, due, cares, nap);
        true
    }

    /// Ends the part of this process in a shared table: its claims leave the line, its leases end.
    pub(super) fn leave_shared(&self, host: &Host) {
        if host.is_forked() || host.is_detached() {
            return;
        }
        let state = self.lock();
        if state.host.is_some() {
            let now = self.time_for(&state.table);
            // Fails only if the table is damaged, and then there is nothing to give back.
            let _ = state.table.reap(now, host.owner(), Reason::Released);
        }
        self.hand_over(state);
        host.ring_own();
        let keeper = self.state.lock().keeper.take();
        if let Some(keeper) = keeper
            && keeper.thread().id() != std::thread::current().id()
        {
            // A panic of its own is not the closer's.
            let _ = keeper.join();
        }
        let state = self.lock();
        if state.host.is_some() {
            host.journal().commit();
            host.free_own_slot();
        }
        drop(state);
        host.detach();
    }

    /// What there is to know of the file; `None` if the table lives in this process alone.
    pub fn host_info(&self) -> Option<HostInfo> {
        let host = self.host()?;
        // As it was before this took the lock itself.
        let lock = host.lock_info();
        Some(self.run(|table, _| host.info(table, lock)))
    }

    /// Makes a held lease one of whoever has the descriptor that this gives.
    pub fn keep_for_children(&self, id: LeaseId) -> Result<Inherited, Error> {
        let host = self.host().ok_or(Error::NotShared)?;
        let (descriptor, slot) = host.new_tree()?;
        let state = self.lock();
        let now = self.time_for(&state.table);
        let locked = state.host.is_some();
        if locked && host.is_haunted(slot) {
            reap_slot(host, &state, slot, now);
        }
        if locked {
            // Before the lease is: what belongs to a slot that counts as free is never given back.
            host.settle_tree(slot, now);
        }
        let given = state.table.give_to(now, id, owner_of(slot));
        if locked && given.is_err() {
            host.free_slot(slot);
        }
        self.hand_over(state);
        given?;
        Ok(Inherited::new(id, descriptor))
    }

    /// Makes a held lease one of another process that uses the table.
    pub fn hand_to(&self, id: LeaseId, process: u32) -> Result<(), Error> {
        let host = self.host().ok_or(Error::NotShared)?;
        self.run(|table, now| {
            let owner = host.owner_with(process).ok_or(Error::UnknownProcess)?;
            table.give_to(now, id, owner)
        })
    }
}

/// Gives back what the process had that was in this slot. Only with the lock.
fn reap_slot<U: Undo>(host: &Host, state: &State<U>, slot: usize, now: Time) {
    let table = &state.table;
    if let Ok(reaped) = table.reap(now, owner_of(slot), Reason::HolderDied) {
        table.record_death(now, host.process_in(slot), reaped);
        host.journal().commit();
        host.count_death();
        host.free_slot(slot);
        // It may have died after it had decided something and before it had told.
        table.each_untold(|place| {
            host.wake_ticket(place);
            host.tell_owner(table.owner_of_place(place));
        });
    }
}

/// After a command that decided tickets, or that others want to know of.
#[cold]
pub(super) fn hand_over<U: Undo>(host: &Host, mut guard: Guard<'_, U>) {
    if guard.host.is_none() {
        return;
    }
    let mut woken = Woken::default();
    let mut decided = Vec::new();
    let State { table, wakers, listeners, .. } = &mut *guard;
    table.take_decided(|place| {
        wakers.take(place, &mut woken);
        decided.push((place, table.owner_of_place(place)));
    });
    listeners.take(table.last_event(), &mut woken);
    let (next_due, last_event) = (table.next_due(), table.last_event());
    let events = std::mem::replace(&mut guard.told_others, last_event) != last_event;
    drop(guard);
    for (place, owner) in decided {
        host.wake_ticket(place);
        if owner != host.owner() {
            host.tell_owner(owner);
        }
    }
    host.tell_others(events, next_due);
    woken.wake();
}

/// A command is done: it counts from now on, or is undone if it was cut short.
#[inline(always)]
pub(super) fn finish<U: Undo>(host: &Host, state: &State<U>, cut_short: bool) {
    if cut_short || state.table.is_corrupt() {
        undo(host, state, cut_short);
    } else {
        host.journal().commit();
    }
    host.unlock();
}

#[cold]
fn undo<U: Undo>(host: &Host, state: &State<U>, cut_short: bool) {
    let undone = host.journal().is_empty() || host.journal().roll_back().is_ok();
    // A panic is undone, and does not concern others; but this process's own notes about the table are half done.
    if !undone || !cut_short {
        host.mark_corrupt();
    }
    state.table.mark_corrupt();
}
