//! A terminal, and a program on it: what somebody types, and what they see.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use super::LONG;

pub struct Terminal {
    keys: File,
    pub child: Child,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    /// How much of it was looked at.
    looked: usize,
}

#[derive(Default)]
struct Seen {
    text: Vec<u8>,
    closed: bool,
}

impl Terminal {
    /// Starts the program as the first of a session of its own on a new terminal.
    pub fn start(mut command: Command) -> Self {
        let (mut master, mut slave) = (0, 0);
        // SAFETY: there are places for both numbers, and nothing else is asked for.
        let made = unsafe {
            libc::openpty(
                &mut master,
                &mut slave,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: both were just opened, and belong to nobody else. What is not inherited on purpose must not be.
        let (keys, slave) = unsafe {
            libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
            (File::from_raw_fd(master), File::from_raw_fd(slave))
        };
        let again = || slave.try_clone().unwrap();
        command.stdin(again()).stdout(again()).stderr(again()).env("TERM", "dumb");
        let number = slave.as_raw_fd();
        // SAFETY: both calls are allowed between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                libc::ioctl(number, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        // The command keeps its own ends of the terminal until it goes.
        drop((command, slave));
        let seen = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
        let (mut screen, tell) = (keys.try_clone().unwrap(), seen.clone());
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = screen.read(&mut buffer).unwrap_or(0);
                let mut seen = tell.0.lock().unwrap_or_else(|broken| broken.into_inner());
                seen.text.extend_from_slice(&buffer[..count]);
                seen.closed |= count == 0;
                tell.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Terminal { keys, child, seen, reader: Some(reader), looked: 0 }
    }

    pub fn keys(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until this is on the screen, after what was waited for before; all that came before it.
    pub fn expect(&mut self, text: &str) -> String {
        let until = Instant::now() + LONG;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let new = String::from_utf8_lossy(&seen.text[self.looked..]).into_owned();
            if let Some(at) = new.find(text) {
                self.looked += at + text.len();
                return new[..at].to_owned();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.closed, "no {text:?} in {new:?}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits for a line `name=NUMBER` that the program itself printed.
    pub fn expect_number(&mut self, name: &str) -> i32 {
        loop {
            self.expect(&format!("{name}="));
            let text = self.expect("\n");
            // What was typed is seen as well, and is no number.
            if let Ok(number) = text.trim().parse() {
                return number;
            }
        }
    }

    /// The process group that gets what is typed.
    pub fn foreground(&self) -> i32 {
        // SAFETY: the descriptor is open.
        unsafe { libc::tcgetpgrp(self.keys.as_raw_fd()) }
    }

    /// Waits for its end; code and signal.
    pub fn end(&mut self) -> (Option<i32>, Option<i32>) {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        (status.code(), status.signal())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Whoever is left on the terminal is told that it is gone when the last of our ends is closed; the reader has one.
        if std::thread::panicking() {
            let seen = self.seen.0.lock().unwrap_or_else(|broken| broken.into_inner());
            eprintln!("screen: {}", String::from_utf8_lossy(&seen.text));
            return;
        }
        if let Some(reader) = self.reader.take() {
            drop(reader);
        }
    }
}
