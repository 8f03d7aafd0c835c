//! Notifications between processes.
//!
//! Data structure: each slot of the file has one [`EventCount`], which the ticker of its process
//! parks on, and three words that say what other processes notify it of: `wants_tickets`,
//! `wants_events` and `wake_before`. Threads that wait for a ticket park on the ticket itself and
//! on the alarm of their process, a word in its own memory.
//!
//! Locking rule: `wants_tickets` and `wants_events` change under the lock of the file.
//! `wake_before` changes without it, by its own process. A command notifies after it has unlocked.
//!
//! Invariants:
//!
//! 1. *No notification is missed by a parked ticker.* The ticker sets `parked` before the kernel
//!    compares `seq` with what the ticker had read; `notify` changes `seq` before it reads
//!    `parked`. A sequentially consistent fence lies between the two steps of each. If `notify`
//!    reads that nothing is parked, the kernel finds `seq` changed.
//! 2. *No earlier deadline is missed.* Only a command that makes the next deadline an earlier one
//!    notifies of it: else tickers would wake each other for ever. The ticker sets `wake_before` to the maximum before it reads
//!    the next deadline of the table, then to that deadline. A command commits the earlier deadline
//!    before it reads `wake_before`, with fences as above. So either the ticker reads the new
//!    deadline, or the command reads a `wake_before` that is later and notifies.
//! 3. *No process is missed.* The ticker sets `wake_before` before it reads which processes are
//!    attached; a process that attaches sets its slot before it reads `wake_before`.
//! 4. *A notification is lost only with its process.* If that process was killed, the process that
//!    takes over its lock or frees its slot notifies the owners of all uncollected tickets. If it
//!    was stopped, the ticker of the waiting process finds the resolved ticket when it next checks
//!    the file, which no event announces, so that it checks every [`super::FILE_CHECK_INTERVAL`].
//!
//! `interleavings.rs` has models of 1, 2 and of a thread that parks on a ticket.

use std::time::Duration;

use super::Attachment;
use super::futex::{self, FutexWait};
use super::layout::{Slot, slot_state};
use crate::home::clock::Clock;
use crate::home::read_committed::ReadCommitted;
use crate::rt::atomic::{AtomicU32, Ordering, fence};
use crate::table::{Memory, Time};

/// The first and the longest interval at which the ticker checks a process that is dying.
const DYING_POLL: (Duration, Duration) = (Duration::from_micros(25), Duration::from_millis(1));

/// Longer parks are cut to this: the kernel does not accept every deadline.
const PARK_MAX: Duration = Duration::from_secs(3600);

/// See the module's text.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct EventCount {
    seq: AtomicU32,
    /// Not 0 while the ticker is parked.
    parked: AtomicU32,
}

impl EventCount {
    /// Read this before the state that a notification announces.
    pub fn seq(&self) -> u32 {
        self.seq.load(Ordering::Acquire)
    }

    pub fn notify(&self, wake_one: impl FnOnce(&AtomicU32)) {
        self.seq.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.parked.load(Ordering::Relaxed) != 0 {
            wake_one(&self.seq);
        }
    }

    /// `wait` must return at once if `seq` is not what was read before.
    pub fn park<'a>(&'a self, wait: impl FnOnce(&'a AtomicU32)) {
        self.parked.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        wait(&self.seq);
        self.clear_parked();
    }

    pub fn clear_parked(&self) {
        self.parked.store(0, Ordering::Relaxed);
    }
}

impl Slot {
    pub fn notify(&self) {
        self.events.notify(futex::wake_one);
    }

    /// The process is notified when another attaches, and when a deadline before this time is set;
    /// 0: of neither.
    pub fn set_wake_before(&self, time: Time) {
        self.wake_before.store(time, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Read this after a change that a ticker reads after [`Self::set_wake_before`].
    pub fn watches_nothing(&self) -> bool {
        self.wake_before.load(Ordering::SeqCst) == 0
    }

    /// The next deadline of the table. With `watch`, the process is notified of any earlier one.
    pub fn watch_deadline(&self, watch: bool, next_deadline: impl FnOnce() -> Time) -> Time {
        if !watch {
            return next_deadline();
        }
        self.set_wake_before(Time::MAX);
        let deadline = next_deadline();
        self.set_wake_before(deadline);
        deadline
    }

    /// Must the process be notified of this deadline? Call it after the deadline was committed,
    /// behind a sequentially consistent fence.
    pub fn is_woken_for(&self, deadline: Time) -> bool {
        deadline < self.wake_before.load(Ordering::Acquire)
    }
}

/// Notifications after a command.
impl Attachment {
    /// Wakes the threads of any process that wait for the ticket in this place.
    pub fn notify_ticket(&self, place: usize) {
        if let Some(ticket) = self.file.arrays.tickets().get(place) {
            futex::wake_lower_half(&ticket.result);
        }
    }

    /// As [`Self::notify_ticket`], if the ticket is resolved.
    pub fn notify_if_resolved(&self, place: usize) {
        if self.is_resolved(place) {
            self.notify_ticket(place);
        }
    }

    /// Did a committed command resolve the ticket in this place? Reads without the lock.
    pub fn is_resolved(&self, place: usize) -> bool {
        let ticket = self.file.arrays.tickets().get(place);
        let is_resolved = || ticket.is_some_and(|ticket| ticket.result.get() != 0);
        self.file.journal.read_committed(is_resolved).unwrap_or(false)
    }

    /// A ticket of this owner was resolved: notifies its process, if it has wakers for tickets.
    pub fn notify_owner(&self, owner: u16) {
        let slot = (owner as usize).checked_sub(1).and_then(|slot| self.file.slots.get(slot));
        if let Some(slot) = slot.filter(|slot| slot.wants_tickets.load(Ordering::Acquire) != 0) {
            slot.notify();
        }
    }

    /// Notifies the other processes that want events, if there were any, and each process that
    /// sleeps until later than the deadline, if the command made the next deadline an earlier one.
    pub fn notify_processes(&self, has_events: bool, earlier_deadline: Option<Time>) {
        fence(Ordering::SeqCst);
        let has_events = has_events && self.has_event_readers();
        for (index, slot) in self.used_slots() {
            let wants_events =
                has_events && index != self.slot && slot.wants_events.load(Ordering::Acquire) != 0;
            if wants_events || earlier_deadline.is_some_and(|deadline| slot.is_woken_for(deadline))
            {
                slot.notify();
            }
        }
    }

    /// Does any process want events?
    #[inline(always)]
    pub fn has_event_readers(&self) -> bool {
        self.file.preamble.event_readers.load(Ordering::Relaxed) != 0
    }

    /// Sets what other processes notify this one of. Only with the lock.
    pub fn set_interest(&self, events: bool, tickets: bool) {
        let slot = self.own_slot();
        slot.wants_tickets.store(tickets as u32, Ordering::Release);
        if slot.wants_events.swap(events as u32, Ordering::AcqRel) != events as u32 {
            self.count_event_readers();
        }
    }

    pub fn has_interest(&self) -> bool {
        let slot = self.own_slot();
        let wants = |word: &AtomicU32| word.load(Ordering::Relaxed) != 0;
        wants(&slot.wants_tickets) || wants(&slot.wants_events)
    }

    /// Counts all flags each time: a process may die between the change of its flag and that of a
    /// counter.
    pub(super) fn count_event_readers(&self) {
        let readers = self.used_slots().filter(|(_, slot)| {
            let wants_events = slot.wants_events.load(Ordering::Acquire);
            wants_events != 0
        });
        self.file.preamble.event_readers.store(readers.count() as u32, Ordering::Release);
    }

    /// A process has attached: notifies those that watch for deaths.
    pub(super) fn notify_of_attach(&self) {
        fence(Ordering::SeqCst);
        for (index, slot) in self.used_slots() {
            if index != self.slot && !slot.watches_nothing() {
                slot.notify();
            }
        }
    }
}

/// Parking.
impl Attachment {
    /// Parks until the ticket in this place is resolved, until the alarm, a word of this process,
    /// has another value than this, or for so long. May return early.
    pub fn park_on_ticket(&self, place: usize, alarm: (&AtomicU32, u32), time: Duration) {
        if let Some(ticket) = self.file.arrays.tickets().get(place) {
            let begun = Clock::Real.now();
            let words =
                [FutexWait::on_lower_half(&ticket.result, 0), FutexWait::on(alarm.0, alarm.1)];
            futex::wait_any(&words, time.min(PARK_MAX));
            self.check_file_after_park(begun);
        }
    }

    /// Wakes the threads of this process that park on a word of its own.
    pub fn wake_private(&self, word: &AtomicU32) {
        futex::wake_all(word);
    }

    /// A thread of this process has begun to wait: wakes the ticker, if it watches nothing.
    pub fn wake_idle_ticker(&self) {
        if self.own_slot().watches_nothing() {
            self.own_slot().notify();
        }
    }

    /// Parks the ticker until it is notified of more than `seq`, or for so long; with `watch`, also
    /// until a process begins to die, and only briefly if one is dying already: its end is not
    /// announced.
    ///
    /// A process that dies after any earlier check is still found: its word is read as it is put on
    /// the list of waits.
    pub fn park_ticker(&self, seq: u32, watch: bool, mut time: Duration) {
        let own = self.own_slot();
        let mut words = Vec::new();
        let mut dying = false;
        if watch {
            let others = self.used_slots().filter(|(index, slot)| {
                *index != self.slot && slot.state.load(Ordering::Acquire) == slot_state::PROCESS
            });
            for (_, slot) in others {
                match slot.life.wait_entry() {
                    Some(word) => words.push(word),
                    None => dying = true,
                }
            }
        }
        // Most processes end at once, and large ones take long: wait as long as the end has taken
        // so far.
        let polls = if dying { self.dying_polls.load(Ordering::Relaxed) + 1 } else { 0 };
        self.dying_polls.store(polls, Ordering::Relaxed);
        if dying {
            time = time.min(DYING_POLL.0.saturating_mul(1 << polls.min(16))).min(DYING_POLL.1);
        }
        own.events.park(|word| {
            words.insert(0, FutexWait::on(word, seq));
            let begun = Clock::Real.now();
            futex::wait_any(&words, time);
            self.check_file_after_park(begun);
        });
    }
}
