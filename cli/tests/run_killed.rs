//! Killed: the command, its program, both. Nobody gets a device that is still used, and everybody one that is not.
#![allow(missing_docs)]

mod common;

use common::{Pool, kill, lives, wait_until};
use ternlease::Reason;

const PROGRAM: [&str; 5] = ["run", "--", "sh", "-c", "echo $$; exec sleep 1000"];

fn is_free(pool: &Pool) -> bool {
    pool.run(&["run", "--now", "--", "true"]).status.success()
}

#[test]
fn a_program_keeps_its_device_when_the_command_is_killed() {
    let pool = Pool::new(1);
    let mut run = pool.start(&PROGRAM);
    let program = run.number();
    run.send(libc::SIGKILL);
    assert_eq!(run.end(), (None, Some(libc::SIGKILL)));
    assert!(lives(program));
    assert!(!is_free(&pool), "it is still used");
    let mut next = pool.start(&["run", "--", "echo", "mine"]);
    let manager = pool.manager();
    wait_until("it waits", || manager.pending_claimers() == 1);
    assert!(lives(program));
    kill(program, libc::SIGKILL);
    assert_eq!(next.line(), "mine");
    assert!(!lives(program), "not before it was gone");
    assert_eq!(next.end(), (Some(0), None));
    assert_eq!(manager.count(Reason::HolderDied), 1);
}

#[test]
fn so_do_those_that_the_program_has_started() {
    let pool = Pool::new(1);
    let script = "sleep 1000 </dev/null >/dev/null 2>&1 & echo $$ $!; wait";
    let mut run = pool.start(&["run", "--", "sh", "-c", script]);
    let line = run.line();
    let (program, below) = line.split_once(' ').unwrap();
    let (program, below): (i32, i32) = (program.parse().unwrap(), below.parse().unwrap());
    run.send(libc::SIGKILL);
    run.end();
    kill(program, libc::SIGKILL);
    wait_until("the program is gone", || !lives(program));
    assert!(lives(below) && !is_free(&pool));
    kill(below, libc::SIGKILL);
    wait_until("the device is free", || is_free(&pool));
}

#[test]
fn a_program_that_is_killed_frees_its_device() {
    let pool = Pool::new(1);
    let mut run = pool.start(&PROGRAM);
    kill(run.number(), libc::SIGKILL);
    assert_eq!(run.end(), (None, Some(libc::SIGKILL)), "and the command ends as it did");
    assert!(is_free(&pool));
    assert_eq!(pool.manager().count(Reason::HolderDied), 0);
}

#[test]
fn both_killed_free_the_device() {
    for order in [[0, 1], [1, 0]] {
        let pool = Pool::new(1);
        let mut run = pool.start(&PROGRAM);
        // The program first, while the command cannot notice.
        let victims = [run.pid(), run.number()];
        run.send(libc::SIGSTOP);
        order.iter().for_each(|&one| kill(victims[one], libc::SIGKILL));
        run.end();
        wait_until("the device is free", || is_free(&pool));
        assert!(!lives(victims[1]));
    }
}

#[test]
fn a_lease_with_a_ttl_is_renewed_while_the_command_lives() {
    let pool = Pool::new(1);
    let words =
        ["run", "--ttl", "300ms", "--", "sh", "-c", "echo $TERNLEASE_LEASE; exec sleep 1000"];
    let mut run = pool.start(&words);
    let lease = ternlease::LeaseId(run.line().parse().unwrap());
    let manager = pool.manager();
    let first = manager.lease(lease).unwrap().end;
    wait_until("it has been renewed more than once", || {
        manager.lease(lease).unwrap().end > first + 600_000
    });
    run.send(libc::SIGTERM);
    assert_eq!(run.end(), (None, Some(libc::SIGTERM)));
    assert!(is_free(&pool));
}
