//! Who is let in to a table on etcd, by password and by certificate; how tables of one etcd keep apart; and that no secret is ever told.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/certificates.rs"]
mod certificates;
#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/host.rs"]
mod host;
#[path = "common/wires.rs"]
mod wires;

use std::net::SocketAddrV4;
use std::time::Duration;

use certificates::Authority;
use etcd::gateway::{base64, call};
use etcd::{Certificates, Etcd, until};
use host::Process;
use ternlease::{Actor, Error, LeaseManager, LeaseState, OpenError, Reason};
use wires::Wire;

const MINUTE: Duration = Duration::from_secs(60);
/// As it is, and as it stands in a URL.
const SECRET: &str = "hush/me@odd:signs%";
const WRITTEN: &str = "hush%2Fme%40odd%3Asigns%25";

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((_, words)) = host::role() {
        let answer = LeaseManager::open(&words[0]).map(|manager| manager.active_count());
        host::say(format!("{answer:?}"));
    }
}

/// Lets nobody in but `root`, and `worker` to the tables whose names begin with `own`.
fn lock_up(server: SocketAddrV4) {
    for (user, role) in [("root", "root"), ("worker", "work")] {
        call(server, "auth/user/add", &format!(r#"{{"name":"{user}","password":"{SECRET}"}}"#));
        call(server, "auth/role/add", &format!(r#"{{"name":"{role}"}}"#));
        call(server, "auth/user/grant", &format!(r#"{{"user":"{user}","role":"{role}"}}"#));
    }
    let (key, end) = (base64("/ternlease/own"), base64("/ternlease/owo"));
    let allowed = format!(r#"{{"permType":"READWRITE","key":"{key}","range_end":"{end}"}}"#);
    call(server, "auth/role/grant", &format!(r#"{{"name":"work","perm":{allowed}}}"#));
    call(server, "auth/enable", "{}");
}

/// Nothing that is said has a secret in it, however it is written.
#[track_caller]
fn keeps_secret(said: &str) {
    for secret in [SECRET, WRITTEN, "hush", "signs"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[track_caller]
fn refused(url: &str) -> OpenError {
    let error = LeaseManager::open(url).expect_err("nobody is let in");
    keeps_secret(&format!("{error} {error:?}"));
    error
}

#[track_caller]
fn is_used(manager: &LeaseManager) {
    let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    let names = ["gpu0"];
    let second = manager.claim("two").of(&names).enqueue().unwrap();
    manager.release(lease).unwrap();
    let second = second.wait().unwrap();
    assert!(second > lease);
    manager.release(second).unwrap();
    keeps_secret(&format!("{manager:?} {}", manager.metrics()));
}

/// A principal is a pair of node and etcd user: two users on one machine are two.
#[test]
fn release_by_other_etcd_user_is_recorded_as_revocation() {
    let Some(etcd) = Etcd::start() else { return };
    lock_up(etcd.client(0));
    let open = |user: &str| {
        let place = format!("{user}:{WRITTEN}@{}/own", etcd.authority());
        LeaseManager::open(&format!("etcd://{place}?timeout=20&session_ttl=60&member=own"))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let (worker, again, root) = (open("worker"), open("worker"), open("root"));
    let [released, revoked] = ["gpu0", "gpu1"].map(|gpu| worker.acquire(gpu, "w", MINUTE).unwrap());
    let owner = worker.lease(released).unwrap().owner;

    again.release(released).unwrap();
    let info = again.lease(released).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Expired, Some(Reason::Released)));
    let same_user = info.ended_by.expect("another session did it");
    assert_ne!(same_user.process, owner.into());

    // A renewal would take the lease over.
    assert_eq!(root.renew(revoked), Err(Error::OtherPrincipal));
    root.release(revoked).unwrap();
    let info = root.lease(revoked).unwrap();
    assert_eq!((info.state, info.reason), (LeaseState::Revoked, Some(Reason::Operator)));
    let other_user = info.ended_by.expect("another session did it");
    assert_ne!(other_user.principal, same_user.principal);
    assert!(root.metrics().contains("ternlease_revoked_by_others_total 1\n"));
    let (events, _) = root.events_since(0);
    let actors: Vec<_> = events.iter().map(|event| event.actor).collect();
    let own = Actor { principal: same_user.principal, process: owner.into() };
    assert_eq!(actors, [Some(own), Some(own), Some(same_user), Some(other_user)]);
    root.verify().unwrap();
}

#[test]
fn a_password_lets_in() {
    let Some(mut etcd) = Etcd::start() else { return };
    let before =
        LeaseManager::open(&format!("etcd://{}/own?timeout=2&member=own", etcd.authority()))
            .unwrap();
    let lease = before.acquire("gpu9", "one", MINUTE).unwrap();
    lock_up(etcd.client(0));
    let url = |login: &str, name: &str| {
        format!("etcd://{login}{}/{name}?timeout=20&session_ttl=60&member=own", etcd.authority())
    };
    let login = format!("worker:{WRITTEN}@");

    // Who was let in without a name is not any more.
    let answer = before.release(lease).unwrap_err();
    keeps_secret(&format!("{answer} {answer:?}"));
    for wrong in [&format!("nobody:{WRITTEN}@"), "worker:hush-hush@", ""] {
        // Not a matter of the network: to try again would not help.
        assert_eq!(refused(&url(wrong, "own")).os_errno(), 0, "{wrong}");
    }
    // Let in, but not to this table.
    refused(&url(&login, "other"));

    let manager = LeaseManager::open(&url(&login, "own")).unwrap_or_else(|error| panic!("{error}"));
    is_used(&manager);
    is_used(&LeaseManager::open(&url(&login, "own-too")).unwrap());

    // The password is in the environment.
    let variable = format!("TERNLEASE_ETCD_PASSWORD={SECRET}");
    let told =
        |starter: &[&str]| Process::start_under(starter, "opens", &[&url("worker@", "own")]).line();
    let with = told(&["env", &variable]);
    assert!(with.starts_with("Ok("), "{with}");
    let without = told(&["env", "TERNLEASE_ETCD_PASSWORD=hush-hush"]);
    assert!(without.starts_with("Err("), "{without}");
    keeps_secret(&without);

    // A server that starts again has forgotten to whom it gave tokens.
    etcd.restart(0);
    until("it goes on", || {
        let lease = manager.acquire("gpu0", "one", MINUTE).ok()?;
        manager.release(lease).ok()
    });
    is_used(&manager);
}

#[test]
fn a_certificate_lets_in() {
    let Some(authority) = Authority::new() else { return };
    let certificates = Certificates {
        ca: authority.file("ca.pem"),
        certificate: authority.file("server.pem"),
        key: authority.file("server.key"),
    };
    let Some(etcd) = Etcd::start_with_tls(certificates) else { return };
    let file = |name: &str| authority.file(name).display().to_string();
    let url = |query: &str| format!("etcd://{}/doors?timeout=2{query}", etcd.authority());
    let ca = format!("&ca={}", file("ca.pem"));
    let own = format!("&cert={}&key={}", file("client.pem"), file("client.key"));
    let name = "&server_name=server.test";

    is_used(&LeaseManager::open(&url(&format!("{ca}{own}{name}"))).unwrap());
    let key = std::fs::read_to_string(authority.file("client.key")).unwrap();
    let key = key.lines().nth(1).unwrap();
    for query in [
        format!("{ca}{own}"),
        format!("{ca}{own}&server_name=other.test"),
        format!("{ca}{name}"),
        format!("{own}{name}"),
        format!("{ca}{name}&cert={}&key={}", file("client.pem"), file("server.key")),
        format!("{ca}{name}&cert={}&key={}", file("client.key"), file("client.pem")),
        "&ca=/no/such/file".to_owned(),
        String::new(),
    ] {
        let error = refused(&url(&query));
        let said = format!("{error} {error:?}");
        assert!(!said.contains(key), "{said}");
    }
}

#[test]
fn tables_of_one_etcd_keep_apart() {
    let Some(etcd) = Etcd::start() else { return };
    let url = |name: &str| format!("etcd://{}/{name}?timeout=2&member=own", etcd.authority());
    // Names of which one begins with another, too.
    let managers: Vec<LeaseManager> = ["team", "team-a", "team.a", "team_a", "TEAM", "t"]
        .iter()
        .map(|name| LeaseManager::open(&url(name)).unwrap())
        .collect();
    for manager in &managers {
        let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
        assert_eq!(manager.acquire("gpu0", "two", MINUTE), Err(Error::Busy));
        assert_eq!(manager.leases_on("gpu0"), [lease]);
    }
    for name in ["", "team/a", "team/", "/team", "te am", "team%2Fa", "täm", &"t".repeat(129)] {
        assert_eq!(refused(&url(name)).os_errno(), 0, "{name}");
    }
}

/// Nobody there, or nobody who answers: that is told in the time that a request may take, more or less, and it is the network's fault.
#[test]
fn silence_is_told() {
    let Some(etcd) = Etcd::start() else { return };
    let wire = Wire::to(etcd.client(0));
    wire.cut();
    let url =
        |server: &str| format!("etcd://worker:{WRITTEN}@{server}/silent?timeout=1&member=own");
    let silent = wire.address.to_string();
    for server in [silent.as_str(), "127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2"] {
        assert_eq!(refused(&url(server)).os_errno(), libc::EHOSTUNREACH, "{server}");
    }
    // One who answers is enough.
    let servers = format!("127.0.0.1:1,{silent},{}", etcd.authority());
    is_used(&LeaseManager::open(&url(&servers)).unwrap());
    wire.mend();
    is_used(&LeaseManager::open(&url(&silent)).unwrap());
}
