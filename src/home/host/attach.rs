//! Coming to a file, and leaving it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::file::{self, Mapped};
use super::journal::Journal;
use super::layout::{SLOTS, slot_state};
use super::life::Living;
use super::liveness::{self, Attachment, byte_of, try_lock_byte};
use super::place::Place;
use super::{Host, lock_word, ring};
use crate::home::open::OpenError;
use crate::memory::Arrays;
use crate::rt::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::table::{Limits, Settings, Time};

impl Host {
    /// Opens the file, made with these settings if there is none, and takes a slot in it. Until [`Self::settle_in`] it may still be its predecessor's.
    pub fn attach(place: Place, settings: Settings) -> Result<Host, OpenError> {
        let (probe, file) = file::open(&place, settings)?;
        let (descriptor, attachment) = Attachment::open(|| file::reopen(&place, file))
            .map_err(|error| OpenError::system("its file cannot be opened again", &error))?;
        let slot = match take_slot(&descriptor, file, try_lock_byte) {
            Ok(slot) => slot,
            Err(refused) => {
                attachment.close();
                return Err(refused);
            }
        };
        // From here on nobody takes this process for its predecessor.
        let before = file.slots[slot].generation.fetch_add(1, Ordering::AcqRel);
        Ok(Host {
            place,
            file,
            probe,
            root: file::root(),
            slot,
            word: lock_word::word_of(slot, before.wrapping_add(1)),
            attachment,
            space: std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino()),
            forks: liveness::forks(),
            detached: AtomicBool::new(false),
            looks: AtomicU32::new(0),
            checked: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
        })
    }

    /// What fits into the file's table.
    pub fn limits(&self) -> Limits {
        self.file.limits
    }

    /// The table's memory.
    pub fn arrays(&self) -> &Arrays<Journal> {
        &self.file.arrays
    }

    /// Did whoever had the slot before leave something behind?
    pub fn is_haunted(&self, slot: usize) -> bool {
        self.file.slots[slot].state.load(Ordering::Acquire) != slot_state::FREE
    }

    /// Is the slot one of whoever has inherited a lease?
    pub fn is_tree(&self, slot: usize) -> bool {
        self.file.slots[slot].state.load(Ordering::Acquire) == slot_state::TREE
    }

    /// The slot is this process's from now on. Only with the lock.
    pub fn settle_in(&self, now: Time) {
        self.settle_into(self.slot, slot_state::PROCESS, now);
        // Those who watch for deaths must watch this one too: see `Host::sleep`.
        fence(Ordering::SeqCst);
        for (index, slot) in self.used_slots() {
            if index != self.slot && slot.until.load(Ordering::SeqCst) != 0 {
                ring(slot);
            }
        }
    }

    pub(super) fn settle_into(&self, slot: usize, state: u32, now: Time) {
        let record = &self.file.slots[slot];
        record.process.store(std::process::id(), Ordering::Relaxed);
        record.space.store(self.space, Ordering::Relaxed);
        record.since.store(now, Ordering::Relaxed);
        record.until.store(0, Ordering::Relaxed);
        record.bell.be_awake();
        record.watches.store(0, Ordering::Relaxed);
        record.state.store(state, Ordering::Release);
    }

    /// Nobody has the slot any more. Only with the lock.
    pub fn free_slot(&self, slot: usize) {
        let record = &self.file.slots[slot];
        record.listens.store(0, Ordering::Release);
        self.count_listeners();
        record.until.store(0, Ordering::Relaxed);
        record.state.store(slot_state::FREE, Ordering::Release);
    }

    pub fn free_own_slot(&self) {
        self.free_slot(self.slot);
    }

    pub fn own_slot_number(&self) -> usize {
        self.slot
    }

    /// Which process had the slot, by its own number.
    pub fn process_in(&self, slot: usize) -> u32 {
        self.file.slots[slot].process.load(Ordering::Relaxed)
    }

    pub fn count_death(&self) {
        self.file.preamble.deaths.fetch_add(1, Ordering::AcqRel);
    }

    /// The thread that calls this is the one whose end tells of the process's.
    pub fn begin_life(&self) -> std::io::Result<Living<'static>> {
        self.file.slots[self.slot].life.begin()
    }

    /// This process has left: it must not touch the table again.
    pub fn detach(&self) {
        if !self.detached.swap(true, Ordering::AcqRel) {
            self.attachment.close();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // In a forked child the attachment may be another's by now, and this one's was closed.
        if !self.is_forked() {
            self.detach();
        }
    }
}

/// Locks the byte of a free slot, in this way.
pub(super) fn take_slot(
    descriptor: &File,
    file: &Mapped,
    try_lock: fn(&File, i64) -> io::Result<bool>,
) -> Result<usize, OpenError> {
    for slot in 0..SLOTS {
        match try_lock(descriptor, byte_of(slot)) {
            Ok(true) => {
                file.preamble.slots.fetch_max(slot as u32 + 1, Ordering::AcqRel);
                return Ok(slot);
            }
            Ok(false) => {}
            Err(error) => return Err(OpenError::system("its file cannot be locked", &error)),
        }
    }
    Err(OpenError::invalid("as many processes use it as can"))
}
