//! Whether the users of this machine share the pool that the command uses.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ternlease::{GpuPool, LeaseManager};

use crate::people;

/// Pools of this directory are shared by the users of its group. `ternlease setup` makes it.
pub const DIRECTORY: &str = "/run/ternlease";

/// Who shares a pool of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// The users of this group, by its number.
    Group(u32),
    /// The processes of this user alone.
    Private(u32),
}

impl Sharing {
    /// `None` for a table that is not on the host, and for one that is named by its path: there the
    /// caller has chosen who shares it.
    pub fn of(url: &str, manager: &LeaseManager) -> Option<Self> {
        let name = url.strip_prefix("host:")?;
        let path = manager.host()?.path;
        if name.starts_with('/') {
            return None;
        }
        if path.parent() == Some(Path::new(DIRECTORY)) {
            return Some(Sharing::Group(fs::metadata(DIRECTORY).ok()?.gid()));
        }
        Some(Sharing::Private(fs::metadata(&path).ok()?.uid()))
    }
}

/// The name of the group that may use [`DIRECTORY`]. May ask directory services.
pub fn group_of_directory() -> Option<String> {
    Some(people::find_group(fs::metadata(DIRECTORY).ok()?.gid()))
}

/// How to share pools.
pub const REMEDY: &str = "sudo ternlease setup --group gpu";

/// Prints one line on standard error if other users of this machine have another pool of the same
/// devices: without it, two users get the same device and neither learns why.
pub fn warn_if_private(url: &str, pool: &GpuPool) {
    if pool.capacity() == 0 {
        return;
    }
    if let Some(Sharing::Private(user)) = Sharing::of(url, pool.manager()) {
        // If standard error is closed, the program still gets its devices.
        let _ = writeln!(
            std::io::stderr(),
            "ternlease: this pool is private to user {}; to share GPUs with other users run: {REMEDY}",
            crate::text::line::clean(&people::user(user))
        );
    }
}
