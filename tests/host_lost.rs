//! A shared table whose file is deleted, renamed, replaced or truncated while programs use it. Newcomers find no file, or
//! another one, and may be granted the same devices at once. So every holder of the lost table must stop: these tests
//! check that it is notified on every channel, that waiting claims are refused, and that nothing more is granted.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::time::Duration;

use host::{LIMITS, PATIENCE, Place, Process, say, until};
use ternlease::{
    Error, GpuPool, LeaseId, LeaseManager, LeaseState, Notice, Options, PoolOptions, Reason, What,
};

const HOUR: Duration = Duration::from_secs(3600);

const EXPIRED: (Option<LeaseState>, Option<Reason>) =
    (Some(LeaseState::Expired), Some(Reason::EngineLost));

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((role, words)) = host::role() else { return };
    match role.as_str() {
        "worker" => host_worker::work(&words[0]),
        "holder" => hold_until_lost(&words[0]),
        other => panic!("not a role: {other}"),
    }
}

/// What happens to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Deleted,
    Renamed,
    Replaced,
}

impl Loss {
    const ALL: [Loss; 3] = [Loss::Deleted, Loss::Renamed, Loss::Replaced];

    /// Returns what must stay until the test ends.
    fn happen(self, place: &Place) -> Option<Place> {
        match self {
            Loss::Deleted => fs::remove_file(&place.0).unwrap(),
            Loss::Renamed => {
                let other = Place::new();
                fs::rename(&place.0, &other.0).unwrap();
                return Some(other);
            }
            Loss::Replaced => {
                let other = Place::new();
                drop(other.open());
                fs::rename(&other.0, &place.0).unwrap();
            }
        }
        None
    }
}

fn is_readable_within(fd: &impl AsRawFd, time: Duration) -> bool {
    let mut ask = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut ask, 1, time.as_millis() as i32) == 1 }
}

fn watch(manager: &LeaseManager, lease: LeaseId) -> mpsc::Receiver<Notice> {
    let (send, received) = mpsc::channel();
    manager.watch(lease, move |notice| send.send(*notice).unwrap_or_default()).unwrap();
    received
}

fn told(notice: Notice) -> (Option<LeaseState>, Option<Reason>) {
    (notice.state, notice.reason)
}

#[test]
fn lost_file_notifies_holder_on_every_channel() {
    for loss in Loss::ALL {
        println!("{loss:?}");
        let place = Place::new();
        let manager = place.open();
        let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
        let notices = watch(&manager, lease);
        let fd = manager.watch_fd(lease).unwrap();
        let mut events = manager.events(u64::MAX);
        let event_fd = events.fd().unwrap().try_clone_to_owned().unwrap();
        while events.next().is_some() {}

        let _kept = loss.happen(&place);
        until("state() does not notice", || manager.state(lease) == Some(LeaseState::Expired));
        assert_eq!(told(notices.recv_timeout(PATIENCE).unwrap()), EXPIRED);
        assert!(is_readable_within(&fd, PATIENCE), "the descriptor of the watch");
        assert!(is_readable_within(&event_fd, PATIENCE), "the descriptor of the events");
        let ended = events.find_map(|event| match event.what {
            What::Ended { lease, reason, .. } => Some((lease, reason)),
            _ => None,
        });
        assert_eq!(ended, Some((lease, Reason::EngineLost)));
        let info = manager.lease(lease).unwrap();
        assert_eq!((Some(info.state), info.reason), EXPIRED);
        let over = Error::NotHeld(LeaseState::Expired, Reason::EngineLost);
        assert_eq!(manager.renew(lease), Err(over));
        assert_eq!(manager.release(lease), Err(over));
    }
}

#[test]
fn lost_file_notifies_holder_in_another_process() {
    for loss in Loss::ALL {
        let place = Place::new();
        let mut holder = Process::worker(&place);
        let lease = holder.lease("acquire gpu0");
        let _kept = loss.happen(&place);
        let over = "Some(Expired)";
        until("it does not notice", || holder.ask(&format!("state {lease}")) == over);
        let renewed = holder.ask(&format!("renew {lease}"));
        assert_eq!(renewed, "Err(NotHeld(Expired, EngineLost))");
    }
}

#[test]
fn lost_file_refuses_waiting_claims_and_grants_nothing_more() {
    for loss in Loss::ALL {
        println!("{loss:?}");
        let place = Place::new();
        let manager = place.open();
        let held = manager.acquire("gpu0", "holder", HOUR).unwrap();
        let mut worker = Process::worker(&place);
        worker.say("wait gpu0");
        until("it does not wait", || manager.pending_claimers() == 1);
        let ticket = manager.claim("waiter").of(&["gpu0"]).enqueue().unwrap();

        let _kept = loss.happen(&place);
        assert_eq!(worker.line(), "Refused(EngineLost)");
        assert_eq!(ticket.wait(), Err(Error::Refused(Reason::EngineLost)));
        let refused = Err(Error::Refused(Reason::EngineLost));
        assert_eq!(manager.acquire("gpu0", "holder", HOUR), refused);
        assert_eq!(manager.acquire("gpu7", "holder", HOUR), refused);
        assert_eq!(manager.claim("waiter").of(&["gpu0"]).wait_for(HOUR), refused);
        assert_eq!(worker.ask("acquire gpu8"), "Refused(EngineLost)");
        assert_eq!((manager.active_count(), manager.pending_claimers()), (0, 0));
        assert_ne!(manager.state(held), Some(LeaseState::Held));

        // A newcomer has a table of its own, and so has this process once it opens the URL again.
        let anew = place.open();
        assert!(anew.acquire("gpu0", "newcomer", HOUR).is_ok());
        assert_eq!(manager.acquire("gpu0", "holder", HOUR), refused);
    }
}

#[test]
fn lost_file_notifies_holder_of_devices() {
    let place = Place::new();
    let options = || PoolOptions::from_spec("fake:2").unwrap();
    let pool = GpuPool::open_with(&place.url(), options()).unwrap();
    let lease = pool.claim().devices(2).wait().unwrap().unwrap();
    let (send, received) = mpsc::channel();
    lease.on_change(move |notice| send.send(*notice).unwrap_or_default()).unwrap();
    fs::remove_file(&place.0).unwrap();
    assert_eq!(told(received.recv_timeout(PATIENCE).unwrap()), EXPIRED);
    assert_eq!(lease.state(), Some(LeaseState::Expired));
    assert!(pool.try_claim().is_err(), "nothing is granted from a lost table");
    // Dropping it is no error, and another pool has the devices.
    drop(lease);
    let other = GpuPool::open_with(&place.url(), options()).unwrap();
    assert!(other.try_claim().unwrap().is_some());
}

/// A file that other links or names keep alive is lost, too, if newcomers do not find it where it was.
#[test]
fn file_with_second_name_is_lost_when_first_name_goes() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
    let second = Place::new();
    fs::hard_link(&place.0, &second.0).unwrap();
    fs::remove_file(&place.0).unwrap();
    until("it is not noticed", || manager.state(lease) == Some(LeaseState::Expired));
}

/// A directory that is renamed takes the file away from newcomers as well.
#[test]
fn file_is_lost_when_its_directory_is_renamed() {
    let outer = Place::new();
    let directory = outer.0.join("pool");
    fs::create_dir_all(&directory).unwrap();
    let place = Place(directory.join("table"));
    let manager = place.open();
    let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
    fs::rename(&directory, outer.0.join("moved")).unwrap();
    until("it is not noticed", || manager.state(lease) == Some(LeaseState::Expired));
    drop(manager);
    fs::remove_dir_all(&outer.0).unwrap();
}

/// A renamed file whose name comes back is still lost to its users: a newcomer may have been granted the devices meanwhile.
#[test]
fn file_that_comes_back_is_not_used_again_by_those_that_lost_it() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
    let moved = Place::new();
    fs::rename(&place.0, &moved.0).unwrap();
    until("it is not noticed", || manager.state(lease) == Some(LeaseState::Expired));
    fs::rename(&moved.0, &place.0).unwrap();
    let limits = Options::real().limits(LIMITS);
    let error = LeaseManager::open_with(&place.url(), limits).unwrap_err().to_string();
    assert!(error.contains("moved, deleted or truncated while in use"), "{error}");
    assert_eq!(manager.acquire("gpu0", "holder", HOUR), Err(Error::Refused(Reason::EngineLost)));
    // Once its last user is gone, it becomes a fresh table.
    drop(manager);
    let anew = LeaseManager::open_with(&place.url(), limits).unwrap();
    assert!(anew.acquire("gpu0", "newcomer", HOUR).is_ok());
}

/// Is every thread of this process but this one asleep, as it stays until something happens?
fn other_threads_sleep() -> bool {
    std::thread::sleep(Duration::from_millis(1));
    // SAFETY: takes and changes nothing.
    let own = unsafe { libc::gettid() }.to_string();
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let mut others = tasks.filter(|task| task.file_name().to_str() != Some(&own));
    others.all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
    })
}

/// In a process of its own, which a truncated file may kill.
fn hold_until_lost(url: &str) {
    let manager = host::open(url);
    let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
    let notices = watch(&manager, lease);
    let fd = manager.watch_fd(lease).unwrap();
    let ticket = manager.claim("waiter").of(&["gpu0"]).enqueue().unwrap();
    let waiter = std::thread::spawn(move || ticket.wait());
    until("a thread stays busy", || (0..20).all(|_| other_threads_sleep()));
    say("holds");
    let notice = notices.recv_timeout(PATIENCE).unwrap();
    assert_ne!(notice.state, Some(LeaseState::Held));
    assert!(is_readable_within(&fd, PATIENCE));
    assert_eq!(waiter.join().unwrap(), Err(Error::Refused(Reason::EngineLost)));
    assert_ne!(manager.state(lease), Some(LeaseState::Held));
    assert!(manager.renew(lease).is_err());
    let refused = Err(Error::Refused(Reason::EngineLost));
    assert_eq!(manager.acquire("gpu0", "holder", HOUR), refused);
    assert_eq!(manager.active_count(), 0);
    drop(manager);
    // The same process can begin again with a fresh file.
    fs::remove_file(url.trim_start_matches("host:")).unwrap();
    let anew = host::open(url);
    anew.acquire("gpu0", "holder", HOUR).unwrap();
    say("began again");
}

/// A holder that does not call the library while the file is truncated survives it, and is notified.
#[test]
fn truncated_file_notifies_holder_and_does_not_kill_it() {
    for length in [0, 100, 4096, 100_000] {
        println!("{length}");
        let place = Place::new();
        let mut holder = Process::start("holder", &[&place.url()]);
        assert_eq!(holder.line(), "holds");
        OpenOptions::new().write(true).open(&place.0).unwrap().set_len(length).unwrap();
        assert_eq!(holder.line(), "began again");
        assert!(holder.end_within(PATIENCE).expect("it does not end").success());
    }
}

/// A table is not made anew in a file that was truncated under its users: they would meet it there.
#[test]
fn truncated_file_in_use_is_refused_to_new_processes() {
    let place = Place::new();
    let holder = Process::worker(&place);
    OpenOptions::new().write(true).open(&place.0).unwrap().set_len(0).unwrap();
    let error = LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS)).unwrap_err();
    assert!(error.to_string().contains("truncated while in use"), "{error}");
    assert_eq!(fs::metadata(&place.0).unwrap().len(), 0);
    drop(holder);
    until("it is not made anew", || {
        LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS)).is_ok()
    });
}

/// A process that has lost its descriptors of the table does not take the table from the others.
#[test]
fn process_whose_descriptors_are_other_files_does_not_end_leases_of_others() {
    let place = Place::new();
    let manager = place.open();
    let lease = manager.acquire("gpu0", "holder", HOUR).unwrap();
    let mut worker = Process::worker(&place);
    assert_eq!(worker.ask("reuse-descriptors"), "done");
    // Longer than the interval of the checks, counted by answers of that process.
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        worker.ask(&format!("state {lease}"));
        assert_eq!(manager.state(lease), Some(LeaseState::Held));
    }
}

/// Rights that a process gives up after it opened the table do not end its leases.
#[test]
fn process_that_can_no_longer_see_the_directory_keeps_its_leases() {
    // SAFETY: takes and changes nothing.
    if unsafe { libc::geteuid() } != 0 {
        return println!("skipped: only the superuser can give up rights");
    }
    let outer = Place::new();
    fs::create_dir(&outer.0).unwrap();
    let place = Place(outer.0.join("table"));
    let mut holder = Process::start("worker", &[&place.url()]);
    assert_eq!(holder.line(), "open");
    let lease = holder.lease("acquire gpu0");
    assert_eq!(holder.ask("give-up-rights"), "done");
    // Twice the time within which a lost file is noticed, counted by renewals that this process asks for.
    let manager = place.open();
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        assert_eq!(holder.ask(&format!("renew {lease}")), "Ok(())");
        assert_eq!(manager.state(lease), Some(LeaseState::Held));
    }
    drop((manager, holder));
    fs::remove_dir_all(&outer.0).unwrap();
}
