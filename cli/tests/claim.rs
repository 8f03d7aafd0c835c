//! `claim`, `release`, `renew` and `adopt`: leases for scripts and for programs that know nothing of leases.
#![allow(missing_docs)]

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Pool, Started, errors, lives, text, wait_until};
use ternlease::{LeaseId, LeaseState, Reason};

/// A shell on the pool, in which the command is `t`.
fn shell(pool: &Pool, script: &str) -> Started {
    let mut command = Command::new("bash");
    for (name, value) in pool.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let function = format!("t() {{ {} \"$@\"; }}\n{script}", env!("CARGO_BIN_EXE_ternlease"));
    command.args(["-c", &function]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Started::new(command)
}

/// Somebody for whom a lease is held.
fn sleeper() -> Started {
    let mut command = Command::new("sh");
    command.args(["-c", "echo; exec sleep 1000"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut sleeper = Started::new(command);
    sleeper.line();
    sleeper
}

fn claim(pool: &Pool, owner: &Started, more: &[&str]) -> LeaseId {
    let pid = owner.pid().to_string();
    let output = pool.run(&[&["claim", "--for", &pid], more].concat());
    let id = text(&output.stdout).trim().parse();
    LeaseId(id.unwrap_or_else(|_| panic!("{}", errors(&output))))
}

/// The processes that hold leases for others: each is a tree of its own.
fn keepers(pool: &Pool) -> usize {
    let processes = pool.manager().host().unwrap().processes;
    processes.iter().filter(|process| process.life == ternlease::ProcessLife::Tree).count()
}

#[test]
fn a_script_claims_renews_and_releases() {
    let pool = Pool::new(2);
    let script = "
        lease=$(t claim --ttl 1h) || exit 1
        t renew $lease --ttl 2h
        t run --now -n 2 -- true; echo $?
        t release $lease; echo $?
        t release $lease; echo $?
        t run --now -n 2 -- true; echo $?
    ";
    let mut script = shell(&pool, script);
    let line = script.line();
    assert!(line.starts_with("lease ") && line.ends_with(": 2h from now"), "{line}");
    let codes = [script.line(), script.line(), script.line(), script.line()];
    assert_eq!(codes, ["124", "0", "1", "0"]);
    let said = script.errors();
    assert!(said.contains("has ended (RELEASED)"), "{said}");
    wait_until("nobody holds it any more", || keepers(&pool) == 0);
}

#[test]
fn eval_sets_the_environment() {
    let pool = Pool::new(4);
    let script = "
        eval \"$(t claim --env -n 2 --name me)\"
        echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $TERNLEASE_LEASE
        sh -c 'echo $CUDA_VISIBLE_DEVICES'
        t renew
        read wait
        t release; echo $?
    ";
    let mut script = shell(&pool, script);
    let [order, devices, lease]: [String; 3] =
        script.line().split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((order.as_str(), devices.as_str()), ("PCI_BUS_ID", "0,1"));
    assert_eq!(script.line(), "0,1");
    assert_eq!(script.line(), format!("lease {lease}: without end"));
    let lease = LeaseId(lease.parse().unwrap());
    assert_eq!(pool.manager().held_by("me"), [lease]);
    drop(script.child.stdin.take());
    assert_eq!(script.line(), "0");
    assert_eq!(pool.manager().state(lease), Some(LeaseState::Expired));
}

#[test]
fn it_is_held_for_the_script_and_not_for_a_copy_that_its_shell_made() {
    let pool = Pool::new(1);
    // The pipe makes the shell fork; so does the second command.
    let script = "lease=$(cd /; t claim | cat; true); echo $lease; read wait";
    let mut script = shell(&pool, script);
    let lease = LeaseId(script.line().parse().unwrap());
    let manager = pool.manager();
    wait_until("somebody holds it", || keepers(&pool) == 1);
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    assert_eq!(pool.run(&["run", "--now", "--", "true"]).status.code(), Some(124));
    assert_eq!(script.end().0, Some(1));
    wait_until("it ends with the script", || manager.state(lease) == Some(LeaseState::Expired));
}

#[test]
fn it_ends_with_its_owner_however_that_ends() {
    let pool = Pool::new(1);
    let mut owner = sleeper();
    let lease = claim(&pool, &owner, &[]);
    let manager = pool.manager();
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    let mut next = pool.start(&["run", "--", "echo", "mine"]);
    wait_until("the next waits", || manager.pending_claimers() == 1);
    owner.send(libc::SIGKILL);
    owner.end();
    assert_eq!(next.line(), "mine");
    assert_eq!(next.end(), (Some(0), None));
    wait_until("nobody holds it any more", || keepers(&pool) == 0);
}

#[test]
fn it_ends_with_the_process_that_holds_it() {
    let pool = Pool::new(1);
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let owner = sleeper();
        let pid = owner.pid().to_string();
        let output = pool.run(&["claim", "--json", "--for", &pid]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["for"], owner.pid());
        assert_eq!(told["env"]["CUDA_VISIBLE_DEVICES"], "0");
        assert_eq!(told["devices"][0]["vendor"], "nvidia");
        let keeper = told["keeper"].as_i64().unwrap() as i32;
        let lease = LeaseId(told["lease"].as_str().unwrap().parse().unwrap());
        common::kill(keeper, signal);
        wait_until("it is over", || pool.manager().state(lease) == Some(LeaseState::Expired));
        assert!(lives(owner.pid()), "its owner is not told, and lives");
    }
}

#[test]
fn whoever_holds_it_goes_when_it_is_taken_away() {
    let pool = Pool::new(1);
    let manager = pool.manager();
    let owner = sleeper();
    let lease = claim(&pool, &owner, &[]);
    wait_until("somebody holds it", || keepers(&pool) == 1);
    manager.revoke_with(lease, Reason::Quota, "ops", Duration::from_millis(50)).unwrap();
    wait_until("nobody holds it any more", || keepers(&pool) == 0);
    assert_eq!(manager.state(lease), Some(LeaseState::Revoked));
    assert!(lives(owner.pid()));

    // Unless it is told to tell.
    let mut owner = sleeper();
    let lease = claim(&pool, &owner, &["--notice-signal", "USR2"]);
    manager.revoke_with(lease, Reason::Quota, "ops", common::LONG).unwrap();
    assert_eq!(owner.end(), (None, Some(libc::SIGUSR2)));
    wait_until("the lease ends", || manager.state(lease) == Some(LeaseState::Revoked));
    assert!(manager.lease(lease).unwrap().acknowledged, "it was released during the notice");
}

#[test]
fn without_renewal_it_runs_out() {
    let pool = Pool::new(1);
    let owner = sleeper();
    let lease = claim(&pool, &owner, &["--ttl", "100ms"]);
    let manager = pool.manager();
    wait_until("it has run out", || manager.state(lease) == Some(LeaseState::Expired));
    let late = pool.run(&["renew", &lease.to_string()]);
    assert_eq!(late.status.code(), Some(1));
    assert!(errors(&late).contains("has ended (TIMED_OUT)"), "{}", errors(&late));
    wait_until("nobody holds it any more", || keepers(&pool) == 0);
}

#[test]
fn a_claim_whose_owner_ends_leaves_the_line() {
    let pool = Pool::new(1);
    let open = pool.open();
    let _held = open.claim().try_now().unwrap();
    let mut owner = sleeper();
    let mut waiting = pool.start(&["claim", "-q", "--for", &owner.pid().to_string()]);
    wait_until("it waits", || open.pending_claimers() == 1);
    owner.send(libc::SIGKILL);
    owner.end();
    assert_eq!(waiting.end(), (Some(1), None));
    assert_eq!(open.pending_claimers(), 0);
    assert!(waiting.errors().contains("has ended meanwhile"));
}

#[test]
fn a_process_that_runs_already_is_adopted() {
    let pool = Pool::new(2);
    let mut owner = sleeper();
    let pid = owner.pid().to_string();
    let unseen = pool.run(&["adopt", &pid]);
    assert_eq!(unseen.status.code(), Some(1));
    assert!(errors(&unseen).contains("name the devices with --device"), "{}", errors(&unseen));
    let output = pool.run(&["adopt", &pid, "--device", "nvidia:1"]);
    let told = text(&output.stdout);
    assert!(told.ends_with(&format!(": nvidia:1 until process {pid} ends\n")), "{told}");
    let again = pool.run(&["adopt", &pid, "--device", "nvidia:1"]);
    assert_eq!(again.status.code(), Some(124));
    assert!(errors(&again).contains(&format!("sleep:{pid}")), "{}", errors(&again));
    assert_eq!(pool.run(&["run", "--now", "-n", "2", "--", "true"]).status.code(), Some(124));
    owner.send(libc::SIGKILL);
    owner.end();
    assert!(pool.run(&["run", "--timeout", "60", "-n", "2", "--", "true"]).status.success());
}

#[test]
fn what_makes_no_sense_is_said() {
    let pool = Pool::new(1);
    for (words, code, said) in [
        (&["release", "12345"][..], 1, "no lease 12345 is remembered"),
        (&["renew", "12345"], 1, "no lease 12345 is remembered"),
        (&["release"], 2, "LEASE"),
        (&["release", "x"], 1, "no active lease has holder \"x\""),
        (&["adopt", "4194305", "--device", "0"], 1, "there is no process 4194305"),
        (&["claim", "--for", "4194305"], 1, "there is no process 4194305"),
        (&["claim", "--device", "9"], 1, "the pool has no device"),
        (&["claim", "-n", "0"], 2, "0 is not in"),
        (&["claim", "--notice-signal", "X"], 2, "is no signal"),
    ] {
        let output = pool.run(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", errors(&output));
        assert!(errors(&output).contains(said), "{words:?}: {}", errors(&output));
    }
}
