//! The history of calls and answers of all clients, and the check that it can be right.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

#[path = "../../cluster_history/mod.rs"]
#[allow(unsafe_code)] // For a clock that is not used here.
mod history;

use super::machine::{Process, Sim};
pub(super) use history::{Asked, Told};
use history::{Call, History};
use ternlease::table::LeaseId;

#[derive(Default)]
struct Record {
    history: History,
    /// The number of the last instant: each call and each answer has one of its own.
    instants: u64,
    /// For each resource the largest id that its holder has been told.
    newest: BTreeMap<String, u64>,
    /// The process and the resource of each lease that was granted.
    granted: BTreeMap<u64, (Process, String)>,
    /// Leases that may end without an answer to a client: they expire, or their process ends.
    may_end: BTreeSet<u64>,
    revoked: BTreeSet<u64>,
    wrong: Option<String>,
    unsearched: bool,
}

/// Records the calls, and checks their answers.
#[derive(Clone, Default)]
pub(super) struct Checker(Rc<RefCell<Record>>);

impl Checker {
    /// Makes a call of a client.
    pub fn call<T>(
        &self,
        sim: &Sim,
        (process, client): (Process, u64),
        resource: &str,
        asked: Asked,
        make: impl FnOnce() -> (Told, T),
    ) -> T {
        let mut record = self.0.borrow_mut();
        record.instants += 1;
        let at = record.history.calls.len();
        let newest_before = record.newest.get(resource).copied().unwrap_or(0);
        if let Asked::Revoke(id) = asked {
            record.revoked.insert(id);
        }
        let call = Call {
            client,
            resource: resource.to_owned(),
            asked,
            told: Told::Unknown,
            called: record.instants,
            back: u64::MAX,
        };
        record.history.calls.push(call);
        drop(record);
        let (told, answer) = make();
        sim.note(|| format!("process {process}, client {client}: {asked:?} {resource}: {told:?}"));
        let mut record = self.0.borrow_mut();
        record.instants += 1;
        let back = record.instants;
        let call = &mut record.history.calls[at];
        (call.told, call.back) = (told, back);
        record.check(process, resource, asked, told, newest_before);
        answer
    }

    /// The lease may end without an answer to a client.
    pub fn may_end_silently(&self, lease: LeaseId) {
        self.0.borrow_mut().may_end.insert(lease.0);
    }

    /// All leases of a process may end so.
    pub fn process_ended(&self, process: Process) {
        let mut record = self.0.borrow_mut();
        let had = record.granted.iter().filter(|(_, (owner, _))| *owner == process);
        let had: Vec<u64> = had.map(|(id, _)| *id).collect();
        record.may_end.extend(had);
    }

    pub fn report(&self, why: String) {
        self.0.borrow_mut().wrong.get_or_insert(why);
    }

    pub fn wrong(&self) -> Option<String> {
        self.0.borrow().wrong.clone()
    }

    /// Was the history too long to be searched?
    pub fn is_unsearched(&self) -> bool {
        self.0.borrow().unsearched
    }

    pub fn grants(&self) -> u64 {
        self.0.borrow().granted.len() as u64
    }

    /// Is there an order of all calls in which every answer is right?
    pub fn verdict(&self) -> Result<(), String> {
        let mut record = self.0.borrow_mut();
        if let Some(why) = &record.wrong {
            return Err(why.clone());
        }
        record.instants += 1;
        let end = record.instants;
        let mut history = record.history.clone();
        for id in &record.may_end {
            if let Some((_, resource)) = record.granted.get(id) {
                history.calls.push(Call {
                    client: 0,
                    resource: resource.clone(),
                    asked: Asked::Look(*id),
                    told: Told::Lost,
                    called: end,
                    back: end,
                });
            }
        }
        match history::check(&history) {
            // A longer search would take longer than all the rest.
            Err(why) if why.contains("given up") => {
                record.unsearched = true;
                Ok(())
            }
            verdict => verdict,
        }
    }
}

impl Record {
    /// Checks what needs no search.
    fn check(&mut self, process: Process, resource: &str, asked: Asked, told: Told, before: u64) {
        let newest = self.newest.get(resource).copied().unwrap_or(0);
        match (asked, told) {
            (_, Told::Lease(id)) => {
                if self.granted.insert(id, (process, resource.to_owned())).is_some() {
                    self.wrong.get_or_insert(format!("lease {id} was granted twice"));
                }
                // When a ticket was granted is known to the history only.
                if !matches!(asked, Asked::Collect(_)) && id <= before {
                    self.wrong.get_or_insert(format!("lease {id} came after {before}"));
                }
                self.newest.insert(resource.to_owned(), newest.max(id));
            }
            (Asked::Look(id), Told::Held) | (Asked::Renew(id), Told::Done)
                if newest > id && before > id && !self.revoked.contains(&id) =>
            {
                let what = format!("{resource}: lease {id} is held, and so was {newest} after it");
                self.wrong.get_or_insert(what);
            }
            _ => {}
        }
    }
}
