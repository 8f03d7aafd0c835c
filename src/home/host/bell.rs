//! The bell of a process: rung by others when its keeper should look.
//!
//! **Why a ring is never missed.** The keeper says that it sleeps before the kernel compares the bell with what the keeper had seen; whoever rings
//! changes the bell before it looks whether the keeper sleeps. Between the two steps each makes sure that the first is seen: if the one who rings saw
//! nobody asleep, the kernel sees the change. `interleavings.rs` tries it.

use crate::rt::atomic::{AtomicU32, Ordering, fence};

/// See the module's text.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Bell {
    rung: AtomicU32,
    /// Not 0 while the keeper sleeps.
    sleeps: AtomicU32,
}

impl Bell {
    /// What the bell shows; to be read before looking for what it may have been rung for.
    pub fn shows(&self) -> u32 {
        self.rung.load(Ordering::Acquire)
    }

    /// The keeper is to look.
    pub fn ring(&self, wake: impl FnOnce(&AtomicU32)) {
        self.rung.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) != 0 {
            wake(&self.rung);
        }
    }

    /// Has the keeper `sleep` on the bell, which it must not if the bell shows something else than the keeper has seen.
    pub fn sleep<'a>(&'a self, sleep: impl FnOnce(&'a AtomicU32)) {
        self.sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        sleep(&self.rung);
        self.be_awake();
    }

    pub fn be_awake(&self) {
        self.sleeps.store(0, Ordering::Relaxed);
    }
}
