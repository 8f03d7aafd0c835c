//! Staying beside the program while it runs: signals, the terminal, its lease, its end.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Once;
use std::time::Duration;

use libc::{c_int, pid_t};

use super::children::{self, Change};
use super::fate::{Fate, Order};
use super::poll::{Ready, await_any};
use super::signals::Signals;
use super::terminal::Terminal;
use super::words;

/// How often to look for the end of the program where only SIGCHLD tells of it: none comes if
/// another thread of this process has reaped it.
const UNWATCHED_END: Duration = Duration::from_secs(1);

/// Reports once that a process cannot be killed. This process supervises one program.
static DENIED: Once = Once::new();

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this number.
    Code(u8),
    /// By this signal.
    Signal(c_int),
    /// Its lease, or its time, was over; the number says which.
    Taken(u8),
}

/// A program that runs.
#[derive(Debug)]
pub struct Supervisor {
    /// Its process, and its group.
    pub child: pid_t,
    /// Readable when it has ended. None where the system has no such descriptors: then SIGCHLD alone tells.
    pub ended: Option<OwnedFd>,
    /// Of this process.
    pub signals: Signals,
    /// If there is one.
    pub terminal: Option<Terminal>,
    /// Of its lease.
    pub fate: Fate,
}

impl Supervisor {
    /// Until it ends.
    pub fn run(&mut self) -> End {
        let mut has_ended = false;
        loop {
            let end = self.look_at_children();
            if let Some(end) = end.or_else(|| self.unknown_end(has_ended)) {
                return self.tidy_up(end);
            }
            self.obey();
            let unwatched = self.ended.is_none().then_some(UNWATCHED_END);
            let limit = self.fate.look_within().into_iter().chain(unwatched).min();
            let ended = self.ended.as_ref().map(AsFd::as_fd);
            let ready = await_any(&[Some(self.signals.as_fd()), self.fate.watch(), ended], limit);
            // Where nothing tells of it, every turn looks.
            has_ended = self.ended.is_none() || ready.contains(Ready(2));
            if ready.contains(Ready(0)) {
                while let Some(signal) = self.signals.next() {
                    self.take(signal);
                }
            }
        }
    }

    /// Does what the lease demands.
    fn obey(&mut self) {
        match self.fate.look() {
            Order::GoOn => {}
            Order::Ask(signal) => {
                self.send(signal);
                // A stopped process cannot answer.
                self.send(libc::SIGCONT);
            }
            Order::Kill => self.kill(),
        }
        self.fate.explain();
    }

    /// Kills the child's group, and the descendants that have left the group. What this process may not end is
    /// reported once.
    fn kill(&mut self) {
        self.send(libc::SIGKILL);
        if let Some(process) = children::kill_descendants() {
            // What the order was for comes first.
            self.fate.explain();
            let what = "permission denied; end it as its own user or as root";
            DENIED.call_once(|| words::say(&format!("cannot end process {process}: {what}")));
        }
    }

    /// To all of the child's group.
    fn send(&self, signal: c_int) {
        // SAFETY: takes no pointers. The child has not been reaped, so the group is still its own.
        unsafe { libc::kill(-self.child, signal) };
    }

    fn take(&mut self, signal: c_int) {
        match signal {
            // Looked at in any case.
            libc::SIGCHLD => {}
            libc::SIGCONT => self.go_on(),
            signal => self.send(signal),
        }
    }

    /// What has become of the child, if it has ended. Others that have become ours are only reaped.
    fn look_at_children(&mut self) -> Option<End> {
        while let Some((process, change)) = children::next_change() {
            match change {
                _ if process != self.child => {}
                Change::Exited(code) => return Some(End::Code(code as u8)),
                Change::Killed(signal) => return Some(End::Signal(signal)),
                Change::Stopped(signal) => self.stopped(signal),
            }
        }
        None
    }

    /// The child has ended, and there is nothing to wait for: a library in this process may have done that before.
    fn unknown_end(&mut self, has_ended: bool) -> Option<End> {
        if !has_ended {
            return None;
        }
        // A debugger sees the end first. SIGCHLD comes when it has, and every turn looks.
        self.ended = None;
        children::is_reaped(self.child).then(|| {
            let why = "a library in this process has already reaped it";
            words::say(&format!("exit status of process {} is unknown: {why}", self.child));
            End::Code(1)
        })
    }

    /// The child has stopped. If it only wants the terminal, and we have it, it gets it; otherwise we stop, too, so that the shell
    /// that started us sees it.
    fn stopped(&mut self, signal: c_int) {
        if self.fate.code().is_some() {
            return self.send(libc::SIGCONT);
        }
        let Some(terminal) = &mut self.terminal else { return };
        let wants_terminal = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        if wants_terminal && terminal.give(self.child) {
            return self.send(libc::SIGCONT);
        }
        let had_it = terminal.take_back();
        if had_it || signal != libc::SIGSTOP {
            self.fate.at_rest(|| self.signals.stop_by(signal));
            self.go_on();
        }
    }

    /// This process is continued, and continues the child; unless its lease was lost meanwhile.
    fn go_on(&mut self) {
        self.obey();
        if let Some(terminal) = &self.terminal {
            terminal.give_again(self.child);
        }
        self.send(libc::SIGCONT);
    }

    /// The child is gone. Who is left of a program that was to be ended goes with it.
    fn tidy_up(&self, end: End) -> End {
        let taken = self.fate.code();
        if taken.is_some() {
            children::kill_all();
        }
        if let Some(terminal) = &self.terminal {
            let had_it = terminal.take_back();
            if had_it && !matches!(end, End::Code(_)) {
                terminal.restore_modes();
            }
        }
        taken.map_or(end, End::Taken)
    }
}
