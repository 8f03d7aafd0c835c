//! A process whose etcd session ends while etcd is unreachable learns it on every channel, without
//! an answer of etcd.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/host.rs"]
mod host;

use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use etcd::gateway::{base64, call, call_as};
use etcd::{Etcd, PATIENCE, until};
use host::Process;
use ternlease::{
    Error, Event, EventReader, GpuLease, GpuPool, LeaseId, LeaseManager, LeaseState, Notice,
    PoolOptions, Reason, What,
};

/// Longer than each test, so that no lease expires by its own time limit.
const HOUR: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((_, words)) = host::role() else { return };
    let holder = Holder::open(&words[0]);
    host::say(format!("lease {}", holder.leases[0].0));
    holder.assert_notified();
    host::say("notified");
}

fn url(etcd: &Etcd, name: &str) -> String {
    format!("etcd://{}/{name}?session_ttl=3&timeout=1&member=own", etcd.authority())
}

/// A process with leases and a waiting claim, and every channel that reports the end of a lease.
struct Holder {
    manager: LeaseManager,
    gpu: GpuLease,
    leases: [LeaseId; 3],
    notices: Receiver<Notice>,
    descriptors: [OwnedFd; 2],
    claim: Receiver<Result<LeaseId, Error>>,
    events: Receiver<Event>,
    reader: EventReader,
}

impl Holder {
    fn open(url: &str) -> Holder {
        let options = || PoolOptions::from_spec("fake:1").unwrap();
        let pool = until("etcd lets the process in", || GpuPool::open_with(url, options()).ok());
        let manager = pool.manager().clone();
        let gpu = pool.claim().wait().unwrap().expect("the pool has a device");
        let watched = manager.acquire("watched", "holder", HOUR).unwrap();
        let polled = manager.acquire("polled", "holder", HOUR).unwrap();
        let leases = [gpu.id(), watched, polled];
        let reader = manager.events(u64::MAX);
        let (tell, notices) = channel();
        let notify = |tell: &Sender<Notice>| {
            let tell = tell.clone();
            // The test may have ended.
            move |notice: &Notice| {
                let _ = tell.send(*notice);
            }
        };
        gpu.on_change(notify(&tell)).unwrap();
        manager.watch(watched, notify(&tell)).unwrap();
        let descriptors = [gpu.fd().unwrap(), manager.watch_fd(polled).unwrap()];
        Holder {
            claim: waiting_claim(&manager),
            events: events_of(manager.events(u64::MAX)),
            manager,
            gpu,
            leases,
            notices,
            descriptors,
            reader,
        }
    }

    /// All channels report that the leases were lost with the session.
    #[track_caller]
    fn assert_notified(&self) {
        for _ in 0..2 {
            let notice = self.notices.recv_timeout(PATIENCE).expect("a call of the callback");
            assert_eq!(notice.state, Some(LeaseState::Expired), "{notice:?}");
            assert_eq!(notice.reason, Some(Reason::EngineLost), "{notice:?}");
            assert!(notice.at <= self.manager.tick_count(), "{notice:?}");
            assert_eq!(self.manager.lease(notice.lease).unwrap().end, notice.at);
        }
        for descriptor in &self.descriptors {
            until("the descriptor is readable", || is_readable(descriptor).then_some(()));
        }
        let mut expected = self.leases.to_vec();
        // The pool has a lease of its own.
        let mut ended = Vec::new();
        while !expected.is_empty() {
            let lease = self.next_end();
            assert!(!ended.contains(&lease), "{lease} ended twice");
            ended.push(lease);
            expected.retain(|other| *other != lease);
        }
        let claim = self.claim.recv_timeout(PATIENCE).expect("the claim is answered");
        assert_eq!(claim, Err(Error::Refused(Reason::EngineLost)));
        for lease in self.leases {
            assert_eq!(self.manager.state(lease), Some(LeaseState::Expired));
            let info = self.manager.lease(lease).expect("the lease is known");
            assert_eq!((info.state, info.reason), (LeaseState::Expired, Some(Reason::EngineLost)));
            assert!(info.end <= self.manager.tick_count(), "{info:?}");
        }
        assert_eq!(self.gpu.state(), Some(LeaseState::Expired));
        assert_eq!(self.manager.session_left(), Some(Duration::ZERO));
    }

    fn next_end(&self) -> LeaseId {
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("an event for each lease");
            if let What::Ended { lease, reason, .. } = event.what {
                assert_eq!(reason, Reason::EngineLost);
                return lease;
            }
        }
    }

    fn has_lease_again(&self) -> LeaseId {
        until("the process has a session again", || {
            self.manager.acquire("next", "holder", HOUR).ok()
        })
    }

    /// No channel reports the end of a lease a second time.
    fn assert_notified_once(&mut self) {
        let last = self.has_lease_again();
        self.manager.release(last).unwrap();
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("the last event");
            match event.what {
                What::Ended { lease, .. } if lease == last => break,
                What::Ended { lease, .. } => assert!(!self.leases.contains(&lease), "{event:?}"),
                _ => {}
            }
        }
        assert!(self.notices.try_recv().is_err());
        // This reader did not read while the session was lost: it reads what the table records.
        let recorded: Vec<Event> = self.reader.by_ref().collect();
        for lease in self.leases {
            let ends = recorded.iter().filter(
                |event| matches!(event.what, What::Ended { lease: ended, .. } if ended == lease),
            );
            assert_eq!(ends.count(), 1, "{recorded:?}");
        }
    }
}

/// A claim of this process that waits for a resource that it holds.
fn waiting_claim(manager: &LeaseManager) -> Receiver<Result<LeaseId, Error>> {
    let names = ["watched"];
    let ticket = manager.claim("waiter").of(&names).ttl(HOUR).enqueue().unwrap();
    let (tell, answer) = channel();
    std::thread::spawn(move || {
        // The test may have ended.
        let _ = tell.send(ticket.wait());
    });
    answer
}

/// A thread that waits for events and passes them on.
fn events_of(mut reader: EventReader) -> Receiver<Event> {
    let (tell, events) = channel();
    std::thread::spawn(move || {
        while reader.wait(None).is_ok() {
            for event in reader.by_ref() {
                // The test may have ended.
                let _ = tell.send(event);
            }
        }
    });
    events
}

fn is_readable(descriptor: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid structure, and the call does not wait.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 }
}

#[test]
fn etcd_killed_for_good_notifies_holder_on_every_channel() {
    let Some(mut etcd) = Etcd::start() else { return };
    let holder = Holder::open(&url(&etcd, "killed"));
    etcd.kill(0);
    holder.assert_notified();
}

#[test]
fn etcd_stopped_beyond_session_notifies_holder_on_every_channel() {
    let Some(etcd) = Etcd::start() else { return };
    let holder = Holder::open(&url(&etcd, "stopped"));
    etcd.stop(0);
    holder.assert_notified();
}

#[test]
fn etcd_restarted_after_session_end_notifies_holder_once() {
    let Some(mut etcd) = Etcd::start() else { return };
    let mut holder = Holder::open(&url(&etcd, "once"));
    etcd.kill(0);
    holder.assert_notified();
    etcd.launch(0);
    holder.assert_notified_once();
}

/// A second loss is reported like the first one.
#[test]
fn etcd_lost_twice_notifies_holder_of_each_loss() {
    let Some(mut etcd) = Etcd::start() else { return };
    let holder = Holder::open(&url(&etcd, "twice"));
    etcd.kill(0);
    holder.assert_notified();
    etcd.launch(0);
    let next = holder.has_lease_again();
    let (tell, notices) = channel();
    let notify = move |notice: &Notice| {
        let _ = tell.send(*notice);
    };
    holder.manager.watch(next, notify).unwrap();
    etcd.kill(0);
    let notice = notices.recv_timeout(PATIENCE).expect("a call of the callback");
    assert_eq!((notice.lease, notice.reason), (next, Some(Reason::EngineLost)));
    while holder.next_end() != next {}
}

/// No answer of etcd can tell the process: etcd is stopped before the process continues.
#[test]
fn holder_stopped_beyond_session_is_notified_when_continued() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "holder");
    let observer = LeaseManager::open(&url).unwrap();
    let process = Process::start("holder", &[&url]);
    let lease = host::lease_in(&process.line());
    process.stop();
    until("the session is over", || {
        (observer.state(lease) != Some(LeaseState::Held)).then_some(())
    });
    etcd.stop(0);
    process.go_on();
    assert_eq!(process.line(), "notified");
    etcd.cont(0);
}

#[test]
fn etcd_replaced_by_empty_cluster_notifies_holder_on_every_channel() {
    let Some(mut etcd) = Etcd::start() else { return };
    let holder = Holder::open(&url(&etcd, "replaced"));
    etcd.kill(0);
    etcd.wipe(0);
    etcd.launch(0);
    holder.assert_notified();
}

/// Only root and `worker` are let in, the latter to the tables whose names begin with `own`.
fn enable_authentication(server: SocketAddrV4) {
    for (user, role) in [("root", "root"), ("worker", "work")] {
        call(server, "auth/user/add", &format!(r#"{{"name":"{user}","password":"word"}}"#));
        call(server, "auth/role/add", &format!(r#"{{"name":"{role}"}}"#));
        call(server, "auth/user/grant", &format!(r#"{{"user":"{user}","role":"{role}"}}"#));
    }
    let (key, end) = (base64("/ternlease/own"), base64("/ternlease/owo"));
    let allowed = format!(r#"{{"permType":"READWRITE","key":"{key}","range_end":"{end}"}}"#);
    call(server, "auth/role/grant", &format!(r#"{{"name":"work","perm":{allowed}}}"#));
    call(server, "auth/enable", "{}");
}

/// As root: gives the role to `worker`, or takes it away.
fn set_role(server: SocketAddrV4, granted: bool) {
    let password = r#"{"name":"root","password":"word"}"#;
    let answer = call(server, "auth/authenticate", password);
    let (_, token) = answer.split_once(r#""token":""#).expect("a token");
    let (token, _) = token.split_once('"').expect("the end of the token");
    match granted {
        true => call_as(server, token, "auth/user/grant", r#"{"user":"worker","role":"work"}"#),
        false => call_as(server, token, "auth/user/revoke", r#"{"name":"worker","role":"work"}"#),
    };
}

#[test]
fn revoked_role_notifies_holder_on_every_channel() {
    let Some(etcd) = Etcd::start() else { return };
    let server = etcd.client(0);
    enable_authentication(server);
    let url = format!("etcd://worker:word@{server}/own-role?session_ttl=3&timeout=1&member=own");
    let mut holder = Holder::open(&url);
    set_role(server, false);
    holder.assert_notified();
    set_role(server, true);
    holder.assert_notified_once();
}
