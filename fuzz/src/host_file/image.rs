//! Files as the library makes them, and the one that each run begins with a copy of.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use ternlease::{DeadlockPolicy, Health, LeaseId, LeaseManager, Limits, Options, Reason, Take};

/// Small, so that what is changed is likely to be used.
pub const LIMITS: Limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };

pub const NAMES: [&str; 5] =
    ["gpu0", "gpu1", "x", "a-device-with-a-rather-long-name-of-its-own", "y"];
pub const HOLDERS: [&str; 3] = ["ann", "bob", "cleo"];

/// A file as it was while its maker used it.
pub struct Image {
    pub bytes: Vec<u8>,
    /// Where the words are that are not zero.
    pub used: Vec<usize>,
    /// Leases that take all of something, and of what.
    pub held: Vec<(LeaseId, &'static str)>,
    pub leases: Vec<LeaseId>,
}

static IMAGES: OnceLock<Vec<Image>> = OnceLock::new();
static PLACE: OnceLock<(PathBuf, File)> = OnceLock::new();

/// The file that is damaged. The same for all runs: a process keeps what it has mapped.
pub fn file() -> &'static File {
    &PLACE.get().expect("it is made first").1
}

pub fn url() -> String {
    format!("host:{}", PLACE.get().expect("it is made first").0.display())
}

pub fn all() -> &'static [Image] {
    IMAGES.get().expect("they are made first")
}

/// `scripts/fuzz` removes the directory, whatever becomes of this program.
fn path(name: &str) -> PathBuf {
    let directory = std::env::var_os("TERN_FUZZ_DIR").map_or("/dev/shm".into(), PathBuf::from);
    directory.join(format!("ternlease-fuzz-{name}-{}", std::process::id()))
}

pub fn make_all() {
    let place = path("file");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&place);
    PLACE.set((place, file.expect("there is room"))).expect("this is done once");
    let images = vec![make(|_| Vec::new()), make(quiet), make(busy), make(stuck)];
    assert!(IMAGES.set(images).is_ok());
}

fn options() -> Options {
    Options::real().limits(LIMITS).deadlocks(DeadlockPolicy::Break)
}

/// Opens the file that is damaged.
pub fn open() -> Option<LeaseManager> {
    LeaseManager::open_with(&url(), options()).ok()
}

fn make(fill: fn(&LeaseManager) -> Vec<(LeaseId, &'static str)>) -> Image {
    let path = path("image");
    let manager = LeaseManager::open_with(&format!("host:{}", path.display()), options())
        .expect("a file can be made");
    let held = fill(&manager);
    let leases = manager.leases().iter().map(|lease| lease.id).collect();
    assert_eq!(manager.verify(), Ok(()));
    let bytes = std::fs::read(&path).expect("it is there");
    drop(manager);
    std::fs::remove_file(&path).expect("it is there");
    let words = bytes.chunks(4).enumerate().filter(|(_, word)| word.iter().any(|&it| it != 0));
    let used = words.map(|(place, _)| place * 4).collect();
    Image { bytes, used, held, leases }
}

const HOUR: Duration = Duration::from_secs(3600);

/// Two leases, one of which ended.
fn quiet(manager: &LeaseManager) -> Vec<(LeaseId, &'static str)> {
    let gone = manager.acquire("gpu1", "bob", HOUR).expect("it is free");
    manager.release(gone).expect("it is held");
    vec![(manager.acquire("gpu0", "ann", HOUR).expect("it is free"), "gpu0")]
}

/// Something of everything.
fn busy(manager: &LeaseManager) -> Vec<(LeaseId, &'static str)> {
    let long = NAMES[3];
    manager.declare("x", 3, 100).expect("there is room");
    manager.declare("node", 1, 0).expect("there is room");
    manager.set_node("x", Some("node")).expect("both are there");
    manager.set_health("gone", Health::Failed).unwrap_or(());
    let gone = manager.acquire("gpu1", "bob", HOUR).expect("it is free");
    manager.revoke_with(gone, Reason::NodeDrain, "ops", Duration::ZERO).expect("it is held");
    let first = manager.acquire("gpu0", "ann", HOUR).expect("it is free");
    let second = manager.claim("bob").of(&[long]).preemptible(HOUR).try_now().expect("it is free");
    let child = manager.claim("cleo").of(&["gpu1"]).child_of(first).try_now();
    let part = Take::Amount { slots: 1, memory: 10 };
    manager.claim("cleo").of(&["x"]).take(part).spare(HOUR).try_now().expect("there is room");
    manager.claim("bob").of(&["gpu0", long]).count(2).submit().expect("it waits");
    manager.claim("cleo").of(&["gpu0"]).priority(3).submit().expect("it waits");
    manager.want("ann", long).expect("both are there");
    vec![(first, "gpu0"), (second, long), (child.expect("it is free"), "gpu1")]
}

/// A line in which almost nobody can go on.
fn stuck(manager: &LeaseManager) -> Vec<(LeaseId, &'static str)> {
    let first = manager.acquire("gpu0", "ann", HOUR).expect("it is free");
    let second = manager.acquire("gpu1", "bob", HOUR).expect("it is free");
    let shared = manager.claim("cleo").of(&["y"]).take(Take::Shared);
    shared.try_now().expect("it is free");
    manager.claim("ann").of(&["gpu1", "y"]).take(Take::Exclusive).submit().expect("it waits");
    manager.claim("cleo").of(&["gpu0"]).submit().expect("it waits");
    manager.want("bob", "y").expect("there is room");
    manager.revoke_with(second, Reason::Quota, "ops", HOUR).expect("it is held");
    vec![(first, "gpu0"), (second, "gpu1")]
}

/// Puts an image into the file. Does the process live that made it?
pub fn begin(image: &Image, lives: bool) {
    let file = file();
    file.set_len(image.bytes.len() as u64).expect("there is room");
    file.write_all_at(&image.bytes, 0).expect("there is room");
    // The kernel's lock on the byte of its slot, the first, says so.
    // SAFETY: integers, of which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = (if lives { libc::F_WRLCK } else { libc::F_UNLCK }) as libc::c_short;
    (lock.l_start, lock.l_len) = (1 << 40, 1);
    // SAFETY: the descriptor is open, and the lock is described.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) }, 0);
}
