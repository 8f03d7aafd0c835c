//! The memory cells that tables are made of.
//!
//! A table is read by threads (and, in the host home, processes) that do not hold
//! its lock, so every cell is atomic. All loads acquire and all stores release:
//! that is free on x86-64, cheap elsewhere, and makes the argument for the
//! lock-free readers (`slot.rs`) short. Commands store only through [`super::memory::Memory`], so that a
//! home sees each change before it happens; besides them only `slot.rs` changes a word, by compare-and-swap and without the lock.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A cell of 32 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell32(AtomicU32);

/// A cell of 64 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell64(AtomicU64);

/// A cell that is about to change, for a home that keeps a journal.
#[derive(Debug)]
pub enum Touched<'a> {
    /// One of 32 bits.
    Half(&'a Cell32),
    /// One of 64 bits.
    Word(&'a Cell64),
}

/// What the two kinds of cell have in common.
pub(crate) trait Cell {
    type Value: Copy;
    fn put(&self, value: Self::Value);
    fn touched(&self) -> Touched<'_>;
}

impl Cell32 {
    /// What it holds.
    #[inline(always)]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}

impl Cell64 {
    /// What it holds.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Replaces `old` by `new` if it still holds `old`; otherwise tells what it holds.
    #[inline(always)]
    pub(crate) fn swap_if(&self, old: u64, new: u64) -> Result<(), u64> {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}

impl Cell for Cell32 {
    type Value = u32;
    #[inline(always)]
    fn put(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }
    #[inline(always)]
    fn touched(&self) -> Touched<'_> {
        Touched::Half(self)
    }
}

impl Cell for Cell64 {
    type Value = u64;
    #[inline(always)]
    fn put(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }
    #[inline(always)]
    fn touched(&self) -> Touched<'_> {
        Touched::Word(self)
    }
}
