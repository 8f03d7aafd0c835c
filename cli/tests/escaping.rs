//! No output of the command contains a character that a terminal or a reader could take for something else than text. Every
//! class of such characters goes through every command and every output format; JSON still parses to the original names.
#![allow(missing_docs)]

mod show_common;
#[allow(dead_code)]
#[path = "show_common/terminal.rs"]
mod terminal;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use show_common::{Pool, queue};
use terminal::Terminal;
use ternlease::{GpuLease, GpuPool, Reason};

/// Dangerous characters by class, both ends of each range. Zero is left out: arguments of programs cannot contain it.
const CLASSES: [(&str, &str); 10] = [
    ("C0 controls and delete", "\x01\x07\x08\t\n\r\x1b\x1f\x7f"),
    ("C1 controls", "\u{80}\u{85}\u{90}\u{9b}\u{9d}\u{9f}"),
    (
        "directions",
        "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}",
    ),
    ("no width", "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}"),
    ("separators of lines", "\u{2028}\u{2029}"),
    ("other format characters", "\u{ad}\u{600}\u{605}\u{6dd}\u{70f}\u{890}\u{8e2}\u{180e}\u{2061}"),
    (
        "more format characters",
        "\u{2064}\u{206a}\u{206f}\u{fff9}\u{fffb}\u{110bd}\u{1bca0}\u{1d173}",
    ),
    ("tags", "\u{e0001}\u{e0020}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}"),
    (
        "no characters, and invisible letters",
        "\u{fdd0}\u{fdef}\u{fffe}\u{ffff}\u{1fffe}\u{10ffff}\u{3164}\u{115f}",
    ),
    ("variation selectors and the blank pattern", "\u{fe00}\u{fe0f}\u{2800}"),
];

/// A name for each class that contains all of its characters.
fn names() -> Vec<String> {
    let name =
        |(number, (_, characters)): (usize, &(&str, &str))| format!("n{number}{characters}x");
    CLASSES.iter().enumerate().map(name).collect()
}

/// Fails if a character of any class is in the output. Line feeds between lines are allowed.
#[track_caller]
fn assert_safe(what: &str, output: &[u8]) {
    let text = std::str::from_utf8(output).expect("all output is UTF-8");
    for (class, characters) in CLASSES {
        for c in characters.chars().filter(|c| *c != '\n') {
            assert!(!text.contains(c), "{what}: {class}: {c:?} is in {text:?}");
        }
    }
    // In the names a carriage return follows the line feed: it must not begin a line.
    assert!(!text.lines().any(|line| line.starts_with(r"\u{d}")), "{what}: {text:?}");
}

/// Ends with each of its leases.
struct Scene {
    pool: Pool,
    open: GpuPool,
    leases: Vec<GpuLease>,
    path: PathBuf,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A pool in which everything that can have a name has a dangerous one.
fn scene() -> Scene {
    // Each test has a file of devices of its own.
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("tern-escaping-{}-{number}", std::process::id()));
    let mut text = String::new();
    for (index, name) in names().iter().enumerate() {
        // The format of the file has its own rules for controls.
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        let pci = index + 1;
        text.push_str(&format!(
            "device vendor=nvidia index={index} name=\"{name}\" memory=81920 pci=0000:{pci:02x}:00.0\n"
        ));
    }
    std::fs::write(&path, text).unwrap();
    let pool = Pool::of(&format!("file:{}", path.display()));
    let open = pool.open();
    let leases = names()
        .iter()
        .map(|name| open.claim().holder(name).try_now().unwrap().unwrap())
        .collect::<Vec<_>>();
    for (lease, name) in leases.iter().zip(names()) {
        let notice = Duration::from_secs(3600);
        open.manager().revoke_with(lease.id(), Reason::NodeDrain, &name, notice).unwrap();
        // Something beside the devices, whose name is free.
        open.manager().acquire(&name, &name, Duration::from_secs(3600)).unwrap();
        queue(&open, &name, 1);
    }
    Scene { pool, open, leases, path }
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn text_output_contains_no_dangerous_character() {
    let Scene { pool, open: _open, leases: _leases, .. } = &scene();
    for words in [
        &["status"][..],
        &["events"],
        &["timeline"],
        &["timeline", "--svg", "-"],
        &["timeline", "--trace", "-"],
        &["queue"],
        &["devices"],
        &["doctor"],
        &["deadlocks"],
        &["metrics"],
        &["ctest-spec"],
    ] {
        for width in ["70", "100", "10000"] {
            let output = run(pool.command(words).env("COLUMNS", width));
            assert!(!output.stdout.is_empty(), "{words:?}: {output:?}");
            assert_safe(&format!("{words:?}"), &output.stdout);
            assert_safe(&format!("{words:?} (errors)"), &output.stderr);
        }
    }
}

#[test]
fn text_output_shows_escapes_in_place_of_dangerous_characters() {
    let Scene { pool, open: _open, leases: _leases, .. } = &scene();
    for words in [&["status"][..], &["events"], &["queue"], &["timeline", "--svg", "-"]] {
        let output = run(pool.command(words).env("COLUMNS", "10000"));
        let text = String::from_utf8(output.stdout).unwrap();
        for escape in [r"\u{1b}", r"\u{9b}", r"\u{202e}", r"\u{200b}", r"\u{2028}", r"\u{e0041}"] {
            assert!(text.contains(escape), "{words:?}: {escape} is not in {text}");
        }
    }
}

/// All strings of a value.
fn strings(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(values) => values.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

#[test]
fn json_contains_no_dangerous_character_and_parses_to_the_original_names() {
    let Scene { pool, open: _open, leases: _leases, .. } = &scene();
    for words in [
        &["status", "--json"][..],
        &["events", "--json"],
        &["queue", "--json"],
        &["devices", "--json"],
        &["doctor", "--json"],
        &["deadlocks", "--json"],
        &["timeline", "--trace", "-"],
    ] {
        let output = run(&mut pool.command(words));
        assert_safe(&format!("{words:?}"), &output.stdout);
        let mut found = BTreeSet::new();
        let values = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
        values.for_each(|value| strings(&value.unwrap(), &mut found));
        if !["devices", "doctor", "deadlocks"].contains(&words[0]) {
            for name in names() {
                assert!(found.contains(&name), "{words:?}: {name:?} is not in {found:?}");
            }
        }
    }
}

#[test]
fn deadlocks_contain_no_dangerous_character() {
    for name in names() {
        let pool = Pool::fake(2);
        let open = pool.open();
        let on = |holder: &str, device| open.claim().holder(holder).named(&[device]).try_now();
        let _leases = [on("a", "nvidia:0"), on(&name, "nvidia:1")].map(|lease| lease.unwrap());
        for (holder, device) in [("a", "nvidia:1"), (name.as_str(), "nvidia:0")] {
            open.claim().holder(holder).named(&[device]).submit().unwrap();
        }
        assert_safe("deadlocks", &run(&mut pool.command(&["deadlocks"])).stdout);
        let found = pool.json(&["deadlocks"]);
        assert_eq!(found["deadlocks"][0]["stuck"][1], name);
        let doctor = run(&mut pool.command(&["doctor"]));
        assert_safe("doctor", &doctor.stdout);
        let broken = run(&mut pool.command(&["deadlocks", "--break"]));
        assert!(broken.status.success(), "{broken:?}");
        assert_safe("deadlocks --break", &broken.stdout);
    }
}

#[test]
fn messages_that_quote_names_contain_no_dangerous_character() {
    let Scene { pool, open: _open, leases: _leases, .. } = &scene();
    for name in &names() {
        let named = format!("--name={name}");
        let file = format!("file:/nowhere/{name}");
        let host = format!("host:{name}");
        let url = format!("host:/nowhere/{name}");
        let etcd = format!("etcd://{name}/x");
        let program = format!("/nowhere/{name}");
        for words in [
            // Messages about those who have the devices.
            &["run", "--now", "--", "true"][..],
            &["run", "--now", &named, "--", "true"],
            &["run", "--timeout=50ms", &named, "--", "true"],
            &["claim", "--now", &named],
            &["claim", "--timeout=50ms", &named],
            // Messages about what is asked for.
            &["run", "--now", "--", &program],
            &["run", "--now", "--", name],
            &["run", "--device", name, "--", "true"],
            &["claim", "--device", name],
            &["adopt", "1", "--device", name],
            &["release", name],
            &["revoke", name],
            &["renew", name],
            &["revoke", "1", "--reason", name],
            &["run", "--timeout", name, "--", "true"],
            &["run", "--memory", name, "--", "true"],
            &["run", "--notice-signal", name, "--", "true"],
            &["verdict", "--hash", name],
            &["verdict", "--kind", name, "--hash=1"],
            &["verdict", "--route", name, "--hash=1"],
            &["timeline", "--svg", &program],
            &["cap", "--no-bench", "--svg", &program],
            &["completions", name],
            &[name],
            &["status", name],
        ] {
            let output = run(&mut pool.command(words));
            assert!(!output.status.success(), "{words:?} should fail: {output:?}");
            assert!(!output.stderr.is_empty(), "{words:?}");
            assert_safe(&format!("{words:?}"), &output.stderr);
            assert_safe(&format!("{words:?}"), &output.stdout);
        }
        for (pool, devices) in [
            (&host, "none"),
            (&url, "none"),
            (&etcd, "none"),
            (name, "none"),
            (&host, &file),
            (&host, name),
        ] {
            for words in [
                &["status"][..],
                &["events"],
                &["doctor"],
                &["release", "1"],
                &["status", "--json"],
            ] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
                command.args(["--pool", pool, "--devices", devices]).args(words);
                let output = run(&mut command);
                assert_safe(&format!("{command:?}"), &output.stderr);
                assert_safe(&format!("{command:?}"), &output.stdout);
            }
        }
    }
}

#[test]
fn json_of_a_claim_parses_to_the_original_name() {
    for name in names() {
        let pool = Pool::fake(1);
        let mut command = pool.command(&["claim", "--json", &format!("--name={name}")]);
        let output = run(command.arg(format!("--for={}", std::process::id())));
        assert!(output.status.success(), "{output:?}");
        assert_safe("claim --json", &output.stdout);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["holder"], name.as_str());
        let lease = told["lease"].as_str().unwrap();
        let revoked = run(&mut pool.command(&["revoke", lease, "--json", &format!("--by={name}")]));
        assert!(revoked.status.success(), "{revoked:?}");
        assert_safe("revoke --json", &revoked.stdout);
        let told: Value = serde_json::from_slice(&revoked.stdout).unwrap();
        assert_eq!(
            (&told["holder"], &told["revoker"]),
            (&name.clone().into(), &name.clone().into())
        );
        for words in [&["revoke", lease][..], &["release", lease], &["renew", lease]] {
            assert_safe(&format!("{words:?}"), &run(&mut pool.command(words)).stderr);
        }
    }
}

#[test]
fn run_names_the_revoker_without_dangerous_characters() {
    for name in names() {
        let pool = Pool::fake(1);
        let words =
            ["run", &format!("--name={name}"), "--", "sh", "-c", "echo ready; exec sleep 60"];
        let mut command = pool.command(&words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let open = pool.open();
        let lease = open.manager().leases()[0].id;
        let notice = Duration::from_secs(60);
        open.manager().revoke_with(lease, Reason::Operator, &name, notice).unwrap();
        let mut errors = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut errors).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(121));
        let text = String::from_utf8_lossy(&errors);
        assert!(text.contains(" as \"n"), "{text}");
        assert_safe("run", &errors);
    }
}

#[test]
fn the_screen_of_top_contains_no_dangerous_character() {
    let Scene { pool, open: _open, leases: _leases, .. } = &scene();
    let mut top = Terminal::start(pool.command(&["top"]), 200, 60);
    let mut drawn = top.until("quit");
    top.press("i");
    drawn += &top.until("preemptible");
    top.press("q");
    top.press("r");
    drawn += &top.until("other");
    top.press("n");
    top.press("q");
    top.until("\x1b[?1049l");
    assert!(top.end().success());
    // The controls that draw the screen are its own.
    for (class, characters) in CLASSES.iter().skip(1) {
        for c in characters.chars() {
            assert!(!drawn.contains(c), "{class}: {c:?} is in {drawn:?}");
        }
    }
    assert!(drawn.contains(r"\u{202e}"), "{drawn:?}");
}
