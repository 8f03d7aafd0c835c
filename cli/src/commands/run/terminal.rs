//! The terminal, and who of us is in its foreground: what shells do for their jobs.
//!
//! The child has a process group of its own, so that it can be ended as a whole. A terminal sends Ctrl-C and Ctrl-Z to one group only, and stops all
//! others that read from it. If this process is a job of its own, with the terminal as input and output, the child gets the terminal at once. Otherwise there may be others in
//! its group, a pager or a script, who need it more: then the child gets it when it asks for it, and until then signals are passed on.

use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};

use libc::pid_t;

/// The terminal that controls this process.
#[derive(Debug)]
pub struct Terminal {
    file: File,
    own_group: pid_t,
    /// How it was set when the child began.
    modes: Option<libc::termios>,
    /// The child gets it whenever this process has it.
    at_once: bool,
}

impl Terminal {
    /// The terminal, if there is one.
    pub fn find() -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        // SAFETY: takes no pointers.
        let (own_group, process) = unsafe { (libc::getpgrp(), libc::getpid()) };
        let looks = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let mut modes = MaybeUninit::uninit();
        // SAFETY: the descriptor is open, and there is room for the modes, which are only used if they were filled in.
        let modes = unsafe {
            let got = libc::tcgetattr(file.as_raw_fd(), modes.as_mut_ptr()) == 0;
            got.then(|| modes.assume_init())
        };
        Some(Terminal { file, own_group, modes, at_once: looks && own_group == process })
    }

    /// The descriptor that a child uses to take the terminal before it starts, if it should.
    pub fn for_child(&self) -> Option<RawFd> {
        (self.at_once && self.is_ours()).then(|| self.file.as_raw_fd())
    }

    /// Is this process's group in the foreground?
    pub fn is_ours(&self) -> bool {
        self.foreground() == self.own_group
    }

    fn foreground(&self) -> pid_t {
        // SAFETY: the descriptor is open.
        unsafe { libc::tcgetpgrp(self.file.as_raw_fd()) }
    }

    /// Gives it to the child, which stopped for want of it; false if it is not ours to give.
    pub fn give(&mut self, child: pid_t) -> bool {
        let ours = self.is_ours();
        if ours {
            self.set_foreground(child);
            self.at_once = true;
        }
        ours
    }

    /// Gives it to a child that goes on and had it before.
    pub fn give_again(&self, child: pid_t) {
        if self.at_once && self.is_ours() {
            self.set_foreground(child);
        }
    }

    /// Takes it back from the child, or from a group that the child had made and given it to; did they have it?
    pub fn take_back(&self) -> bool {
        let foreground = self.foreground();
        // A group that is no more, or in another session, is 0 or -1.
        let theirs = foreground != self.own_group && self.at_once && {
            foreground <= 0 || is_gone(foreground) || self.is_below(foreground)
        };
        if theirs {
            self.set_foreground(self.own_group);
        }
        theirs
    }

    /// Is the group one of our children's? The shell that started us is not, and may have it by now.
    fn is_below(&self, group: pid_t) -> bool {
        let own = std::process::id();
        let mut process = u32::try_from(group).unwrap_or(0);
        // A group is led by a process of its number; its parents lead to us, or to the first of all processes.
        for _ in 0..64 {
            match super::children::parent_of(process) {
                Some(parent) if parent == own => return true,
                Some(parent) if parent > 1 => process = parent,
                _ => return false,
            }
        }
        false
    }

    fn set_foreground(&self, group: pid_t) {
        // SAFETY: the descriptor is open. SIGTTOU, which this would cause from the background, is blocked.
        unsafe { libc::tcsetpgrp(self.file.as_raw_fd(), group) };
    }

    /// As it was before the child, which was killed and could not tidy up itself.
    pub fn restore_modes(&self) {
        if let Some(modes) = &self.modes {
            // SAFETY: the descriptor is open, and the modes were given by the system.
            unsafe { libc::tcsetattr(self.file.as_raw_fd(), libc::TCSADRAIN, modes) };
        }
    }
}

/// Has the group no processes any more?
fn is_gone(group: pid_t) -> bool {
    // SAFETY: takes no pointers, and sends nothing.
    let asked = unsafe { libc::kill(-group, 0) };
    asked == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
