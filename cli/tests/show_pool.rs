//! `queue`, `revoke`, `deadlocks`, `metrics`, `devices` and `doctor`, on pools of the tests' own.

mod show_common;

use std::time::Duration;

use serde_json::{Value, json};
use show_common::{NASTY, Pool, assert_fits, assert_plain, errors, keys, queue};
use ternlease::{GpuLease, GpuPool, Health, LeaseState, Reason};

fn claim(pool: &GpuPool, holder: &str, devices: u32) -> GpuLease {
    pool.claim().holder(holder).devices(devices).try_now().unwrap().unwrap()
}

/// a has what b waits for, and b what a waits for.
fn deadlock(pool: &GpuPool, a: &str, b: &str, devices: [&str; 2]) -> [GpuLease; 2] {
    let on = |holder, device| {
        let named = [device];
        pool.claim().holder(holder).named(&named).try_now().unwrap().unwrap()
    };
    let leases = [on(a, devices[0]), on(b, devices[1])];
    for (holder, device) in [(a, devices[1]), (b, devices[0])] {
        pool.claim().holder(holder).named(&[device]).submit().unwrap();
    }
    leases
}

#[test]
fn the_line_is_shown_in_order() {
    let pool = Pool::fake(2);
    assert_eq!(pool.text(80, &["queue"]), "nobody waits\n");
    assert_eq!(pool.json(&["queue"])["queue"], json!([]));
    let open = pool.open();
    let _lease = claim(&open, "trainer", 2);
    let first = queue(&open, "first", 2);
    queue(&open, NASTY, 1);
    let urgent = open.claim().holder("urgent").priority(9).submit().unwrap();
    assert!(urgent.is_some());
    for width in [80, 160] {
        let text = pool.text(width, &["queue"]);
        assert_plain(&text);
        assert_fits(&text, width as usize);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].starts_with("PLACE"), "{text}");
        assert!(rows[1].contains("urgent") && rows[1].contains('9'), "{text}");
        assert!(rows[2].contains("first") && rows[2].contains("2 devices"), "{text}");
        assert!(rows[3].contains(r"evil\u{1b}[2J") && rows[3].contains("1 of 2 devices"), "{text}");
        assert_eq!(text.contains(&first.0.to_string()), width == 160);
    }
    let all = pool.json(&["queue"]);
    let second = &all["queue"][1];
    assert_eq!((&second["place"], &second["ticket"]), (&2.into(), &first.to_string().into()));
    for key in [
        "holder",
        "user",
        "pid",
        "command",
        "count",
        "candidates",
        "take",
        "priority",
        "waited_seconds",
        "expected_seconds",
    ] {
        assert!(keys(second).contains(&key), "{key}");
    }
    assert_eq!(second["expected_seconds"], Value::Null, "the trainer has no end");
}

#[test]
fn revoking_says_what_happened() {
    let pool = Pool::fake(1);
    let open = pool.open();
    let lease = claim(&open, NASTY, 1);
    let id = lease.id().to_string();
    let told = pool.text(80, &["revoke", &id, "--notice", "1h", "--reason", "node_drain"]);
    assert_plain(&told);
    assert!(told.contains(r"of evil\u{1b}[2J") && told.contains("(NODE_DRAIN)"), "{told}");
    assert!(told.contains("its holder has been told"), "{told}");
    let info = open.manager().lease(lease.id()).unwrap();
    assert!(info.revoking && info.revoker.is_some_and(|by| !by.is_empty()));
    let again = pool.text(80, &["revoke", &id, "--notice", "2h"]);
    assert!(again.contains("had been told before") && again.contains("nothing changed"), "{again}");
    assert_eq!(open.manager().state(lease.id()), Some(LeaseState::Held));

    let done = pool.text(80, &["revoke", &id, "--by", "ops"]);
    assert!(done.contains("is revoked (OPERATOR)"), "{done}");
    let info = open.manager().lease(lease.id()).unwrap();
    assert_eq!((info.state, info.revoker.as_deref()), (LeaseState::Revoked, Some("ops")));
    let over = pool.command(&["revoke", &id]).output().unwrap();
    assert_eq!(over.status.code(), Some(1));
    assert!(errors(&over).contains("ago (OPERATOR); there is nothing to revoke"), "{over:?}");
    assert_plain(&errors(&over));

    let next = claim(&open, "next", 1);
    let answer = pool.json(&["revoke", &next.id().to_string(), "--notice", "1h"]);
    assert_eq!((&answer["outcome"], &answer["holder"]), (&"notified".into(), &"next".into()));
    assert!(answer["ends_in_seconds"].as_f64().unwrap() <= 3600.0);
    let answer = pool.json(&["revoke", &next.id().to_string()]);
    assert_eq!((&answer["outcome"], &answer["ends_in_seconds"]), (&"revoked".into(), &Value::Null));
}

#[test]
fn what_cannot_be_revoked_is_said() {
    let pool = Pool::fake(1);
    let unknown = pool.command(&["revoke", "7"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(errors(&unknown).contains("no lease 7 is known; `ternlease status`"), "{unknown:?}");
    for words in [
        &["revoke", "7", "--reason", "BOREDOM"][..],
        &["revoke", "7", "--reason", "RELEASED"],
        &["revoke"],
        &["revoke", "7", "--notice", "soon"],
    ] {
        let output = pool.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        if words.contains(&"--reason") {
            let known = Reason::ALL.iter().filter(|reason| reason.is_revocation());
            for reason in known {
                assert!(errors(&output).contains(reason.name()), "{reason} is listed");
            }
        }
    }
}

#[test]
fn deadlocks_are_explained_and_broken() {
    let pool = Pool::fake(4);
    assert_eq!(pool.text(80, &["deadlocks"]), "there is no deadlock\n");
    let open = pool.open();
    let first = deadlock(&open, "a", NASTY, ["nvidia:0", "nvidia:1"]);
    let second = deadlock(&open, "c", "d", ["nvidia:2", "nvidia:3"]);
    let text = pool.text(80, &["deadlocks"]);
    assert_plain(&text);
    assert_fits(&text, 80);
    assert!(text.contains("2 holders are stuck: a, evil\\u{1b}"), "{text}");
    assert!(text.contains("2 holders are stuck: c, d"), "{text}");
    assert!(text.contains(&format!("lease {} of d on nvidia:3", second[1].id())), "{text}");
    assert_eq!(text.matches("to break it at the least cost, revoke lease").count(), 2);
    let all = pool.json(&["deadlocks"]);
    assert_eq!(keys(&all), ["pool", "deadlocks", "revoked"]);
    let found = &all["deadlocks"][0];
    let expected = ["stuck", "cycle", "victim", "victim_holder", "victim_devices"];
    assert_eq!(keys(found), expected);
    assert_eq!((&found["stuck"], &all["revoked"]), (&json!(["a", NASTY]), &json!([])));
    assert_eq!(open.manager().find_deadlocks().unwrap().len(), 2, "looking changes nothing");

    let text = pool.text(80, &["deadlocks", "--break"]);
    assert_eq!(text.matches("was revoked (DEADLOCK_VICTIM)").count(), 2, "{text}");
    assert!(text.ends_with("nobody is stuck any more\n"), "{text}");
    assert!(open.manager().find_deadlocks().unwrap().is_empty());
    assert_eq!(open.manager().count(Reason::DeadlockVictim), 2);
    drop((first, second));
}

#[test]
fn metrics_are_as_openmetrics_wants_them() {
    let pool = Pool::fake(2);
    let open = pool.open();
    let _lease = claim(&open, "trainer", 2);
    queue(&open, "patient", 1);
    open.manager().set_health(open.key(1).unwrap(), Health::Failed).unwrap();
    let text = pool.text(80, &["metrics"]);
    assert!(text.ends_with("# EOF\n"));
    for line in [
        "ternlease_leases_held 1",
        "ternlease_granted_total 1",
        "# TYPE ternlease_granted counter",
        "ternlease_device_health{device=\"nvidia:1\",key=\"0000:02:00.0\"} -1",
        "ternlease_device_leased{device=\"nvidia:0\",key=\"0000:01:00.0\"} 1",
        "ternlease_device_waiting{device=\"nvidia:0\",key=\"0000:01:00.0\"} 1",
        "ternlease_device_memory_bytes{device=\"nvidia:0\",key=\"0000:01:00.0\"} 85899345920",
        "ternlease_processes 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    // Every value belongs to the family that was described last, and each is described once.
    let mut described: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(description) = line.strip_prefix("# TYPE ") {
            let (name, kind) = description.split_once(' ').unwrap();
            assert!(described.iter().all(|(before, _)| before != name), "{name} twice");
            described.push((name.to_owned(), kind.to_owned()));
        } else if !line.starts_with('#') {
            let (family, kind) = described.last().unwrap();
            let name = line.split(['{', ' ']).next().unwrap();
            let suffix = if kind == "counter" { "_total" } else { "" };
            assert_eq!(name, format!("{family}{suffix}"));
            line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
        }
    }
    let none = Pool::of("none").text(80, &["metrics"]);
    assert!(none.contains("ternlease_leases_held 0\n") && !none.contains("ternlease_device"));
}

#[test]
fn devices_are_shown_with_their_speed() {
    let pool = Pool::fake(2);
    for width in [80, 160] {
        let text = pool.text(width, &["devices"]);
        assert_plain(&text);
        assert_fits(&text, width as usize);
        for word in ["Fake GPU", "80 GiB", "0000:02:00.0", "8.0", "6912", "1410 MHz", "1593 MHz"] {
            assert!(text.contains(word), "{word} in\n{text}");
        }
        assert!(text.contains("5120 bit") && text.contains("4.0 x16"), "{text}");
    }
    let all = pool.json(&["devices"]);
    assert_eq!(keys(&all), ["devices", "hidden", "absences", "warnings"]);
    let device = &all["devices"][0];
    for (key, value) in [
        ("cores", json!(6912)),
        ("multiprocessors", Value::Null),
        ("core_mhz", json!(1410)),
        ("memory_mhz", json!(1593)),
        ("memory_bits", json!(5120)),
        ("pcie_generation", json!(4)),
        ("pcie_lanes", json!(16)),
        ("compute_capability", json!("8.0")),
        ("health", json!(1)),
    ] {
        assert_eq!(device[key], value, "{key}");
    }
    let none = Pool::of("none").text(80, &["devices"]);
    assert!(none.contains("there are no GPUs here"), "{none}");
}

#[test]
fn the_doctor_finds_nothing_where_nothing_is() {
    let pool = Pool::fake(2);
    let open = pool.open();
    let _lease = claim(&open, NASTY, 1);
    let text = pool.text(80, &["doctor"]);
    assert_plain(&text);
    assert_fits(&text, 80);
    assert!(text.ends_with("all is well\n"), "{text}");
    for word in [
        "2 devices: nvidia:0-1",
        "no device is hidden",
        "all devices are healthy",
        " MB",
        "(0600)",
        "1 process uses the pool",
        "1 lease",
        "found dead",
        "sound from end to end",
        "nobody waits in a circle",
    ] {
        let found = text.contains(word) || (word == "found dead" && text.contains("has died"));
        assert!(found, "{word} in\n{text}");
    }
    let all = pool.json(&["doctor"]);
    assert_eq!(keys(&all), ["pool", "findings", "bad", "warn"]);
    assert_eq!((&all["bad"], &all["warn"]), (&0.into(), &0.into()));
    let finding = &all["findings"][0];
    assert_eq!(keys(finding), ["level", "topic", "words", "next"]);
    assert_eq!((&finding["level"], &finding["topic"]), (&"ok".into(), &"devices".into()));
}

#[test]
fn the_doctor_names_what_is_bad_and_fails() {
    let pool = Pool::fake(3);
    let open = pool.open();
    let stuck = deadlock(&open, "a", "b", ["nvidia:0", "nvidia:1"]);
    open.manager().set_health(open.key(2).unwrap(), Health::Failed).unwrap();
    let output = pool.command(&["doctor"]).env("COLUMNS", "80").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_fits(&text, 80);
    assert!(text.contains("bad   health     nvidia:2 has failed"), "{text}");
    assert!(text.contains("bad   deadlocks  1 deadlock: a, b can never go on"), "{text}");
    assert!(text.contains("-> `ternlease deadlocks`"), "{text}");
    assert!(text.ends_with("2 things are wrong\n"), "{text}");
    drop(stuck);
}

#[test]
fn the_doctor_says_why_there_are_no_devices_and_what_hides_them() {
    let none = Pool::of("none").text(80, &["doctor"]);
    assert!(none.contains("warn  devices    there are no GPUs here"), "{none}");
    assert!(none.contains("declared: no device is declared"), "{none}");
    let here = Pool::of("host").command(&["doctor"]).output().unwrap();
    let text = String::from_utf8(here.stdout).unwrap();
    assert!(text.contains("devices") && text.contains("masks"), "{text}");
    let unreadable = Pool::of("file:/no/such/file").command(&["doctor"]).output().unwrap();
    assert_eq!(unreadable.status.code(), Some(1));
    let text = String::from_utf8(unreadable.stdout).unwrap();
    assert!(text.contains("bad   devices") && text.contains("table is sound"), "{text}");
}

#[test]
fn the_doctor_examines_what_cannot_be_opened() {
    let pool = Pool::fake(1);
    std::fs::write(&pool.path, "nothing of ours\n".repeat(1000)).unwrap();
    let output = pool.command(&["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ok    devices    1 device"), "the rest is examined:\n{text}");
    assert!(text.contains("bad   file"), "{text}");
}

#[test]
fn the_doctor_tells_of_those_who_died() {
    let pool = Pool::fake(1);
    let mut watch = pool.command(&["status", "--json", "--watch=0.05"]);
    let mut watch = watch.stdout(std::process::Stdio::null()).spawn().unwrap();
    let open = pool.open();
    let processes = || open.manager().host().unwrap().processes.len();
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while processes() < 2 {
        assert!(std::time::Instant::now() < end, "it never came");
        std::thread::yield_now();
    }
    let text = pool.text(200, &["doctor"]);
    let named = format!("pid {} (", watch.id());
    assert!(text.contains("2 processes use the pool") && text.contains(&named), "{text}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    while open.manager().host().unwrap().deaths == 0 {
        assert!(std::time::Instant::now() < end, "its death was never noticed");
        std::thread::yield_now();
    }
    let text = pool.text(80, &["doctor"]);
    assert!(text.contains("1 found dead so far"), "{text}");
}
