//! `ternlease status`: tables that fit, JSON with everything, and nothing that a terminal would obey.

mod show_common;
// Each of the two test files uses a part of it.
#[allow(dead_code)]
#[path = "show_common/terminal.rs"]
mod terminal;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use show_common::{NASTY, Pool, assert_fits, assert_plain, keys, queue};
use terminal::Terminal;
use ternlease::{Health, Reason};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn who_has_what_is_told_at_every_width() {
    let pool = Pool::fake(5);
    let open = pool.open();
    let trainer = open.claim().holder("trainer").devices(2).try_now().unwrap().unwrap();
    let _odd = open.claim().holder(NASTY).try_now().unwrap();
    let _short = open.claim().holder("notebook").ttl(HOUR).try_now().unwrap();
    open.manager().set_health(open.key(4).unwrap(), Health::Draining).unwrap();
    queue(&open, "patient", 2);
    queue(&open, "second", 1);
    let me = std::env::current_exe().unwrap();
    let me = me.file_name().unwrap().to_string_lossy().into_owned();
    for width in [80, 160] {
        let text = pool.text(width, &["status"]);
        assert_plain(&text);
        assert_fits(&text, width as usize);
        let row = text.lines().find(|line| line.starts_with("nvidia:1")).unwrap();
        for word in ["healthy", "80 GiB", "trainer", "no end", "2"] {
            assert!(row.contains(word), "{word} in {row}");
        }
        assert!(text.contains(&trainer.id().to_string()), "{text}");
        assert!(text.contains(r"evil\u{1b}[2J\u{1b}[31"), "{text}");
        assert!(text.contains("59m") || text.contains("1h"), "{text}");
        assert!(text.contains("! nvidia:4 is draining"), "{text}");
        // As one line again.
        let last = text.replace("\n  ", " ");
        assert!(
            last.contains("5 devices: 4 leased, 0 free; 2 wait; the first, patient,"),
            "{last}"
        );
        assert!(last.contains("for 2 of 5 devices, since"), "{last}");
    }
    let wide = pool.text(300, &["status"]);
    let row = wide.lines().find(|line| line.starts_with("nvidia:0")).unwrap();
    assert!(row.contains(&me), "the command that holds it: {row}");
}

#[test]
fn programs_are_told_everything() {
    let pool = Pool::fake(2);
    let open = pool.open();
    let lease = open.claim().holder(NASTY).try_now().unwrap().unwrap();
    let other = open.claim().holder("b").ttl(HOUR).priority(3).try_now().unwrap().unwrap();
    let ticket = queue(&open, "patient", 1);
    open.manager().revoke_with(lease.id(), Reason::NodeDrain, "ops", HOUR).unwrap();
    let all = pool.json(&["status"]);
    let top = ["pool", "devices", "leases", "queue", "hidden", "absences", "warnings"];
    assert_eq!(keys(&all), top);
    let device = &all["devices"][0];
    for key in [
        "vendor",
        "index",
        "name",
        "uuid",
        "pci",
        "memory_mib",
        "health",
        "trouble",
        "device",
        "key",
        "memory_used_mib",
        "busy_percent",
        "slots",
        "slots_used",
        "leases",
        "waiting",
        "squatters",
        "idle_seconds",
        "seen_seconds",
    ] {
        assert!(keys(device).contains(&key), "{key} in {device}");
    }
    assert_eq!(device["memory_used_mib"], Value::Null, "nobody can see it");
    assert_eq!((&device["health"], &device["waiting"]), (&1.into(), &1.into()));
    assert_eq!(device["leases"], serde_json::json!([lease.id().to_string()]));

    let held = &all["leases"][0];
    assert_eq!(held["lease"], lease.id().to_string());
    assert_eq!(held["holder"], NASTY, "whole, and harmless as JSON writes it");
    assert_eq!(held["pid"], std::process::id());
    assert!(held["user"].is_string() && held["command"].is_string());
    assert_eq!((&held["revoking"], &held["reason"]), (&true.into(), &"NODE_DRAIN".into()));
    assert_eq!((&held["revoker"], &held["ended_by"]), (&"ops".into(), &Value::Null));
    assert_eq!(held["devices"], serde_json::json!(["nvidia:0"]));
    let plain = &all["leases"][1];
    assert_eq!((&plain["lease"], &plain["priority"]), (&other.id().to_string().into(), &3.into()));
    assert!(plain["left_seconds"].as_f64().unwrap() <= 3600.0);
    assert_eq!(plain["ttl_seconds"], 3600.0);
    assert_eq!(keys(held), keys(plain));

    let waiting = &all["queue"][0];
    assert_eq!((&waiting["ticket"], &waiting["place"]), (&ticket.to_string().into(), &1.into()));
    assert!(waiting["expected_seconds"].is_number(), "{waiting}");
}

#[test]
fn a_lease_that_is_revoked_shows_its_notice_and_then_nothing() {
    let pool = Pool::fake(1);
    let open = pool.open();
    let lease = open.claim().holder("trainer").try_now().unwrap().unwrap();
    open.manager().revoke_with(lease.id(), Reason::NodeDrain, "ops", HOUR).unwrap();
    let text = pool.text(80, &["status"]);
    assert!(text.contains("! trainer is revoked in"), "{text}");
    assert!(text.contains("for NODE_DRAIN, as \"ops\""), "{text}");
    open.manager().revoke(lease.id()).unwrap();
    let text = pool.text(80, &["status"]);
    assert!(text.contains("free") && !text.contains("trainer"), "{text}");
    assert!(text.contains("1 device: 0 leased, 1 free; nobody waits"), "{text}");
}

#[test]
fn several_leases_on_a_device_have_a_row_each() {
    let pool = Pool::fake(1);
    let options = ternlease::PoolOptions::from_spec("fake:1").unwrap().slots(2);
    let open = ternlease::GpuPool::open_with(&pool.url(), options).unwrap();
    let _first = open.claim().holder("first").slots(1).try_now().unwrap();
    let _second = open.claim().holder("second").slots(1).try_now().unwrap();
    let text = pool.text(80, &["status"]);
    let rows: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert!(rows[0].starts_with("nvidia:0") && rows[0].contains("first"), "{text}");
    assert!(rows[1].starts_with("  ") && rows[1].contains("second"), "{text}");
    let device = &pool.json(&["status"])["devices"][0];
    assert_eq!((&device["slots"], &device["slots_used"]), (&2.into(), &2.into()));
}

#[test]
fn an_empty_pool_and_a_machine_without_devices_are_no_errors() {
    let text = Pool::fake(2).text(80, &["status"]);
    assert!(text.contains("2 devices: 0 leased, 2 free; nobody waits"), "{text}");
    let none = Pool::of("none");
    let text = none.text(80, &["status"]);
    assert_fits(&text, 80);
    assert!(text.contains("there are no GPUs here") && text.contains("no device is declared"));
    let all = none.json(&["status"]);
    assert_eq!(all["devices"], serde_json::json!([]));
    assert_eq!(all["absences"].as_array().unwrap().len(), 1);
}

#[test]
fn a_device_that_has_failed_says_why() {
    let path = std::env::temp_dir().join(format!("tern-show-devices-{}", std::process::id()));
    let lines = "device vendor=nvidia index=0 name=A100 memory=81920\n\
                 device vendor=nvidia index=1 health=failed trouble=\"fan \\n 2\"\n";
    std::fs::write(&path, lines).unwrap();
    let pool = Pool::of(&format!("file:{}", path.display()));
    let text = pool.text(80, &["status"]);
    std::fs::remove_file(&path).unwrap();
    assert_plain(&text);
    assert!(text.contains("! nvidia:1 is failed: fan \\u{a} 2"), "{text}");
    assert!(text.contains("1 free"), "{text}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let pool = Pool::fake(1);
    assert_plain(&pool.text(80, &["status"]));
    let mut coloured = Terminal::start(pool.command(&["status"]), 80, 24);
    assert!(coloured.until("nobody waits").contains("\x1b[32m"));
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut command = pool.command(&["status"]);
        command.env(name, value);
        // The terminal sets a TERM of its own; this one is set again by a shell in between.
        if name == "TERM" {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "TERM=dumb exec \"$@\"", "sh"]).arg(command.get_program());
            shell.args(command.get_args());
            command = shell;
        }
        let mut plain = Terminal::start(command, 80, 24);
        let text = plain.until("nobody waits");
        assert!(!text.contains('\x1b'), "{name}: {text:?}");
    }
}

#[test]
fn watching_goes_on_until_it_is_told_to_stop() {
    let pool = Pool::fake(1);
    let mut command = pool.command(&["status", "--json", "--watch=0.05"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["leases"], serde_json::json!([]));
    let open = pool.open();
    let lease = open.claim().holder("trainer").try_now().unwrap();
    while next()["leases"][0]["holder"] != "trainer" {}
    drop(lease);
    while next()["leases"][0] != Value::Null {}
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert!(child.wait().unwrap().success());
}

#[test]
fn watching_on_a_terminal_gives_the_screen_back() {
    let pool = Pool::fake(1);
    let mut watch = Terminal::start(pool.command(&["status", "--watch=0.05"]), 80, 24);
    watch.until("\x1b[?1049h");
    watch.until("nobody waits");
    let open = pool.open();
    let _lease = open.claim().holder("trainer").try_now().unwrap();
    watch.until("trainer");
    watch.press("\x03");
    watch.until("\x1b[?1049l");
    assert!(watch.end().success());
}

#[test]
fn a_wrong_interval_is_a_wrong_command_line() {
    let output = Pool::fake(1).command(&["status", "--watch=soon"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
