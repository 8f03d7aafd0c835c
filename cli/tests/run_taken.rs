//! Leases that are taken away while a program runs on them, and programs whose time is up.
#![allow(missing_docs)]

mod common;

use std::time::Duration;

use common::{LONG, Pool, Started, lives, wait_until};
use ternlease::{LeaseId, LeaseState, Reason};

/// A program that does what `trap` says, tells its lease, and waits for signals. The number is the first that it tells.
fn start(pool: &Pool, options: &[&str], trap: &str) -> (Started, LeaseId) {
    let script = format!("{trap}; echo $TERNLEASE_LEASE; while :; do sleep 1 & wait $!; done");
    let mut run = pool.start(&[&["run"], options, &["--", "sh", "-c", &script]].concat());
    let lease = LeaseId(run.line().parse().unwrap());
    (run, lease)
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
    assert!(said.contains("is being taken away by ops? (NODE_DRAIN): "), "{said}");
    assert!(said.contains("SIGTERM, then SIGKILL"), "{said}");
    assert_eq!(manager.lease(lease).unwrap().reason, Some(Reason::Released), "given back early");
    assert_eq!(manager.active_count(), 0);
}

#[test]
fn at_the_end_of_the_notice_the_program_is_killed_with_all_it_started() {
    let pool = Pool::new(1);
    // One below it has left its group, and does not listen either.
    let script = "trap 'echo told' USR1; trap '' TERM; setsid sleep 1000 & echo $!";
    let (mut run, below) = start(&pool, &["--notice-signal", "USR1"], script);
    let below = below.0 as i32;
    let lease = LeaseId(run.line().parse().unwrap());
    // SAFETY: takes no pointers.
    wait_until("it has left the group", || unsafe { libc::getpgid(below) } == below);
    let manager = pool.manager();
    manager.revoke_with(lease, Reason::Quota, "", Duration::from_millis(200)).unwrap();
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(121), None));
    assert!(!lives(below), "it is gone, too");
    assert_eq!(manager.state(lease), Some(LeaseState::Revoked));
    let said = run.errors();
    assert!(said.contains("(QUOTA)") && said.contains("SIGUSR1"), "{said}");
}

#[test]
fn without_a_notice_the_program_has_its_grace() {
    let pool = Pool::new(1);
    let (mut run, lease) = start(&pool, &["--grace", "100ms"], "trap 'echo told' TERM");
    pool.manager().revoke(lease).unwrap();
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(121), None));
    let said = run.errors();
    assert!(said.contains("was taken away (OPERATOR): 100ms left"), "{said}");
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
    assert!(run.errors().contains("is over (RELEASED)"));
}

#[test]
fn the_time_of_a_program_can_be_limited() {
    let pool = Pool::new(1);
    let manager = pool.manager();
    let (mut run, lease) = start(&pool, &["--max-time", "100ms"], "trap 'echo told; exit 0' TERM");
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(124), None));
    let said = run.errors();
    assert!(said.contains("the time is up (100ms): 10s left"), "{said}");
    assert_eq!(manager.state(lease), Some(LeaseState::Expired), "it ended within its notice");

    let stubborn = ["--max-time", "50ms", "--grace", "100ms"];
    let (mut run, lease) = start(&pool, &stubborn, "trap '' TERM");
    assert_eq!(run.end(), (Some(124), None));
    assert_eq!(manager.lease(lease).unwrap().reason, Some(Reason::MaxDuration));
    let at_once = ["--max-time", "50ms", "--grace", "0"];
    let (mut run, _) = start(&pool, &at_once, "trap '' TERM");
    assert_eq!(run.end(), (Some(124), None));
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
