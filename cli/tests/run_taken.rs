//! Leases that are taken away while a program runs on them, and programs whose time is up.
#![allow(missing_docs)]

mod common;

use std::time::Duration;

use common::{LONG, Pool, Started, lives, wait_until};
use ternlease::{LeaseId, LeaseState, Reason};

/// A program that does what `trap` says, tells its lease, and waits for signals. The number is the first that it tells.
fn start(pool: &Pool, options: &[&str], trap: &str) -> (Started, LeaseId) {
    start_in_time(pool, options, trap).expect("the program printed no number")
}

/// Like `start`; `None` if the program ended before it printed a number, because its time was up.
fn start_in_time(pool: &Pool, options: &[&str], trap: &str) -> Option<(Started, LeaseId)> {
    let script = format!("{trap}; echo $TERNLEASE_LEASE; while :; do sleep 1 & wait $!; done");
    let mut run = pool.start(&[&["run"], options, &["--", "sh", "-c", &script]].concat());
    // The line is empty once the command and the program have ended.
    let line = run.line();
    (!line.is_empty()).then(|| (run, LeaseId(line.parse().unwrap())))
}

/// Calls `attempt` with a short time, then with longer ones until it returns true: on a busy
/// machine a short time can be up before the program has started or has answered a signal.
fn with_enough_time(mut attempt: impl FnMut(&str, Duration) -> bool) {
    let times = [("100ms", 100), ("1s", 1_000), ("10s", 10_000)];
    let mut attempts = times.map(|(text, time)| (text, Duration::from_millis(time))).into_iter();
    assert!(attempts.any(|(text, time)| attempt(text, time)), "no time was long enough");
}

#[test]
fn a_notice_lets_the_program_save_its_work() {
    let pool = Pool::new(1);
    let (mut run, lease) = start(&pool, &[], "trap 'echo saving; exit 0' TERM");
    let manager = pool.manager();
    manager.revoke_with(lease, Reason::NodeDrain, "ops\x07", LONG).unwrap();
    assert_eq!(run.line(), "saving");
    assert_eq!(run.end(), (Some(121), None));
    let said = run.errors();
    assert!(said.contains("is being taken away, by uid "), "{said}");
    assert!(said.contains(" as \"ops\\u{7}\" (NODE_DRAIN): "), "{said}");
    assert!(said.contains("SIGTERM, then SIGKILL"), "{said}");
    let info = manager.lease(lease).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::NodeDrain)));
    assert!(info.acknowledged, "the program ended before its notice did");
    assert_eq!(manager.active_count(), 0);
}

#[test]
fn at_the_end_of_the_notice_the_program_is_killed_with_all_it_started() {
    let pool = Pool::new(1);
    let manager = pool.manager();
    // One below it has left its group, and does not listen either.
    let script = "trap 'echo told' USR1; trap '' TERM; setsid sleep 1000 & echo $!";
    with_enough_time(|_, notice| {
        let (mut run, below) = start(&pool, &["--notice-signal", "USR1"], script);
        let below = below.0 as i32;
        let lease = LeaseId(run.line().parse().unwrap());
        // SAFETY: takes no pointers.
        wait_until("it has left the group", || unsafe { libc::getpgid(below) } == below);
        manager.revoke_with(lease, Reason::Quota, "", notice).unwrap();
        let answer = run.line();
        assert_eq!(run.end(), (Some(121), None));
        assert!(!lives(below), "it is gone, too");
        assert_eq!(manager.state(lease), Some(LeaseState::Revoked));
        let said = run.errors();
        assert!(said.contains("(QUOTA)") && said.contains("SIGUSR1"), "{said}");
        answer == "told"
    });
}

#[test]
fn without_a_notice_the_program_has_its_grace() {
    let pool = Pool::new(1);
    with_enough_time(|grace, _| {
        let (mut run, lease) = start(&pool, &["--grace", grace], "trap 'echo told' TERM");
        pool.manager().revoke(lease).unwrap();
        let answer = run.line();
        assert_eq!(run.end(), (Some(121), None));
        let said = run.errors();
        assert!(said.contains("was taken away, by uid "), "{said}");
        assert!(said.contains(&format!("(OPERATOR): {grace} left")), "{said}");
        answer == "told"
    });
}

#[test]
fn a_stopped_program_is_woken_to_hear_of_it() {
    let pool = Pool::new(1);
    let (mut run, lease) = start(&pool, &[], "trap 'echo told; exit 0' TERM; echo $$");
    let program = lease.0 as i32;
    let lease = LeaseId(run.line().parse().unwrap());
    common::kill(program, libc::SIGSTOP);
    wait_until("it is stopped", || common::is_stopped(program));
    pool.manager().revoke_with(lease, Reason::Quota, "", LONG).unwrap();
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(121), None));
}

#[test]
fn one_that_is_given_back_by_others_is_over() {
    let pool = Pool::new(1);
    let (mut run, lease) = start(&pool, &[], "trap 'echo told; exit 0' TERM");
    assert!(pool.run(&["release", &lease.to_string()]).status.success());
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(121), None));
    let said = run.errors();
    assert!(said.contains("is over, by uid ") && said.contains("(RELEASED)"), "{said}");
}

#[test]
fn the_time_of_a_program_can_be_limited() {
    let pool = Pool::new(1);
    let manager = pool.manager();
    with_enough_time(|time, _| {
        let trap = "trap 'echo told; exit 0' TERM";
        let Some((mut run, lease)) = start_in_time(&pool, &["--max-time", time], trap) else {
            return false;
        };
        assert_eq!(run.line(), "told");
        assert_eq!(run.end(), (Some(124), None));
        let said = run.errors();
        assert!(said.contains(&format!("the time is up ({time}): 10s left")), "{said}");
        let info = manager.lease(lease).unwrap();
        assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::MaxDuration)));
        assert!(info.acknowledged, "the program ended before its notice did");
        true
    });
    for grace in ["100ms", "0"] {
        with_enough_time(|time, _| {
            let options = ["--max-time", time, "--grace", grace];
            let Some((mut run, lease)) = start_in_time(&pool, &options, "trap '' TERM") else {
                return false;
            };
            assert_eq!(run.end(), (Some(124), None));
            if grace != "0" {
                assert_eq!(manager.lease(lease).unwrap().reason, Some(Reason::MaxDuration));
            }
            true
        });
    }
}

#[test]
fn spare_and_preemptible_programs_make_room() {
    let pool = Pool::new(1);
    for (options, claim, reason) in [
        (&["--spare=60s"][..], &["run", "--", "true"][..], "SPARE_RECLAIMED"),
        (
            &["--preemptible=60s"],
            &["run", "--preempt", "--priority", "1", "--", "true"],
            "PREEMPTED",
        ),
    ] {
        let (mut run, _) = start(&pool, options, "trap 'exit 0' TERM");
        assert!(pool.run(claim).status.success());
        assert_eq!(run.end(), (Some(121), None));
        assert!(run.errors().contains(reason));
    }
}
