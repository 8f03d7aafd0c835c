//! This process's copy of a table that many machines share, and what a command changed in it.
//!
//! A command runs on the copy as it would on any table. What it changed is noted cell by cell, so that it can be told to the others as a
//! difference (`diff.rs`), or undone if they were faster.
//!
//! Behind the table lies what only this process knows: the times of its leases (`table/kept.rs`). What a command changes there is undone with it, and not told.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use super::diff::{Change, Width};
use crate::memory::{Arrays, UndoLog};
use crate::memory::{Region, array_bytes};
use crate::table::Kept;
use crate::table::cell::{Cell, Cell32, Cell64, Touched};
use crate::table::kept::{KeptEnd, KeptHeader};
use crate::table::layout::Sizes;
use crate::zeroed::ZeroedArray;

/// The memory of one copy, and the notes on what was changed in it. Clones are the same copy.
#[derive(Debug, Clone)]
pub struct Replica {
    words: ZeroedArray<Cell64>,
    /// So many of the words are the table's; the others are told to nobody.
    shared: usize,
    header: ZeroedArray<KeptHeader>,
    ends: ZeroedArray<KeptEnd>,
    written: Arc<Mutex<Vec<Written>>>,
}

/// A cell was changed.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    place: u32,
    width: Width,
    old: u64,
}

impl Replica {
    /// An empty table's memory; `None` if the system does not give so much, or if places in it could not be told in 32 bits.
    pub fn try_new(sizes: &Sizes) -> Option<(Replica, Arrays<Replica>)> {
        let shared = Arrays::<Replica>::bytes(sizes);
        let own = array_bytes::<KeptHeader>(1) + array_bytes::<KeptEnd>(sizes.leases);
        u32::try_from((shared + own) / 4).ok()?;
        // Aligned to 64, as a region must be.
        let words: ZeroedArray<Cell64> = ZeroedArray::try_new((shared + own) / 8)?;
        let first: NonNull<u8> = NonNull::from(&words[0]).cast();
        // SAFETY: the block has so many bytes, is used as atomics only, and is as old as every array in it: each is in a replica or beside one, which has the words.
        let (mut table, mut private) =
            unsafe { (Region::new(first, shared), Region::new(first.add(shared), own)) };
        let (header, ends) = (private.array(1)?, private.array(sizes.leases)?);
        let shared = shared / 8;
        let replica = Replica { words, shared, header, ends, written: Arc::default() };
        let arrays = Arrays::in_region(sizes, &mut table, replica.clone())?;
        Some((replica, arrays))
    }

    /// What was changed since this was asked last.
    pub fn take_written(&self) -> Vec<Written> {
        std::mem::take(&mut self.written.lock())
    }

    /// Was nothing changed of the table but this cell?
    pub fn is_only(&self, written: &[Written], cell: &Cell64) -> bool {
        let place = self.place(cell as *const _ as usize);
        written.iter().all(|it| it.place == place || !self.is_shared(it))
    }

    fn is_shared(&self, written: &Written) -> bool {
        (written.place as usize) < 2 * self.shared
    }

    /// Was any of these cells changed?
    pub fn touches<T>(&self, written: &[Written], record: &T) -> bool {
        let first = self.place(record as *const T as usize);
        let cells = first..first + (size_of::<T>() / 4) as u32;
        written.iter().any(|it| cells.contains(&it.place))
    }

    /// What was in this cell before the first of these changes of it.
    pub fn old_value(&self, written: &[Written], cell: &Cell64) -> Option<u64> {
        let place = self.place(cell as *const _ as usize);
        written.iter().find(|it| it.place == place).map(|it| it.old)
    }

    /// Puts back what was there before, of all of these.
    pub fn undo(&self, written: &[Written]) {
        for cell in written.iter().rev() {
            self.store(cell.place, cell.width, cell.old);
        }
    }

    /// As [`Self::undo`], of the table alone.
    pub fn undo_shared(&self, written: &[Written]) {
        for cell in written.iter().rev().filter(|it| self.is_shared(it)) {
            self.store(cell.place, cell.width, cell.old);
        }
    }

    /// What these changes have come to by now, each cell once.
    pub fn changes(&self, written: &[Written]) -> Vec<Change> {
        let told = written.iter().filter(|it| self.is_shared(it));
        let mut cells: Vec<(u32, Width)> = told.map(|it| (it.place, it.width)).collect();
        cells.sort_unstable_by_key(|(place, _)| *place);
        cells.dedup_by_key(|(place, _)| *place);
        let load = |(place, width)| Change { place, width, value: self.load(place, width) };
        cells.into_iter().map(load).collect()
    }

    /// Does what others did. False, and nothing is done, if that cannot be.
    pub fn apply(&self, changes: &[Change]) -> bool {
        let known = |it: &Change| self.is_cell(it.place, it.width);
        if !changes.iter().all(known) {
            return false;
        }
        changes.iter().for_each(|it| self.store(it.place, it.width, it.value));
        true
    }

    /// Every word that is not zero, for a copy from the beginning.
    pub fn words(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let words = self.table().iter().enumerate();
        words.map(|(place, word)| (place as u32, word.get())).filter(|(_, word)| *word != 0)
    }

    /// Makes the copy one of nothing.
    pub fn clear(&self) {
        self.table().iter().filter(|word| word.get() != 0).for_each(|word| word.put(0));
    }

    fn table(&self) -> &[Cell64] {
        &self.words[..self.shared]
    }

    fn is_cell(&self, place: u32, width: Width) -> bool {
        let aligned = width == Width::Half || place.is_multiple_of(2);
        aligned && (place as usize / 2) < self.shared
    }

    fn half(&self, place: u32) -> &Cell32 {
        let halves = NonNull::from(&self.words[place as usize / 2]).cast::<Cell32>();
        // SAFETY: one of the two halves of a word of this memory, which is used as atomics only.
        unsafe { halves.add(place as usize % 2).as_ref() }
    }

    fn load(&self, place: u32, width: Width) -> u64 {
        match width {
            Width::Half => self.half(place).get().into(),
            Width::Word => self.words[place as usize / 2].get(),
        }
    }

    fn store(&self, place: u32, width: Width, value: u64) {
        match width {
            Width::Half => self.half(place).put(value as u32),
            Width::Word => self.words[place as usize / 2].put(value),
        }
    }

    /// In halves of words from the beginning of the memory on.
    fn place(&self, address: usize) -> u32 {
        ((address - self.words.as_ptr() as usize) / 4) as u32
    }
}

impl UndoLog for Replica {
    const UNTRUSTED: bool = true;

    #[inline(always)]
    fn record(&self, cell: Touched<'_>) {
        let (address, width, old) = match cell {
            Touched::Half(cell) => (cell as *const _ as usize, Width::Half, cell.get().into()),
            Touched::Word(cell) => (cell as *const _ as usize, Width::Word, cell.get()),
        };
        self.written.lock().push(Written { place: self.place(address), width, old });
    }

    fn record_swap(&self, cell: &Cell64, _old: u64, _new: u64) {
        self.record(Touched::Word(cell));
    }

    fn discard_last(&self) {
        self.written.lock().pop();
    }

    /// A command counts when all know of it, and not before.
    fn commit(&self) {}

    #[inline(always)]
    fn kept(&self) -> Option<Kept<'_>> {
        Some(Kept { header: self.header.one(), ends: &self.ends })
    }
}
