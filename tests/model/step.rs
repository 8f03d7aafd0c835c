//! A command with its time, as data: it can be generated, printed, replayed and left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ternlease::memory::new_table;
use ternlease::table::codec::{self, AnyCommand, AnyReply};
use ternlease::table::command::{
    Advance, Declare, DeviceState, Fail, Place, ReapOwner, Release, Renew, Revoke, SetEvidence,
    SetHealth, SetPrincipal, Transfer, Unwant, Want,
};
use ternlease::table::{
    self, Actor, Cancelled, Candidates, Claim, Deadlock, Error, Health, Issuer, Memory, Outcome,
    Picks, Reaped, Reason, ResourceId, Revoked, Settings, Table, Time, Traits,
};

use super::memory::{Shared, shared_tables};
use super::numbers::Numbers;
use super::twins::Twins;
use super::{Ask, Model};

/// Leases and tickets go by the model's numbers; a number not given out yet is an unknown id.
#[derive(Debug, Clone)]
pub enum Command {
    Declare {
        name: String,
        slots: u32,
        memory: u32,
    },
    Health {
        name: String,
        health: Health,
    },
    Evidence {
        name: String,
        health: Health,
        unused: bool,
    },
    Traits {
        name: String,
        traits: Traits,
        node: Option<String>,
    },
    Fail {
        name: String,
        reason: Reason,
        by: String,
    },
    Claim {
        ask: Ask,
        by_id: bool,
    },
    Renew {
        lease: u64,
        ttl: Option<Time>,
    },
    Release {
        lease: u64,
    },
    End {
        lease: u64,
        reason: Reason,
    },
    Revoke {
        lease: u64,
        reason: Reason,
        by: String,
        notice: Time,
    },
    Cancel {
        ticket: u64,
    },
    Reap {
        owner: u16,
        reason: Reason,
    },
    GiveTo {
        lease: u64,
        owner: u16,
    },
    Advance,
    Want {
        holder: String,
        resource: String,
    },
    Unwant {
        holder: String,
        resource: String,
    },
    FindDeadlocks,
    /// The commands that follow are those of this process.
    Join {
        owner: u16,
        principal: u32,
    },
}

#[derive(Debug, Clone)]
pub struct Step {
    pub now: Time,
    pub command: Command,
}

/// What a command answers, whatever it was.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Done,
    Outcome(Outcome),
    End(Time),
    Revoked(Revoked),
    Cancelled(Cancelled),
    Reaped(Reaped),
    Deadlocks(Vec<Deadlock>),
}

/// Names that were declared have ids in the real table.
pub type Ids = BTreeMap<String, ResourceId>;

impl Step {
    /// The same with 0, which is never given out, for numbers not given out before this command.
    pub fn without_future(&self, leases: u64, tickets: u64) -> Step {
        let mut step = self.clone();
        match &mut step.command {
            Command::Renew { lease, .. }
            | Command::Release { lease }
            | Command::End { lease, .. }
            | Command::GiveTo { lease, .. }
            | Command::Revoke { lease, .. }
            | Command::Claim { ask: Ask { parent: Some(lease), .. }, .. }
                if *lease > leases =>
            {
                *lease = 0;
            }
            Command::Cancel { ticket } if *ticket > tickets => *ticket = 0,
            _ => {}
        }
        step
    }
}

pub fn run_on_model(model: &mut Model, ids: &Ids, step: &Step) -> Result<Answer, Error> {
    let now = step.now;
    model.ids.clone_from(ids);
    match &step.command {
        Command::Declare { name, slots, memory } => {
            model.declare(now, name, *slots, *memory).map(|()| Answer::Done)
        }
        Command::Health { name, health } => {
            let known = ids.contains_key(name).then_some(name.as_str());
            model.set_health(now, known, *health).map(|()| Answer::Done)
        }
        Command::Evidence { name, health, unused } => {
            let known = ids.contains_key(name).then_some(name.as_str());
            model.set_evidence(now, known, *health, *unused).map(|()| Answer::Done)
        }
        Command::Traits { name, traits, node } => {
            let known = ids.contains_key(name).then_some(name.as_str());
            model.set_traits(now, known, *traits, node.as_deref()).map(|()| Answer::Done)
        }
        Command::Fail { name, reason, by } => {
            let known = ids.contains_key(name).then_some(name.as_str());
            model.fail(now, known, *reason, by).map(|()| Answer::Done)
        }
        Command::Claim { ask, by_id } => {
            let unknown = *by_id && ask.candidates.iter().any(|name| !ids.contains_key(name));
            // The issuer of a claim is its owner.
            let owner = std::mem::replace(&mut model.user.0, ask.owner);
            let answer = model.claim(now, ask, unknown).map(Answer::Outcome);
            model.user.0 = owner;
            answer
        }
        Command::Renew { lease, ttl } => model.renew(now, *lease, *ttl).map(Answer::End),
        Command::Release { lease } => model.release(now, *lease).map(|()| Answer::Done),
        Command::End { lease, reason } => model.end(now, *lease, *reason).map(|()| Answer::Done),
        Command::Revoke { lease, reason, by, notice } => {
            model.revoke(now, *lease, *reason, by, *notice).map(Answer::Revoked)
        }
        Command::Cancel { ticket } => model.cancel(now, *ticket).map(Answer::Cancelled),
        Command::Reap { owner, reason } => model.reap(now, *owner, *reason).map(Answer::Reaped),
        Command::GiveTo { lease, owner } => {
            model.give_to(now, *lease, *owner).map(|()| Answer::Done)
        }
        Command::Advance => model.advance(now).map(|()| Answer::Done),
        Command::Want { holder, resource } => {
            model.want(now, holder, resource).map(|()| Answer::Done)
        }
        Command::Unwant { holder, resource } => {
            model.unwant(now, holder, resource).map(|()| Answer::Done)
        }
        Command::FindDeadlocks => model.find_deadlocks(now).map(Answer::Deadlocks),
        Command::Join { owner, principal } => {
            model.join(*owner, actor_of(*owner, *principal));
            Ok(Answer::Done)
        }
    }
}

fn actor_of(owner: u16, principal: u32) -> Actor {
    Actor { principal, process: 100 + u32::from(owner) }
}

/// An id that only another table with more resources gave out.
static FOREIGN: LazyLock<ResourceId> = LazyLock::new(|| {
    let elsewhere = new_table(Settings::default());
    let ids = (0..60).map(|n| elsewhere.declare(0, &format!("elsewhere {n}"), 1, 0));
    let ids: Vec<_> = ids.collect();
    ids[ids.len() - 1].expect("there is room")
});

/// The real table with what is needed to talk to it in the model's numbers.
pub struct Real {
    pub table: Table<Shared>,
    /// The same table as another process sees it: they take turns.
    other: Table<Shared>,
    twins: Twins,
    /// The process that issues the commands: its owner number and its actor.
    user: (u16, Actor),
    pub ids: Ids,
    /// An id that the table did not give out.
    foreign: ResourceId,
    pub numbers: Numbers,
}

impl Real {
    pub fn new(settings: Settings) -> Real {
        let [table, other] = shared_tables(settings);
        let (ids, numbers) = (Ids::new(), Numbers::default());
        let user = (0, Actor { principal: 0, process: 0 });
        let twins = Twins::new(settings);
        Real { table, other, twins, user, ids, foreign: *FOREIGN, numbers }
    }

    pub fn run(&mut self, step: &Step) -> Result<Answer, Error> {
        std::mem::swap(&mut self.table, &mut self.other);
        let now = step.now;
        let known = |name: &String| self.ids.contains_key(name);
        match &step.command {
            Command::Declare { name, slots, memory } => {
                let id =
                    self.apply(&Declare { resource: name, slots: *slots, memory: *memory }, now)?;
                if let Some(before) = self.ids.insert(name.clone(), id) {
                    assert_eq!(before, id, "declaring again gave another id");
                }
                Ok(Answer::Done)
            }
            Command::Health { name, health } if known(name) => {
                let command = SetHealth { resource: name, health: *health };
                self.apply(&command, now).map(|()| Answer::Done)
            }
            Command::Evidence { name, health, unused } if known(name) => {
                self.apply(&Advance, now)?;
                let before = self.table.resource(name).map(DeviceState::from);
                let before = before.expect("it is declared");
                let (health, unused) = (*health, *unused);
                let set =
                    self.apply(&SetEvidence { resource: name, before, health, unused }, now)?;
                assert!(set, "its state has not changed");
                Ok(Answer::Done)
            }
            Command::Fail { name, reason, by } if known(name) => {
                let command = Fail { resource: name, reason: *reason, by };
                self.apply(&command, now).map(|()| Answer::Done)
            }
            Command::Claim { ask, by_id } => {
                let names: Vec<&str> = ask.candidates.iter().map(String::as_str).collect();
                let ids: Vec<ResourceId> =
                    names.iter().map(|name| self.resource_id(name)).collect();
                let candidates =
                    if *by_id { Candidates::Declared(&ids) } else { Candidates::Named(&names) };
                let claim = self.claim(ask, candidates);
                let placed = self.apply_for(ask.owner, &Place::<Picks>::new(&claim), now)?;
                Ok(Answer::Outcome(placed.outcome))
            }
            Command::Renew { lease, ttl } => {
                let lease = self.numbers.lease(*lease);
                self.apply(&Renew { lease, ttl: *ttl }, now).map(Answer::End)
            }
            Command::Release { lease } | Command::End { lease, reason: Reason::Released } => {
                let lease = self.numbers.lease(*lease);
                self.apply(&Release { lease }, now).map(|()| Answer::Done)
            }
            Command::Revoke { lease, reason, by, notice } => {
                let lease = self.numbers.lease(*lease);
                let command = Revoke { lease, reason: *reason, by, notice: *notice };
                self.apply(&command, now).map(Answer::Revoked)
            }
            Command::Reap { owner, reason } => {
                let command = ReapOwner { owner: *owner, reason: *reason, limit: u32::MAX };
                self.apply(&command, now).map(Answer::Reaped)
            }
            Command::GiveTo { lease, owner } => {
                let lease = self.numbers.lease(*lease);
                self.apply(&Transfer { lease, to: *owner }, now).map(|()| Answer::Done)
            }
            Command::Advance => self.apply(&Advance, now).map(|()| Answer::Done),
            Command::Want { holder, resource } => {
                self.apply(&Want { holder, resource }, now).map(|()| Answer::Done)
            }
            Command::Unwant { holder, resource } => {
                self.apply(&Unwant { holder, resource }, now).map(|()| Answer::Done)
            }
            Command::Join { owner, principal } => {
                self.user = (*owner, actor_of(*owner, *principal));
                self.apply(&SetPrincipal { owner: *owner }, now).map(|()| Answer::Done)
            }
            _ => {
                let issuer = Issuer::new(self.user.0, self.user.1);
                let answer = self.table.issued_by(issuer, |table| self.run_method(table, step));
                let _ = self
                    .twins
                    .run(|table| table.issued_by(issuer, |table| self.run_method(table, step)));
                answer
            }
        }
    }

    /// Runs what is a method of the table and no command.
    fn run_method<M: Memory>(&self, table: &Table<M>, step: &Step) -> Result<Answer, Error> {
        let now = step.now;
        match &step.command {
            Command::Health { name, health } => {
                table.set_health(now, self.resource_id(name), *health).map(|()| Answer::Done)
            }
            Command::Evidence { name, health, unused } => {
                let id = self.resource_id(name);
                table.set_evidence(now, id, *health, *unused).map(|()| Answer::Done)
            }
            Command::Traits { name, traits, node } => {
                let node = node.as_ref().map(|node| self.resource_id(node));
                let traits = Traits { node, ..*traits };
                table.set_traits(now, self.resource_id(name), traits).map(|()| Answer::Done)
            }
            Command::Fail { name, reason, by } => {
                table.fail(now, self.resource_id(name), *reason, by).map(|()| Answer::Done)
            }
            Command::End { lease, reason } => {
                table.end(now, self.numbers.lease(*lease), *reason).map(|()| Answer::Done)
            }
            Command::Cancel { ticket } => {
                table.cancel(now, self.numbers.ticket(*ticket)).map(Answer::Cancelled)
            }
            Command::FindDeadlocks => table.find_deadlocks(now).map(Answer::Deadlocks),
            command => unreachable!("{command:?} is a command of the table"),
        }
    }

    /// Runs a command as it comes from a log: decoded from its bytes.
    fn apply<C: table::Command>(&self, command: &C, now: Time) -> Result<C::Reply, Error> {
        self.apply_for(self.user.0, command, now)
    }

    fn apply_for<C: table::Command>(
        &self,
        owner: u16,
        command: &C,
        now: Time,
    ) -> Result<C::Reply, Error> {
        let issuer = Issuer::new(owner, self.user.1);
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        codec::encode(command, &mut bytes);
        let decoded = AnyCommand::decode(&bytes).expect("it was encoded");
        decoded.encode(&mut again);
        assert_eq!(again, bytes, "{decoded:?}");
        let reply = decoded.apply(&self.table, issuer, now);
        assert_eq!(self.twins.apply(&decoded, issuer, now), reply, "{decoded:?}");
        bytes.clear();
        reply.encode(&mut bytes);
        assert_eq!(AnyReply::decode(&bytes).as_ref(), Ok(&reply));
        reply.to().expect("the reply is one to the command")
    }

    fn resource_id(&self, name: &str) -> ResourceId {
        self.ids.get(name).copied().unwrap_or(self.foreign)
    }

    fn claim<'a>(&self, ask: &'a Ask, candidates: Candidates<'a>) -> Claim<'a> {
        Claim {
            holder: &ask.holder,
            candidates,
            count: ask.count,
            together: ask.together,
            take: ask.take,
            ttl: ask.ttl,
            wait: ask.wait,
            priority: ask.priority,
            spare: ask.spare,
            preemptible: ask.preemptible,
            preempt: ask.preempt,
            grace: ask.grace,
            parent: ask.parent.map(|parent| self.numbers.lease(parent)),
            owner: ask.owner,
        }
    }
}
