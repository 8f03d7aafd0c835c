//! A list that only grows, read without a lock. Its values are never freed.

use std::sync::atomic::{AtomicPtr, Ordering};

#[derive(Debug)]
pub(super) struct LeakedList<T: Sync + 'static>(AtomicPtr<Node<T>>);

#[derive(Debug)]
struct Node<T: Sync + 'static> {
    value: T,
    next: Option<&'static Node<T>>,
}

impl<T: Sync> LeakedList<T> {
    pub const fn new() -> Self {
        LeakedList(AtomicPtr::new(std::ptr::null_mut()))
    }

    fn first(&self) -> Option<&'static Node<T>> {
        // SAFETY: nodes are leaked and no longer changed: the pointer is null or valid forever.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &'static T> + use<T> {
        std::iter::successors(self.first(), |node| node.next).map(|node| &node.value)
    }

    pub fn push(&self, value: T) -> &'static T {
        let mut node = Box::new(Node { value, next: None });
        loop {
            node.next = self.first();
            let next = node.next.map_or(std::ptr::null_mut(), |next| (&raw const *next).cast_mut());
            let new = Box::into_raw(node);
            if self.0.compare_exchange(next, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                // SAFETY: just leaked; from here on it is only shared.
                return unsafe { &(*new).value };
            }
            // SAFETY: just leaked, and no other thread has it.
            node = unsafe { Box::from_raw(new) };
        }
    }
}
