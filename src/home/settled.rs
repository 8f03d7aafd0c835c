//! Reading without the lock what may yet be undone.
//!
//! Whoever changes a shared table says first that something is under way. Once it counts, or was undone, nothing is under way any more; and what is
//! undone is counted before that is said.
//!
//! **Why what was undone is never told.** A reader that has seen a change also sees that something is under way, or what was said after it. If it then
//! finds nothing under way, the change either counts or was undone, and in that case the reader sees that it was counted. So it looks in this
//! order: whether anything is under way, then the count. The other way round everything could be undone between the two looks.

#[cfg(any(feature = "cluster", loom))]
use crate::rt::atomic::{AtomicBool, AtomicU64, Ordering};

/// What may be undone.
pub(crate) trait Undoable {
    /// Is anything under way that may be undone? Acquires.
    fn is_under_way(&self) -> bool;

    /// How often something was undone. Acquires.
    fn undone(&self) -> u64;

    /// What `read` finds without the lock, if nothing of it may be undone, or was while it read.
    #[inline(always)]
    fn settled<T>(&self, read: impl FnOnce() -> T) -> Result<T, Unsettled<T>> {
        let before = self.undone();
        let found = read();
        let under_way = self.is_under_way();
        let undone = self.undone() != before;
        match !under_way && !undone {
            true => Ok(found),
            false => Err(Unsettled { found, undone }),
        }
    }
}

/// What was read may be undone, or was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unsettled<T> {
    pub found: T,
    /// Something was undone meanwhile.
    pub undone: bool,
}

/// What a copy of a table has and its engine may not take. Changed with the lock of the table.
#[cfg(any(feature = "cluster", loom))]
#[derive(Debug, Default)]
pub(crate) struct InTheAir {
    under_way: AtomicBool,
    undone: AtomicU64,
}

#[cfg(any(feature = "cluster", loom))]
impl InTheAir {
    /// Before anything is changed.
    pub fn begin(&self) {
        self.under_way.store(true, Ordering::Release);
    }

    /// After something was undone, and before [`Self::end`].
    pub fn count_undone(&self) {
        self.undone.fetch_add(1, Ordering::AcqRel);
    }

    /// Everything counts, or was undone.
    pub fn end(&self) {
        self.under_way.store(false, Ordering::Release);
    }
}

#[cfg(any(feature = "cluster", loom))]
impl Undoable for InTheAir {
    fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::Acquire)
    }

    fn undone(&self) -> u64 {
        self.undone.load(Ordering::Acquire)
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::table::cell::{Cell, Cell64};

    /// A change that is undone is told to nobody; one that counts is.
    fn explore(counts: bool) -> BTreeSet<Option<u64>> {
        let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let log = seen.clone();
        loom::model(move || {
            let shared = Arc::new((InTheAir::default(), Cell64::default()));
            let other = shared.clone();
            let reader = thread::spawn(move || {
                let (air, cell) = &*other;
                air.settled(|| cell.get()).ok()
            });
            let (air, cell) = &*shared;
            air.begin();
            cell.put(1);
            if !counts {
                cell.put(0);
                air.count_undone();
            }
            air.end();
            log.lock().unwrap().insert(reader.join().unwrap());
        });
        let seen = seen.lock().unwrap().clone();
        seen
    }

    #[test]
    fn what_is_undone_is_told_to_nobody() {
        assert_eq!(explore(false), BTreeSet::from([None, Some(0)]));
    }

    #[test]
    fn what_counts_is_told_once_it_does() {
        assert_eq!(explore(true), BTreeSet::from([None, Some(0), Some(1)]));
    }
}
