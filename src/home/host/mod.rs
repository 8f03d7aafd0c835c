//! The host home: one table for all processes of a machine, in a file that they map. There is nothing to start, and nothing to clean up.
//!
//! `docs/homes.md` says what users must know. Here: `place` finds the file, `fit` says whether it can be used, `file` opens it, `room` keeps room for it, `layout` says what is in it, `lock` guards the table,
//! `journal` undoes what a dead process had begun, `liveness` and `life` tell who lives, `attach` lets a process in and out.
#![allow(unsafe_code)]

mod attach;
mod bell;
mod file;
mod fit;
mod futex;
mod home;
mod info;
#[cfg(all(test, loom))]
mod interleavings;
mod journal;
mod layout;
mod life;
mod liveness;
mod lock;
mod lock_word;
mod place;
mod room;
mod tree;

use std::fs::File;
use std::time::Duration;

pub(crate) use home::HostHome;
pub use info::{HostInfo, Life as ProcessLife, LockInfo, ProcessInfo};
pub(crate) use journal::Journal;

pub(crate) use lock::Locked;
pub(crate) use place::Place;
pub use tree::Inherited;

use file::{Condition, Mapped, Root};
use futex::Sleep;
use layout::{Slot, slot_state, status};
use liveness::Attachment;

use crate::home::clock::Clock;
use crate::home::settled::{Undoable, Unsettled};
use crate::rt::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::table::{Memory, Time};

/// How soon and how late a keeper looks again after a process that is dying.
const DYING: (Duration, Duration) = (Duration::from_micros(25), Duration::from_millis(1));

/// How often a process checks that the file is still in place. A keeper sleeps no longer.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps the ends of sleeps within what the kernel takes for a time.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// The real user of this process.
pub(crate) fn real_user() -> u32 {
    // SAFETY: cannot fail, takes and changes nothing.
    unsafe { libc::getuid() }
}

/// What one process has of a file.
#[derive(Debug)]
pub(crate) struct Host {
    place: Place,
    file: &'static Mapped,
    /// Asks whether others live. It has no lock of its own.
    probe: File,
    /// The root directory in which the path of the file was found.
    root: Option<Root>,
    slot: usize,
    /// What the lock says when this process has it.
    word: u32,
    attachment: &'static Attachment,
    /// The PID namespace of this process; 0 if that is not known.
    space: u64,
    /// How often the process had been forked when it came.
    forks: u32,
    detached: AtomicBool,
    /// How often in a row the keeper has looked after a process that is dying.
    looks: AtomicU32,
    /// When the file was checked last.
    checked: AtomicU64,
    /// Since when the owner of the lock had it that was found not to go on; 0: none was.
    stuck: AtomicU64,
}

impl Host {
    /// The number under which the table knows this process.
    #[inline(always)]
    pub fn owner(&self) -> u16 {
        owner_of(self.slot)
    }

    fn own_slot(&self) -> &Slot {
        &self.file.slots[self.slot]
    }

    /// All slots that were ever used, with their numbers.
    fn used_slots(&self) -> impl Iterator<Item = (usize, &'static Slot)> + use<> {
        let count = self.file.preamble.slots.load(Ordering::Acquire) as usize;
        self.file.slots.iter().take(count).enumerate()
    }

    pub fn journal(&self) -> &Journal {
        &self.file.journal
    }

    /// Was this process forked since it came? Then it must not touch anything.
    #[inline(always)]
    pub fn is_forked(&self) -> bool {
        self.forks != liveness::forks()
    }

    #[inline(always)]
    pub fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Acquire)
    }

    /// Is the table neither damaged nor lost? One load, for the fast paths.
    #[inline(always)]
    pub fn is_sound(&self) -> bool {
        self.file.preamble.status.load(Ordering::Acquire) == 0
    }

    #[inline(always)]
    fn has_status(&self, bit: u32) -> bool {
        self.file.preamble.status.load(Ordering::Acquire) & bit != 0
    }

    pub fn is_corrupt(&self) -> bool {
        self.has_status(status::CORRUPT)
    }

    pub fn mark_corrupt(&self) {
        self.file.preamble.status.fetch_or(status::CORRUPT, Ordering::AcqRel);
    }

    /// Was the file deleted, renamed, replaced or truncated? All leases of the table are over then.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.has_status(status::LOST)
    }

    /// Was the memory of the table replaced, because its file was truncated? Then it has forgotten everything.
    pub fn has_forgotten(&self) -> bool {
        self.file.is_replaced()
    }

    /// Looks for the file where newcomers look for it, and marks the table lost if it is not there. A thread that has
    /// slept calls this before it touches the table: a truncated file would end the process by SIGBUS.
    pub fn check_file(&self) {
        self.checked.store(Clock::Real.now(), Ordering::Relaxed);
        match file::condition(&self.place, &self.probe, self.file, self.root) {
            // Another table lies in the file if its slot is not this process's: the file was truncated and made anew.
            Condition::InPlace if self.is_detached() || self.has_its_slot() => {}
            Condition::InPlace | Condition::Truncated => self.file.replace_memory(),
            Condition::Gone => {
                self.file.preamble.status.fetch_or(status::LOST, Ordering::AcqRel);
            }
        }
    }

    fn has_its_slot(&self) -> bool {
        lock_word::is_of_generation(self.word, self.own_slot().generation.load(Ordering::Acquire))
    }

    /// Who has the lock notes since when.
    #[inline(always)]
    pub fn note_time(&self, now: Time) {
        self.file.preamble.since.store(now, Ordering::Relaxed);
    }

    /// What `read` finds without the lock, if no command that may be undone was being carried out.
    #[inline(always)]
    pub fn settled<T>(&self, read: impl FnOnce() -> T) -> Result<T, Unsettled<T>> {
        self.journal().settled(read)
    }

    /// Sleeps until the ticket in this place is resolved, until the alarm, a word of this process,
    /// has another value than this, or for so long. May return for no reason.
    pub fn sleep_on_ticket(&self, place: usize, alarm: (&AtomicU32, u32), time: Duration) {
        if let Some(ticket) = self.file.arrays.tickets().get(place) {
            let sleeps = [Sleep::on_lower_half(&ticket.result, 0), Sleep::on(alarm.0, alarm.1)];
            futex::wait_any(&sleeps, time.min(LONGEST_SLEEP));
        }
    }

    /// Wakes the threads of this process that sleep on a word of its own.
    pub fn wake_private(&self, word: &AtomicU32) {
        futex::wake_all(word);
    }

    /// Wakes the threads, in whatever process, that sleep until the ticket in this place is decided.
    pub fn wake_ticket(&self, place: usize) {
        if let Some(ticket) = self.file.arrays.tickets().get(place) {
            futex::wake_lower_half(&ticket.result);
        }
    }

    /// As [`Self::wake_ticket`], if the ticket is resolved.
    pub fn wake_resolved(&self, place: usize) {
        if self.file.arrays.tickets().get(place).is_some_and(|ticket| ticket.result.get() != 0) {
            self.wake_ticket(place);
        }
    }

    /// Do other processes ring this one for tickets or events?
    pub fn is_listener(&self) -> bool {
        let own = self.own_slot();
        own.watches.load(Ordering::Relaxed) | own.listens.load(Ordering::Relaxed) != 0
    }

    /// The keeper of this process cares for what others do: rung for tickets with wakers, for events if somebody listens. Only with the
    /// lock.
    pub fn listen(&self, listens: bool, watches: bool) {
        let slot = self.own_slot();
        slot.watches.store(watches as u32, Ordering::Release);
        if slot.listens.swap(listens as u32, Ordering::AcqRel) != listens as u32 {
            self.count_listeners();
        }
    }

    /// Counted anew each time: a process may die between its own change and that of the count. Only with the lock.
    fn count_listeners(&self) {
        let listens = |(_, slot): &(usize, &Slot)| slot.listens.load(Ordering::Acquire) != 0;
        let count = self.used_slots().filter(listens).count();
        self.file.preamble.listening.store(count as u32, Ordering::Release);
    }

    /// A ticket of another process was decided: if somebody there waits for it otherwise than by sleeping, its keeper must know.
    pub fn tell_owner(&self, owner: u16) {
        let slot = (owner as usize).checked_sub(1).and_then(|slot| self.file.slots.get(slot));
        if let Some(slot) = slot.filter(|slot| slot.watches.load(Ordering::Acquire) != 0) {
            ring(slot);
        }
    }

    /// Rings for those who have to get up for it: there were events, or something is due earlier than they think.
    pub fn tell_others(&self, events: bool, next_due: Time) {
        // After the commit: see `set_interest`.
        fence(Ordering::SeqCst);
        let listened_to = events && self.file.preamble.listening.load(Ordering::Acquire) != 0;
        for (index, slot) in self.used_slots() {
            let wants = listened_to && slot.listens.load(Ordering::Acquire) != 0;
            if index != self.slot && (wants || next_due < slot.until.load(Ordering::Acquire)) {
                ring(slot);
            }
        }
    }

    /// Does anybody in another process want to know of events?
    #[inline(always)]
    pub fn is_listened_to(&self) -> bool {
        self.file.preamble.listening.load(Ordering::Relaxed) != 0
    }

    /// The keeper of this process is to look.
    pub fn ring_own(&self) {
        ring(self.own_slot());
    }

    /// What the bell shows; to be read before looking for what it may have been rung for.
    pub fn bell(&self) -> u32 {
        self.own_slot().bell.shows()
    }

    /// As [`Self::check_file`], but not after each ring of a busy table.
    pub fn check_file_after_sleep(&self, begun: Time) {
        let now = Clock::Real.now();
        let passed = |since: Time| Duration::from_micros(now.saturating_sub(since));
        if passed(begun) >= Duration::from_millis(1)
            || passed(self.checked.load(Ordering::Relaxed)) >= CHECK_INTERVAL
        {
            self.check_file();
        }
    }

    /// Sleeps until the bell shows something else than this, or a process has begun to die if that matters, or for so long; not for long if one is
    /// dying already, of whose end nobody tells.
    ///
    /// **Why no death is missed.** This says that it cares before it looks who is there; whoever comes says so before it looks who cares, and
    /// rings. And whether a process lives is decided where it is put on the list: one that is not, because it has begun to die since anybody looked,
    /// makes the sleep a short one.
    pub fn sleep(&self, bell: u32, until: Time, cares: bool, mut time: Duration) {
        let own = self.own_slot();
        self.set_interest(if cares { until } else { 0 });
        let mut lives = Vec::new();
        let mut dying = false;
        if cares {
            let others = self.used_slots().filter(|(index, slot)| {
                *index != self.slot && slot.state.load(Ordering::Acquire) == slot_state::PROCESS
            });
            for (_, slot) in others {
                match slot.life.watched() {
                    Some(life) => lives.push(life),
                    None => dying = true,
                }
            }
        }
        // Most processes are gone at once, and large ones take long: look again after about as long as it has taken so far.
        let looks = if dying { self.looks.load(Ordering::Relaxed) + 1 } else { 0 };
        self.looks.store(looks, Ordering::Relaxed);
        if dying {
            time = time.min(DYING.0.saturating_mul(1 << looks.min(16))).min(DYING.1);
        }
        own.bell.sleep(|word| {
            lives.insert(0, Sleep::on(word, bell));
            let begun = Clock::Real.now();
            futex::wait_any(&lives, time);
            self.check_file_after_sleep(begun);
        });
    }

    /// The keeper of this process is to be rung when a process comes, and when something is due before this; 0: for neither.
    pub fn set_interest(&self, before: Time) {
        self.own_slot().until.store(before, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Slots of which the processes may be gone, as far as memory tells.
    fn suspicious(&self) -> impl Iterator<Item = (usize, u32)> {
        self.used_slots().filter_map(|(index, slot)| {
            let state = slot.state.load(Ordering::Acquire);
            let alive =
                state == slot_state::FREE || state == slot_state::PROCESS && slot.life.goes_on();
            (index != self.slot && !alive).then_some((index, state))
        })
    }

    pub fn anybody_suspicious(&self) -> bool {
        self.suspicious().next().is_some()
    }

    /// The slots of processes that are gone and have not been reaped. Only with the lock.
    pub fn find_dead(&self) -> Vec<usize> {
        let slots = self.suspicious().map(|(index, _)| index);
        slots.filter(|&index| !self.is_taken(index)).collect()
    }

    /// Are there trees, of whose end nobody tells?
    pub fn has_trees(&self) -> bool {
        self.suspicious().any(|(_, state)| state == slot_state::TREE)
    }

    /// Has the keeper look for what this process waits for, if it does not yet.
    pub fn wake_idle_ticker(&self) {
        if self.own_slot().until.load(Ordering::SeqCst) == 0 {
            self.ring_own();
        }
    }
}

/// The number under which the table knows the process in a slot.
pub(crate) fn owner_of(slot: usize) -> u16 {
    slot as u16 + 1
}

fn ring(slot: &Slot) {
    slot.bell.ring(futex::wake_one);
}
