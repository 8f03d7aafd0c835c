//! `ternlease top` on a terminal: it draws, it reacts, and it leaves the terminal as it was.

mod show_common;
// Each of the two test files uses a part of it.
#[allow(dead_code)]
#[path = "show_common/terminal.rs"]
mod terminal;

use show_common::{NASTY, Pool, errors};
use terminal::Terminal;
use ternlease::{LeaseState, Reason};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

#[test]
fn it_draws_and_quits_and_leaves_everything_as_it_was() {
    let pool = Pool::fake(2);
    let open = pool.open();
    let _lease = open.claim().holder("trainer").try_now().unwrap();
    let mut top = Terminal::start(pool.command(&["top"]), 80, 24);
    top.until(ENTER);
    top.until("trainer");
    top.until("quit");
    assert!(!top.is_as_usual(), "keys are read one by one");
    top.press("q");
    top.until(LEAVE);
    assert!(top.end().success());
    assert!(top.is_as_usual());
}

#[test]
fn it_revokes_after_a_question() {
    let pool = Pool::fake(1);
    let open = pool.open();
    let lease = open.claim().holder("trainer").try_now().unwrap().unwrap();
    let mut top = Terminal::start(pool.command(&["top"]), 80, 24);
    top.until("trainer");
    top.until("quit");
    top.press("R");
    // Blanks are not written: the cursor jumps over them.
    top.until("once?");
    assert_eq!(lease.state(), Some(LeaseState::Held));
    top.press("y");
    top.when("the lease is revoked", || lease.state() == Some(LeaseState::Revoked));
    assert_eq!(open.manager().lease(lease.id()).unwrap().reason, Some(Reason::Operator));
    top.press("\x03");
    top.until(LEAVE);
    assert!(top.end().success());
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let pool = Pool::fake(1);
        let mut top = Terminal::start(pool.command(&["top"]), 80, 24);
        top.until("quit");
        top.signal(signal);
        top.until(LEAVE);
        top.end();
        assert!(top.is_as_usual());
    }
}

#[test]
fn what_others_call_themselves_cannot_draw() {
    let pool = Pool::fake(1);
    let open = pool.open();
    let _lease = open.claim().holder(NASTY).try_now().unwrap();
    let mut top = Terminal::start(pool.command(&["top"]), 160, 50);
    let drawn = top.until("evil") + &top.until("quit");
    assert!(drawn.contains(r"[2J\u{1b}[31m\u{9b}5m"), "{drawn:?}");
    assert!(!drawn.contains("\x1b[31m\u{9b}") && !drawn.contains('\u{202e}'), "{drawn:?}");
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let pool = Pool::fake(1);
    let output = pool.command(&["top"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("status --watch"), "{output:?}");
    assert!(output.stdout.is_empty());
}
