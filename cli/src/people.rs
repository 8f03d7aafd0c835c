//! Whose a process is, and what it runs: to be shown, never to be trusted.

use std::fs;

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

fn name_of(id: &str) -> Option<String> {
    let people = fs::read_to_string("/etc/passwd").ok()?;
    people.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&id)).then(|| fields[0].to_owned())
    })
}
