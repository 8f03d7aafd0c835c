//! `include/ternlease.h` is what `src/ffi` says.
//!
//! One section per file, in the order of a reader: cbindgen makes its declarations, the file's own words introduce it.
//! `make header` (or `TERN_UPDATE=1 cargo test -p ternlease-c --test header`) writes the header anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The files of `src/ffi` that make up the header.
const SECTIONS: [&str; 29] = [
    "status",
    "reason",
    "error",
    "version",
    "manager",
    "lease",
    "resource",
    "info",
    "ticket",
    "claim",
    "event",
    "watch",
    "deadlock",
    "counters",
    "host",
    "pool",
    "device",
    "gpu_claim",
    "gpu_lease",
    "speed",
    "cost",
    "task",
    "machine",
    "machine_info",
    "rate",
    "route",
    "estimate",
    "verdict",
    "advice",
];

const TOP: &str = "\
/*
 * ternlease: leases on GPUs and other scarce things. Who may use it now, until when, and why not.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 * Made from src/ffi by `make header`. Do not edit.
 *
 * What holds for all functions:
 *
 * - Names are tern_<type>_<verb>(manager or self, inputs, outputs, err). `const` means shared: with
 *   other threads, not that nothing changes.
 * - They return a status, and details of it in `err`, which may be NULL; or a trit (+1, 0, -1).
 * - Every pointer is checked for NULL, which is allowed for what has no length. Outputs are written
 *   only as the status says. What failed has changed nothing.
 * - Managers, pools, machines and readers are opaque handles, to be closed. Leases and tickets are
 *   numbers, which need no care: one that is over, forged or of another manager is a status.
 * - Text comes in as pointer and length, in UTF-8, and is not kept: TERN_STR(\"gpu0\") writes both.
 *   It goes out into the caller's buffer, always terminated.
 * - Structs begin with their size; make them with their _init function.
 * - All functions may be called from any thread. None installs a signal handler, reads the
 *   environment (but for those that open a pool or read a machine), or prints (but for a bug of the
 *   library, which is TERN_ERR_PANIC).
 * - In a child after fork() every handle from before is TERN_ERR_FORKED.
 */
#ifndef TERNLEASE_H
#define TERNLEASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

";

const BASICS: &str = "\
/* A text as pointer and length, for two arguments or the two members of a tern_text_t. */
#define TERN_STR(text) (text), strlen(text)

/* Without end; as a cursor: from now on. */
#define TERN_FOREVER UINT64_MAX

/* Lengths of time for managers with a real clock, which count microseconds. */
#define TERN_MILLISECOND UINT64_C(1000)
#define TERN_SECOND UINT64_C(1000000)

/* What never ends, where times are predicted: in nanoseconds. */
#define TERN_NEVER UINT64_MAX

/* The longest name of a holder or resource, in bytes. */
#define TERN_NAME_MAX 255

/* One of three answers: +1, 0 or -1. */
typedef int8_t tern_trit_t;

/* Not one of the three: \"I do not know\". */
#define TERN_TRIT_UNKNOWN INT8_MIN

/* A lease is ... */
#define TERN_HELD 1
#define TERN_EXPIRED 0
#define TERN_REVOKED (-1)

/* A ticket is ... */
#define TERN_GRANTED 1
#define TERN_IN_LINE 0
#define TERN_DENIED (-1)

/* A resource is ... */
#define TERN_HEALTHY 1
#define TERN_DRAINING 0
#define TERN_FAILED (-1)

/* A result is to be fetched, or computed; or it makes no difference. */
#define TERN_FETCH 1
#define TERN_BREAK_EVEN 0
#define TERN_COMPUTE (-1)

/* Enumerations are 32 bits wide, in every language and version of it. */
#ifdef __cplusplus
#define TERN_ENUM_BEGIN(name) enum name : int32_t {
#else
#define TERN_ENUM_BEGIN(name) typedef int32_t name; enum {
#endif
#define TERN_ENUM_END };

#ifdef __cplusplus
extern \"C\" {
#endif
";

const BOTTOM: &str = "
#ifdef __cplusplus
}
#endif

#endif /* TERNLEASE_H */
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn header() -> String {
    let mut text = String::from(TOP);
    let numbers = [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    text.push_str("/* The version of this header; tern_version() tells that of the library. */\n");
    for (part, number) in numbers {
        writeln!(text, "#define TERN_VERSION_{part} {number}").unwrap();
    }
    let [major, minor, patch] = numbers.map(|(_, number)| number.parse::<u32>().unwrap());
    let number = major * 1_000_000 + minor * 1_000 + patch;
    writeln!(text, "#define TERN_VERSION_NUMBER {number}\n").unwrap();
    text.push_str(BASICS);
    for section in SECTIONS {
        text.push_str(&self::section(section));
    }
    text.push_str(BOTTOM);
    text
}

fn section(name: &str) -> String {
    let path = root().join(format!("src/ffi/{name}.rs"));
    let source = std::fs::read_to_string(&path).unwrap();
    let rule = "=".repeat(75);
    let mut text = format!("\n/* {rule}\n");
    let words: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
    text.push_str(&wrap(&words, " *"));
    writeln!(text, " * {rule} */\n").unwrap();
    text.push_str(&readable(&declarations(&path, &source)));
    text
}

/// A struct that says its size is made by a function in the header: only the program knows the size that it was compiled for.
fn maker(name: &str) -> String {
    let short = name.trim_end_matches("_t");
    format!(
        "\nstatic inline {name} {short}_init(void)\n{{\n    {name} made;\n    \
         memset(&made, 0, sizeof made);\n    made.struct_size = sizeof made;\n    return made;\n}}\n"
    )
}

/// What cbindgen makes of one file. What other files declare is only named.
fn declarations(path: &Path, source: &str) -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        no_includes: true,
        usize_is_size_t: true,
        line_length: 100,
        tab_width: 4,
        documentation_style: cbindgen::DocumentationStyle::C99,
        sort_by: cbindgen::SortKey::None,
        ..Default::default()
    };
    config.function.args = cbindgen::Layout::Auto;
    config.export.include = source
        .lines()
        .filter_map(|line| {
            let item = line
                .strip_prefix("pub struct ")
                .or(line.strip_prefix("pub enum "))
                .or(line.strip_prefix("pub type "))?;
            item.split([' ', '{', '=']).next().map(str::to_owned)
        })
        .collect();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(path)
        .generate()
        .expect("src/ffi is what cbindgen understands");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

/// Paragraphs in lines of equal length, each line after `prefix`. What is indented is code, and stays as it is.
fn wrap(lines: &[&str], prefix: &str) -> String {
    const WIDTH: usize = 96;
    let mut out: Vec<String> = Vec::new();
    let mut in_paragraph = false;
    for line in lines {
        if line.trim().is_empty() || line.starts_with("     ") {
            out.push(format!("{prefix}{}", line.trim_end()));
            in_paragraph = false;
            continue;
        }
        for word in line.split_whitespace() {
            match out.last_mut() {
                Some(last) if in_paragraph && last.len() + 1 + word.len() <= WIDTH => {
                    last.push(' ');
                    last.push_str(word);
                }
                _ => out.push(format!("{prefix} {word}")),
            }
            in_paragraph = true;
        }
    }
    out.iter().map(|line| format!("{line}\n")).collect()
}

/// As somebody would have written it: comments in lines of equal length, enumerations without their conditions.
fn readable(made: &str) -> String {
    let mut text = String::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut indent = "";
    let mut is_sized = false;
    let mut lines = made.trim().lines().peekable();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if let Some(words) = start.strip_prefix("//") {
            indent = &line[..line.len() - start.len()];
            comment.push(words);
            continue;
        }
        text.push_str(&wrap(&std::mem::take(&mut comment), &format!("{indent}//")));
        // cbindgen writes the width of an enumeration in conditions around it; here two macros have them.
        let is_width = |line: &&str| {
            line.starts_with('#')
                || line.starts_with("typedef int32_t ")
                || line.trim() == ": int32_t"
                || line.trim() == "{"
                || line.starts_with("typedef enum ")
        };
        if let Some(name) = line.strip_prefix("enum ") {
            writeln!(text, "TERN_ENUM_BEGIN({})", name.trim_end_matches(" {")).unwrap();
            while lines.next_if(is_width).is_some() {}
        } else if line == "};" {
            text.push_str("TERN_ENUM_END\n");
            while lines.next_if(is_width).is_some() {}
        } else if line.starts_with("typedef struct ") {
            is_sized =
                line.ends_with('{') && lines.peek().is_some_and(|line| line.contains("sizeof("));
            writeln!(text, "{line}").unwrap();
        } else {
            writeln!(text, "{}", line.replace("struct tern_", "tern_")).unwrap();
        }
        if let Some(name) = line.strip_prefix("} tern_")
            && is_sized
        {
            text.push_str(&maker(&format!("tern_{}", name.trim_end_matches(';'))));
        }
    }
    text.replace('…', "*")
}

#[test]
fn the_header_is_what_the_code_says() {
    let path = root().join("include/ternlease.h");
    let made = header();
    if std::env::var_os("TERN_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "include/ternlease.h is not what src/ffi says; run `make header` and commit the change"
    );
}
