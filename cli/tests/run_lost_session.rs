//! `ternlease run` when etcd does not answer any more: its program has ended before another process gets the device.
#![cfg(feature = "cluster")]
#![allow(missing_docs)]

mod common;
#[path = "../../tests/common/etcd.rs"]
mod etcd;

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Directory, Started, lives, wait_until};
use etcd::{Etcd, Setup};
use ternlease::{LeaseId, LeaseManager, Reason};

const STUBBORN: &str = "trap 'echo told' TERM; echo $$; while :; do sleep 1 & wait; done";

/// The arguments of the command on this table, with one device.
fn words<'a>(url: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["--pool", url, "--devices", "fake:1"], words].concat()
}

fn start(mut command: Command) -> Started {
    command.env_remove("TERNLEASE_LEASE").env_remove("TERNLEASE_SLOTS");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Started::new(command)
}

fn run(url: &str, options: &[&str], script: &str) -> Started {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
    command.args(words(url, &[&["run"], options, &["--", "sh", "-c", script]].concat()));
    start(command)
}

#[test]
fn program_is_asked_to_end_and_killed_after_etcd_was_killed_for_good() {
    let Some(mut etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/killed?session_ttl=6&timeout=1", etcd.authority());
    let script = format!("setsid sleep 1000 & echo $!; {STUBBORN}");
    let mut stubborn = run(&url, &["--grace", "2s"], &script);
    let (below, program) = (stubborn.number(), stubborn.number());
    // SAFETY: takes no pointers.
    wait_until("it has left the group", || unsafe { libc::getpgid(below) } == below);
    etcd.kill(0);
    assert_eq!(stubborn.line(), "told");
    assert_eq!(stubborn.end(), (Some(121), None));
    assert!(!lives(program) && !lives(below));
    let said = stubborn.errors();
    assert!(
        said.contains("etcd does not answer") && said.contains("SIGTERM, then SIGKILL"),
        "{said}"
    );
}

#[test]
fn program_that_ends_when_asked_is_not_killed() {
    let Some(mut etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/asked?session_ttl=6&timeout=1", etcd.authority());
    let script = "trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 1 & wait; done";
    // Longer than the session: it is asked as soon as etcd does not answer.
    let mut run = run(&url, &["--grace", "1h"], script);
    let program = run.number();
    etcd.kill(0);
    assert_eq!(run.line(), "told");
    assert_eq!(run.end(), (Some(121), None));
    assert!(!lives(program));
    assert!(!run.errors().contains("is lost"));
}

#[test]
fn program_that_was_asked_to_end_has_to_although_etcd_answers_again() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/again?session_ttl=10&timeout=1", etcd.authority());
    let mut run = run(&url, &["--grace", "5s"], STUBBORN);
    let program = run.number();
    etcd.stop(0);
    assert_eq!(run.line(), "told");
    etcd.cont(0);
    assert_eq!(run.end(), (Some(121), None));
    assert!(!lives(program));
    let manager = LeaseManager::open(&url).unwrap();
    wait_until("the device is free", || manager.active_count() <= 1);
}

#[test]
fn program_is_killed_at_the_end_of_its_notice_although_etcd_does_not_answer() {
    let Some(etcd) = Etcd::start() else { return };
    // Neither the session nor a request to etcd ends before the test would fail.
    let url = format!("etcd://{}/notice?session_ttl=60&timeout=30", etcd.authority());
    let script = format!("echo $TERNLEASE_LEASE; setsid sleep 1000 & echo $!; {STUBBORN}");
    let mut run = run(&url, &["--grace", "1s"], &script);
    let lease = LeaseId(run.line().parse().unwrap());
    let (below, program) = (run.number(), run.number());
    // SAFETY: takes no pointers.
    wait_until("it has left the group", || unsafe { libc::getpgid(below) } == below);
    let manager = LeaseManager::open(&url).unwrap();
    let notice = Duration::from_secs(4);
    let before = Instant::now();
    manager.revoke_with(lease, Reason::NodeDrain, "ops", notice).unwrap();
    assert_eq!(run.line(), "told");
    etcd.stop(0);
    wait_until("it is killed", || !lives(program) && !lives(below));
    let after = before.elapsed();
    println!("revoked with a notice of {notice:?}: killed after {after:.2?}");
    // Before a request to etcd, or its session, would have ended.
    assert!(after >= notice && after < Duration::from_secs(20), "{after:?}");
    etcd.cont(0);
    assert_eq!(run.end(), (Some(121), None));
    assert!(!run.errors().contains("is lost"));
}

/// A network namespace with a cable to this one, which end with it.
struct Elsewhere {
    name: String,
    cable: String,
    /// The address of this end of the cable.
    here: Ipv4Addr,
}

impl Elsewhere {
    /// `None`, with a line that says so, where that is not permitted.
    fn new() -> Option<Elsewhere> {
        let number = std::process::id() & 0xffff;
        let address = |last: u32| Ipv4Addr::from((198 << 24 | 18 << 16) + number * 4 + last);
        let elsewhere = Elsewhere {
            name: format!("ternlease-{number}"),
            cable: format!("tern{number}"),
            here: address(1),
        };
        let (name, cable) = (&elsewhere.name, &elsewhere.cable);
        let (here, there) = (format!("{}/30", address(1)), format!("{}/30", address(2)));
        let made = ip(&["netns", "add", name])
            && ip(&["link", "add", cable, "type", "veth", "peer", "name", "cable", "netns", name])
            && ip(&["address", "add", &here, "dev", cable])
            && ip(&["link", "set", cable, "up"])
            && ip(&["-n", name, "address", "add", &there, "dev", "cable"])
            && ip(&["-n", name, "link", "set", "cable", "up"]);
        if !made {
            println!("skipped: network namespaces need the superuser and the program ip");
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "needed where all is tested");
            return None;
        }
        Some(elsewhere)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// From now on nothing reaches the other end, and there is no error either.
    fn cut(&self) {
        assert!(ip(&["link", "set", &self.cable, "down"]));
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        ip(&["link", "delete", &self.cable]);
        ip(&["netns", "delete", &self.name]);
    }
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).status().is_ok_and(|status| status.success())
}

/// Seconds since the machine started, of each line that begins with this word.
fn times(file: &Path, word: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The last line may have been cut off when its writer was killed.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
}

#[test]
fn program_cut_off_from_etcd_has_ended_before_the_device_is_granted_again() {
    let Some(elsewhere) = Elsewhere::new() else { return };
    let setup = Setup { also_at: Some(elsewhere.here), ..Setup::default() };
    let Some(etcd) = Etcd::start_with(1, setup) else { return };
    let directory = Directory::new("cut-off");
    let file = directory.join("first");
    let near = format!("etcd://{}/cut?session_ttl=10", etcd.authority());
    let port = etcd.client(0).port();
    let far = format!("etcd://{}:{port}/cut?session_ttl=10", elsewhere.here);

    // It tells all the time that it lives, and does not end when it is asked to.
    let script = format!(
        "exec 3>>{}; now() {{ read up idle </proc/uptime; echo $1 $up >&3; }}; trap 'now told' TERM; \
         echo $$; while :; do now lives; sleep 0.01; done",
        file.display()
    );
    let mut first = elsewhere.command(env!("CARGO_BIN_EXE_ternlease"));
    first.args(words(&far, &["run", "--grace", "3s", "--", "sh", "-c", &script]));
    let mut first = start(first);
    let program = first.number();
    let manager = LeaseManager::open(&near).unwrap();
    let mut second = run(&near, &["--quiet"], "read up idle </proc/uptime; echo $up");
    wait_until("the second waits", || manager.pending_claimers() == 1);
    wait_until("the first lives", || !times(&file, "lives").is_empty());

    elsewhere.cut();
    let granted: f64 = second.line().parse().unwrap();
    assert!(!lives(program), "its device is granted to another process");
    assert_eq!(second.end(), (Some(0), None));
    assert_eq!(first.end(), (Some(121), None));
    let told = times(&file, "told");
    let ended = *times(&file, "lives").last().unwrap();
    println!("session_ttl=10, --grace 3s, in seconds since the machine started:");
    println!(
        "  asked to end {told:.2?}, ended {ended:.2}; the other process was granted the device {granted:.2}"
    );
    println!("  {}", first.errors().trim_end().replace('\n', "\n  "));
    assert_eq!(told.len(), 1, "it was asked once");
    assert!(told[0] <= ended && ended < granted);
}
