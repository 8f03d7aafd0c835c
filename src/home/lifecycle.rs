//! The lifecycle of a home in this process.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::table::Error;

/// What a process can do with its home. Reported in this order if several apply, the last first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Open,
    /// The session with the store has ended: what the process held is over. A new session begins as
    /// soon as the store can be reached.
    #[cfg(feature = "cluster")]
    SessionLost,
    /// Its last user has closed it.
    Closed,
    /// A panic has cut short a command: what the process knows of the table is no longer
    /// consistent.
    Poisoned,
    /// The process is a forked child of the one that opened the home.
    Forked,
}

impl Lifecycle {
    /// Will waiters and subscribers never be woken again?
    pub fn has_ended(self) -> bool {
        self.check_open().is_err()
    }

    /// An error if it has ended.
    pub fn check_open(self) -> Result<(), Error> {
        match self {
            Lifecycle::Forked => Err(Error::Forked),
            Lifecycle::Poisoned => Err(Error::Corrupt),
            Lifecycle::Closed => Err(Error::Closed),
            _ => Ok(()),
        }
    }
}

/// The steps of a lifecycle that a process takes itself. None is taken back.
#[derive(Debug, Default)]
pub(crate) struct Steps(AtomicU8);

const CLOSED: u8 = 1;
const POISONED: u8 = 2;

impl Steps {
    pub fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub fn poison(&self) {
        self.0.fetch_or(POISONED, Ordering::AcqRel);
    }

    pub fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0
    }

    #[inline(always)]
    pub fn is_poisoned(&self) -> bool {
        self.0.load(Ordering::Acquire) & POISONED != 0
    }

    pub fn get(&self) -> Lifecycle {
        match self.0.load(Ordering::Acquire) {
            0 => Lifecycle::Open,
            CLOSED => Lifecycle::Closed,
            _ => Lifecycle::Poisoned,
        }
    }
}
