//! The lock of a home.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::{Core, State};
use crate::home::arrays::Undo;
#[cfg(target_os = "linux")]
use crate::home::host::Host;
use crate::home::world::MutexGuard;

/// Has the lock; what is done with it counts when this goes.
pub(super) struct Guard<'a, U: Undo> {
    state: ManuallyDrop<MutexGuard<'a, State<U>>>,
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

impl<'a, U: Undo> Guard<'a, U> {
    #[inline(always)]
    pub fn new(state: MutexGuard<'a, State<U>>) -> Self {
        Guard {
            state: ManuallyDrop::new(state),
            #[cfg(target_os = "linux")]
            host: None,
            #[cfg(target_os = "linux")]
            forked: false,
            #[cfg(target_os = "linux")]
            unwinding: U::SHARED && std::thread::panicking(),
        }
    }

    /// Has anybody to be told of what was done?
    #[inline(always)]
    pub fn must_hand_over(&self) -> bool {
        #[cfg(target_os = "linux")]
        if U::SHARED
            && let Some(host) = self.host
            && host.is_listened_to()
        {
            return true;
        }
        self.table.any_decided() || self.anybody_waits()
    }
}

impl<U: Undo> Core<U> {
    #[inline(always)]
    pub(super) fn lock(&self) -> Guard<'_, U> {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.lock_shared(host, super::shared::STUCK);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return match part.is_forked() {
                true => self.lock_forked(),
                false => Guard::new(self.on_the_ground(part)),
            };
        }
        Guard::new(self.state.lock())
    }
}

impl<U: Undo> Deref for Guard<'_, U> {
    type Target = State<U>;
    #[inline(always)]
    fn deref(&self) -> &State<U> {
        &self.state
    }
}

impl<U: Undo> DerefMut for Guard<'_, U> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State<U> {
        &mut self.state
    }
}

impl<U: Undo> Drop for Guard<'_, U> {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if U::SHARED
            && let Some(host) = self.host
        {
            let cut_short = std::thread::panicking() && !self.unwinding;
            super::shared::finish(host, &mut self.state, cut_short);
        }
        #[cfg(target_os = "linux")]
        if U::SHARED && self.forked {
            return;
        }
        // SAFETY: nobody uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}
