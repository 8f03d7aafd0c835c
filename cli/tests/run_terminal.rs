//! `ternlease run` on a terminal: Ctrl-C, Ctrl-Z, fg and bg, pipelines, and who may read what is typed.
#![allow(missing_docs)]

mod common;

use common::pty::Terminal;
use common::{Pool, is_stopped, lives, wait_until};

const INTERRUPT: &str = "\x03";
const QUIT: &str = "\x1c";
const SUSPEND: &str = "\x1a";

/// The command alone, as the first of its session.
fn alone(pool: &Pool, words: &[&str]) -> Terminal {
    Terminal::start(pool.command(words))
}

/// A shell with job control, in which the command is `t`.
fn shell(pool: &Pool) -> Terminal {
    let mut command = std::process::Command::new("bash");
    for (name, value) in pool.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .args(["--norc", "--noprofile", "--noediting", "-i"])
        .env("PS1", "$ ")
        .env("HISTFILE", "");
    let mut terminal = Terminal::start(command);
    terminal
        .keys(&format!("t() {{ {} \"$@\"; }}; echo shell'='0\n", env!("CARGO_BIN_EXE_ternlease")));
    terminal.expect_number("shell");
    terminal
}

#[test]
fn the_program_has_the_terminal() {
    let pool = Pool::new(1);
    let script = "test -t 0 && test -t 1 && read line && echo \"read=$line\"; stty size; exit 4";
    let mut terminal = alone(&pool, &["run", "--", "sh", "-c", script]);
    terminal.keys("7\n");
    assert_eq!(terminal.expect_number("read"), 7);
    assert_eq!(terminal.end(), (Some(4), None));
}

#[test]
fn keys_that_send_signals_reach_the_program_once() {
    let pool = Pool::new(1);
    for (key, signal, name) in [(INTERRUPT, libc::SIGINT, "INT"), (QUIT, libc::SIGQUIT, "QUIT")] {
        let script =
            format!("trap 'echo got=1' {name}; echo ready=1; while :; do sleep 1 & wait $!; done");
        let mut terminal = alone(&pool, &["run", "--", "sh", "-c", &script]);
        terminal.expect_number("ready");
        terminal.keys(key);
        terminal.expect_number("got");
        assert!(
            terminal.child.try_wait().unwrap().is_none(),
            "the program lives, so does the command"
        );
        drop(terminal);

        let mut terminal =
            alone(&pool, &["run", "--", "sh", "-c", "echo ready=1; exec sleep 1000"]);
        terminal.expect_number("ready");
        terminal.keys(key);
        assert_eq!(terminal.end(), (None, Some(signal)));
    }
    wait_until("all is given back", || pool.manager().active_count() == 0);
}

#[test]
fn a_waiter_shows_one_line_and_leaves_at_ctrl_c() {
    let pool = Pool::new(1);
    let open = pool.open();
    let _held = open.claim().try_now().unwrap();
    let mut terminal = alone(&pool, &["run", "--", "true"]);
    terminal.expect("\r\x1b[Kternlease: waiting, place 1 in line");
    wait_until("it waits", || open.pending_claimers() == 1);
    // Written again, in the same place.
    let between = terminal.expect("\r\x1b[Kternlease: waiting, place 1 in line");
    assert!(!between.contains('\n'), "{between:?}");
    terminal.keys(INTERRUPT);
    assert_eq!(terminal.end(), (None, Some(libc::SIGINT)));
    assert_eq!(open.pending_claimers(), 0);
}

#[test]
fn it_stops_and_goes_on_like_any_job() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    terminal.keys("t run -- sh -c 'echo pid=$$; read line; echo read=$line; exit 6'\n");
    let program = terminal.expect_number("pid");
    terminal.keys(SUSPEND);
    terminal.expect("Stopped");
    wait_until("the program is stopped", || is_stopped(program));
    terminal.keys("echo alive'='1\n");
    terminal.expect_number("alive");
    assert_eq!(pool.manager().active_count(), 1, "stopped, not ended");
    terminal.keys("fg\n");
    wait_until("the program goes on", || !is_stopped(program));
    terminal.keys("42\n");
    assert_eq!(terminal.expect_number("read"), 42);
    terminal.keys("echo code'='$?\n");
    assert_eq!(terminal.expect_number("code"), 6);
    assert_eq!(pool.manager().active_count(), 0);
}

#[test]
fn in_the_background_it_stops_when_it_wants_to_read() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    terminal.keys("t run -- sh -c 'echo pid=$$; read line; echo read=$line' &\n");
    let program = terminal.expect_number("pid");
    wait_until("the program is stopped", || is_stopped(program));
    wait_until("the shell sees it", || {
        terminal.keys("jobs; echo done'='1\n");
        terminal.expect("done=1\r").contains("Stopped")
    });
    terminal.keys("fg\n");
    wait_until("the program goes on", || !is_stopped(program));
    terminal.keys("9\n");
    assert_eq!(terminal.expect_number("read"), 9);
}

#[test]
fn what_is_brought_to_the_foreground_hears_ctrl_c() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    let shell = terminal.foreground();
    terminal.keys("t run -- sh -c 'echo pid=$$; exec sleep 1000' &\n");
    let program = terminal.expect_number("pid");
    wait_until("the shell reads again", || terminal.foreground() == shell);
    terminal.keys("fg\n");
    wait_until("it is in the foreground", || terminal.foreground() != shell);
    terminal.keys(INTERRUPT);
    wait_until("the program is gone", || !lives(program));
    terminal.keys("echo code'='$?\n");
    assert_eq!(terminal.expect_number("code"), 130);
}

#[test]
fn others_in_a_pipeline_keep_the_terminal() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    // The last one reads from the terminal while the program runs, as a pager does.
    let reader = "sh -c 'head -n 1; read line </dev/tty; echo typed=$line'";
    terminal.keys(&format!("t run -- sh -c 'echo first; exec sleep 1000' | {reader}\n"));
    terminal.expect("first\r\n");
    terminal.keys("5\n");
    assert_eq!(terminal.expect_number("typed"), 5);
    // Ctrl-C ends the program, too, although it is in a group of its own.
    terminal.keys(INTERRUPT);
    terminal.keys("echo code'='${PIPESTATUS[0]}\n");
    assert_eq!(terminal.expect_number("code"), 130);
    assert_eq!(pool.manager().active_count(), 0);
    // Suspended as a whole, and continued.
    terminal.keys("t run -- sh -c 'echo pid=$$; exec sleep 1000' | cat\n");
    let program = terminal.expect_number("pid");
    terminal.keys(SUSPEND);
    terminal.expect("Stopped");
    wait_until("the program is stopped", || is_stopped(program));
    terminal.keys("fg\n");
    wait_until("the program goes on", || !is_stopped(program));
    terminal.keys(INTERRUPT);
    wait_until("the program is gone", || !lives(program));
}

#[test]
fn a_script_ends_at_ctrl_c() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    let binary = env!("CARGO_BIN_EXE_ternlease");
    terminal.keys(&format!(
        "bash -c \"{binary} run -- sh -c 'echo ready=1; exec sleep 1000'; echo after=1\"\n"
    ));
    terminal.expect_number("ready");
    terminal.keys(INTERRUPT);
    terminal.keys("echo code'='$?\n");
    let mut seen = terminal.expect("code=");
    assert!(!seen.contains("after=1\r"), "the script went on: {seen:?}");
    seen = terminal.expect("\n");
    assert_eq!(seen.trim(), "130");
}

#[test]
fn the_terminal_is_as_before_when_the_program_was_killed() {
    let pool = Pool::new(1);
    let mut terminal = shell(&pool);
    terminal.keys("t run --max-time 50ms --grace 0 -- sh -c 'stty raw -echo; exec sleep 1000'\n");
    terminal.expect("the time is up");
    terminal.keys("stty -a | grep -q ' icanon' && echo modes'='1\n");
    terminal.expect_number("modes");
}
