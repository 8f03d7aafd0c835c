//! The part of a lease that is read, and renewed, without the table's lock.
//!
//! A slot holds one lease after another. `id` names the lease that is in it (0: none);
//! `word` packs everything that decides the answer of `state()`:
//!
//! ```text
//!  63..62  61      60       59    58..48       47..0
//!  phase   revoke  locked   over  generation   time
//! ```
//!
//! * phase: none, held, expired, revoked.
//! * revoke: a held lease that reaches `time` is revoked then, not expired.
//! * locked: renewing needs the table's lock (chains, running notices).
//! * over: somebody whose clock showed `time` has been told that the held lease is over; it cannot be renewed any more.
//! * generation: counts the leases this slot has held, modulo 2048.
//! * time: while held, its end; afterwards, when it ended.
//!
//! **Why a reader is never wrong.** A reader loads `id`, `word`, `id`. Ids are never used twice.
//! Whoever puts a new lease into the slot first stores `id = 0`, then the new `word`, the other fields, and last
//! the new `id`, each store releasing. If the reader saw a `word` stored after `id = 0`, its second load of `id` sees
//! that 0 or something later, never the old id: so two equal loads of `id` mean that the word belongs to that lease.
//! The `time` inside the word is compared with the reader's own clock, so a held lease past its end reads as over,
//! whether or not anybody has written that down. Before it says so it sets `over`: a renewal that looked at its own clock earlier, and was held up
//! since, would otherwise bring the lease back to life.
//!
//! **Why a renewal is never lost or misplaced.** `word` is changed by compare-and-swap only while a lease is held, by renewals and by
//! the lock's owner alike: of an end and a renewal that race, exactly one wins and the other sees it. A renewal is stopped from
//! reaching a *later* lease in the same slot by the generation: it would have to sleep between its load and its swap while 2048 leases pass
//! through this one slot and the last of them has, to the unit, the same end. History makes each pass take `history` grants.
//!
//! `tests/loom_slot.rs` runs these operations against commands of the real table through the interleavings that loom finds, and
//! checks that the telling ones are among them.

use super::cell::Cell64;
use super::types::{FOREVER, LeaseState, Time};

/// See the module's text.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Slot {
    pub(crate) id: Cell64,
    pub(crate) word: Cell64,
    pub(crate) ttl: Cell64,
}

const PHASE: u32 = 62;
const REVOKE: u64 = 1 << 61;
const LOCKED: u64 = 1 << 60;
const OVER: u64 = 1 << 59;
const GENERATION: u32 = 48;
const GENERATIONS: u64 = 0x7ff;

const NONE: u64 = 0;
const HELD: u64 = 1;
const EXPIRED: u64 = 2;
const REVOKED: u64 = 3;

/// A decoded `word`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    #[inline(always)]
    fn phase(self) -> u64 {
        self.0 >> PHASE
    }

    #[inline(always)]
    pub(crate) fn held(self) -> bool {
        self.phase() == HELD
    }

    #[inline(always)]
    pub(crate) fn revoked(self) -> bool {
        self.phase() == REVOKED
    }

    #[inline(always)]
    pub(crate) fn ends_revoked(self) -> bool {
        self.0 & REVOKE != 0
    }

    /// Somebody has seen this held lease past its end.
    #[inline(always)]
    pub(crate) fn over(self) -> bool {
        self.0 & OVER != 0
    }

    /// Is a held lease past its end, by this time or because somebody has seen it so?
    #[inline(always)]
    pub(crate) fn is_past(self, now: Time) -> bool {
        self.over() || now >= self.time() && self.time() != FOREVER
    }

    #[inline(always)]
    pub(crate) fn time(self) -> Time {
        self.0 & FOREVER
    }

    /// Another end for a held lease that nobody has seen past the one it has. What is marked stays so: a lease is not released from a notice or from its parent.
    #[inline(always)]
    pub(crate) fn with_end(self, end: Time, ends_revoked: bool, locked: bool) -> Word {
        let keep = self.0 & !FOREVER;
        let revoke = if ends_revoked { REVOKE } else { 0 };
        let locked = if locked { LOCKED } else { 0 };
        Word(keep | end | revoke | locked)
    }

    /// What a reader whose clock shows `now` must answer; `None` where no lease is.
    #[inline(always)]
    pub(crate) fn state(self, now: Time) -> Option<LeaseState> {
        match self.phase() {
            HELD if !self.is_past(now) => Some(LeaseState::Held),
            HELD if self.ends_revoked() => Some(LeaseState::Revoked),
            HELD | EXPIRED => Some(LeaseState::Expired),
            REVOKED => Some(LeaseState::Revoked),
            _ => None,
        }
    }
}

/// What a renewal without the lock came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuickRenewal {
    /// Done; the lease ends at this time now.
    Until(Time),
    /// The table must decide, under its lock.
    AskTable,
}

impl Slot {
    /// The state of lease `id` at `now`; `None` if this slot does not hold it (any more).
    #[inline(always)]
    pub(crate) fn state(&self, id: u64, now: Time) -> Option<LeaseState> {
        self.read(id)?.state(now)
    }

    /// The word of lease `id`, if the slot still holds it.
    #[inline(always)]
    pub(crate) fn read(&self, id: u64) -> Option<Word> {
        if self.id.get() != id {
            return None;
        }
        let word = Word(self.word.get());
        if self.id.get() != id { None } else { Some(word) }
    }

    /// The state of lease `id` by a clock that is asked only if the answer depends on it. What it tells stays true.
    #[inline(always)]
    pub(crate) fn state_by(&self, id: u64, clock: impl FnOnce() -> Time) -> Option<LeaseState> {
        let word = self.read(id)?;
        if !word.held() {
            return word.state(0);
        }
        if word.time() == FOREVER {
            return Some(LeaseState::Held);
        }
        let now = clock();
        if !word.is_past(now) {
            return Some(LeaseState::Held);
        }
        self.tell_over(id, word, now)
    }

    /// Marks a held lease that is past its end, and tells what it is; or what it is after all, if it changed meanwhile.
    #[cold]
    fn tell_over(&self, id: u64, mut word: Word, now: Time) -> Option<LeaseState> {
        loop {
            if !word.held() || !word.is_past(now) {
                return word.state(0);
            }
            let told = if word.ends_revoked() { LeaseState::Revoked } else { LeaseState::Expired };
            if word.over() || self.word.swap_if(word.0, word.0 | OVER).is_ok() {
                // The mark may have met the next lease in this slot only if the generation came round; see above.
                return Some(told);
            }
            word = self.read(id)?;
        }
    }

    /// Moves the end of a plain held lease to `now + ttl`, if that needs no rule but this one.
    #[inline(always)]
    pub(crate) fn renew(&self, id: u64, now: Time) -> QuickRenewal {
        if self.id.get() != id {
            return QuickRenewal::AskTable;
        }
        let word = Word(self.word.get());
        let ttl = self.ttl.get();
        // The ttl read above belongs to `id` only if the slot had not moved on.
        if self.id.get() != id || word.0 & (LOCKED | OVER) != 0 || !word.held() {
            return QuickRenewal::AskTable;
        }
        let (end, until) = (word.time(), end_after(now, ttl));
        if end == FOREVER {
            return QuickRenewal::Until(FOREVER);
        }
        if now >= end || is_late(now, end, ttl) || ttl == FOREVER {
            return QuickRenewal::AskTable;
        }
        if until <= end {
            return QuickRenewal::Until(end);
        }
        match self.word.swap_if(word.0, word.with_end(until, false, false).0) {
            Ok(()) => QuickRenewal::Until(until),
            Err(_) => QuickRenewal::AskTable,
        }
    }

    /// The word with which the next lease in this slot starts.
    #[inline(always)]
    pub(crate) fn next_word(&self, end: Time, locked: bool) -> u64 {
        let generation = ((self.word.get() >> GENERATION) + 1) & GENERATIONS;
        Word(HELD << PHASE | generation << GENERATION).with_end(end, false, locked).0
    }

    /// The word of this lease once it has ended at `at`.
    #[inline(always)]
    pub(crate) fn ended_word(word: Word, at: Time, revoked: bool) -> u64 {
        let phase = if revoked { REVOKED } else { EXPIRED };
        let generation = word.0 & (GENERATIONS << GENERATION);
        phase << PHASE | generation | at
    }
}

/// `now + ttl`, where everything from `FOREVER` on means "without end".
#[inline(always)]
pub(crate) fn end_after(now: Time, ttl: Time) -> Time {
    now.saturating_add(ttl).min(FOREVER)
}

/// A renewal that comes when less than a quarter of the ttl is left is late.
#[inline(always)]
pub(crate) fn is_late(now: Time, end: Time, ttl: Time) -> bool {
    end != FOREVER && ttl != FOREVER && end.saturating_sub(now).saturating_mul(4) < ttl
}

const _: () = assert!(NONE == 0, "zeroed memory must read as an empty slot");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::cell::Cell;

    fn filled(id: u64, end: Time, ttl: Time) -> Slot {
        let slot = Slot::default();
        slot.word.put(slot.next_word(end, false));
        slot.ttl.put(ttl);
        slot.id.put(id);
        slot
    }

    #[test]
    fn a_zeroed_slot_holds_nothing() {
        let slot = Slot::default();
        assert_eq!(slot.state(0, 0), None);
        assert_eq!(slot.state(7, 0), None);
    }

    #[test]
    fn held_until_the_end_and_not_at_it() {
        let slot = filled(7, 10, 10);
        assert_eq!(slot.state(7, 9), Some(LeaseState::Held));
        assert_eq!(slot.state(7, 10), Some(LeaseState::Expired));
        assert_eq!(slot.state(8, 9), None);
    }

    #[test]
    fn a_word_that_ends_revoked_says_so_by_time_alone() {
        let slot = filled(7, 10, 10);
        let word = Word(slot.word.get()).with_end(10, true, true);
        assert_eq!(word.state(9), Some(LeaseState::Held));
        assert_eq!(word.state(10), Some(LeaseState::Revoked));
    }

    #[test]
    fn renewing_moves_the_end_forward_only() {
        let slot = filled(7, 10, 10);
        assert_eq!(slot.renew(7, 4), QuickRenewal::Until(14));
        assert_eq!(slot.renew(7, 3), QuickRenewal::Until(14));
        assert_eq!(slot.renew(7, 14), QuickRenewal::AskTable);
        assert_eq!(slot.renew(8, 4), QuickRenewal::AskTable);
    }

    #[test]
    fn a_late_renewal_is_the_tables_business() {
        let slot = filled(7, 100, 100);
        assert_eq!(slot.renew(7, 76), QuickRenewal::AskTable);
        assert_eq!(slot.renew(7, 75), QuickRenewal::Until(175));
    }

    #[test]
    fn who_is_told_of_an_end_is_told_what_became_of_the_lease_meanwhile() {
        let slot = filled(7, 10, 10);
        let seen = Word(slot.word.get());
        slot.word.put(seen.with_end(20, false, false).0);
        assert_eq!(slot.tell_over(7, seen, 12), Some(LeaseState::Held));
        assert_eq!(slot.renew(7, 12), QuickRenewal::Until(22), "nobody was told that it is over");
        slot.word.put(Slot::ended_word(seen, 9, true));
        assert_eq!(slot.tell_over(7, seen, 12), Some(LeaseState::Revoked));
        assert_eq!(slot.tell_over(7, Word(slot.word.get()), 12), Some(LeaseState::Revoked));
        slot.id.put(0);
        assert_eq!(slot.tell_over(7, seen, 12), None);
    }

    #[test]
    fn a_lease_that_ends_leaves_its_generation() {
        let slot = filled(7, 10, 10);
        for _ in 0..5000 {
            let ended = Slot::ended_word(Word(slot.word.get()), 10, true);
            assert_eq!(Word(ended).state(10), Some(LeaseState::Revoked));
            let last = slot.word.get();
            slot.word.put(ended);
            slot.word.put(slot.next_word(10, false));
            assert_ne!(
                slot.word.get(),
                last,
                "whoever saw the last lease would take this one for it"
            );
        }
    }

    #[test]
    fn generations_wrap_and_differ() {
        let slot = Slot::default();
        let mut last = slot.word.get();
        for _ in 0..5000 {
            let next = slot.next_word(5, false);
            assert_ne!(next, last);
            slot.word.put(next);
            last = next;
        }
    }

    #[test]
    fn without_end_stays_without_end() {
        let slot = filled(7, FOREVER, FOREVER);
        assert_eq!(slot.state(7, FOREVER - 1), Some(LeaseState::Held));
        assert_eq!(slot.renew(7, 5), QuickRenewal::Until(FOREVER));
        assert_eq!(end_after(5, FOREVER - 5), FOREVER);
        assert_eq!(end_after(5, FOREVER - 6), FOREVER - 1);
    }
}
