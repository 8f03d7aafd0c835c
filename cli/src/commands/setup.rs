//! `ternlease setup`: makes the directory in which the users of a group share pools.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::exit::Failure;
use crate::people::{self, shell_word};
use crate::place::Place;
use crate::sharing::DIRECTORY;
use crate::text::{line::clean, put};

/// Sticky, so that no user deletes or replaces the file of another; setgid, so that the files belong
/// to the group.
const MODE: u32 = 0o3770;
const TMPFILES: &str = "/etc/tmpfiles.d/ternlease.conf";
/// Where users without a shared directory have their pools: `ternlease-UID` is a directory there.
const PRIVATE: &str = "/dev/shm";

/// For whom.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes /run/ternlease, and a line for systemd-tmpfiles that makes it again at each
start of the machine. From then on `host:` and `host:NAME` are pools that all users
of the group share. Run it as root; running it again changes nothing.

Examples:
  sudo groupadd --system gpu
  sudo ternlease setup --group gpu
  sudo usermod -aG gpu alice       # alice must log in again")]
pub struct Args {
    /// The group whose users share GPUs
    #[arg(long, value_name = "GROUP")]
    group: String,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Makes the directory and the line, and says what it did.
pub fn run(_place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let (name, word) = (clean(&args.group), shell_word(&args.group));
    let Some(group) = people::find_group_id(&args.group) else {
        return Err(Failure::new(format!(
            "there is no group {name}; create it: sudo groupadd --system {word}"
        )));
    };
    let mut told = directory(args, group)?;
    told.push_str(&tmpfiles(args, group)?);
    if !Path::new("/run/systemd/system").exists() {
        told.push_str(&format!(
            "note: this machine does not run systemd; run `ternlease setup --group {word}` again \
             after each start of the machine\n"
        ));
    }
    for used in private_pools_in_use() {
        let user = clean(&used.user);
        told.push_str(&format!(
            "warning: user {user} still has programs on the private pool {}; the same GPU can be \
             granted twice until they exit\n",
            used.path.display()
        ));
    }
    told.push_str(&format!(
        "next: add each user to the group with `sudo usermod -aG {word} USER`; members of the group \
         that are logged in must log in again\n"
    ));
    put(told)?;
    Ok(ExitCode::SUCCESS)
}

fn directory(args: &Args, group: u32) -> Result<String, Failure> {
    let (name, word) = (clean(&args.group), shell_word(&args.group));
    let there = match fs::symlink_metadata(DIRECTORY) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let how = format!("{DIRECTORY} (mode {MODE:04o}, owner root, group {name})");
            if args.dry_run {
                return Ok(format!("would make {how}\n"));
            }
            // Only root can use it until it is complete.
            let made = DirBuilder::new().mode(0o700).create(DIRECTORY);
            made.and_then(|()| complete(group))
                .map_err(|error| refused(args, DIRECTORY, &error))?;
            return Ok(format!("made {how}\n"));
        }
        Err(error) => return Err(refused(args, DIRECTORY, &error)),
    };
    if !there.is_dir() || there.uid() != 0 {
        return Err(Failure::new(format!(
            "{DIRECTORY} is not a directory owned by root; remove it, then run: sudo ternlease \
             setup --group {word}"
        )));
    }
    let mode = there.mode() & 0o7777;
    // A directory that root made and that is not finished yet: an earlier run was interrupted.
    let is_unfinished = mode == 0o700 && there.gid() == 0;
    if there.gid() != group && !is_unfinished {
        let other = clean(&people::find_group(there.gid()));
        return Err(Failure::new(format!(
            "{DIRECTORY} belongs to the group {other}; end the programs that use pools there, remove \
             it (sudo rm -r {DIRECTORY}), then run: sudo ternlease setup --group {word}"
        )));
    }
    if mode == MODE {
        return Ok(format!("{DIRECTORY} already exists (mode {MODE:04o}, group {name})\n"));
    }
    let what = format!("the mode of {DIRECTORY} from {mode:04o} to {MODE:04o}");
    if args.dry_run {
        return Ok(format!("would change {what}\n"));
    }
    complete(group).map_err(|error| refused(args, DIRECTORY, &error))?;
    Ok(format!("changed {what}\n"))
}

fn complete(group: u32) -> io::Result<()> {
    chown(DIRECTORY, Some(0), Some(group))?;
    // After the change of the group, which may take the setgid bit away.
    fs::set_permissions(DIRECTORY, Permissions::from_mode(MODE))
}

/// `/run` is empty after a start of the machine. The group is named by its number: a name could
/// have blanks and `%`, and services that know it may not answer yet.
fn tmpfiles(args: &Args, group: u32) -> Result<String, Failure> {
    let text = format!(
        "# Written by `ternlease setup`: users of the group {} share pools of GPUs.\n\
         d {DIRECTORY} {MODE:04o} root {group} -\n",
        clean(&args.group)
    );
    if fs::read_to_string(TMPFILES).is_ok_and(|found| found == text) {
        return Ok(format!("{TMPFILES} already exists\n"));
    }
    if args.dry_run {
        return Ok(format!("would write {TMPFILES}\n"));
    }
    let path = Path::new(TMPFILES);
    let temporary = path.with_extension("conf.new");
    let written = fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::set_permissions(&temporary, Permissions::from_mode(0o644)))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| refused(args, TMPFILES, &error))?;
    Ok(format!("wrote {TMPFILES}: the directory is made again at each start of the machine\n"))
}

fn refused(args: &Args, path: &str, error: &io::Error) -> Failure {
    let group = shell_word(&args.group);
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::new(format!(
            "only root can make {path}; run: sudo ternlease setup --group {group}"
        )),
        _ => Failure::new(format!("{path} cannot be made: {error}")),
    }
}

struct PrivatePool {
    user: String,
    path: PathBuf,
}

/// A process that uses a pool has a lock on its file, which the kernel lists. The files themselves
/// are not opened: their owners may do with them what they like.
fn private_pools_in_use() -> Vec<PrivatePool> {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let locked: HashSet<&str> = locks
        .lines()
        .flat_map(|line| line.split_whitespace())
        .filter(|w| w.matches(':').count() == 2)
        .collect();
    let mut found = Vec::new();
    for directory in entries(Path::new(PRIVATE)) {
        let id = directory
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("ternlease-")?.parse().ok());
        let Some(id) = id else { continue };
        for path in entries(&directory) {
            let Ok(file) = fs::symlink_metadata(&path) else { continue };
            let (major, minor) = (libc::major(file.dev()), libc::minor(file.dev()));
            let name = format!("{major:02x}:{minor:02x}:{}", file.ino());
            if file.is_file() && locked.contains(name.as_str()) {
                found.push(PrivatePool { user: people::find_user(id), path });
            }
        }
    }
    found
}

/// What is in a directory; nothing if it cannot be read, as by a user who tries `--dry-run`.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
