//! A terminal of the test's own, to see what a command does on one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than anything takes on the slowest machine; nobody waits so long if all goes well.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A command on a terminal. Ended when it goes.
pub struct Terminal {
    child: Child,
    keyboard: File,
    written: Receiver<Vec<u8>>,
    screen: String,
    line: OwnedFd,
}

impl Terminal {
    /// Starts it on a terminal of this size.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut master, mut slave) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: both descriptors have a place, and the size is only read.
        let made = unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), &size) };
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: they were just made, and nobody else has them.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let side = || slave.try_clone().unwrap();
        command.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm-256color");
        let hang_up = || {
            // SAFETY: both calls are allowed between fork and exec. It becomes the terminal that signals come from.
            let done = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) != -1 };
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: it only makes system calls.
        unsafe { command.pre_exec(hang_up) };
        assert!(is_as_usual(&slave), "before it begins");
        let child = command.spawn().unwrap();
        let mut output = master.try_clone().unwrap();
        let (tell, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error means that nobody has the other side open any more.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                if tell.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, keyboard: master, written, screen: String::new(), line: slave }
    }

    /// All that was written so far, once it contains this. What was there before counts no more.
    pub fn until(&mut self, what: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.screen.find(what) {
                let rest = self.screen.split_off(at + what.len());
                return std::mem::replace(&mut self.screen, rest);
            }
            match self.written.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let end: String = self.screen.chars().take(2000).collect();
                    panic!("{what:?} was not written; what was, begins {end:?}")
                }
            }
        }
    }

    /// Waits for something that cannot be seen on the screen.
    pub fn when(&mut self, what: &str, done: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < end, "it never comes to be that {what}");
            // Takes what it writes, so that it is not held up, and waits for more.
            if let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(20)) {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// How it ended. It must end by itself.
    pub fn end(&mut self) -> ExitStatus {
        let process = self.child.id() as libc::id_t;
        self.when("it ends", || {
            // SAFETY: a place for the answer, and a child that has not been waited for; it is only looked at.
            let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            // SAFETY: as above.
            let asked = unsafe { libc::waitid(libc::P_PID, process, &mut told, how) };
            asked == 0 && told.si_signo == libc::SIGCHLD
        });
        self.child.wait().unwrap()
    }

    /// Are lines typed and echoed as usual?
    pub fn is_as_usual(&self) -> bool {
        is_as_usual(&self.line)
    }
}

fn is_as_usual(line: &OwnedFd) -> bool {
    // SAFETY: settings are numbers, and are filled in before they are read.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: asks a terminal that is open for its settings.
    assert_eq!(unsafe { libc::tcgetattr(line.as_raw_fd(), &mut settings) }, 0);
    let usual = libc::ICANON | libc::ECHO | libc::ISIG;
    settings.c_lflag & usual == usual
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
