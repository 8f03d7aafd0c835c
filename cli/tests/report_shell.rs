//! `completions`, `man` and `ctest-spec`: what other programs are given.
#![allow(missing_docs)]

mod report_support;

use std::process::{Command, Stdio};

use report_support::{Pool, run};
use serde_json::{Value, json};

fn prints(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All commands, as `--help` has them.
fn commands() -> Vec<String> {
    let help = prints(&["--help"]);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| !line.is_empty());
    // A text that goes on in the next line is indented further.
    let named = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.map(String::from).filter(|name| name != "help").collect();
    assert!(names.len() >= 20, "{help}");
    names
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = prints(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn bash_takes_its_completions() {
    use std::io::Write;
    let script = prints(&["completions", "bash"]);
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn the_manual_has_every_command() {
    let page = prints(&["man"]);
    assert!(page.contains(".TH ternlease 1"), "{page}");
    for command in commands() {
        assert!(page.replace("\\-", "-").contains(&command), "{command}");
    }
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("man-{}/new", std::process::id()));
    assert_eq!(prints(&["man", "--dir", dir.to_str().unwrap()]), "");
    for command in commands() {
        let path = dir.join(format!("ternlease-{command}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(dir.join("ternlease.1").exists());
    std::fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    assert_eq!(run(&["man", "--dir", "/dev/null/man"]).status.code(), Some(1));
}

#[test]
fn every_help_of_the_reports_fits() {
    for command in ["events", "timeline", "cap", "verdict", "ctest-spec", "completions", "man"] {
        let mut help = Command::new(report_support::TERNLEASE);
        let text = report_support::printed(help.args([command, "--help"]).env("COLUMNS", "80"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn ctest_gets_the_devices() {
    let pool = Pool::new(3);
    let spec: Value = serde_json::from_str(&pool.prints(&["ctest-spec"])).unwrap();
    let gpu = |id: &str| json!({ "id": id, "slots": 1 });
    let expected = json!({
        "version": { "major": 1, "minor": 0 },
        "local": [ { "gpus": [gpu("0"), gpu("1"), gpu("2")] } ],
    });
    assert_eq!(spec, expected);
    let none: Value = serde_json::from_str(&Pool::of("none").prints(&["ctest-spec"])).unwrap();
    assert_eq!(none["local"][0]["gpus"], json!([]));
}

#[test]
fn ctest_does_not_get_what_has_failed() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("devices-{}", std::process::id()));
    let text = "device vendor=nvidia index=0 health=failed trouble=\"fan\"\n\
                device vendor=nvidia index=1\ndevice vendor=amd index=1\n";
    std::fs::write(&file, text).unwrap();
    let pool = Pool::of(&format!("file:{}", file.display()));
    let spec: Value = serde_json::from_str(&pool.prints(&["ctest-spec"])).unwrap();
    let ids: Vec<&Value> =
        spec["local"][0]["gpus"].as_array().unwrap().iter().map(|gpu| &gpu["id"]).collect();
    assert_eq!(ids, ["nvidia_1", "amd_1"]);
    std::fs::remove_file(file).unwrap();
}
