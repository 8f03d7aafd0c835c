//! File systems that are full, too small, or not to be written to: a table that is shared is made wholly or not at all, says why, and nobody who uses one is killed for
//! what the file system does not have. Needs the superuser, for mounts of its own.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;
#[path = "common/mounts.rs"]
mod mounts;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Place, Process};
use ternlease::cost::{ReadError, ReadOptions};
use ternlease::{LeaseManager, Limits, MachCap, Options, Take};

const HOUR: Duration = Duration::from_secs(3600);

/// Little, so that all of it is soon used.
const LIMITS: Limits = Limits { leases: 32, tickets: 32, resources: 16, history: 64 };

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((role, words)) = host::role() else { return };
    match role.as_str() {
        "worker" => host_worker::work(&words[0]),
        // In a process of its own, which may be killed by what it finds.
        "open" => host::say(match try_open(&words[0]) {
            Ok(manager) => format!("{:?}", manager.acquire("gpu0", "me", HOUR).map(|_| ())),
            Err(why) => why,
        }),
        "open with small files" => {
            let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
            // SAFETY: a valid limit.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
            host::say(try_open(&words[0]).map_or_else(|why| why, |_| "it was made".to_owned()));
        }
        "fill" => host::say(match try_open(&words[0]) {
            Ok(manager) => {
                fill_table(&manager);
                "full".to_owned()
            }
            Err(why) => why,
        }),
        other => panic!("not a role: {other}"),
    }
}

fn try_open(url: &str) -> Result<LeaseManager, String> {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).map_err(|why| why.to_string())
}

/// Every record of the table is used, and its history goes round.
fn fill_table(manager: &LeaseManager) {
    let names: Vec<String> = (0..LIMITS.resources).map(|number| format!("gpu{number}")).collect();
    for name in &names {
        manager.declare(name, LIMITS.leases, 0).unwrap();
    }
    let one = Take::Amount { slots: 1, memory: 0 };
    let claim = |holder: &str| manager.claim(holder).of(&[&names[0]]).take(one).submit();
    // First there is no room for names any more, then none for claims.
    let long = |number: u32| format!("{number}-{}", "holder".repeat(40));
    assert!((0..).find(|&number| claim(&long(number)).is_err()).is_some());
    while claim(&long(0)).is_ok() {}
    for _ in 0..LIMITS.history {
        manager.release(manager.leases()[0].id).unwrap();
        let _ = claim(&long(0));
    }
    assert_eq!((manager.active_count(), manager.pending_claimers()), (32, 32));
    manager.verify().unwrap();
}

/// What another process comes to in this role.
fn comes_of(role: &str, place: &Place) -> String {
    let mut process = Process::start(role, &[&place.url()]);
    let answer = process.line();
    let status = process.end_within(host::PATIENCE).expect("it does not end");
    assert!(status.success(), "{status}: {answer}");
    answer
}

/// A directory with a file system of its own in it.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str, options: &str) -> Option<Disk> {
        if !mounts::are_possible() {
            return None;
        }
        let path = std::env::temp_dir().join(format!("tern-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        mounts::memory(&path, options);
        Some(Disk(path))
    }

    fn place(&self) -> Place {
        Place(self.0.join("table"))
    }

    /// Until nothing more fits.
    fn fill(&self) {
        let mut file = File::create(self.0.join("ballast")).unwrap();
        for size in [1 << 16, 1] {
            let bytes = vec![1; size];
            let refused = std::iter::repeat_with(|| file.write_all(&bytes)).find_map(Result::err);
            assert_eq!(refused.unwrap().raw_os_error(), Some(libc::ENOSPC));
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        mounts::unmount(&self.0);
        let _ = fs::remove_dir(&self.0);
    }
}

const FULL: &str = "No space left on device";

#[test]
fn a_table_for_which_there_is_no_room_is_not_made() {
    let Some(disk) = Disk::new("small", "size=128k") else { return };
    let place = disk.place();
    for _ in 0..3 {
        let answer = comes_of("open", &place);
        assert!(answer.contains(FULL) && answer.contains("its size"), "{answer}");
        let left = fs::metadata(&place.0).unwrap();
        assert_eq!((left.len(), left.blocks()), (0, 0), "it keeps nothing that others could use");
    }
    // Once there is room, whoever comes next makes it.
    mounts::change(&disk.0, "size=64m");
    assert_eq!(comes_of("open", &place), "Ok(())");
    // No room even for an empty file.
    mounts::change(&disk.0, "nr_inodes=2");
    let answer = comes_of("open", &Place(disk.0.join("other")));
    assert!(answer.contains(FULL) && answer.contains("cannot be made"), "{answer}");
}

/// Where memory for a page of a mapped file is missing, the kernel kills whoever touches it.
#[test]
fn a_full_file_system_kills_nobody_who_uses_a_table() {
    let Some(disk) = Disk::new("full", "size=32m") else { return };
    let place = disk.place();
    let manager = try_open(&place.url()).unwrap();
    disk.fill();
    assert_eq!(comes_of("open", &place), "Ok(())", "whoever comes needs nothing more");
    assert_eq!(comes_of("fill", &place), "full");
    assert_eq!(manager.active_count(), 0);
    manager.verify().unwrap();
    drop(manager);
    assert_eq!(comes_of("open", &place), "Ok(())");
}

/// As `cp --sparse=always` and `fallocate --dig-holes` do.
fn leave_out_zeros(path: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let (mut page, mut at) = ([0; 4096], 0);
    while file.read_exact_at(&mut page, at).is_ok() {
        if page == [0; 4096] {
            let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open.
            assert_eq!(unsafe { libc::fallocate(file.as_raw_fd(), how, at as i64, 4096) }, 0);
        }
        at += 4096;
    }
}

/// A file that was copied, or treated by a tool that saves space, has holes.
#[test]
fn a_table_with_holes_is_filled_up_or_refused() {
    let Some(disk) = Disk::new("holes", "size=32m") else { return };
    let place = disk.place();
    drop(try_open(&place.url()).unwrap());
    leave_out_zeros(&place.0);
    disk.fill();
    let answer = comes_of("fill", &place);
    assert!(answer.contains(FULL), "{answer}");
    fs::remove_file(disk.0.join("ballast")).unwrap();
    assert_eq!(comes_of("open", &place), "Ok(())");
    disk.fill();
    assert_eq!(comes_of("fill", &place), "full");
}

/// A shell's `ulimit -f`: the kernel kills who goes beyond it, unless it does not try.
#[test]
fn a_table_that_is_larger_than_files_may_be_is_refused() {
    let place = Place::new();
    let answer = comes_of("open with small files", &place);
    assert!(answer.contains("File too large"), "{answer}");
    assert_eq!(comes_of("open", &place), "Ok(())");
    // One that is there can be used.
    assert_eq!(comes_of("open with small files", &place), "it was made");
}

#[test]
fn where_nothing_may_be_written_no_table_is_opened_and_who_has_one_goes_on() {
    let Some(disk) = Disk::new("read-only", "size=32m") else { return };
    let place = disk.place();
    let mut worker = Process::worker(&place);
    worker.lease("acquire gpu0");
    mounts::forbid_writing(&disk.0);
    let forbidden = "Read-only file system";
    assert!(comes_of("open", &place).contains(forbidden));
    let answer = comes_of("open", &Place(disk.0.join("other")));
    assert!(answer.contains(forbidden) && answer.contains("cannot be made"), "{answer}");
    let lease = worker.lease("acquire gpu1");
    assert_eq!(worker.ask(&format!("release {}", lease.0)), "Ok(())");
    mounts::unmount(&disk.0);
    assert_eq!(comes_of("open", &place), "Err(Busy)");
}

/// What is known of the machine is kept wholly or not at all.
#[test]
fn rates_for_which_there_is_no_room_are_not_kept() {
    let Some(disk) = Disk::new("rates", "size=64k") else { return };
    let kept = disk.0.join("rates");
    let read = |options: ReadOptions<'_>| {
        let options = options.budget(Duration::from_millis(1)).without_network();
        MachCap::read_with(&disk.0, options.keep().cache_file(&kept))
    };
    let errno = |error: ReadError| match error {
        ReadError::Cache { cause, .. } => cause.raw_os_error(),
        other => panic!("{other}"),
    };
    let only_ballast = |found: &Path| assert_eq!(found, disk.0.join("ballast"));
    let files = || fs::read_dir(&disk.0).unwrap().map(|entry| entry.unwrap().path());
    disk.fill();
    assert_eq!(errno(read(ReadOptions::new()).unwrap_err()), Some(libc::ENOSPC));
    files().for_each(|file| only_ballast(&file));
    fs::remove_file(disk.0.join("ballast")).unwrap();

    // What was kept stays if the next cannot be.
    read(ReadOptions::new()).unwrap();
    let before = fs::read(&kept).unwrap();
    disk.fill();
    assert_eq!(
        errno(read(ReadOptions::new().max_age(Duration::ZERO)).unwrap_err()),
        Some(libc::ENOSPC)
    );
    assert_eq!((fs::read(&kept).unwrap(), files().count()), (before.clone(), 2));
    mounts::forbid_writing(&disk.0);
    assert_eq!(
        errno(read(ReadOptions::new().max_age(Duration::ZERO)).unwrap_err()),
        Some(libc::EROFS)
    );
    assert!(read(ReadOptions::new()).is_ok(), "it can be read");
    mounts::unmount(&disk.0);
    assert_eq!(fs::read(&kept).unwrap(), before);
}
