//! Continuing until a signal asks for the end.

use std::os::fd::AsFd;
use std::time::Duration;

use crate::commands::run::poll::await_any;
use crate::commands::run::signals::Signals;
use crate::exit::Failure;

/// Reads the signals that ask a program to end. They do not end it by themselves, so that it can leave the screen as it was.
#[derive(Debug)]
pub struct Ending {
    signals: Signals,
}

impl Ending {
    /// From now on those signals are read here, in whichever thread they arrive.
    pub fn new() -> Result<Self, Failure> {
        Ok(Ending { signals: Signals::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])? })
    }

    /// Waits so long; true as soon as a signal asks for the end. If another signal comes first, such as that of a window
    /// that changed its size, it is time to look again, too.
    pub fn within(&self, time: Duration) -> bool {
        await_any(&[Some(self.signals.as_fd())], Some(time));
        self.signals.next().is_some()
    }
}
