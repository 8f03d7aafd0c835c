//! Three servers of which one is killed, stopped, cut off or slow, while processes claim, wait, renew, release and revoke. However it went, there is an
//! order of it all in which every answer is right: one holder at a time, first come, first served, and ids that grow.
#![cfg(all(target_os = "linux", feature = "cluster"))]

mod cluster_history;
#[path = "common/cluster_storm.rs"]
mod cluster_storm;
#[path = "common/cluster_worker.rs"]
mod cluster_worker;
#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/fence.rs"]
mod fence;
#[path = "common/host.rs"]
mod host;
#[path = "common/wires.rs"]
mod wires;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use cluster_storm::{Storm, lost};
use etcd::{Etcd, Setup, until};
use wires::Wire;

const WORKERS: usize = 3;

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((role, words)) = host::role() {
        cluster_worker::work(&role, &words);
    }
}

/// One at a time: each of these tests is a whole cluster.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn url(servers: &str, session: u32) -> String {
    format!("etcd://{servers}/faults?session_ttl={session}&timeout=2&member=own")
}

/// The URLs of processes that are not to lose anything: no fault lasts as long as their sessions.
fn patient(etcd: &Etcd) -> Vec<String> {
    vec![url(&etcd.authority(), 60); WORKERS]
}

/// Another server than this one leads.
fn another_leads(etcd: &Etcd, old: usize) {
    until("another server leads", || (0..3).find(|&it| it != old && etcd.leads(it)));
}

#[test]
fn the_leader_is_killed_and_comes_back() {
    let _alone = alone();
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    let storm = Storm::start(&etcd, &patient(&etcd));
    for _ in 0..3 {
        storm.all_go_on("they begin");
        let leader = etcd.leader();
        etcd.kill(leader);
        storm.all_go_on("they go on without it");
        etcd.restart(leader);
    }
    let history = storm.end(&url(&etcd.authority(), 60));
    assert_eq!(lost(&history), []);
}

#[test]
fn the_leader_is_stopped_and_goes_on() {
    let _alone = alone();
    let Some(etcd) = Etcd::cluster(3) else { return };
    let storm = Storm::start(&etcd, &patient(&etcd));
    for _ in 0..3 {
        storm.all_go_on("they begin");
        let leader = etcd.leader();
        etcd.stop(leader);
        storm.all_go_on("they go on without it");
        etcd.cont(leader);
    }
    let history = storm.end(&url(&etcd.authority(), 60));
    assert_eq!(lost(&history), []);
}

/// The leader does not reach the others any more, but its clients do: it must not tell them anything.
#[test]
fn the_leader_is_cut_off_from_the_others() {
    let _alone = alone();
    let mut doors: Vec<Wire> = Vec::new();
    let mut peer_door = |address| {
        doors.push(Wire::to(address));
        doors[doors.len() - 1].address
    };
    let setup = Setup { peer_door: Some(&mut peer_door), ..Setup::default() };
    let Some(etcd) = Etcd::start_with(3, setup) else { return };
    let storm = Storm::start(&etcd, &patient(&etcd));
    for _ in 0..3 {
        storm.all_go_on("they begin");
        let leader = etcd.leader();
        for (server, door) in doors.iter().enumerate() {
            match server == leader {
                true => door.cut(),
                false => door.cut_from(etcd.pid(leader)),
            }
        }
        another_leads(&etcd, leader);
        storm.all_go_on("they go on with the others");
        doors.iter().for_each(Wire::mend);
    }
    let history = storm.end(&url(&etcd.authority(), 60));
    assert_eq!(lost(&history), []);
}

/// Clients do not reach one server, and go on with the others; or they reach none for longer than their sessions last, lose what they had, and go on.
#[test]
fn clients_are_cut_off() {
    let _alone = alone();
    let Some(etcd) = Etcd::cluster(3) else { return };
    let to_all = |_| (0..3).map(|server| Wire::to(etcd.client(server))).collect::<Vec<Wire>>();
    let wires: Vec<Vec<Wire>> = (0..WORKERS).map(to_all).collect();
    let urls: Vec<String> = wires
        .iter()
        .map(|own| {
            let servers: Vec<String> = own.iter().map(|wire| wire.address.to_string()).collect();
            url(&servers.join(","), 4)
        })
        .collect();
    let storm = Storm::start(&etcd, &urls);
    storm.all_go_on("they begin");
    for wire in &wires[0] {
        wire.cut();
        storm.all_go_on("they go on with the other servers");
        wire.mend();
    }
    for (worker, own) in wires.iter().enumerate() {
        let others: Vec<usize> = (0..WORKERS).filter(|&it| it != worker).collect();
        own.iter().for_each(Wire::cut);
        // Whatever the other had is free when its session is over.
        for _ in 0..3 {
            storm.go_on("the others go on", &others);
        }
        own.iter().for_each(Wire::mend);
        storm.all_go_on("it is back");
    }
    storm.end(&url(&etcd.authority(), 4));
}

/// A server that gets one fifth of the time that it needs, as one does whose disk or machine is busy with other things.
struct Slow {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Slow {
    fn down(etcd: &Etcd, server: usize) -> Slow {
        let (pid, over) = (etcd.pid(server), Arc::new(AtomicBool::new(false)));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Acquire) {
                host::send(pid, libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(40));
                host::send(pid, libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Slow { over, thread: Some(thread) }
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_server_is_slow() {
    let _alone = alone();
    let Some(etcd) = Etcd::start_with(3, Setup { to_disk: true, ..Setup::default() }) else {
        return;
    };
    let storm = Storm::start(&etcd, &patient(&etcd));
    storm.all_go_on("they begin");
    for server in [etcd.leader(), (etcd.leader() + 1) % 3] {
        let _slow = Slow::down(&etcd, server);
        storm.have(4, "they go on, slowly perhaps", &[0, 1, 2]);
    }
    storm.all_go_on("they go on");
    let history = storm.end(&url(&etcd.authority(), 60));
    assert_eq!(lost(&history), []);
}
