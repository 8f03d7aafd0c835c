//! Where the file of a pool is.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::home::open::{OpenError, OpenErrorKind};

/// Where several users share pools. `ternlease setup --group` makes it (`docs/homes.md`).
const SHARED: &str = "/run/ternlease";

/// A file, and who may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub path: PathBuf,
    pub mode: u32,
}

/// Only the user who makes the file.
const OWN: u32 = 0o600;
/// Also the group of the directory.
const GROUP: u32 = 0o660;

impl Place {
    /// What stands after `host:`: nothing, a name, or the path of a file.
    pub fn find(rest: &str) -> Result<Place, OpenError> {
        if rest.starts_with('/') {
            return Ok(Place { path: PathBuf::from(rest), mode: OWN });
        }
        let name = if rest.is_empty() { "default" } else { rest };
        if !is_name(name) {
            return Err(OpenError::invalid(
                "`host:` takes a path that begins with `/`, or a name of letters, digits, `-`, `_` and `.`",
            ));
        }
        Self::named(name, Path::new(SHARED), Path::new("/dev/shm"))
    }

    fn named(name: &str, shared: &Path, memory: &Path) -> Result<Place, OpenError> {
        if shared.is_dir() {
            check_group(shared)?;
            return Ok(Place { path: shared.join(name), mode: GROUP });
        }
        // SAFETY: cannot fail, takes and changes nothing.
        let user = unsafe { libc::geteuid() };
        let own = memory.join(format!("ternlease-{user}"));
        match fs::DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(OpenError::system("its directory in /dev/shm cannot be made", &error));
            }
            _ => {}
        }
        // Everybody can make directories there: it must be this user's own.
        let found = fs::symlink_metadata(&own).map_err(|error| {
            OpenError::system("its directory in /dev/shm cannot be looked at", &error)
        })?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
            return Err(OpenError::invalid(
                "its directory in /dev/shm is not this user's alone; somebody else has made it",
            ));
        }
        Ok(Place { path: own.join(name), mode: OWN })
    }
}

/// A user who cannot create files in the shared directory cannot use any pool there. The error names
/// the group that may, because "Permission denied" alone does not say what to do.
fn check_group(shared: &Path) -> Result<(), OpenError> {
    let Ok(path) = CString::new(shared.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: `path` is a string that ends with a zero and outlives the call.
    let allowed = unsafe {
        libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK | libc::X_OK, libc::AT_EACCESS)
    } == 0;
    let denied = io::Error::last_os_error();
    if allowed || denied.raw_os_error() != Some(libc::EACCES) {
        // Any other failure gets its own error when the file is opened.
        return Ok(());
    }
    let found = fs::metadata(shared).map(|found| (found.gid(), found.mode() & 0o020 != 0));
    let problem = match found {
        Ok((group, true)) if group != 0 => format!(
            "{} is for members of the group {} only; an administrator can add this user to the \
             group, and then the user must log in again",
            shared.display(),
            group_name(group).unwrap_or_else(|| group.to_string()),
        ),
        _ => format!(
            "no group of users can write to {}; an administrator can change that with \
             `ternlease setup --group GROUP`",
            shared.display()
        ),
    };
    Err(OpenError::new(OpenErrorKind::System(libc::EACCES), problem))
}

fn group_name(id: u32) -> Option<String> {
    let groups = fs::read("/etc/group").ok()?;
    String::from_utf8_lossy(&groups).lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.len() <= 100 && !name.starts_with('.') && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tern-place-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn names_and_paths() {
        assert_eq!(Place::find("/a/b").unwrap().path, Path::new("/a/b"));
        for bad in ["a/b", ".hidden", "../x", "a b", "ü", &"x".repeat(101)] {
            assert!(Place::find(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shared_directory_is_preferred_and_means_the_group() {
        let (shared, memory) = (directory("shared"), directory("memory"));
        let place = Place::named("x", &shared, &memory).unwrap();
        assert_eq!(place, Place { path: shared.join("x"), mode: GROUP });
        fs::remove_dir(&shared).unwrap();
        let place = Place::named("x", &shared, &memory).unwrap();
        assert_eq!(place.mode, OWN);
        assert_eq!(fs::metadata(place.path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(memory).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let memory = directory("open");
        let place = Place::named("x", Path::new("/nowhere"), &memory).unwrap();
        let own = place.path.parent().unwrap();
        fs::set_permissions(own, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Place::named("x", Path::new("/nowhere"), &memory).is_err());
        fs::remove_dir(own).unwrap();
        std::os::unix::fs::symlink("/", own).unwrap();
        assert!(Place::named("x", Path::new("/nowhere"), &memory).is_err());
        fs::remove_dir_all(memory).unwrap();
    }
}
