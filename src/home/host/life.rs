//! The news that a process is dying, before it is wholly gone.
//!
//! The keeper of each process has its thread's number in a word of the file. The kernel marks the word, and wakes one who sleeps on it, when
//! that thread ends in whatever way. It finds the word by a list that the thread has registered, as for the robust mutexes of C libraries;
//! but those keep the list beside the word, where a damaged file would lead them astray. This list lies in the thread's own memory.

use std::io;
use std::ptr::null;

use super::futex::{self, Sleep};
use crate::rt::atomic::{AtomicU32, Ordering};

/// The word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Life(AtomicU32);

/// `struct robust_list` of the kernel.
#[repr(C)]
struct Entry {
    next: *const Entry,
}

/// `struct robust_list_head` of the kernel.
#[repr(C)]
struct Head {
    first: Entry,
    /// From an entry to its word.
    offset: libc::c_long,
    pending: *const Entry,
}

/// The calling thread's list, of one word.
#[repr(C)]
struct List {
    head: Head,
    only: Entry,
}

/// A life that goes on until this is dropped, or its thread ends.
pub(crate) struct Living<'a> {
    life: &'a Life,
    list: Box<List>,
    /// The list that the thread had before: the C library's.
    before: *const Head,
}

impl Life {
    /// Makes it the calling thread's. The word must stay where it is for ever.
    pub(super) fn begin(&'static self) -> io::Result<Living<'static>> {
        self.0.store(0, Ordering::Release);
        let mut before: *const Head = null();
        let mut bytes: libc::size_t = 0;
        // SAFETY: asks for the calling thread's own list; both places are valid. If that is forbidden, there is none to go back to.
        unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut before, &mut bytes) };
        let mut list = Box::new(List::EMPTY);
        let entry: *const Entry = &list.only;
        list.only.next = &list.head.first;
        list.head.first.next = entry;
        let distance = (&raw const self.0 as isize).wrapping_sub(entry as isize);
        list.head.offset = distance as libc::c_long;
        register(&list.head)?;
        // SAFETY: takes and changes nothing.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        self.0.store(thread, Ordering::Release);
        Ok(Living { life: self, list, before })
    }

    /// Sleeping on this brings the news of the end; `None` if it has come already, or life has not begun.
    pub(super) fn watched(&self) -> Option<Sleep<'_>> {
        Some(Sleep::on(&self.0, self.mark_watched()?))
    }

    /// Has the kernel wake somebody at the end; the word while that has not come.
    pub(super) fn mark_watched(&self) -> Option<u32> {
        let mark = |value| has_owner(value).then_some(value | libc::FUTEX_WAITERS);
        let seen = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).ok()?;
        Some(seen | libc::FUTEX_WAITERS)
    }

    /// Is its thread still there, as far as is known at once? If not, the process is dying, or has only begun.
    pub(super) fn goes_on(&self) -> bool {
        has_owner(self.0.load(Ordering::Acquire))
    }
}

impl Drop for Living<'_> {
    fn drop(&mut self) {
        // While the kernel still follows the list: a thread that was killed between the two would seem to live for ever.
        self.life.0.store(0, Ordering::Release);
        // From here on the kernel follows the list no more. If it refuses, which it has no reason to, the list must stay.
        if register(self.before).is_err() {
            std::mem::forget(std::mem::replace(&mut self.list, Box::new(List::EMPTY)));
        }
        futex::wake_all(&self.life.0);
    }
}

impl List {
    const EMPTY: List = List {
        head: Head { first: Entry { next: null() }, offset: 0, pending: null() },
        only: Entry { next: null() },
    };
}

/// The kernel looks through this list when the calling thread ends. The C library's own is not looked through meanwhile: keepers lock nothing that is on it.
fn register(head: *const Head) -> io::Result<()> {
    // SAFETY: the kernel only notes the address. What it follows from there when the thread ends is valid as long as it is registered, or null.
    match unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn has_owner(word: u32) -> bool {
    word & libc::FUTEX_OWNER_DIED == 0 && word & libc::FUTEX_TID_MASK != 0
}

#[cfg(all(test, loom))]
mod interleavings {
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    use super::*;

    /// What the kernel does when the thread ends: it marks the word, and wakes somebody only if the word says that somebody sleeps.
    fn die(life: &Life, futex: &(Mutex<()>, Condvar)) {
        let mark = |word| Some(word & libc::FUTEX_WAITERS | libc::FUTEX_OWNER_DIED);
        let before = life.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).unwrap();
        if before & libc::FUTEX_WAITERS != 0 {
            let _asleep = futex.0.lock().unwrap();
            futex.1.notify_one();
        }
    }

    /// Whoever sleeps until somebody dies is woken, or does not begin to sleep.
    #[test]
    fn a_death_is_never_slept_through() {
        loom::model(|| {
            let shared = Arc::new((Life(AtomicU32::new(7)), (Mutex::new(()), Condvar::new())));
            let other = shared.clone();
            let dying = thread::spawn(move || die(&other.0, &other.1));
            let (life, (lock, woken)) = &*shared;
            while let Some(value) = life.mark_watched() {
                let asleep = lock.lock().unwrap();
                if life.0.load(Ordering::Relaxed) == value {
                    drop(woken.wait(asleep).unwrap());
                }
            }
            assert!(!life.goes_on());
            dying.join().unwrap();
        });
    }
}
