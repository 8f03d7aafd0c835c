//! Whose a process is, and what it runs: to be shown, never to be trusted.

use std::fs;

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

fn name_of(id: &str) -> Option<String> {
    let people = fs::read_to_string("/etc/passwd").ok()?;
    people.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&id)).then(|| fields[0].to_owned())
    })
}
