//! Reads without the lock that see committed changes only.
//!
//! Data structure: a flag that says that there are uncommitted changes, and a count of roll-backs.
//!
//! Locking rule: writers change both with the lock of the table, in this order: set the flag,
//! change the table, and then clear the flag to commit; or restore the table, count the roll-back,
//! clear the flag.
//!
//! Invariant: *no change that is rolled back is returned.* A reader that has read a change also
//! reads that the flag is set, or what was done after that. If the flag is clear after its read,
//! the change was committed or rolled back, and in the latter case the reader finds the count
//! changed. So it reads the flag first and then the count. In the other order, a roll-back could
//! come between the two.

/// See the module's text.
pub(crate) trait ReadCommitted {
    /// Acquires.
    fn has_uncommitted(&self) -> bool;

    /// Acquires.
    fn roll_backs(&self) -> u64;

    /// What `read` returns, if all of it is committed.
    #[inline(always)]
    fn read_committed<T>(&self, read: impl FnOnce() -> T) -> Result<T, Dirty<T>> {
        let before = self.roll_backs();
        let value = read();
        let uncommitted = self.has_uncommitted();
        let rolled_back = self.roll_backs() != before;
        match !uncommitted && !rolled_back {
            true => Ok(value),
            false => Err(Dirty { value, rolled_back }),
        }
    }
}

/// What was read may not be committed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dirty<T> {
    pub value: T,
    /// There was a roll-back meanwhile.
    pub rolled_back: bool,
}

#[cfg(all(test, loom))]
mod interleavings {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::rt::atomic::{AtomicBool, AtomicU64, Ordering};
    use crate::table::cell::{Cell, Cell64};

    /// The flag and the count of a table in the memory of one process.
    #[derive(Debug, Default)]
    struct UncommittedFlag {
        uncommitted: AtomicBool,
        roll_backs: AtomicU64,
    }

    impl UncommittedFlag {
        /// Call before the first change.
        pub fn set(&self) {
            self.uncommitted.store(true, Ordering::Release);
        }

        /// Call after a roll-back, and before [`Self::clear`].
        pub fn count_roll_back(&self) {
            self.roll_backs.fetch_add(1, Ordering::AcqRel);
        }

        /// Call when all changes are committed or rolled back.
        pub fn clear(&self) {
            self.uncommitted.store(false, Ordering::Release);
        }
    }

    impl ReadCommitted for UncommittedFlag {
        fn has_uncommitted(&self) -> bool {
            self.uncommitted.load(Ordering::Acquire)
        }

        fn roll_backs(&self) -> u64 {
            self.roll_backs.load(Ordering::Acquire)
        }
    }

    /// The values that a reader returns of a change that is committed or rolled back.
    fn explore(commit: bool) -> BTreeSet<Option<u64>> {
        let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let log = seen.clone();
        loom::model(move || {
            let shared = Arc::new((UncommittedFlag::default(), Cell64::default()));
            let other = shared.clone();
            let reader = thread::spawn(move || {
                let (flag, cell) = &*other;
                flag.read_committed(|| cell.get()).ok()
            });
            let (flag, cell) = &*shared;
            flag.set();
            cell.put(1);
            if !commit {
                cell.put(0);
                flag.count_roll_back();
            }
            flag.clear();
            log.lock().unwrap().insert(reader.join().unwrap());
        });
        let seen = seen.lock().unwrap().clone();
        seen
    }

    #[test]
    fn rolled_back_change_is_never_returned() {
        assert_eq!(explore(false), BTreeSet::from([None, Some(0)]));
    }

    #[test]
    fn committed_change_is_returned() {
        assert_eq!(explore(true), BTreeSet::from([None, Some(0), Some(1)]));
    }
}
