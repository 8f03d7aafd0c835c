//! Two users who are not the superuser, and what each can do with tables of the other's: docs/homes.md has the list that is shown here. Only the superuser can
//! become others, and only its own mounts make sure that the machine has no tables of these names.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;
#[path = "common/mounts.rs"]
mod mounts;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::Duration;

use host::{LIMITS, Place, Process, until};
use ternlease::inventory::Declared;
use ternlease::{
    Actor, GpuPool, LeaseId, LeaseManager, LeaseState, Options, PoolOptions, Reason, What,
};

const ANN: u32 = 61_001;
const BOB: u32 = 61_002;
const EVE: u32 = 61_003;
/// The group that Ann and Bob are in, and Eve is not.
const TEAM: u32 = 61_000;

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((role, words)) = host::role() else { return };
    become_user(words[1].parse().unwrap());
    match role.as_str() {
        "worker" => host_worker::work(&words[0]),
        "open" => host::say(match try_open(&words[0]) {
            Ok(manager) => format!("{:?}", manager.acquire("gpu0", "me", HOUR).map(|_| ())),
            Err(why) => why,
        }),
        "boss" => boss(&words[0]),
        "squat" => {
            squat(Path::new(&words[0]), &words[2]);
            host::say("done");
        }
        other => panic!("not a role: {other}"),
    }
}

const HOUR: Duration = Duration::from_secs(3600);

fn try_open(url: &str) -> Result<LeaseManager, String> {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).map_err(|why| why.to_string())
}

/// This process is that user's from now on, as if it had been started by it.
fn become_user(user: u32) {
    let groups: &[u32] = if user == EVE { &[] } else { &[TEAM] };
    // SAFETY: a list of so many numbers; the rest are numbers.
    unsafe {
        assert_eq!(libc::setgroups(groups.len(), groups.as_ptr()), 0);
        assert_eq!(libc::setresgid(user, user, user), 0);
        assert_eq!(libc::setresuid(user, user, user), 0);
        // Who changes its user is not to be looked at, not even by itself, unless it says otherwise.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
        // Strict: nothing that is shared owes that to the mask.
        libc::umask(0o077);
    }
}

/// Does to everything in the table what only its holder should: it is in the group, and so it can.
fn boss(url: &str) {
    let manager = try_open(url).unwrap();
    let [held, other]: [_; 2] = manager.held_by("ann").try_into().unwrap();
    let info = manager.lease(held).unwrap();
    host::say(format!("{} has {}", info.holder, info.takes[0].resource));
    let processes = manager.host().unwrap().processes;
    host::say(processes.iter().map(|p| p.process.to_string()).collect::<Vec<_>>().join(" "));
    let revoked = manager.revoke_with(held, Reason::Operator, "bob", Duration::ZERO);
    host::say(format!("{:?} {:?}", revoked.is_ok(), manager.release(other).is_ok()));
}

/// Puts something where another user's table will be.
fn squat(at: &Path, what: &str) {
    match what.split_once(' ').unwrap_or((what, "")) {
        ("file", "") => {
            fs::write(at, "").unwrap();
            fs::set_permissions(at, Permissions::from_mode(0o666)).unwrap();
        }
        ("table", "") => {
            drop(try_open(&format!("host:{}", at.display())).unwrap());
            fs::set_permissions(at, Permissions::from_mode(0o666)).unwrap();
        }
        ("directory", "") => fs::create_dir(at).unwrap(),
        ("link", to) => symlink(to, at).unwrap(),
        ("remove", "") => assert!(fs::remove_file(at).is_err(), "it is another's"),
        other => panic!("not a thing: {other:?}"),
    }
}

/// What a user says about opening a table and acquiring `gpu0`.
fn opened(user: u32, url: &str) -> String {
    let mut process = Process::start("open", &[url, &user.to_string()]);
    let answer = process.line();
    let status = process.end_within(host::PATIENCE).expect("it does not end");
    assert!(status.success(), "{status}: {answer}");
    answer
}

fn worker(user: u32, url: &str) -> Process {
    let process = Process::start("worker", &[url, &user.to_string()]);
    assert_eq!(process.line(), "open");
    process
}

fn squatted(user: u32, at: &Path, what: &str) {
    let process = Process::start("squat", &[at.to_str().unwrap(), &user.to_string(), what]);
    assert_eq!(process.line(), "done");
}

/// A machine on which nobody has used ternlease yet: its own `/dev/shm` and `/run`.
fn is_fresh() -> bool {
    let possible = mounts::are_possible();
    if possible {
        mounts::memory(Path::new("/dev/shm"), "mode=1777,size=64m");
        mounts::memory(Path::new("/run"), "mode=755,size=64m");
    }
    possible
}

/// The same directory as `ternlease setup --group` makes: only owners delete their files there.
fn make_shared_directory() {
    let shared = Path::new("/run/ternlease");
    fs::create_dir(shared).unwrap();
    chown(shared, Some(0), Some(TEAM)).unwrap();
    fs::set_permissions(shared, Permissions::from_mode(0o3770)).unwrap();
}

const FORBIDDEN: &str = "Permission denied";

#[test]
fn a_table_is_its_makers_alone() {
    if !is_fresh() {
        return;
    }
    // By name, everybody has tables of their own.
    for url in ["host:", "host:pool"] {
        let mut ann = worker(ANN, url);
        ann.lease("acquire gpu0");
        assert_eq!(opened(ANN, url), "Err(Busy)", "it is hers, in every process");
        assert_eq!(opened(BOB, url), "Ok(())", "his is another one");
    }
    let own = fs::metadata(format!("/dev/shm/ternlease-{ANN}")).unwrap();
    assert_eq!((own.uid(), own.mode() & 0o7777), (ANN, 0o700));
    assert!(opened(BOB, &format!("host:/dev/shm/ternlease-{ANN}/pool")).contains(FORBIDDEN));

    // By path, whoever comes first.
    let url = "host:/dev/shm/pool";
    let mut ann = worker(ANN, url);
    ann.lease("acquire gpu0");
    let file = fs::metadata("/dev/shm/pool").unwrap();
    assert_eq!((file.uid(), file.mode() & 0o7777), (ANN, 0o600));
    assert!(opened(BOB, url).contains(FORBIDDEN));
    squatted(BOB, Path::new("/dev/shm/pool"), "remove");
    assert_eq!(opened(ANN, url), "Err(Busy)");
}

#[test]
fn a_group_shares_what_is_in_the_directory_that_was_made_for_it() {
    if !is_fresh() {
        return;
    }
    make_shared_directory();
    let mut ann = worker(ANN, "host:");
    let file = fs::metadata("/run/ternlease/default").unwrap();
    assert_eq!((file.uid(), file.gid(), file.mode() & 0o7777), (ANN, TEAM, 0o660));
    assert!(opened(EVE, "host:").contains(FORBIDDEN));
    assert!(opened(EVE, "host:other").contains(FORBIDDEN), "nor can she make one");
    squatted(BOB, Path::new("/run/ternlease/default"), "remove");

    // First come, first served, whoever they are; what a dead process had goes on to the next.
    let mut bob = worker(BOB, "host:");
    let lease = ann.lease("acquire gpu0");
    assert_eq!(bob.ask("acquire gpu0"), "Busy");
    bob.say("wait gpu0");
    let looks = host::open("host:");
    until("Bob does not wait", || looks.pending_claimers() == 1);
    assert_eq!(ann.ask(&format!("release {}", lease.0)), "Ok(())");
    host::lease_in(&bob.line());
    ann.say("wait gpu0");
    until("Ann does not wait", || looks.pending_claimers() == 1);
    let died = What::Died { process: bob.pid(), leases: 1, tickets: 0 };
    bob.kill();
    host::lease_in(&ann.line());
    assert!(looks.events_since(0).0.iter().any(|event| event.what == died));

    // A lease can be handed to a process of another user, and is kept by a child that has inherited it.
    let mut bob = worker(BOB, "host:");
    let lease = ann.lease("acquire gpu1");
    assert_eq!(ann.ask(&format!("hand {} {}", lease.0, bob.pid())), "Ok(())");
    let child = bob.ask(&format!("keep {}", lease.0)).parse().unwrap();
    bob.kill();
    assert_eq!(ann.ask("acquire gpu1"), "Busy");
    host::send(child, libc::SIGKILL);
    host::lease_in(&ann.ask("wait gpu1"));
    looks.verify().unwrap();
}

#[test]
fn empty_url_opens_the_shared_pool_of_the_machine() {
    if !is_fresh() {
        return;
    }
    make_shared_directory();
    let manager = try_open("").unwrap();
    assert_eq!(manager.host().unwrap().path, Path::new("/run/ternlease/default"));
    manager.acquire("gpu0", "me", HOUR).unwrap();
    assert_eq!(opened(BOB, "host:"), "Err(Busy)");
    let pool = GpuPool::open_with("", PoolOptions::of(Declared::fake(1))).unwrap();
    assert_eq!(pool.manager().host().unwrap().path, Path::new("/run/ternlease/default"));
}

#[test]
fn user_outside_the_group_gets_an_error_that_names_the_group() {
    if !is_fresh() {
        return;
    }
    make_shared_directory();
    let answer = opened(EVE, "host:");
    for part in ["group 61000", "/run/ternlease", "log in again", FORBIDDEN] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    // A group that has a name is named by it.
    chown("/run/ternlease", Some(0), Some(1)).unwrap();
    assert!(opened(EVE, "host:").contains("group daemon"));
}

/// No wall between those who share a table: who can write to it sees everything, and can end everything.
#[test]
fn who_shares_a_table_sees_and_can_end_all_that_is_in_it() {
    if !is_fresh() {
        return;
    }
    make_shared_directory();
    let manager = host::open("host:");
    let hers = ["gpu0", "gpu1"].map(|name| manager.acquire(name, "ann", HOUR).unwrap());
    let mut bob = Process::start("boss", &["host:", &BOB.to_string()]);
    assert_eq!(bob.line(), "ann has gpu0");
    let numbers = bob.line();
    let numbers: Vec<_> = numbers.split(' ').map(|number| number.parse::<u32>().unwrap()).collect();
    assert_eq!(numbers, [std::process::id(), bob.pid()]);
    assert_eq!(bob.line(), "true true");
    assert!(bob.end_within(host::PATIENCE).unwrap().success());
    let [revoked, released] = hers.map(|lease| manager.lease(lease).unwrap());
    assert_eq!((revoked.reason, revoked.revoker.as_deref()), (Some(Reason::Operator), Some("bob")));
    let other = Some(Actor { principal: BOB, process: bob.pid() });
    assert_eq!((released.state, released.reason), (LeaseState::Revoked, Some(Reason::Operator)));
    assert_eq!((released.revoker, released.ended_by, revoked.ended_by), (None, other, other));
}

/// A table that Ann and Bob share, with a process of each, and a view of it.
fn shared_by_two() -> Option<(Process, Process, LeaseManager)> {
    if !is_fresh() {
        return None;
    }
    make_shared_directory();
    Some((worker(ANN, "host:"), worker(BOB, "host:"), host::open("host:")))
}

fn actor(user: u32, process: &Process) -> Option<Actor> {
    Some(Actor { principal: user, process: process.pid() })
}

/// The actor of the newest event for which this is true.
fn actor_of(manager: &LeaseManager, is_it: impl Fn(&What) -> bool) -> Option<Actor> {
    let (events, _) = manager.events_since(0);
    events.iter().rfind(|event| is_it(&event.what)).expect("there is such an event").actor
}

fn actor_of_end(manager: &LeaseManager, ended: LeaseId) -> Option<Actor> {
    actor_of(manager, |what| matches!(what, What::Ended { lease, .. } if *lease == ended))
}

#[test]
fn release_by_other_user_is_recorded_as_revocation_by_that_user() {
    let Some((mut ann, mut bob, looks)) = shared_by_two() else { return };
    let lease = ann.lease("acquire gpu0");
    assert_eq!(bob.ask(&format!("release {}", lease.0)), "Ok(())");
    let info = looks.lease(lease).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::Operator)));
    assert_eq!((info.ended_by, info.revoker), (actor(BOB, &bob), None));
    assert_eq!(actor_of_end(&looks, lease), actor(BOB, &bob));
    assert_eq!((looks.revocations(), looks.count(Reason::Released)), (1, 0));
    assert!(looks.metrics().contains("ternlease_revoked_by_others_total 1\n"));
    assert!(ann.ask(&format!("renew {}", lease.0)).contains("NotHeld(Revoked, Operator)"));
    looks.verify().unwrap();
}

#[test]
fn release_by_other_process_of_same_user_stays_release_with_its_actor() {
    let Some((mut ann, _bob, looks)) = shared_by_two() else { return };
    let mut script = worker(ANN, "host:");
    let [first, second] = ["gpu0", "gpu1"].map(|gpu| ann.lease(&format!("acquire {gpu}")));
    assert_eq!(script.ask(&format!("release {}", first.0)), "Ok(())");
    let info = looks.lease(first).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Expired, Some(Reason::Released)));
    assert_eq!(info.ended_by, actor(ANN, &script));
    assert_eq!(actor_of_end(&looks, first), actor(ANN, &script));

    // By its owner itself: the event has the actor, the lease needs none.
    assert_eq!(ann.ask(&format!("release {}", second.0)), "Ok(())");
    assert_eq!(looks.lease(second).unwrap().ended_by, None);
    assert_eq!(actor_of_end(&looks, second), actor(ANN, &ann));
    assert!(looks.metrics().contains("ternlease_revoked_by_others_total 0\n"));
}

#[test]
fn claimed_name_of_revoker_is_kept_apart_from_its_actor() {
    let Some((mut ann, mut bob, looks)) = shared_by_two() else { return };
    let [at_once, later] = ["gpu0", "gpu1"].map(|gpu| ann.lease(&format!("acquire {gpu}")));
    assert_eq!(bob.ask(&format!("revoke {} root 0", at_once.0)), "Ok(())");
    assert_eq!(bob.ask(&format!("revoke {} root 3600000", later.0)), "Ok(())");
    for (lease, state) in [(at_once, LeaseState::Revoked), (later, LeaseState::Held)] {
        let info = looks.lease(lease).unwrap();
        assert_eq!((info.state, info.reason), (state, Some(Reason::NodeDrain)));
        assert_eq!((info.revoker.as_deref(), info.ended_by), (Some("root"), actor(BOB, &bob)));
    }
    let revoking = |what: &What| matches!(what, What::Revoking { .. });
    assert_eq!(actor_of(&looks, revoking), actor(BOB, &bob));

    // The holder leaves early: it was revoked all the same, and by whom.
    assert_eq!(ann.ask(&format!("release {}", later.0)), "Ok(())");
    let info = looks.lease(later).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::NodeDrain)));
    assert_eq!((info.revoker.as_deref(), info.ended_by), (Some("root"), actor(BOB, &bob)));
    assert!(info.acknowledged);
    let acknowledged = |what: &What| matches!(what, What::Ended { acknowledged: true, .. });
    assert_eq!(actor_of(&looks, acknowledged), actor(ANN, &ann));
    assert!(looks.metrics().contains("ternlease_revoked_by_others_total 2\n"));
}

#[test]
fn transfer_of_other_users_lease_is_refused() {
    let Some((mut ann, mut bob, looks)) = shared_by_two() else { return };
    let lease = ann.lease("acquire gpu0");
    let to_himself = format!("hand {} {}", lease.0, bob.pid());
    assert_eq!(bob.ask(&to_himself), "Err(OtherPrincipal)");
    assert_eq!(bob.ask(&format!("try-keep {}", lease.0)), "Err(OtherPrincipal)");
    bob.kill();
    assert_eq!(looks.state(lease), Some(LeaseState::Held));
    // The superuser may, and so may every process of the same user.
    assert_eq!(looks.hand_to(lease, std::process::id()), Ok(()));
    let mut script = worker(ANN, "host:");
    let other = ann.lease("acquire gpu1");
    assert_eq!(script.ask(&format!("hand {} {}", other.0, script.pid())), "Ok(())");
}

#[test]
fn change_of_health_carries_its_author() {
    let Some((_ann, mut bob, looks)) = shared_by_two() else { return };
    looks.declare("gpu0", 1, 0).unwrap();
    assert_eq!(bob.ask("health gpu0"), "Ok(())");
    let health = |what: &What| matches!(what, What::Health { .. });
    assert_eq!(actor_of(&looks, health), actor(BOB, &bob));
}

/// What happens to a process is the deed of none.
#[test]
fn end_by_death_has_no_actor() {
    let Some((mut ann, bob, looks)) = shared_by_two() else { return };
    let lease = ann.lease("acquire gpu0");
    ann.kill();
    until("her death is not noticed", || looks.state(lease) == Some(LeaseState::Expired));
    assert_eq!(looks.lease(lease).unwrap().ended_by, None);
    assert_eq!(actor_of_end(&looks, lease), None);
    drop(bob);
}

/// Eve knows where Ann's table will be, and is there first.
#[test]
fn what_somebody_else_put_there_is_refused_and_left_as_it_is() {
    if !is_fresh() {
        return;
    }
    let at = Path::new("/dev/shm/pool");
    let url = "host:/dev/shm/pool";
    let treasure = Place("/dev/shm/treasure".into());
    fs::write(&treasure.0, "").unwrap();
    chown(&treasure.0, Some(ANN), Some(ANN)).unwrap();

    // She could shorten or rewrite it at any time, and end all of Ann's processes by that.
    for what in ["file", "table"] {
        squatted(EVE, at, what);
        let (before, owner) = (fs::read(at).unwrap(), "made by another user");
        for user in [ANN, BOB] {
            let answer = opened(user, url);
            assert!(answer.contains(owner), "{what}: {answer}");
        }
        assert!(try_open(url).unwrap_err().contains(owner), "nor does the superuser fall for it");
        assert!(fs::read(at).unwrap() == before, "{what}: it was written to");
        assert_eq!(opened(EVE, url), "Ok(())", "to her it is what it is");
        fs::remove_file(at).unwrap();
    }

    squatted(EVE, at, "directory");
    assert!(opened(ANN, url).contains("cannot"));
    fs::remove_dir(at).unwrap();
    squatted(EVE, at, "link /dev/shm/treasure");
    assert!(opened(ANN, url).contains("cannot"));
    assert_eq!(fs::metadata(&treasure.0).unwrap().len(), 0);
    fs::remove_file(at).unwrap();
    squatted(EVE, at, "link /dev/shm/elsewhere");
    assert!(opened(ANN, url).contains("cannot"));
    assert!(!Path::new("/dev/shm/elsewhere").exists());
    fs::remove_file(at).unwrap();
    assert_eq!(opened(ANN, url), "Ok(())");
}

#[test]
fn a_directory_that_somebody_else_made_for_a_users_tables_is_refused() {
    if !is_fresh() {
        return;
    }
    let at = format!("/dev/shm/ternlease-{ANN}");
    let at = Path::new(&at);
    let refused = || opened(ANN, "host:").contains("is not this user's alone");
    squatted(EVE, at, "directory");
    assert!(refused());
    assert_eq!(fs::read_dir(at).unwrap().count(), 0, "nothing is made in it");
    fs::remove_dir(at).unwrap();
    fs::create_dir("/dev/shm/ann").unwrap();
    chown("/dev/shm/ann", Some(ANN), Some(ANN)).unwrap();
    squatted(EVE, at, "link /dev/shm/ann");
    assert!(refused());
    assert_eq!(fs::read_dir("/dev/shm/ann").unwrap().count(), 0);
    fs::remove_file(at).unwrap();
    assert_eq!(opened(ANN, "host:"), "Ok(())");
}

/// Rights are looked at when somebody comes. Who is there goes on, as with every open file.
#[test]
fn rights_that_are_taken_away_keep_out_whoever_comes() {
    if !is_fresh() {
        return;
    }
    make_shared_directory();
    let (mut ann, mut bob) = (worker(ANN, "host:"), worker(BOB, "host:"));
    let file = Path::new("/run/ternlease/default");
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    assert!(opened(BOB, "host:").contains(FORBIDDEN));
    let lease = bob.lease("acquire gpu0");
    assert_eq!(ann.ask("acquire gpu0"), "Busy");
    bob.kill();
    host::lease_in(&ann.ask("wait gpu0"));
    let _ = lease;
    fs::set_permissions(file, Permissions::from_mode(0o660)).unwrap();
    assert_eq!(opened(BOB, "host:"), "Err(Busy)");
}
