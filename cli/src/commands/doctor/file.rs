//! The file of a pool: where it is, and who may use it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

use ternlease::{LeaseManager, OpenError};

use super::finding::Finding;
use crate::people::{self, shell_word};
use crate::sharing::{DIRECTORY, REMEDY, Sharing, group_of_directory};

/// Sticky, setgid, and for the group: what `ternlease setup` gives to [`DIRECTORY`].
const MODE: u32 = 0o3770;

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
        (error, None) if error.os_errno() == libc::EACCES && is_of_the_machine(url) => format!(
            "sudo usermod -aG {} {}, then log in again",
            shell_word(&group_of_directory().unwrap_or_default()),
            shell_word(&people::find_user(fs::metadata("/proc/self").map_or(0, |own| own.uid())))
        ),
        _ if url.starts_with("etcd:") => {
            "see `etcdctl endpoint health`, the rights of the user and the URL".to_owned()
        }
        (_, Some((path, found))) => format!(
            "{path} belongs to {}, mode {:04o}: ask for access, or use another pool",
            people::find_user(found.uid()),
            found.mode() & 0o7777
        ),
        _ => "see `--pool` and TERNLEASE_POOL: host:, host:NAME or host:/PATH".to_owned(),
    };
    let topic = if url.starts_with("etcd:") { "etcd" } else { "file" };
    Finding::bad(topic, error.to_string(), next)
}

fn is_of_the_machine(url: &str) -> bool {
    fs::metadata(DIRECTORY).is_ok() && url.starts_with("host:") && !url.starts_with("host:/")
}

/// Who shares the devices with this user.
fn sharing(url: &str, manager: &LeaseManager) -> Option<Finding> {
    Some(match Sharing::of(url, manager)? {
        Sharing::Group(group) => shared(&people::find_group(group)),
        Sharing::Private(user) => {
            let user = people::find_user(user);
            Finding::warn(
                "sharing",
                format!("this pool is private to user {user}; other users can get the same GPU"),
                REMEDY,
            )
        }
    })
}

/// The directory must keep each user from deleting or replacing the pool of another.
fn shared(group: &str) -> Finding {
    let remedy = format!("sudo ternlease setup --group {}", shell_word(group));
    match fs::metadata(DIRECTORY) {
        Ok(found) if found.uid() == 0 && found.mode() & MODE == MODE => {
            Finding::ok("sharing", format!("all users of the group {group} share this pool"))
        }
        Ok(found) => Finding::warn(
            "sharing",
            format!(
                "all users of the group {group} share this pool, but {DIRECTORY} has owner {} and \
                 mode {:04o}, not root and {MODE:04o}: users can replace the pools of others",
                people::find_user(found.uid()),
                found.mode() & 0o7777
            ),
            remedy,
        ),
        Err(error) => Finding::warn("sharing", format!("{DIRECTORY}: {error}"), remedy),
    }
}

/// Where it is, how large, and who may use it.
pub fn examine(url: &str, manager: &LeaseManager) -> Vec<Finding> {
    let Some(host) = manager.host() else {
        let words = "the pool lives in one process alone: nobody shares it";
        return vec![Finding::warn("file", words, "use `--pool host:` to share it")];
    };
    let path = host.path.display();
    let size = format!("{path}, {:.1} MB", host.bytes as f64 / 1e6);
    match fs::metadata(&host.path) {
        Ok(found) => {
            let mut findings = vec![Finding::ok("file", size), access(&found)];
            findings.extend(sharing(url, manager));
            findings
        }
        Err(error) => vec![Finding::bad(
            "file",
            format!("{path} is gone ({error}), and those who still have it are alone with it"),
            "end the processes that use it, and begin again",
        )],
    }
}

/// Who may use it.
fn access(found: &Metadata) -> Finding {
    let (owner, group) = (people::find_user(found.uid()), people::find_group(found.gid()));
    let mode = found.mode() & 0o7777;
    match (mode & 0o006, mode & 0o060) {
        (0, 0) => Finding::ok("access", format!("only {owner} may use it ({mode:04o})")),
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
