//! What clients asked and were told, and whether that can be right.

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
struct Book {
    history: History,
    /// Counts instants: none is the same as another.
    instants: u64,
    /// The largest id on each resource of which its holder was told.
    newest: BTreeMap<String, u64>,
    /// Whom each lease was given to, and on what.
    given: BTreeMap<u64, (Process, String)>,
    /// Leases that end without anybody's being told: their time runs out, or their holder dies.
    fading: BTreeSet<u64>,
    revoked: BTreeSet<u64>,
    wrong: Option<String>,
    unsearched: bool,
}

/// Records the calls, and checks their answers.
#[derive(Clone, Default)]
pub(super) struct Checker(Rc<RefCell<Book>>);

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
        let mut book = self.0.borrow_mut();
        book.instants += 1;
        let at = book.history.calls.len();
        let newest_before = book.newest.get(resource).copied().unwrap_or(0);
        if let Asked::Revoke(id) = asked {
            book.revoked.insert(id);
        }
        let call = Call {
            client,
            resource: resource.to_owned(),
            asked,
            told: Told::Unknown,
            called: book.instants,
            back: u64::MAX,
        };
        book.history.calls.push(call);
        drop(book);
        let (told, answer) = make();
        sim.note(|| format!("process {process}, client {client}: {asked:?} {resource}: {told:?}"));
        let mut book = self.0.borrow_mut();
        book.instants += 1;
        let back = book.instants;
        let call = &mut book.history.calls[at];
        (call.told, call.back) = (told, back);
        book.check(process, resource, asked, told, newest_before);
        answer
    }

    /// The lease may end without anybody's being told.
    pub fn fades(&self, lease: LeaseId) {
        self.0.borrow_mut().fading.insert(lease.0);
    }

    /// So may all that a process has.
    pub fn is_gone(&self, process: Process) {
        let mut book = self.0.borrow_mut();
        let had = book.given.iter().filter(|(_, (owner, _))| *owner == process);
        let had: Vec<u64> = had.map(|(id, _)| *id).collect();
        book.fading.extend(had);
    }

    pub fn is_wrong(&self, why: String) {
        self.0.borrow_mut().wrong.get_or_insert(why);
    }

    pub fn wrong(&self) -> Option<String> {
        self.0.borrow().wrong.clone()
    }

    /// Was the history too long?
    pub fn is_unsearched(&self) -> bool {
        self.0.borrow().unsearched
    }

    pub fn grants(&self) -> u64 {
        self.0.borrow().given.len() as u64
    }

    /// Is there one order of it all in which every answer is right?
    pub fn verdict(&self) -> Result<(), String> {
        let mut book = self.0.borrow_mut();
        if let Some(why) = &book.wrong {
            return Err(why.clone());
        }
        book.instants += 1;
        let end = book.instants;
        let mut history = book.history.clone();
        for id in &book.fading {
            if let Some((_, resource)) = book.given.get(id) {
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
            // To search on would take longer than all the rest.
            Err(why) if why.contains("given up") => {
                book.unsearched = true;
                Ok(())
            }
            verdict => verdict,
        }
    }
}

impl Book {
    /// What can be seen at once.
    fn check(&mut self, process: Process, resource: &str, asked: Asked, told: Told, before: u64) {
        let newest = self.newest.get(resource).copied().unwrap_or(0);
        match (asked, told) {
            (_, Told::Lease(id)) => {
                if self.given.insert(id, (process, resource.to_owned())).is_some() {
                    self.wrong.get_or_insert(format!("lease {id} was granted twice"));
                }
                // Of a ticket nobody knows here when it was drawn; the history does.
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
