//! A table of some home, and the managers through which it is used: each as in a process of its own, where processes share the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ternlease::{
    ClaimBuilder, Error, EventReader, LeaseManager, Options, ResourceId, Span, TicketState,
};

use super::deed::What;
use crate::model::numbers::Numbers;
use crate::model::step::{Answer, Command};
use crate::model::{Ask, generate::World};

/// As many processes as share a table.
pub const MANAGERS: usize = 3;

/// A kind of home. The table has a name of its own in it.
#[derive(Clone)]
pub enum Home {
    Process,
    #[cfg(target_os = "linux")]
    Host,
    /// On these servers.
    #[cfg(feature = "cluster")]
    Etcd(String),
}

impl Home {
    fn new_table(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("property-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match self {
            Home::Process => "process:".to_owned(),
            #[cfg(target_os = "linux")]
            Home::Host => format!("host:/dev/shm/tern-{name}"),
            #[cfg(feature = "cluster")]
            Home::Etcd(servers) => format!("etcd://{servers}/{name}?member=own"),
        }
    }

    /// Do several processes share a table of it?
    pub fn is_shared(&self) -> bool {
        !matches!(self, Home::Process)
    }

    /// Has each process a copy of the table: does it hear of what others did a little later, and know the time of its own leases alone?
    pub fn has_copies(&self) -> bool {
        match self {
            #[cfg(feature = "cluster")]
            Home::Etcd(_) => true,
            _ => false,
        }
    }
}

pub struct Managers {
    url: String,
    options: Options,
    all: Vec<Member>,
    pub ids: BTreeMap<String, ResourceId>,
    /// The model's number of the last process that came.
    last: u16,
}

pub struct Member {
    pub manager: LeaseManager,
    pub reader: EventReader,
    /// The model's number for the process that it stands for; 0 where one process is alone.
    pub owner: u16,
}

/// What a deed answers.
#[derive(Debug, PartialEq)]
pub enum Told {
    Answer(Answer),
    Ticket(TicketState),
}

impl Managers {
    pub fn open(home: &Home, world: &World) -> Managers {
        let settings = &world.settings;
        let options = Options::real().limits(settings.limits).deadlocks(settings.deadlocks);
        let options = if settings.implied_wants { options.open_house() } else { options };
        let mut managers = Managers {
            url: home.new_table(),
            options,
            all: Vec::new(),
            ids: BTreeMap::new(),
            last: 0,
        };
        for _ in 0..MANAGERS {
            let member = managers.another();
            managers.all.push(member);
        }
        managers
    }

    fn another(&mut self) -> Member {
        let manager = match self.all.first() {
            // There each opening makes another table.
            Some(first) if self.is_alone() => first.manager.clone(),
            _ => LeaseManager::open_with(&self.url, self.options)
                .unwrap_or_else(|error| panic!("{error}")),
        };
        if !self.is_alone() {
            self.last += 1;
        }
        Member { reader: manager.events(0), manager, owner: self.last }
    }

    fn is_alone(&self) -> bool {
        self.url == "process:"
    }

    pub fn all(&mut self) -> &mut [Member] {
        &mut self.all
    }

    pub fn run(&mut self, by: usize, what: &What, numbers: &Numbers) -> Result<Told, Error> {
        let manager = &self.all[by].manager;
        let answer = match what {
            What::Do(command) => return self.command(by, command, numbers).map(Told::Answer),
            What::Collect { ticket } => {
                let at_once = std::time::Duration::ZERO;
                Told::Ticket(manager.wait_for_ticket(numbers.ticket(*ticket), Some(at_once))?)
            }
            What::Replace => {
                drop(self.all.remove(by));
                Told::Answer(Answer::Done)
            }
        };
        Ok(answer)
    }

    /// In place of one that was closed.
    pub fn replace(&mut self, place: usize) {
        let member = self.another();
        self.all.insert(place, member);
    }

    fn command(
        &mut self,
        by: usize,
        command: &Command,
        numbers: &Numbers,
    ) -> Result<Answer, Error> {
        let manager = &self.all[by].manager;
        match command {
            Command::Declare { name, slots, memory } => {
                let id = manager.declare(name, *slots, *memory)?;
                if let Some(before) = self.ids.insert(name.clone(), id) {
                    assert_eq!(before, id, "declaring again gave another id");
                }
            }
            Command::Health { name, health } => manager.set_health(name, *health)?,
            Command::Claim { ask, by_id } => {
                let names: Vec<&str> = ask.candidates.iter().map(String::as_str).collect();
                let known = |name: &&str| self.ids.get(*name).copied().unwrap_or(*FOREIGN);
                let ids: Vec<ResourceId> = names.iter().map(known).collect();
                let claim = manager.claim(&ask.holder);
                let claim = if *by_id { claim.of_declared(&ids) } else { claim.of(&names) };
                return options(claim, ask, numbers).submit().map(Answer::Outcome);
            }
            Command::Renew { lease, ttl: None } => {
                return manager.renew(numbers.lease(*lease)).map(Answer::End);
            }
            Command::Renew { lease, ttl: Some(ttl) } => {
                let renewed = manager.renew_for(numbers.lease(*lease), Span::Units(*ttl));
                return renewed.map(Answer::End);
            }
            Command::Release { lease } => manager.release(numbers.lease(*lease))?,
            Command::Revoke { lease, reason, by, notice } => {
                let lease = numbers.lease(*lease);
                let revoked = manager.revoke_with(lease, *reason, by, Span::Units(*notice));
                return revoked.map(Answer::Revoked);
            }
            Command::Cancel { ticket } => {
                return manager.cancel_ticket(numbers.ticket(*ticket)).map(Answer::Cancelled);
            }
            Command::Advance => manager.tick(),
            Command::Want { holder, resource } => manager.want(holder, resource)?,
            Command::Unwant { holder, resource } => manager.unwant(holder, resource)?,
            Command::FindDeadlocks => return manager.find_deadlocks().map(Answer::Deadlocks),
            other => panic!("managers do not offer {other:?}"),
        }
        Ok(Answer::Done)
    }
}

impl Drop for Managers {
    fn drop(&mut self) {
        self.all.clear();
        if let Some(path) = self.url.strip_prefix("host:") {
            let _ = fs::remove_file(PathBuf::from(path));
        }
    }
}

fn options<'a>(claim: ClaimBuilder<'a>, ask: &Ask, numbers: &Numbers) -> ClaimBuilder<'a> {
    let mut claim = claim
        .count(ask.count)
        .take(ask.take)
        .ttl(Span::Units(ask.ttl))
        .patience(Span::Units(ask.wait))
        .priority(ask.priority);
    if ask.spare {
        claim = claim.spare(Span::Units(ask.grace));
    }
    if ask.preemptible {
        claim = claim.preemptible(Span::Units(ask.grace));
    }
    if ask.together {
        claim = claim.on_one_node();
    }
    if ask.preempt {
        claim = claim.preempt();
    }
    match ask.parent {
        Some(parent) => claim.child_of(numbers.lease(parent)),
        None => claim,
    }
}

/// An id that only another table with more resources gave out.
static FOREIGN: LazyLock<ResourceId> = LazyLock::new(|| {
    let elsewhere = LeaseManager::new();
    let ids = (0..60).map(|n| elsewhere.declare(&format!("elsewhere {n}"), 1, 0));
    let ids: Vec<_> = ids.collect();
    ids[ids.len() - 1].unwrap()
});
