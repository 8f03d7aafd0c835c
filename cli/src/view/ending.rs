//! Going on until somebody says that it is enough.

use std::io;
use std::time::Duration;

use crate::exit::Failure;

/// Hears the signals that ask a program to end. They do not end it by themselves, so that it can leave the screen as it was.
#[derive(Debug)]
pub struct Ending {
    signals: libc::sigset_t,
}

impl Ending {
    /// From now on those signals are heard here and by no thread that is started after this: call it before the pool is opened.
    pub fn new() -> Result<Self, Failure> {
        // SAFETY: a set of signals is made of numbers, and is emptied before it is used.
        let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: all of them change or read the set on this stack only.
        let refused = unsafe {
            libc::sigemptyset(&mut signals);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&mut signals, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut())
        };
        match refused {
            0 => Ok(Ending { signals }),
            number => Err(io::Error::from_raw_os_error(number).into()),
        }
    }

    /// Waits so long; true as soon as somebody wants this to end.
    pub fn within(&self, time: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: reads the set and the time; nothing is wanted to be told about the signal. If another signal comes first, such as that
        // of a window that changed its size, it is time to look again, too.
        unsafe { libc::sigtimedwait(&self.signals, std::ptr::null_mut(), &time) > 0 }
    }
}
