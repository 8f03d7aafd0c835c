//! The file of a pool: where it is, and who may use it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

use ternlease::{LeaseManager, OpenError};

use super::finding::Finding;

const FOR_ALL: &str = "for several users: sudo install -d -m 2770 -g GROUP /run/ternlease";

/// It cannot be opened.
pub fn unopened(url: &str, error: &OpenError) -> Finding {
    let path = url.strip_prefix("host:").filter(|path| path.starts_with('/'));
    let found = path.and_then(|path| Some((path, fs::metadata(path).ok()?)));
    let next = match (error, found) {
        (error, _) if error.is_stuck() => {
            "continue the process that is stopped (`kill -CONT`), or end it".to_owned()
        }
        (error, _) if error.is_corrupt() => {
            "end the processes that use it, delete it, and begin again".to_owned()
        }
        (_, Some((path, found))) => format!(
            "{path} belongs to {}, mode {:04o}: ask for access, or use another pool",
            user(found.uid()),
            found.mode() & 0o7777
        ),
        _ => "see `--pool` and TERNLEASE_POOL: host:, host:NAME or host:/PATH".to_owned(),
    };
    Finding::bad("file", error.to_string(), next)
}

/// Where it is, how large, and who may use it.
pub fn examine(manager: &LeaseManager) -> Vec<Finding> {
    let Some(host) = manager.host() else {
        let words = "the pool lives in one process alone: nobody shares it";
        return vec![Finding::warn("file", words, "use `--pool host:` to share it")];
    };
    let path = host.path.display();
    let size = format!("{path}, {:.1} MB", host.bytes as f64 / 1e6);
    match fs::metadata(&host.path) {
        Ok(found) => vec![Finding::ok("file", size), access(&found)],
        Err(error) => vec![Finding::bad(
            "file",
            format!("{path} is gone ({error}), and those who still have it are alone with it"),
            "end the processes that use it, and begin again",
        )],
    }
}

/// Who may use it.
fn access(found: &Metadata) -> Finding {
    let (owner, group) = (user(found.uid()), group(found.gid()));
    let mode = found.mode() & 0o7777;
    match (mode & 0o006, mode & 0o060) {
        (0, 0) => {
            Finding::ok("access", format!("only {owner} may use it ({mode:04o})")).hint(FOR_ALL)
        }
        (0, 0o060) => {
            Finding::ok("access", format!("{owner} and the group {group} share it ({mode:04o})"))
        }
        (0, _) => Finding::warn(
            "access",
            format!("the group {group} can read it but not use it ({mode:04o})"),
            "chmod 0660, or 0600",
        ),
        _ => Finding::warn(
            "access",
            format!("everybody on this machine may use it ({mode:04o}), and could damage it"),
            "chmod 0660, and a group for those who share it",
        ),
    }
}

fn user(id: u32) -> String {
    name_in("/etc/passwd", id).unwrap_or_else(|| format!("user {id}"))
}

fn group(id: u32) -> String {
    name_in("/etc/group", id).unwrap_or_else(|| id.to_string())
}

/// Both files have the name first and the number third.
fn name_in(file: &str, id: u32) -> Option<String> {
    let lines = fs::read_to_string(file).ok()?;
    lines.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}
