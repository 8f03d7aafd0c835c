//! The command with a library that starts a thread with all signals unblocked, as drivers do: no signal may be lost,
//! and none may end the command in place of its program.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use common::pty::Terminal;
use common::{LONG, Pool, is_stopped, kill, lives, wait_until};

/// A library of `tests/foreign_thread`, built once.
fn library(name: &str) -> PathBuf {
    static LIBRARIES: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut libraries = LIBRARIES.lock().unwrap();
    let build = || {
        let source = format!("{}/tests/foreign_thread/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let file = format!("{name}-{}.so", std::process::id());
        let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-pthread", "-o"])
            .arg(&library)
            .arg(source)
            .arg("-ldl")
            .status()
            .expect("the C compiler that links Rust programs is there");
        assert!(built.success());
        library
    };
    libraries.entry(name.to_owned()).or_insert_with(build).clone()
}

/// A process whose every wait has a time-out.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts the command with the library of the idle thread loaded into it.
    fn start(pool: &Pool, words: &[&str]) -> Process {
        Self::start_with("idle", pool, words)
    }

    fn start_with(loaded: &str, pool: &Pool, words: &[&str]) -> Process {
        let mut command = pool.command(words);
        command.env("LD_PRELOAD", library(loaded)).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Process { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(LONG).expect("a line is printed")
    }

    fn send(&self, signal: i32) {
        kill(self.child.id().cast_signed(), signal);
    }

    /// Waits for its end; code and signal.
    fn end(&mut self) -> (Option<i32>, Option<i32>) {
        use std::os::unix::process::ExitStatusExt;
        let mut ended = None;
        wait_until("the command ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.map_or((None, None), |status| (status.code(), status.signal()))
    }
}

/// A program under `run`, which must not outlive its test if the command fails to end it.
struct Program(i32);

impl Drop for Program {
    fn drop(&mut self) {
        if lives(self.0) {
            kill(self.0, libc::SIGKILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn run_notices_the_end_of_its_program_every_time() {
    let pool = Pool::new(1);
    for _ in 0..100 {
        let mut run = Process::start(&pool, &["run", "--", "true"]);
        assert_eq!(run.end(), (Some(0), None));
    }
    let manager = pool.manager();
    assert_eq!((manager.active_count(), manager.host().unwrap().deaths), (0, 0));
}

/// The thread that reads the lease has a handle of the table, and may not have run yet when the
/// program ends.
#[test]
fn run_leaves_the_table_even_if_its_threads_start_late() {
    let pool = Pool::new(1);
    let mut run = Process::start_with("late", &pool, &["run", "--", "true"]);
    assert_eq!(run.end(), (Some(0), None));
    let manager = pool.manager();
    assert_eq!((manager.active_count(), manager.host().unwrap().deaths), (0, 0));
}

#[test]
fn signals_sent_to_run_reach_its_program() {
    let pool = Pool::new(1);
    for (name, signal) in [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("USR1", libc::SIGUSR1),
    ] {
        // Without the library: the program's own threads are not what is tested.
        let script = format!(
            "trap 'echo {name} $$; exit 5' {name}; echo $$; while :; do sleep 1 & wait; done"
        );
        let words = ["run", "--", "env", "-u", "LD_PRELOAD", "sh", "-c", &script];
        let mut run = Process::start(&pool, &words);
        let program = Program(run.line().parse().unwrap());
        run.send(signal);
        assert_eq!(run.line(), format!("{name} {}", program.0));
        assert_eq!(run.end(), (Some(5), None));
        assert!(!lives(program.0));
    }
}

#[test]
fn program_ended_by_a_forwarded_signal_ends_run_the_same_way() {
    let pool = Pool::new(1);
    let script = "echo $$; exec sleep 1000";
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
        let words = ["run", "--", "env", "-u", "LD_PRELOAD", "sh", "-c", script];
        let mut run = Process::start(&pool, &words);
        let program = Program(run.line().parse().unwrap());
        run.send(signal);
        assert_eq!(run.end(), (None, Some(signal)));
        assert!(!lives(program.0));
    }
    let manager = pool.manager();
    assert_eq!((manager.active_count(), manager.host().unwrap().deaths), (0, 0));
}

#[test]
fn tstp_stops_run_and_its_program_and_cont_continues_both() {
    let pool = Pool::new(1);
    // Only a job of a shell can be stopped by this signal.
    let mut shell = Command::new("bash");
    for (name, value) in pool.command(&[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.args(["--norc", "--noprofile", "--noediting", "-i"]).env("PS1", "$ ").env("HISTFILE", "");
    let mut terminal = Terminal::start(shell);
    terminal.keys(&format!(
        "LD_PRELOAD={} {} run -- env -u LD_PRELOAD sh -c 'echo of=$PPID; echo pid=$$; exec sleep 1000' &\n",
        library("idle").display(),
        env!("CARGO_BIN_EXE_ternlease")
    ));
    let run = terminal.expect_number("of");
    let program = terminal.expect_number("pid");
    let _ended = Program(program);
    for _ in 0..10 {
        kill(run, libc::SIGTSTP);
        wait_until("both are stopped", || is_stopped(run) && is_stopped(program));
        kill(run, libc::SIGCONT);
        wait_until("both are continued", || !is_stopped(run) && !is_stopped(program));
    }
    kill(run, libc::SIGTERM);
    wait_until("both have ended", || !lives(run) && !lives(program));
    assert_eq!(pool.manager().active_count(), 0);
}

#[test]
fn signals_end_commands_that_wait_in_the_queue_in_good_order() {
    let pool = Pool::new(1);
    let open = pool.open();
    let _held = open.claim().holder("alice").try_now().unwrap().unwrap();
    for words in [&["claim", "--quiet"][..], &["run", "--quiet", "--", "true"]] {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
            let mut waiting = Process::start(&pool, words);
            wait_until("it waits", || open.pending_claimers() == 1);
            waiting.send(signal);
            assert_eq!(waiting.end(), (None, Some(signal)), "{words:?}");
            assert_eq!(open.pending_claimers(), 0, "it has left before it ended");
        }
    }
    assert_eq!(pool.manager().host().unwrap().deaths, 0);
}

#[test]
fn signals_end_commands_that_watch_in_good_order() {
    let pool = Pool::new(1);
    assert!(pool.run(&["run", "--", "true"]).status.success());
    for words in [&["events", "--follow"][..], &["status", "--watch"]] {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            let mut watching = Process::start(&pool, words);
            watching.line();
            watching.send(signal);
            assert_eq!(watching.end(), (Some(0), None), "{words:?}");
        }
    }
    assert_eq!(pool.manager().host().unwrap().deaths, 0);
}
