//! Whose a process is, and what it runs: to be shown, never to be trusted.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use ternlease::Actor;

use crate::text::line::clean;

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
    let user = uid_of(pid).map(user);
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok().map(|bytes| {
        let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
    });
    Person { user, command: command.filter(|command| !command.is_empty()) }
}

/// The real user id of a process, which is also the principal under which a host table knows it.
pub fn uid_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_ascii_whitespace().next()?.parse().ok()
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

/// `, by uid 1001 (pid 4242) as "root"`: who did something, apart from who they claimed to be. The
/// claimed name is quoted and escaped here, so that it cannot look like an actor: pass it raw.
pub fn by_words(actor: Option<Actor>, claimed: Option<&str>, in_cluster: bool) -> String {
    let actor = actor.map(|actor| actor_words(actor, in_cluster));
    match (actor, claimed.filter(|name| !name.is_empty()).map(quoted)) {
        (Some(actor), Some(name)) => format!(", by {actor} as {name}"),
        (Some(actor), None) => format!(", by {actor}"),
        (None, Some(name)) => format!(", as {name}"),
        (None, None) => String::new(),
    }
}

/// Escapes quotes and backslashes before the dangerous characters, whose escapes have backslashes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", clean(&name.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A word of a command line for a shell, quoted if it has to be.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", clean(&word.replace('\'', r"'\''"))),
    }
}

/// The same for programs; null if the table did it by itself.
pub fn actor_value(actor: Option<Actor>, in_cluster: bool) -> Value {
    let value = |Actor { principal, process }: Actor| {
        let user = (!in_cluster).then(|| name_in("passwd", principal, Source::File)).flatten();
        json!({ "principal": principal, "process": process, "user": user })
    };
    actor.map_or(Value::Null, value)
}

/// Where names are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The file in `/etc` alone: fast.
    File,
    /// Directory services as well, which have no time limit: only for `setup` and `doctor`.
    FileThenServices,
}

/// The name of a user as `/etc/passwd` has it, else its number.
pub fn user(id: u32) -> String {
    name_in("passwd", id, Source::File).unwrap_or_else(|| id.to_string())
}

/// As [`user`], but asks directory services too. These may take long to answer.
pub fn find_user(id: u32) -> String {
    name_in("passwd", id, Source::FileThenServices).unwrap_or_else(|| id.to_string())
}

/// The name of a group, or its number if it has none. May ask directory services.
pub fn find_group(id: u32) -> String {
    name_in("group", id, Source::FileThenServices).unwrap_or_else(|| id.to_string())
}

/// The number of a group. May ask directory services.
pub fn find_group_id(name: &str) -> Option<u32> {
    let fits = |fields: &[String]| fields[0] == name;
    entry("group", name, fits, Source::FileThenServices)?[2].parse().ok()
}

fn name_in(database: &str, id: u32, source: Source) -> Option<String> {
    let id = id.to_string();
    Some(entry(database, &id, |fields| fields[2] == id, source)?.swap_remove(0))
}

/// The fields of one entry: of the file in `/etc`, else of what `getent` finds by `key`.
fn entry(
    database: &str,
    key: &str,
    fits: impl Fn(&[String]) -> bool,
    source: Source,
) -> Option<Vec<String>> {
    let find = |text: &str| {
        let rows = text.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
        rows.filter(|fields| fields.len() > 2).find(|fields| fits(fields))
    };
    let file = fs::read(format!("/etc/{database}")).unwrap_or_default();
    let found = find(&String::from_utf8_lossy(&file));
    if found.is_some() || source == Source::File {
        return found;
    }
    let mut command = Command::new("getent");
    let output = command.args([database, "--", key]).stderr(Stdio::null()).output().ok()?;
    find(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_names_are_quoted_and_escaped() {
        let actor = Some(Actor { principal: 7, process: 42 });
        let by = |actor, name| by_words(actor, Some(name), false);
        assert_eq!(by(actor, "ops\u{7}"), r#", by uid 7 (pid 42) as "ops\u{7}""#);
        assert_eq!(by(None, "uid 0 (pid 1)"), r#", as "uid 0 (pid 1)""#);
        assert_eq!(by(None, r#"a" \b"#), r#", as "a\" \\b""#);
        assert_eq!((by(actor, ""), by(None, "")), (", by uid 7 (pid 42)".into(), String::new()));
    }

    #[test]
    fn words_for_a_shell_are_quoted_where_needed() {
        for (word, expected) in
            [("gpu_1-a", "gpu_1-a"), ("domain users", "'domain users'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell_word(word), expected);
        }
    }
}
