//! `timeline`: the chart fits the terminal, the picture is well-formed, the trace is what viewers read; whatever holders are called.
#![allow(missing_docs)]

mod report_support;

use std::process::Command;
use std::time::Duration;

use report_support::xml::elements;
use report_support::{Pool, printed};
use serde_json::Value;
use ternlease::{GpuPool, PoolOptions, Reason};

const NASTY: &str = "<b>&\"'\x1b[31m\n\u{202e}x";

/// Leases that ended in every way, and one that did not.
fn busy() -> Pool {
    let pool = Pool::new(4);
    let manager = pool.manager();
    let back = pool.lease(NASTY, 2);
    manager.release(back).unwrap();
    let taken = pool.lease("taken", 1);
    manager.revoke_with(taken, Reason::Operator, "ops", Duration::ZERO).unwrap();
    let out = pool.granted(pool.pool.claim().holder("slow").ttl(Duration::from_millis(1)));
    while manager.lease(out).is_some_and(|info| info.reason.is_none()) {
        manager.tick();
    }
    pool.lease("held", 1);
    let told = pool.lease("told", 1);
    manager.revoke_with(told, Reason::NodeDrain, "ops", Duration::from_secs(3600)).unwrap();
    pool
}

#[test]
fn the_chart_has_a_row_for_each_device_and_fits() {
    let pool = busy();
    for width in ["80", "40", "133"] {
        let text = printed(pool.command(&["timeline"]).env("COLUMNS", width));
        let most: usize = width.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= most), "{text}");
        for device in ["nvidia:0  ", "nvidia:1  ", "nvidia:2  ", "nvidia:3  "] {
            assert_eq!(text.lines().filter(|line| line.starts_with(device)).count(), 1, "{text}");
        }
        for sign in ["▶ held", "▷ held, notice given", "┫ given back", "◌ ran out", "✗ revoked"]
        {
            assert!(text.contains(sign), "{text}");
        }
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
    }
    // Where nobody looks at a screen.
    let text = pool.prints(&["timeline"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_picture_is_well_formed_whatever_holders_are_called() {
    let pool = busy();
    let svg = pool.prints(&["timeline", "--svg", "-"]);
    let elements = elements(&svg).unwrap();
    assert_eq!(elements[0], "svg");
    // Six bars, of which those that are held have no end.
    assert_eq!(elements.iter().filter(|name| *name == "polygon").count(), 2);
    assert!(
        svg.contains(r"&lt;b&gt;&amp;&quot;&#39;\u{1b}[31m\u{a}\u{202e}x on nvidia:0"),
        "{svg}"
    );
    for word in ["held", "given back", "ran out", "revoked", "now", "nvidia:3", "an operator asked"]
    {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    xmllint(&svg);
}

/// What others think of it, if they are here.
fn xmllint(svg: &str) {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("timeline-{}.svg", std::process::id()));
    std::fs::write(&file, svg).unwrap();
    if let Ok(output) = Command::new("xmllint").arg("--noout").arg(&file).output() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_trace_has_a_thread_for_each_device() {
    let pool = busy();
    let trace: Value = serde_json::from_str(&pool.prints(&["timeline", "--trace", "-"])).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!((named("process_name"), named("thread_name")), (1, 4));
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 6);
    for slice in &slices {
        for key in ["ts", "dur", "pid", "tid"] {
            assert!(slice[key].is_u64(), "{slice}");
        }
        for key in ["lease", "device", "state", "held", "reason", "reason_words", "granted_at"] {
            assert!(slice["args"].get(key).is_some(), "{slice}");
        }
    }
    assert!(slices.iter().any(|slice| slice["name"] == NASTY));
    let held: Vec<&Value> = slices.iter().filter(|s| s["args"]["held"] == true).copied().collect();
    assert_eq!(held.len(), 2);
    assert_eq!(held[0]["args"]["reason"], Value::Null);
    assert_eq!(held[1]["args"]["reason"], "NODE_DRAIN");
}

#[test]
fn leases_beside_each_other_have_lanes() {
    let pool = Pool::new(0);
    let options = PoolOptions::from_spec("fake:1").unwrap().slots(2);
    let two = GpuPool::on_with(pool.manager(), options).unwrap();
    let claim = |holder| pool.granted(two.claim().holder(holder).slots(1));
    let (_left, _right) = (claim("left"), claim("right"));
    let text = pool.prints(&["timeline"]);
    let rows: Vec<&str> =
        text.lines().filter(|line| line.contains("left") || line.contains("right")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    let trace: Value = serde_json::from_str(&pool.prints(&["timeline", "--trace", "-"])).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let threads: Vec<&Value> =
        events.iter().filter(|e| e["ph"] == "X").map(|event| &event["tid"]).collect();
    assert_eq!(threads.len(), 2);
    assert_ne!(threads[0], threads[1], "slices of one thread must not overlap");
}

#[test]
fn an_empty_pool_and_none_at_all() {
    let pool = Pool::new(2);
    let text = pool.prints(&["timeline"]);
    assert!(text.contains("nvidia:1") && text.contains("no lease is remembered"), "{text}");
    elements(&pool.prints(&["timeline", "--svg", "-"])).unwrap();

    let none = Pool::of("none");
    assert!(none.prints(&["timeline"]).starts_with("there are no GPUs here"));
    elements(&none.prints(&["timeline", "--svg", "-"])).unwrap();
    let trace: Value = serde_json::from_str(&none.prints(&["timeline", "--trace", "-"])).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 1);
}

#[test]
fn since_leaves_out_what_is_older() {
    let pool = Pool::new(1);
    let old = pool.lease("old", 1);
    pool.manager().release(old).unwrap();
    let end = pool.manager().lease(old).unwrap().end;
    // Until it ended more than a hundredth of a second ago.
    while pool.manager().tick_count() <= end + 10_000 {
        std::thread::yield_now();
    }
    pool.lease("new", 1);
    let text = pool.prints(&["timeline", "--since", "1d"]);
    assert!(text.contains("┣new"), "{text}");
    let trace = |since| -> usize {
        let text = pool.prints(&["timeline", "--trace", "-", "--since", since]);
        text.matches("\"ph\":\"X\"").count()
    };
    assert_eq!((trace("1d"), trace("1ms")), (2, 1));
    let wrong = pool.command(&["timeline", "--since", "yesterday"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let pool = Pool::new(1);
    let output = pool.command(&["timeline", "--svg", "/no/such/place.svg"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with("ternlease: /no/such/place.svg cannot be written: "), "{words}");
}
