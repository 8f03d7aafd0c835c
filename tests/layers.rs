//! Dependencies point downwards: no folder of `src/` names one above it or beside it.
//!
//! The test reads `use` lines and paths that begin with `crate::` or `super::`. Code behind
//! `#[cfg(test)]`, or for the simulator or the fuzzer, is free to name any layer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room of the library and the rooms that it may name.
const LAYERS: &[(&str, &[&str])] = &[
    ("zeroed", &[]),
    ("rt", &[]),
    ("table", &["zeroed", "rt"]),
    ("memory", &["table", "zeroed"]),
    ("home", &["memory", "table", "rt", "zeroed"]),
    ("inventory", &["table", "rt"]),
    ("manager", &["home", "table", "rt"]),
    ("pool", &["manager", "inventory", "home", "memory", "table", "rt"]),
    ("cost", &["pool", "inventory", "rt"]),
    ("ffi", &["cost", "pool", "manager", "inventory", "table", "rt"]),
];

/// Implementations of `Home`. They do not name each other, and only `home` names them.
const HOMES: &[&str] = &["process", "host", "cluster"];

/// `home` itself declares and dispatches to its homes.
const HOME_ENTRY: &[&str] = &["src/home/mod.rs", "src/home/open.rs"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false if path.extension().is_some_and(|it| it == "rs") => into.push(path),
            false => {}
        }
    }
}

/// The text without comments and without test code, and the names of its test modules.
fn production(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut test_modules) = (String::new(), Vec::new());
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        let attribute = line.trim_start();
        let condition = attribute.strip_prefix("#[cfg(").unwrap_or_default();
        let condition = condition.trim_start_matches("all(").trim_start_matches("any(");
        if !["test", "fuzzing", "ternlease_sim"].iter().any(|it| condition.starts_with(it)) {
            kept.extend([line, "\n"]);
            continue;
        }
        let indent = &line[..line.len() - attribute.len()];
        let mut item = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
        let is_end = |line: &str| {
            line.strip_prefix(indent).is_some_and(|it| !it.starts_with(' '))
                && line.ends_with([';', '}', ','])
        };
        let Some(first) = item.next() else { break };
        if let Some((_, name)) = first.split_once("mod ").filter(|_| first.ends_with(';')) {
            test_modules.push(name.trim_end_matches(';').to_owned());
        }
        if !is_end(first) {
            item.find(|line| is_end(line));
        }
    }
    (kept, test_modules)
}

/// The module of a file: `src/home/host/lock.rs` is `home`, `host`, `lock`.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    parts.pop_if(|last| ["mod", "lib"].contains(&last.as_str()));
    parts
}

/// The first two names of each path in a `use` tree or an expression, after `crate::` or `super::`.
fn heads(tree: &str) -> Vec<Vec<String>> {
    let name = |text: &str| -> String {
        text.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
    };
    let Some(group) = tree.strip_prefix('{') else {
        let first = name(tree);
        let rest = tree[first.len()..].strip_prefix("::");
        if rest.is_some_and(|rest| rest.starts_with('{')) {
            let inner = heads(rest.unwrap());
            let with = |it: &Vec<String>| vec![first.clone(), it[0].clone()];
            return inner.iter().filter(|it| !it.is_empty()).map(with).collect();
        }
        return vec![rest.map_or(vec![first.clone()], |rest| vec![first, name(rest)])];
    };
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let part = group[start..at].trim();
                if !part.is_empty() {
                    found.extend(heads(part));
                }
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// Every module that a file names, from the root of the crate.
fn named_modules(path: &str, text: &str) -> BTreeSet<Vec<String>> {
    let module = module_of(path);
    let mut found = BTreeSet::new();
    for word in ["crate::", "super::"] {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':' || it == '$')
            {
                continue;
            }
            let (mut rest, mut base) = (&text[at..], Vec::new());
            if let Some(path) = rest.strip_prefix("crate::") {
                rest = path;
            } else {
                base.clone_from(&module);
                while let Some(path) = rest.strip_prefix("super::") {
                    rest = path;
                    base.pop();
                }
            }
            found.extend(heads(rest).into_iter().map(|head| [base.clone(), head].concat()));
        }
    }
    found
}

/// What is wrong with the dependencies of these files.
fn violations(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut texts = BTreeMap::new();
    let mut tests = Vec::new();
    for (path, text) in files {
        let (text, modules) = production(text);
        let module = module_of(path);
        tests.extend(modules.into_iter().map(|name| [module.clone(), vec![name]].concat()));
        texts.insert(path, text);
    }
    let is_test = |path: &str| tests.iter().any(|test| module_of(path).starts_with(test));
    // What the crate offers at its root, `GpuPool` for example, and the room that it is from.
    let mut offered = BTreeMap::new();
    for line in texts.get(&"src/lib.rs".to_owned()).map_or("", |it| it).split(';') {
        if let Some((_, tree)) = line.split_once("pub use ") {
            for head in heads(tree).iter().filter(|head| head.len() > 1) {
                offered.insert(head[1].clone(), head[0].clone());
            }
        }
    }
    let mut wrong = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| !is_test(path)) {
        let module = module_of(path);
        let Some(room) = module.first() else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == room) else {
            wrong.push(format!("{path}: `{room}` has no layer; add it to LAYERS"));
            continue;
        };
        for named in named_modules(path, text) {
            let Some(first) = named.first() else { continue };
            let target = offered.get(first).unwrap_or(first);
            let is_room = LAYERS.iter().any(|(name, _)| name == target);
            if is_room && target != room && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{path}: `{room}` must not name `{}`", named.join("::")));
            }
            let home = named.get(1).filter(|it| target == "home" && HOMES.contains(&it.as_str()));
            let own = room == "home" && module.get(1) == home;
            if home.is_some() && !own && !HOME_ENTRY.contains(&path.as_str()) {
                wrong.push(format!("{path}: `{}` is private to its home", named.join("::")));
            }
        }
    }
    wrong
}

#[test]
fn every_dependency_points_downwards() {
    let mut paths = Vec::new();
    sources(&root().join("src"), &mut paths);
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    let files = paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    let wrong = violations(&files);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn upward_and_sideways_dependencies_are_found() {
    let check = |path: &str, text: &str| {
        let root = "pub use pool::{GpuPool, PoolError};".to_owned();
        let files = [("src/lib.rs".to_owned(), root), (path.to_owned(), text.to_owned())];
        violations(&files.into())
    };
    for (path, text) in [
        ("src/table/claim.rs", "use crate::home::Home;"),
        ("src/table/claim.rs", "use super::super::home::Home;"),
        ("src/manager/mod.rs", "use crate::{table::Claim, pool::GpuPool};"),
        ("src/manager/mod.rs", "fn f() -> crate::GpuPool { todo!() }"),
        ("src/home/cluster/replica.rs", "use crate::home::host::Region;"),
        ("src/home/host/lock.rs", "use super::super::process::ProcessHome;"),
        ("src/home/waiters.rs", "use super::{clock, host::Bell};"),
        ("src/pool/mod.rs", "use crate::home::host::HostInfo;"),
        ("src/cellar/mod.rs", ""),
    ] {
        assert_eq!(check(path, text).len(), 1, "{path}: {text}: {:?}", check(path, text));
    }
    for (path, text) in [
        ("src/home/host/lock.rs", "use super::futex;\nuse crate::{home::clock, table::Claim};"),
        ("src/home/open.rs", "use super::host::HostHome;"),
        (
            "src/table/claim.rs",
            "// use crate::home::Home;\n#[cfg(test)]\nmod tests {\n    use crate::home::Home;\n}",
        ),
        ("src/ffi/pool.rs", "use crate::{GpuPool, table::{Error, Claim}};"),
    ] {
        assert_eq!(check(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
