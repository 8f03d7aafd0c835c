//! What a home does otherwise whose table lies in a file that other processes share: it locks the file too, tells nobody what may yet be undone, and wakes
//! those in other processes.

use std::time::{Duration, Instant};

use super::guard::Guard;
use super::{Core, State};
use crate::home::arrays::{Arrays, Undo};
use crate::home::host::{Host, Locked};
use crate::home::wake::Woken;
use crate::table::command::{Collected, GrantDetail, Place};
use crate::table::{
    self, Claim, Error, LeaseId, LeaseState, Outcome, Placed, Reason, Table, TicketId, TicketState,
    Time,
};

/// How long to wait for a process that has the lock and does not go on.
pub(super) const STUCK: Duration = Duration::from_secs(5);

/// How often a thread that sleeps on a ticket looks whether anybody has forgotten to wake it.
const GLANCE: Duration = Duration::from_millis(100);

impl<U: Undo> Core<U> {
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
        } else if guard.spoiled {
            Some(Error::Corrupt)
        } else {
            match host.lock(limit) {
                Ok(Locked::Freed) if host.journal().is_empty() && host.is_sound() => {
                    guard.host = Some(host);
                    return guard;
                }
                Ok(locked) => {
                    guard.host = Some(host);
                    self.recover(host, &guard, locked);
                    None
                }
                Err(_) if host.is_lost() => Some(Error::Refused(Reason::EngineLost)),
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
    pub(super) fn lock_forked(&self) -> Guard<'_, U> {
        // SAFETY: no thread but this one came into the child, and the guard does not free the lock.
        let mut guard = Guard::new(unsafe { self.state.make_guard_unchecked() });
        guard.forked = true;
        // Not what the parent was refused for last.
        guard.table.accept();
        guard.table.refuse_all(Error::Forked);
        guard
    }

    /// The lock came from a process that died, or the table is damaged or lost.
    #[cold]
    fn recover(&self, host: &Host, state: &State<U>, locked: Locked) {
        if host.is_corrupt() {
            return state.table.mark_corrupt();
        }
        if !host.journal().is_empty() {
            self.roll_back(host, state, locked);
        }
        // Before any other command: a release would grant what it frees to a waiter.
        if host.is_lost() && (state.table.held() != 0 || state.table.waiting() != 0) {
            let now = self.clock.now().max(state.table.now());
            // Fails only if the table is damaged, which marks it so.
            let _ = state.table.end_all(now, Reason::EngineLost);
            host.journal().commit();
        }
    }

    fn roll_back(&self, host: &Host, state: &State<U>, locked: Locked) {
        let undone = host.journal().roll_back().is_ok();
        if !undone || state.table.verify().is_err() {
            return state.table.mark_corrupt();
        }
        let process = match locked {
            Locked::Inherited { process } => process,
            Locked::Freed => 0,
        };
        let now = self.clock.now().max(state.table.now());
        state.table.record_roll_back(now, process);
        host.journal().commit();
    }

    /// Asks for a lease. If there is none to be had, perhaps only because nobody has noticed that somebody died.
    pub(super) fn claim_shared<D: GrantDetail>(
        &self,
        host: &Host,
        claim: &Claim<'_>,
    ) -> Result<Placed<D>, Error> {
        let claim = Claim { owner: host.owner(), ..*claim };
        let limit = Duration::from_micros(claim.wait.max(1)).min(STUCK);
        let limit = if claim.wait == 0 { STUCK } else { limit };
        let lost = || Err(Error::Refused(Reason::EngineLost));
        let ask = || {
            self.run_shared(host, limit, |table, now| {
                if host.is_lost() { lost() } else { table.apply(&Place::new(&claim), now) }
            })
        };
        match ask() {
            Err(Error::Busy) if self.reap(host) => ask(),
            Ok(Placed { outcome: Outcome::Waiting(id), detail }) if self.reap(host) => {
                if let Some(TicketState::Granted(lease)) = self.ticket(id)
                    && let Collected { withdrawn: false, detail } = self.collect(id)
                {
                    return Ok(Placed { outcome: Outcome::Granted(lease), detail });
                }
                Ok(Placed { outcome: Outcome::Waiting(id), detail })
            }
            // The memory may have been replaced in the middle of the command.
            Ok(Placed { outcome: Outcome::Granted(_), .. }) if host.is_lost() => lost(),
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
        let now = self.time_for(&state);
        let answer = command(&state.table, now);
        if state.must_hand_over() {
            self.hand_over(state);
        }
        answer
    }

    /// The state of a lease. What may yet be undone is not told: but that a lease is held is true until it is not.
    #[inline(always)]
    pub(super) fn shared_state(
        &self,
        host: &Host,
        id: LeaseId,
        read: impl FnOnce() -> Option<LeaseState>,
    ) -> Option<LeaseState> {
        let state = match host.settled(read) {
            Ok(state) => state,
            Err(unsettled) if !unsettled.undone && unsettled.found == Some(LeaseState::Held) => {
                unsettled.found
            }
            Err(_) => self.run(|table, now| table.state(id, now)),
        };
        match state {
            // Over, even if no process has been able to lock the table and end it.
            Some(LeaseState::Held) if host.is_lost() => Some(LeaseState::Expired),
            state => state,
        }
    }

    /// What became of a ticket. In a lost table it waits for nothing.
    pub(super) fn shared_ticket(&self, host: &Host, id: TicketId) -> Option<TicketState> {
        let read = || table::ticket_state(&self.memory, id);
        let state = host.settled(read).unwrap_or_else(|_| self.peek(|table| table.ticket(id)));
        unless_lost(host, state)
    }

    pub(super) fn renew_shared(&self, host: &Host, id: LeaseId, now: Time) -> Result<Time, Error> {
        if !host.is_forked() && !host.is_detached() && host.is_sound() {
            let renewed = host.settled(|| table::renew_quickly(&self.memory, id, now));
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
            let overdue = |end: Time| self.clock.now() > end.saturating_add(50_000);
            if table::wait_end(&self.memory, id).is_some_and(overdue) {
                // Nobody has refused it in time: does anybody keep the lock from those who would?
                let limit = Duration::from_millis(50);
                self.run_shared(host, limit, |table, now| table.advance(now))?;
            }
            host.sleep_on_ticket(place, left.min(GLANCE));
            host.check_file();
        }
    }
}

/// The state of a ticket, which waits for nothing in a lost table.
pub(super) fn unless_lost(host: &Host, state: Option<TicketState>) -> Option<TicketState> {
    match state {
        Some(TicketState::Waiting) if host.is_lost() => {
            Some(TicketState::Refused(Reason::EngineLost))
        }
        None if host.has_forgotten() => Some(TicketState::Refused(Reason::EngineLost)),
        state => state,
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
pub(super) fn finish<U: Undo>(host: &Host, state: &mut State<U>, cut_short: bool) {
    if cut_short || state.table.is_corrupt() {
        undo(host, state, cut_short);
    } else {
        host.journal().commit();
    }
    host.unlock();
}

#[cold]
fn undo<U: Undo>(host: &Host, state: &mut State<U>, cut_short: bool) {
    let undone = host.journal().is_empty() || host.journal().roll_back().is_ok();
    if !undone || !cut_short {
        host.mark_corrupt();
    }
    // A panic does not concern others, for whom nothing has happened; but this process's own notes about the table are half done.
    state.spoiled = true;
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;
    use crate::home::host::{Journal, Place};
    use crate::table::{FOREVER, Limits, Settings};

    fn open(path: &std::path::Path) -> Arc<Core<Journal>> {
        let limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };
        let place = Place { path: path.to_owned(), mode: 0o600 };
        Core::open_host(place, Settings { limits, ..Settings::default() }).expect("it is made")
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
            one.run(|table, now| {
                table.claim(now, &claim).expect("it is free");
                panic!("on purpose, for a test")
            })
        }));
        assert!(cut_short.is_err());
        assert_eq!(one.claim::<()>(&claim), Err(Error::Corrupt));
        assert_eq!(one.claim::<()>(&claim), Err(Error::Corrupt));
        assert_eq!(other.look(|table| (table.held(), table.verify())), (0, Ok(())));
        assert!(is_granted(other.claim(&claim)));
        one.close();
        assert!(open(&path).look(|table| table.verify()).is_ok());
        other.close();
        std::fs::remove_file(path).expect("it is there");
    }

    /// An owner that has only had the lock for a while is waited for, also if nobody has noted any time yet.
    #[test]
    fn who_takes_its_time_is_not_stuck() {
        let path = std::env::temp_dir().join(format!("tern-slow-{}", std::process::id()));
        let (one, other) = (open(&path), open(&path));
        let claim = Claim { ttl: FOREVER, ..Claim::one("holder", &["gpu"]) };
        let guard = one.lock();
        guard.host.expect("it has the lock").note_time(0);
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

    /// Somebody drops a lease while a panic of its own unwinds: that is a command like any other.
    #[test]
    fn what_is_done_while_unwinding_counts() {
        struct Release<'a>(&'a Core<Journal>, LeaseId);
        impl Drop for Release<'_> {
            fn drop(&mut self) {
                self.0.run(|table, now| table.release(now, self.1)).expect("it is held");
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
