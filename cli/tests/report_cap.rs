//! `cap`: what this machine can do, for people, for programs, and as a picture.
#![allow(missing_docs)]

mod report_support;

use report_support::run;
use report_support::xml::elements;
use serde_json::Value;

fn prints(args: &[&str]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    assert_eq!(errors, "", "no progress where nobody looks");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_report_has_all_figures_and_six_tasks() {
    let mut command = std::process::Command::new(report_support::TERNLEASE);
    let text = report_support::printed(command.args(["cap", "--no-bench"]).env("COLUMNS", "80"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for name in [
        "cores",
        "frequency",
        "one core",
        "all cores",
        "scaling",
        "memory bus",
        "ridge",
        "memory",
        "disk",
        "nic",
        "battery",
        "bias",
        "figures",
        "flop64",
        "triad_all",
        "shift",
    ] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("p / ") && text.contains("l, ") && text.contains("usable"), "{text}");
    assert!(text.contains("estimated, not measured"), "{text}");
    let heads: Vec<&str> =
        text.lines().find(|line| line.starts_with("task")).unwrap().split_whitespace().collect();
    assert_eq!(heads, ["task", "W", "Q", "R", "score", "neck", "action"]);
    for (task, numbers) in [
        ("sort 1M x 64 B", "200 M 1.19 GiB 10.0 MiB"),
        ("scan 1 GB", "125 M 954 MiB 10.0 MiB"),
        ("hash 1 GB", "2.00 G 954 MiB 32 B"),
        ("matmul 1k^3", "2.00 G 22.9 MiB 10.0 MiB"),
        ("etl 1M rows", "100 M 488 MiB 10.0 MiB"),
        ("copy 1 GB", "0 954 MiB 954 MiB"),
    ] {
        let line = text.lines().find(|line| line.starts_with(task)).expect(task);
        let words: Vec<&str> = line[task.len()..].split_whitespace().collect();
        let words = words.join(" ");
        assert!(words.starts_with(numbers), "{task}: {words}");
        let rest: Vec<&str> = words[numbers.len()..].split_whitespace().collect();
        let score: f64 = rest[0].parse().unwrap();
        assert!(rest[0].starts_with(['+', '-', '0']), "{line}");
        assert_eq!(score < 0.0, rest[2..].contains(&"compute"), "{line}");
        assert!(["compute", "memory"].contains(&rest[1]), "{line}");
    }
}

#[test]
fn programs_read_it() {
    let value: Value = serde_json::from_str(&prints(&["cap", "--no-bench", "--json"])).unwrap();
    for key in [
        "cores_physical",
        "cores_logical",
        "cores_usable",
        "freq_mhz",
        "mem_total",
        "disk_free",
        "nic_mbps",
        "battery_pct",
        "roofline",
        "device_class",
        "network",
        "rates",
    ] {
        assert!(value.get(key).is_some(), "{key}: {value}");
    }
    assert!(value["roofline"]["peak_gflops"].as_f64().unwrap() > 0.0);
    assert_eq!(value["rates"]["flop64"]["source"], "estimated");
    assert_eq!(value["rates_age_seconds"], Value::Null);
}

#[test]
fn the_picture_is_well_formed() {
    let svg = prints(&["cap", "--no-bench", "--svg", "-"]);
    let elements = elements(&svg).unwrap();
    // Six tasks in the plot, and six in the list.
    assert_eq!(elements.iter().filter(|name| *name == "circle").count(), 12);
    for word in ["all cores: ", "memory: ", "sort 1M x 64 B", "matmul 1k^3", "no arithmetic"] {
        assert!(svg.contains(word), "{word}");
    }
}

#[test]
fn what_was_kept_is_used_again() {
    let home = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("cap-cache-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let run = |args: &[&str]| -> Value {
        let mut command = std::process::Command::new(report_support::TERNLEASE);
        let text = report_support::printed(command.args(args).env("XDG_CACHE_HOME", &home));
        serde_json::from_str(&text).unwrap()
    };
    let kept = run(&["cap", "--json", "--keep"]);
    assert_eq!(run(&["cap", "--json"])["rates"], kept["rates"]);
    std::fs::remove_dir_all(&home).unwrap();
}

#[test]
fn the_disk_is_measured_where_that_is_asked_for() {
    let output = run(&["cap", env!("CARGO_TARGET_TMPDIR"), "--no-bench", "--disk"]);
    let [text, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    // Some file systems cannot be read past the cache of the system: then that is said.
    match output.status.code() {
        Some(0) => assert!(text.contains(" free, writes "), "{text}"),
        _ => assert!(errors.contains("cannot be used for results"), "{errors}"),
    }
}

#[test]
fn a_place_that_is_not_there_is_named() {
    let output = run(&["cap", "/no/such/place", "--no-bench"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(
        words.contains("/no/such/place cannot be used") && words.lines().count() == 1,
        "{words}"
    );
}
