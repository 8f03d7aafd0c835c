//! The lock of a home.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use parking_lot::MutexGuard;

#[cfg(target_os = "linux")]
use super::host::Host;
use super::{Home, State};

/// Has the lock; what is done with it counts when this goes.
pub(super) struct Guard<'a> {
    state: ManuallyDrop<MutexGuard<'a, State>>,
    /// The file whose lock it has too.
    #[cfg(target_os = "linux")]
    pub(super) host: Option<&'a Host>,
    /// The lock may be one that nobody will ever free: a forked child's.
    #[cfg(target_os = "linux")]
    pub(super) forked: bool,
    /// The thread was unwinding already when it took the lock: what it does counts all the same.
    #[cfg(target_os = "linux")]
    unwinding: bool,
}

impl<'a> Guard<'a> {
    #[inline(always)]
    pub fn new(state: MutexGuard<'a, State>) -> Self {
        Guard {
            state: ManuallyDrop::new(state),
            #[cfg(target_os = "linux")]
            host: None,
            #[cfg(target_os = "linux")]
            forked: false,
            #[cfg(target_os = "linux")]
            unwinding: std::thread::panicking(),
        }
    }

    /// Has anybody to be told of what was done?
    #[inline(always)]
    pub fn must_hand_over(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host
            && host.is_listened_to()
        {
            return true;
        }
        self.table.any_decided() || self.anybody_waits()
    }
}

impl Home {
    #[inline(always)]
    pub(super) fn lock(&self) -> Guard<'_> {
        #[cfg(target_os = "linux")]
        if let Some(host) = &self.host {
            return self.lock_shared(host, super::shared::STUCK);
        }
        Guard::new(self.state.lock())
    }
}

impl Deref for Guard<'_> {
    type Target = State;
    #[inline(always)]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Guard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host {
            let cut_short = std::thread::panicking() && !self.unwinding;
            super::shared::finish(host, &self.state, cut_short);
        }
        #[cfg(target_os = "linux")]
        if self.forked {
            return;
        }
        // SAFETY: nobody uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}
