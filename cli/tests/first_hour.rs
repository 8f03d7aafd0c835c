//! What a new user meets in the first hour: options that contradict the environment, messages that lack the next step, and
//! figures that contradict each other.
#![allow(missing_docs)]

mod common;

use std::process::{Command, Output, Stdio};

use common::{Pool, errors, text, wait_until};
use serde_json::Value;
use ternlease::{GpuLease, Outcome, Reason};

/// The command without a pool of its own and without settings of the environment.
fn bare(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
    for name in ["TERNLEASE_POOL", "TERNLEASE_DEVICES", "TERNLEASE_SLOTS", "TERNLEASE_LEASE"] {
        command.env_remove(name);
    }
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn json(pool: &Pool, words: &[&str]) -> Value {
    let output = pool.run(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn held(pool: &ternlease::GpuPool, holder: &str) -> GpuLease {
    pool.claim().holder(holder).try_now().unwrap().unwrap()
}

#[test]
fn run_now_names_the_waiting_claim_that_is_ahead() {
    let pool = Pool::new(2);
    let open = pool.open();
    let _lease = held(&open, "trainer");
    let waits = open.claim().holder("patient").devices(2).submit().unwrap();
    assert!(matches!(waits, Some(Outcome::Waiting(_))), "{waits:?}");
    for words in [&["run", "--now", "--", "true"][..], &["claim", "--now"]] {
        let output = pool.run(words);
        assert_eq!(output.status.code(), Some(124));
        let errors = errors(&output);
        assert!(errors.contains("trainer"), "{errors}");
        assert!(errors.contains("nvidia:1 is free, but the claim of patient"), "{errors}");
        assert!(errors.contains("for 2 devices is ahead in the queue"), "{errors}");
    }
}

#[test]
fn option_fake_wins_over_devices_of_the_environment() {
    let pool = Pool::new(1);
    let output = pool.command(&["--fake", "3", "status", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["devices"].as_array().unwrap().len(), 3);
    assert_eq!(status["pool"], "host:fake-3", "a pool of their own, whatever TERNLEASE_POOL says");
    let both = pool.run(&["--fake", "3", "--devices", "none", "status"]);
    assert_eq!(both.status.code(), Some(2), "two options contradict each other");
    assert!(errors(&both).contains("--devices"), "{both:?}");
}

#[test]
fn lease_of_claim_shows_the_process_that_it_is_for() {
    let pool = Pool::new(1);
    let me = std::process::id();
    let claimed = pool.run(&["claim", "--name", "notebook", "--for", &me.to_string()]);
    assert!(claimed.status.success(), "{claimed:?}");
    // The process that keeps the lease opens the pool a moment later.
    let lease = || json(&pool, &["status", "--json"])["leases"][0].clone();
    wait_until("the process is shown", || lease()["pid"] == me);
    let lease = lease();
    assert_eq!(lease["holder"], "notebook");
    assert!(lease["user"].is_string(), "{lease}");
    let command = lease["command"].as_str().unwrap();
    assert!(command.contains("first_hour"), "{command}");
    let shown = text(&pool.run(&["status"]).stdout);
    assert!(!shown.contains("unknown"), "{shown}");
    assert!(pool.run(&["release", "notebook"]).status.success());
}

#[test]
fn status_refuses_an_interval_of_zero() {
    let pool = Pool::new(1);
    for interval in ["--watch=0", "--watch=0ms", "--watch=1ms"] {
        let mut status = pool.start(&["status", interval]);
        wait_until("it ends", || status.child.try_wait().unwrap().is_some());
        assert_eq!(status.end().0, Some(2), "{interval}");
        assert!(status.errors().contains("at least 50ms"), "{interval}");
    }
}

#[test]
fn revoke_tells_the_whole_notice() {
    let pool = Pool::new(1);
    let open = pool.open();
    let lease = held(&open, "trainer");
    let output = pool.run(&["revoke", &lease.id().to_string(), "--notice", "3s"]);
    assert!(text(&output.stdout).contains("ends in 3s"), "{output:?}");
}

#[test]
fn refused_connection_to_etcd_is_called_so() {
    for words in [&["status"][..], &["doctor"], &["run", "--", "true"]] {
        let url = ["--pool", "etcd://127.0.0.1:1/x?timeout=2", "--fake", "1"];
        let output = bare(&[&url[..], words].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = errors(&output) + &text(&output.stdout);
        let expected = "cannot connect to etcd at 127.0.0.1:1: connection refused";
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("check that etcd runs there"), "{said}");
        assert!(!said.contains("No route") && !said.contains("os error"), "{said}");
    }
}

#[test]
fn missing_file_of_authorities_is_not_called_a_missing_route() {
    let url = "etcd://127.0.0.1:1/x?ca=/no/such/file";
    let errors = errors(&bare(&["--pool", url, "--fake", "1", "status"]));
    assert!(errors.contains("cannot read /no/such/file: No such file"), "{errors}");
    assert!(!errors.contains("No route"), "{errors}");
}

#[test]
fn run_takes_a_program_without_two_dashes() {
    let pool = Pool::new(2);
    assert_eq!(pool.run(&["run", "-n", "2", "true"]).status.code(), Some(0));
    let output =
        pool.run(&["run", "-n", "2", "sh", "-c", "echo \"<$0> $CUDA_VISIBLE_DEVICES\"", "-n"]);
    assert_eq!(text(&output.stdout), "<-n> 0,1\n", "{output:?}");
    // What follows the program is the program's, whatever it looks like.
    let output = pool.run(&["run", "echo", "--pool", "x", "--", "--now"]);
    assert_eq!(text(&output.stdout), "--pool x -- --now\n", "{output:?}");
    let output = pool.run(&["run", "--", "echo", "--", "-n"]);
    assert_eq!(text(&output.stdout), "-- -n\n", "{output:?}");
    // An option that is misspelt is no program.
    assert_eq!(pool.run(&["run", "--nwo", "true"]).status.code(), Some(2));
}

#[test]
fn release_and_revoke_take_a_holder_or_the_end_of_a_number() {
    let pool = Pool::new(6);
    let open = pool.open();
    let end = |lease: &GpuLease| {
        let id = lease.id().to_string();
        id[id.len() - 6..].to_owned()
    };
    let leases = ["one", "two", "three", "four"].map(|holder| held(&open, holder));
    let told =
        |lease: &GpuLease, holder| format!("released lease {} of holder {holder}\n", lease.id());
    assert_eq!(text(&pool.run(&["release", "one"]).stdout), told(&leases[0], "one"));
    let output = pool.run(&["release", &end(&leases[1])]);
    assert_eq!(text(&output.stdout), told(&leases[1], "two"));
    assert!(pool.run(&["revoke", "three"]).status.success());
    assert!(pool.run(&["revoke", &end(&leases[3])]).status.success());
    assert_eq!(open.manager().active_count(), 0);
    let reason = |lease: &GpuLease| open.manager().lease(lease.id()).unwrap().reason;
    assert_eq!(
        leases.each_ref().map(reason),
        [
            Some(Reason::Released),
            Some(Reason::Released),
            Some(Reason::Operator),
            Some(Reason::Operator),
        ]
    );

    let same = ["twin", "twin"].map(|holder| held(&open, holder));
    for words in [["release", "twin"], ["revoke", "twin"]] {
        let output = pool.run(&words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let errors = errors(&output);
        assert!(errors.contains("\"twin\" matches 2 leases; give the full lease id"), "{errors}");
        for lease in &same {
            assert!(errors.contains(&lease.id().to_string()), "{errors}");
        }
    }
    for unknown in ["nosuch", "1", "999999999"] {
        let output = pool.run(&["release", unknown]);
        assert_eq!(output.status.code(), Some(1));
        assert!(errors(&output).contains("`ternlease status` shows"), "{output:?}");
    }
    assert_eq!(open.manager().active_count(), 2, "an ambiguous name ends no lease");
    let quoted = errors(&pool.run(&["release", "a\u{7}b"]));
    assert!(quoted.contains(r#"holder "a\u{7}b""#), "{quoted}");
    // A full id needs no confirmation.
    let output = pool.run(&["release", &same[0].id().to_string()]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn suffix_of_an_ended_lease_is_ambiguous() {
    let pool = Pool::new(2);
    let open = pool.open();
    let lease = held(&open, "fixed");
    let suffix = (lease.id().0 % 10_000).to_string();
    let suffix = format!("{suffix:0>4}");
    let ended = (0..1_000_000).map(|_| held(&open, "other").id().to_string());
    let ended = ended.into_iter().find(|id| id.ends_with(&suffix)).expect("ids have all suffixes");
    let output = pool.run(&["release", &suffix]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(errors(&output).contains(&format!("{ended} of other (ended)")), "{output:?}");
    assert_eq!(open.manager().active_count(), 1);
}

#[test]
fn usage_errors_list_no_values_of_the_environment() {
    let pool = Pool::new(1);
    for words in [&["run"][..], &["revoke"], &["claim", "--count=0"], &["run", "--nwo"]] {
        let output = pool.command(words).env("TERNLEASE_SLOTS", "2").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let errors = errors(&output);
        for option in ["--pool", "--devices", "--slots-per-device"] {
            assert!(!errors.contains(option), "{errors}");
        }
    }
    // Standard error that cannot be written changes nothing.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = pool.command(&["run", "--nwo"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let output = pool.command(&["release", "--nosuch"]).env("TERNLEASE_LEASE", "1").output();
    assert!(!errors(&output.unwrap()).contains("<LEASE>..."), "the environment names it");
}

#[test]
fn errors_about_homes_and_devices_name_all_choices() {
    for url in ["disk:x", "gpu0", "etcds://a/b"] {
        let errors = errors(&bare(&["--pool", url, "--fake", "1", "status"]));
        for choice in ["process:", "host:", "etcd:"] {
            assert!(errors.contains(choice), "{url}: {errors}");
        }
    }
    let errors = errors(&bare(&["--pool", "process:", "--devices", "eight", "status"]));
    for choice in ["host", "fake:8", "file:/path", "none"] {
        assert!(errors.contains(&format!("`{choice}`")), "{choice}: {errors}");
    }
}

#[test]
fn unit_of_a_bare_number_is_stated() {
    for command in ["run", "claim"] {
        let help = text(&bare(&[command, "--help"]).stdout);
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains("a number alone is in seconds"), "{help}");
    }
    for wrong in ["5x", "soon", ""] {
        let errors = errors(&bare(&["run", "--timeout", wrong, "--", "true"]));
        assert!(errors.contains("a number alone is in seconds"), "{wrong}: {errors}");
    }
}

#[test]
fn unavailable_pool_names_the_next_step() {
    let directory = common::Directory::new("first-hour");
    let damaged = directory.join("damaged");
    std::fs::write(&damaged, vec![7; 1 << 20]).unwrap();
    for pool in [
        format!("host:{}", damaged.display()),
        "host:/no/such/directory/pool".to_owned(),
        "host:a/b".to_owned(),
    ] {
        for words in [&["run", "--", "true"][..], &["status"], &["claim"], &["release", "1"]] {
            let output = bare(&[&["--pool", &pool, "--fake", "1"], words].concat());
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let errors = errors(&output);
            for next in ["`ternlease doctor`", "--pool"] {
                assert!(errors.contains(next), "{pool}: {errors}");
            }
        }
    }
}

#[test]
fn verdict_of_hashing_is_not_bound_by_memory() {
    let output = bare(&["verdict", "--hash", "10G", "--no-bench", "--no-route", "--json"]);
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["bottleneck"], "compute", "{verdict}");
}

#[test]
fn headline_of_verdict_agrees_with_the_advice() {
    let words = ["verdict", "--matmul", "20k,20k,20k,3.2G", "--no-bench", "--no-route", "--gpu"];
    let output = bare(&[&["--pool", "process:", "--fake", "1"], &words[..]].concat());
    let shown = text(&output.stdout);
    let headline = shown.lines().next().unwrap();
    assert!(headline.contains("gpu now"), "{shown}");
    assert!(!headline.contains("compute"), "{shown}");
}

#[test]
fn guessed_figures_of_verdict_are_marked() {
    let words = ["verdict", "--matmul", "20k,20k,20k,3.2G", "--no-bench", "--gpu"];
    let output = bare(&[&["--pool", "process:", "--fake", "1"], &words[..]].concat());
    let shown = text(&output.stdout);
    let line = |name: &str| shown.lines().find(|line| line.trim_start().starts_with(name));
    for name in ["compute", "gpu now"] {
        let line = line(name).unwrap_or_else(|| panic!("{name}: {shown}"));
        assert!(line.contains("guessed"), "{line}");
    }
}
