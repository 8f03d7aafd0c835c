//! This process's copy of a table that many machines share, and what a command changed in it.
//!
//! A command runs on the copy as it would on any table. What it changed is noted cell by cell, so that it can be told to the others as a
//! difference (`diff.rs`), or undone if they were faster.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use super::diff::{Change, Width};
use crate::home::arrays::{Arrays, Undo};
use crate::home::host::Region;
use crate::table::cell::{Cell, Cell32, Cell64, Touched};
use crate::table::layout::Sizes;
use crate::zeroed::ZeroedArray;

/// The memory of one copy, and the notes on what was changed in it. Clones are the same copy.
#[derive(Debug, Clone)]
pub(crate) struct Replica {
    words: ZeroedArray<Cell64>,
    written: Arc<Mutex<Vec<Written>>>,
}

/// A cell was changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    place: u32,
    width: Width,
    old: u64,
}

impl Replica {
    /// An empty table's memory; `None` if the system does not give so much.
    pub fn try_new(sizes: &Sizes) -> Option<(Replica, Arrays<Replica>)> {
        let bytes = Arrays::<Replica>::bytes(sizes);
        // Aligned to 64, as a region must be.
        let words: ZeroedArray<Cell64> = ZeroedArray::try_new(bytes / 8)?;
        let first = NonNull::from(&words[0]).cast();
        let replica = Replica { words, written: Arc::default() };
        // SAFETY: the block has so many bytes, is used as atomics only, and is as old as every clone of the arrays: each has a clone of the replica.
        let mut region = unsafe { Region::new(first, bytes) };
        let arrays = Arrays::in_file(sizes, &mut region, replica.clone())?;
        Some((replica, arrays))
    }

    /// What was changed since this was asked last.
    pub fn take_written(&self) -> Vec<Written> {
        std::mem::take(&mut self.written.lock())
    }

    /// Was nothing changed but this cell?
    pub fn is_only(&self, written: &[Written], cell: &Cell64) -> bool {
        let place = self.place(cell as *const _ as usize);
        written.iter().all(|it| it.place == place)
    }

    /// Puts back what was there before, of all of these.
    pub fn undo(&self, written: &[Written]) {
        for cell in written.iter().rev() {
            self.store(cell.place, cell.width, cell.old);
        }
    }

    /// What these changes have come to by now, each cell once.
    pub fn changes(&self, written: &[Written]) -> Vec<Change> {
        let mut cells: Vec<(u32, Width)> = written.iter().map(|it| (it.place, it.width)).collect();
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
        let words = self.words.iter().enumerate();
        words.map(|(place, word)| (place as u32, word.get())).filter(|(_, word)| *word != 0)
    }

    /// Makes the copy one of nothing.
    pub fn clear(&self) {
        self.words.iter().filter(|word| word.get() != 0).for_each(|word| word.put(0));
    }

    fn is_cell(&self, place: u32, width: Width) -> bool {
        let aligned = width == Width::Half || place.is_multiple_of(2);
        aligned && (place as usize / 2) < self.words.len()
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

impl Undo for Replica {
    const SHARED: bool = true;

    #[inline(always)]
    fn note(&self, cell: Touched<'_>) {
        let (address, width, old) = match cell {
            Touched::Half(cell) => (cell as *const _ as usize, Width::Half, cell.get().into()),
            Touched::Word(cell) => (cell as *const _ as usize, Width::Word, cell.get()),
        };
        self.written.lock().push(Written { place: self.place(address), width, old });
    }

    fn note_swap(&self, cell: &Cell64, _old: u64, _new: u64) {
        self.note(Touched::Word(cell));
    }

    fn forget_swap(&self) {
        self.written.lock().pop();
    }

    /// A command counts when all know of it, and not before.
    fn commit(&self) {}
}
