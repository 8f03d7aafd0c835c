//! Several processes that use one table at random while a test does what it likes to their engine; and the judgement on what they were told.
#![allow(dead_code)] // Not every test needs all of it.

use std::path::PathBuf;
use std::time::Duration;

use ternlease::LeaseManager;

use crate::cluster_history::{Asked, History, Told, check};
use crate::etcd::{Etcd, until};
use crate::fence::{Fenced, check_fence};
use crate::host::{Process, Random};

const RESOURCES: [&str; 2] = ["gpu0", "gpu1"];

/// What is granted to a process between two faults, as a rule.
const ENOUGH: usize = 15;

pub struct Storm {
    pub workers: Vec<Process>,
    histories: Vec<PathBuf>,
    fenced: Fenced,
}

impl Storm {
    /// One process for each URL.
    pub fn start(etcd: &Etcd, urls: &[String]) -> Storm {
        let fence = etcd.directory().join("fence");
        let fenced = Fenced::new(&fence, true);
        let seed = Random::from_environment().0.to_string();
        let history = |number: usize| etcd.directory().join(format!("history{number}"));
        let histories: Vec<PathBuf> = (0..urls.len()).map(history).collect();
        let start = |(number, url): (usize, &String)| {
            let file = histories[number].display().to_string();
            let number = number.to_string();
            let fence = fence.display().to_string();
            let words = [url, &file, &fence, &number, &seed, &RESOURCES.join(",")];
            Process::start("storm", &words.map(String::as_str))
        };
        let workers: Vec<Process> = urls.iter().enumerate().map(start).collect();
        workers.iter().for_each(|worker| assert_eq!(worker.line(), "plays"));
        Storm { workers, histories, fenced }
    }

    /// What one process has written down.
    pub fn history(&self, worker: usize) -> History {
        History::read(&self.histories[worker])
    }

    /// Waits until so much was granted to every one of these as is enough to notice if something is wrong.
    pub fn go_on(&self, what: &str, workers: &[usize]) {
        self.have(ENOUGH, what, workers);
    }

    /// Waits until so many more leases were granted to every one of these.
    pub fn have(&self, more: usize, what: &str, workers: &[usize]) {
        let grants = |worker: usize| self.history(worker).grants();
        let before: Vec<usize> = workers.iter().map(|&worker| grants(worker)).collect();
        for (&worker, before) in workers.iter().zip(before) {
            until(what, || (grants(worker) >= before + more).then_some(()));
        }
    }

    pub fn all_go_on(&self, what: &str) {
        self.go_on(what, &(0..self.workers.len()).collect::<Vec<_>>());
    }

    /// Waits until everything is at rest, and judges. Nothing that nobody knows of is held any more. The whole history.
    pub fn end(mut self, url: &str) -> History {
        self.workers.iter_mut().for_each(|worker| worker.say("over"));
        self.workers.iter().for_each(|worker| assert_eq!(worker.line(), "rests"));
        let histories = (0..self.workers.len()).map(|worker| self.history(worker));
        let history = History { calls: histories.flat_map(|history| history.calls).collect() };
        let unknown = history.count(|call| call.told == Told::Unknown);
        let lost = history.count(|call| call.told == Told::Lost);
        let writes = self.fenced.writes();
        let refused = writes.iter().filter(|write| !write.accepted).count();
        println!(
            "{} calls, {} leases, {unknown} without an answer, {lost} times lost, {} writes, {refused} refused",
            history.calls.len(),
            history.grants(),
            writes.len(),
        );
        check(&history).unwrap_or_else(|why| panic!("{why}"));
        check_fence(&writes).unwrap_or_else(|why| panic!("{why}"));
        let manager = LeaseManager::open(url).unwrap_or_else(|error| panic!("{error}"));
        for resource in RESOURCES {
            let lease = until("it is free", || {
                manager.claim("last").of(&[resource]).wait_for(Duration::from_secs(1)).ok()
            });
            manager.release(lease).unwrap();
        }
        manager.verify().unwrap();
        history
    }
}

/// Were leases lost? Which ones.
pub fn lost(history: &History) -> Vec<u64> {
    let mut released = std::collections::HashSet::new();
    for call in &history.calls {
        if let (Asked::Release(id) | Asked::Revoke(id), Told::Done | Told::Unknown) =
            (call.asked, call.told)
        {
            released.insert(id);
        }
    }
    let lost = |call: &crate::cluster_history::Call| match (call.asked, call.told) {
        (Asked::Look(id) | Asked::Renew(id) | Asked::Release(id), Told::Lost) => Some(id),
        _ => None,
    };
    history.calls.iter().filter_map(lost).filter(|id| !released.contains(id)).collect()
}
