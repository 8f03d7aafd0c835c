//! Whose a process is, and what it runs: to be shown, never to be trusted.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use ternlease::Actor;

/// A process as people know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The name of the user, or the number if it has none.
    pub user: Option<String>,
    /// The program and its arguments.
    pub command: Option<String>,
}

/// What can be seen of a process from here.
pub fn of(pid: u32) -> Person {
    let user = fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|status| {
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.to_owned();
        let id = ids.split_ascii_whitespace().next()?.to_owned();
        Some(name_of(&id).unwrap_or(id))
    });
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok().map(|bytes| {
        let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
    });
    Person { user, command: command.filter(|command| !command.is_empty()) }
}

/// Who did something, as the table knows it: `uid 1001 (pid 4242)`. In a cluster a principal stands
/// for a node and its etcd user: `principal 7 (session 3)`.
pub fn actor_words(actor: Actor, in_cluster: bool) -> String {
    let Actor { principal, process } = actor;
    match in_cluster {
        true => format!("principal {principal} (session {process})"),
        false => format!("uid {principal} (pid {process})"),
    }
}

/// `, by uid 1001 (pid 4242) as "root"`: who did something, apart from who they claimed to be.
pub fn by_words(actor: Option<Actor>, claimed: Option<&str>, in_cluster: bool) -> String {
    let actor = actor.map(|actor| actor_words(actor, in_cluster));
    match (actor, claimed.filter(|name| !name.is_empty())) {
        (Some(actor), Some(name)) => format!(", by {actor} as \"{name}\""),
        (Some(actor), None) => format!(", by {actor}"),
        (None, Some(name)) => format!(", by {name}"),
        (None, None) => String::new(),
    }
}

/// The same for programs; null if the table did it by itself.
pub fn actor_value(actor: Option<Actor>, in_cluster: bool) -> Value {
    let value = |Actor { principal, process }: Actor| {
        let user = (!in_cluster).then(|| name_of(&principal.to_string())).flatten();
        json!({ "principal": principal, "process": process, "user": user })
    };
    actor.map_or(Value::Null, value)
}

/// The name of a user, or its number if it has none.
pub fn user(id: u32) -> String {
    name_of(&id.to_string()).unwrap_or_else(|| id.to_string())
}

/// The name of a group, or its number if it has none.
pub fn group(id: u32) -> String {
    name_in("group", &id.to_string()).unwrap_or_else(|| id.to_string())
}

/// The number of a group.
pub fn group_id(name: &str) -> Option<u32> {
    entry("group", name, |fields| fields[0] == name)?[2].parse().ok()
}

fn name_of(id: &str) -> Option<String> {
    name_in("passwd", id)
}

fn name_in(database: &str, id: &str) -> Option<String> {
    Some(entry(database, id, |fields| fields[2] == id)?.swap_remove(0))
}

/// The fields of one entry: of the file in `/etc`, else, for users and groups of a directory service,
/// of what `getent` finds by `key`.
fn entry(database: &str, key: &str, fits: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let find = |text: &str| {
        let rows = text.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
        rows.filter(|fields| fields.len() > 2).find(|fields| fits(fields))
    };
    let file = fs::read(format!("/etc/{database}")).unwrap_or_default();
    find(&String::from_utf8_lossy(&file)).or_else(|| {
        let mut command = Command::new("getent");
        let output = command.args([database, "--", key]).stderr(Stdio::null()).output().ok()?;
        find(&String::from_utf8_lossy(&output.stdout))
    })
}
