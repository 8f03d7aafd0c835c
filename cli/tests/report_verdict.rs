//! `verdict`: the answer in words, as JSON and as an exit code, with and without GPUs.
#![allow(missing_docs)]

mod report_support;

use report_support::{Pool, run};
use serde_json::Value;

fn ask(args: &[&str]) -> (Option<i32>, String, String) {
    let output = run(&[&["verdict", "--no-bench"], args].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Nothing to do, and nothing to fetch over a way of no length.
const NOTHING: [&str; 10] =
    ["--flops", "0", "--mem", "0", "--peak", "0", "--result", "0", "--route", "0,1G"];
const ENDLESS: &str = "18446744073709551615";

#[test]
fn every_answer_has_its_exit_code() {
    let endless = ["--flops", ENDLESS, "--mem", "0", "--peak", "0", "--result", "0"];
    for (args, code, words) in [
        (vec!["--copy", "1M", "--route", "10s,1"], 0, "compute (saves "),
        (vec!["--hash", "1T", "--route", "1ms,1G"], 10, "fetch (saves "),
        (NOTHING.to_vec(), 11, "break-even"),
        (
            [&endless[..], &["--no-route"]].concat(),
            12,
            "impossible (computing never ends, no network)",
        ),
        ([&endless[..], &["--route", "1ms,1G"]].concat(), 10, "must fetch (computing never ends)"),
        (vec!["--hash", "1G", "--no-route"], 0, "must compute (no network)"),
    ] {
        let (exit, text, errors) = ask(&args);
        assert_eq!((exit, errors.as_str()), (Some(0), ""), "{args:?}");
        assert!(text.starts_with(words), "{args:?}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let (exit, _, _) = ask(&[&args[..], &["--exit-trit"]].concat());
        assert_eq!(exit, Some(code), "{args:?}");
    }
}

#[test]
fn all_shapes_are_understood() {
    for (args, expected) in [
        (["--sort", "1M,64,64M"], "memory"),
        (["--scan", "1Gi,8"], "memory"),
        (["--hash", "1.5G"], "compute"),
        (["--matmul", "1k,1k,1k,8M"], "compute"),
        // Estimates use the clock rate of this machine: each answer holds from 0.3 to 20 GHz.
        (["--etl", "1M,256,10,10Mi"], "memory"),
        (["--etl", "1M,256,1k,10Mi"], "compute"),
        (["--copy", "1G"], "memory"),
    ] {
        let (code, text, errors) = ask(&[&args[..], &["--json"]].concat());
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{args:?}");
        let value: Value = serde_json::from_str(&text).unwrap();
        for key in
            ["answer", "trit", "score", "t_compute", "t_fetch", "t_store", "decisive", "bias"]
        {
            assert!(value.get(key).is_some(), "{key}: {value}");
        }
        assert_eq!(value["bottleneck"], expected, "{args:?}");
        assert!(value.get("advice").is_none());
    }
}

#[test]
fn kind_and_threads_change_the_time() {
    let time = |more: &[&str]| -> f64 {
        let (_, text, _) = ask(&[&["--matmul", "1k,1k,1k,8", "--json"], more].concat());
        let value: Value = serde_json::from_str(&text).unwrap();
        value["t_compute"].as_f64().unwrap()
    };
    assert!(time(&["--kind", "dense32"]) < time(&["--kind", "dense64"]));
    assert!(time(&["--threads", "64"]) <= time(&[]));
}

#[test]
fn with_gpus_every_way_is_told() {
    let pool = Pool::new(2);
    let args = ["verdict", "--no-bench", "--matmul", "20k,20k,20k,8", "--no-route", "--gpu"];
    let text = pool.prints(&args);
    assert!(text.contains("with the GPUs of the pool: gpu now"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("cpu ")), "{text}");
    let json = pool.prints(&[&args[..], &["--json"]].concat());
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["advice"]["choice"], "gpu now");
    assert_eq!(value["answer"], "must compute (no network)");
    assert_eq!(pool.manager().active_count(), 0, "nothing is claimed");

    let none = Pool::of("none").prints(&args);
    assert!(none.contains("not possible: there is none"), "{none}");
}

#[test]
fn what_makes_no_sense_is_said() {
    for args in [
        &["--sort", "1M"][..],
        &["--sort", "1M,64,x"],
        &["--hash", "99999999999T"],
        &["--hash", "1G", "--copy", "1G"],
        &["--flops", "1G"],
        &["--mem", "1G"],
        &[],
        &["--hash", "1G", "--kind", "magic"],
        &["--hash", "1G", "--route", "2ms"],
        &["--hash", "-1"],
    ] {
        let (code, text, errors) = ask(args);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{args:?}");
        assert!(errors.starts_with("error: "), "{args:?}: {errors}");
    }
}
