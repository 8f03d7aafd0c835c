//! `events`: everything that happened is told, once, in words and for programs, and what happens is told when it does.
#![allow(missing_docs)]

mod report_support;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use report_support::Pool;
use serde_json::Value;
use ternlease::{Health, Outcome, Reason};

const HOUR: Duration = Duration::from_secs(3600);

/// Every sort of thing that can happen to a lease and to a claim.
fn eventful() -> Pool {
    let pool = Pool::new(2);
    let first = pool.lease("trainer", 2);
    let waiting = pool.pool.claim().holder("patient").patience(HOUR).submit().unwrap();
    let Some(Outcome::Waiting(ticket)) = waiting else { panic!("{waiting:?}") };
    pool.manager().cancel_ticket(ticket).unwrap();
    pool.manager().revoke_with(first, Reason::NodeDrain, "ops", HOUR).unwrap();
    pool.manager().release(first).unwrap();
    let second = pool.lease("evil \x1b[31m\nname", 1);
    pool.manager().revoke_with(second, Reason::OverUse, "ops", Duration::ZERO).unwrap();
    pool.manager().set_health(&pool.key(1), Health::Draining).unwrap();
    pool
}

fn user() -> u32 {
    std::fs::metadata("/proc/self").unwrap().uid()
}

/// This process, as the command names it.
fn actor() -> String {
    format!("uid {} (pid {})", user(), std::process::id())
}

#[test]
fn each_event_is_one_line_in_words() {
    let pool = eventful();
    let text = pool.prints(&["events"]);
    let expected = [
        "granted   trainer: nvidia:0 nvidia:1  (lease ",
        "queued    (forgotten)  (ticket ",
        "refused   (forgotten) after ",
        "revoking  trainer in 1h: the machine is being emptied, by ",
        "revoked   trainer after ",
        r"granted   evil \u{1b}[31m\u{a}name: nvidia:0  (lease ",
        r"revoked   evil \u{1b}[31m\u{a}name after ",
        "health    nvidia:1 is draining",
    ];
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (number, (line, words)) in lines.iter().zip(expected).enumerate() {
        assert!(line.contains(words), "{line:?} does not say {words:?}");
        assert!(line.trim_start().starts_with(&format!("{}  ", number + 1)), "{line}");
    }
    assert!(lines[2].contains(": the claimer withdrew it"), "{text}");
    // The name that was claimed, and beside it what the table knows.
    let by = format!("by {}", actor());
    let early = ", acknowledged: the machine is being emptied, as \"ops\"  (lease ";
    assert!(lines[3].contains(&format!(", {by} as \"ops\"  (lease ")), "{text}");
    assert!(lines[4].contains(early), "{text}");
    let over_use = format!(": it used more than it was given, {by} as \"ops\"");
    assert!(lines[6].contains(&over_use), "{text}");
    assert!(lines[7].ends_with(&format!("is draining, {by}")), "{text}");
    assert!(!text.contains('\x1b'), "nobody sends commands to the terminal");
}

/// A lease has the name that the last one who revoked it claimed: it is not shown with another actor.
#[test]
fn claimed_name_is_shown_with_its_actor_only() {
    for at_once in [false, true] {
        let pool = Pool::new(1);
        let lease = pool.lease("trainer", 1);
        let (id, own) = (lease.to_string(), ["--by", "uid 0 (pid 1)"]);
        pool.prints(&[&["revoke", &id, "--notice", "1h"][..], &own].concat());
        let text = pool.prints(&["events"]);
        assert!(text.contains(r#") as "uid 0 (pid 1)"  (lease "#), "{text}");
        let notice = if at_once { "0" } else { "1m" };
        pool.prints(&["revoke", &id, "--notice", notice, "--by", r#"a"b"#]);
        let text = pool.prints(&["events"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains(", by uid ") && !lines[1].contains(" as "), "{text}");
        assert!(lines[2].contains(r#" as "a\"b"  (lease "#), "{text}");
        let json = pool.prints(&["events", "--json"]);
        let revokers: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["revoker"].clone())
            .collect();
        assert_eq!(revokers, [Value::Null, Value::Null, r#"a"b"#.into()]);
    }
}

#[test]
fn lines_fit_the_terminal() {
    let pool = eventful();
    let text = report_support::printed(pool.command(&["events"]).env("COLUMNS", "60"));
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
}

#[test]
fn programs_get_the_same_keys_in_every_event() {
    let pool = eventful();
    let text = pool.prints(&["events", "--json"]);
    let keys = [
        "number",
        "at",
        "age_seconds",
        "what",
        "lease",
        "ticket",
        "holder",
        "devices",
        "reason",
        "reason_code",
        "reason_words",
        "actor",
        "revoker",
        "acknowledged",
        "until",
        "seconds",
        "resource",
        "health",
        "process",
        "leases",
        "tickets",
    ];
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let found: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(found, keys);
    }
    let what: Vec<&str> = events.iter().map(|event| event["what"].as_str().unwrap()).collect();
    assert_eq!(
        what,
        ["granted", "queued", "refused", "revoking", "ended", "granted", "ended", "health"]
    );
    assert_eq!(events[0]["devices"], serde_json::json!(["nvidia:0", "nvidia:1"]));
    assert_eq!(events[5]["holder"], "evil \x1b[31m\nname", "as it is: JSON escapes it");
    assert_eq!(events[6]["reason"], "OVER_USE");
    assert_eq!(
        (&events[4]["acknowledged"], &events[4]["reason"]),
        (&true.into(), &"NODE_DRAIN".into())
    );
    assert_eq!((&events[6]["acknowledged"], &events[6]["revoker"]), (&false.into(), &"ops".into()));
    for (event, revoker) in [(0, None), (3, Some("ops")), (4, Some("ops")), (5, None), (7, None)] {
        assert_eq!(events[event]["revoker"], serde_json::json!(revoker), "{}", events[event]);
    }
    for event in &events {
        let actor = &event["actor"];
        assert_eq!(
            (&actor["principal"], &actor["process"]),
            (&user().into(), &std::process::id().into())
        );
        assert!(actor["user"].is_string() || actor["user"].is_null());
    }
    assert_eq!(events[7]["health"], 0);
    assert!(events[0]["at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(events[0]["ticket"], Value::Null);
}

#[test]
fn since_begins_after_an_event() {
    let pool = eventful();
    assert_eq!(pool.prints(&["events", "--since", "6"]).lines().count(), 2);
    assert_eq!(pool.prints(&["events", "--since", "18446744073709551615"]), "");
    assert_eq!(Pool::new(1).prints(&["events"]), "", "nothing happened");
    assert_eq!(Pool::of("none").prints(&["events"]), "", "there are no devices");
}

#[test]
fn devices_that_make_no_sense_are_an_error() {
    let mut command = Pool::new(1).command(&["events", "--devices", "nonsense"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nonsense"));
}

#[test]
fn what_is_forgotten_is_counted() {
    let pool = Pool::new(1);
    // More than any table remembers.
    let mut rounds = 0u64;
    while pool.manager().events_since(0).1 == 0 {
        for _ in 0..1000 {
            let lease = pool.lease("quick", 1);
            pool.manager().release(lease).unwrap();
            rounds += 1;
        }
    }
    let missed = pool.manager().events_since(0).1;
    let text = pool.prints(&["events"]);
    let first = text.lines().next().unwrap();
    assert_eq!(first, format!("({missed} events are not remembered any more)"));
    let json = pool.prints(&["events", "--json"]);
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first, serde_json::json!({ "what": "missed", "count": missed }));
    assert_eq!(json.lines().count() as u64 - 1 + missed, 2 * rounds);
    // Leases of long ago are forgotten, their events are not yet.
    let chart = pool.prints(&["timeline"]);
    assert!(chart.lines().all(|line| line.chars().count() <= 80), "{chart}");
}

fn follow(pool: &Pool, more: &[&str]) -> (Child, impl Iterator<Item = String>) {
    let args = [&["events", "--follow"], more].concat();
    let mut child = pool.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id().cast_signed(), signal) };
}

#[test]
fn following_tells_what_happens_until_it_is_asked_to_end() {
    for end in [libc::SIGINT, libc::SIGTERM] {
        let pool = eventful();
        let (mut child, mut lines) = follow(&pool, &[]);
        for _ in 0..8 {
            assert!(lines.next().is_some());
        }
        for holder in ["one", "two"] {
            let lease = pool.lease(holder, 1);
            assert!(lines.next().unwrap().contains(&format!("granted   {holder}: nvidia:0")));
            pool.manager().release(lease).unwrap();
            assert!(lines.next().unwrap().contains(&format!("ended     {holder} after")));
        }
        // What nobody does, but time: a lease that is not renewed.
        let claim = pool.pool.claim().holder("three").ttl(Duration::from_millis(50));
        pool.granted(claim);
        assert!(lines.next().unwrap().contains("granted   three"));
        assert!(lines.next().unwrap().contains("ran out and nobody renewed it"));
        signal(&child, end);
        assert!(child.wait().unwrap().success());
        assert_eq!(lines.next(), None);
        // It went properly: nobody had to find it dead.
        let last = pool.prints(&["events", "--json"]).lines().last().unwrap().to_owned();
        assert!(last.contains("\"ended\""), "{last}");
    }
}

#[test]
fn following_ends_when_nobody_reads() {
    let pool = Pool::new(1);
    let (mut child, lines) = follow(&pool, &["--json"]);
    drop(lines);
    // Without an event that could not be written.
    child.wait().unwrap();
}
