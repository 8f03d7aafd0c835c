//! What belongs to one process, and a forked child must neither use nor free.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Values by key, each marked with the process that made it.
///
/// A forked child has the memory of its parent and none of its other threads: a worker that it finds there does not run, and a lock that
/// it finds there may be taken for ever. So this has no lock. It is a list that only grows, and it grows by one store. Whenever the
/// parent forks, the child therefore finds a whole list. It passes over the marks of its parent and puts its own values in front. What
/// the parent made stays where it is, unused, until the child ends or calls `exec`.
///
/// A thread that looks at its pid cannot find itself in a child a moment later, unless it is the one that forks.
pub(super) struct PerProcess<K, T> {
    newest: AtomicPtr<Node<K, T>>,
}

struct Node<K, T> {
    pid: u32,
    key: K,
    value: T,
    older: *mut Node<K, T>,
}

impl<K, T> PerProcess<K, T> {
    pub const fn new() -> Self {
        PerProcess { newest: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<K: PartialEq + Clone + Send + Sync, T: Send + Sync> PerProcess<K, T> {
    /// This process's value for the key; if it has none, it is made. If several threads make one, one remains.
    pub fn get_or_make<E>(&self, key: &K, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let pid = process::id();
        let mut newest = self.newest.load(Ordering::Acquire);
        if let Some(found) = self.find(newest, pid, key) {
            return Ok(found);
        }
        let mut node = Box::new(Node { pid, key: key.clone(), value: make()?, older: newest });
        loop {
            node.older = newest;
            let new = Box::into_raw(node);
            match self.newest.compare_exchange(newest, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: the node is in the list now, and stays there unchanged as long as `self`.
                Ok(_) => return Ok(unsafe { &(*new).value }),
                Err(now) => newest = now,
            }
            if let Some(found) = self.find(newest, pid, key) {
                // SAFETY: it comes from a box, and did not get into the list.
                drop(unsafe { Box::from_raw(new) });
                return Ok(found);
            }
            // SAFETY: as above.
            node = unsafe { Box::from_raw(new) };
        }
    }

    fn find(&self, newest: *mut Node<K, T>, pid: u32, key: &K) -> Option<&T> {
        let mut at = newest;
        // SAFETY: what is in the list stays there unchanged as long as `self`.
        while let Some(node) = unsafe { at.as_ref() } {
            if node.pid == pid && node.key == *key {
                return Some(&node.value);
            }
            at = node.older;
        }
        None
    }
}

impl<K, T> Drop for PerProcess<K, T> {
    fn drop(&mut self) {
        let mut at = *self.newest.get_mut();
        while !at.is_null() {
            // SAFETY: nobody else has the list any more.
            let (pid, older) = unsafe { ((*at).pid, (*at).older) };
            if pid == process::id() {
                // SAFETY: it comes from a box, and is reached once.
                drop(unsafe { Box::from_raw(at) });
            }
            at = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;

    fn make<T>(value: T) -> impl FnOnce() -> Result<T, Infallible> {
        move || Ok(value)
    }

    #[test]
    fn a_value_is_made_once_per_key() {
        let values = PerProcess::new();
        assert_eq!(values.get_or_make(&"a", make(1)), Ok(&1));
        assert_eq!(values.get_or_make(&"b", make(2)), Ok(&2));
        assert_eq!(values.get_or_make(&"a", make(3)), Ok(&1));
        assert_eq!(values.get_or_make(&"c", || Err("no")), Err("no"));
    }

    #[test]
    fn threads_agree_on_one_value_and_all_are_freed() {
        let counted = Arc::new(());
        let values = PerProcess::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    let (values, counted) = (&values, counted.clone());
                    scope.spawn(move || values.get_or_make(&(), make((number, counted))).unwrap().0)
                })
                .collect();
            let seen: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert!(seen.iter().all(|number| *number == seen[0]), "{seen:?}");
        });
        assert_eq!(Arc::strong_count(&counted), 2);
        drop(values);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
