//! A process that uses the table.

use ternlease::table::{Candidates, Claim, FOREVER};
use ternlease::{Error, Health, LeaseId, Reason, Take, Traits};

use crate::choices::Choices;
use crate::copy::{Copy, Entries};
use crate::damage::damage;
use crate::pool::{self, HOLDERS, NAMES};

pub struct User {
    entries: Entries,
    copy: Option<Copy>,
    /// Something was changed that the copy has not seen.
    news: bool,
    /// What is there makes no sense: whoever comes is refused.
    refused: bool,
}

impl User {
    pub fn new(which: u8) -> Self {
        let entries = pool::all()[usize::from(which / 4) % pool::all().len()].clone();
        User { entries, copy: None, news: false, refused: false }
    }

    /// Damages what etcd has, or uses it.
    pub fn take(&mut self, record: &[u8]) {
        let mut choices = Choices::new(record);
        let choice = choices.byte();
        if choice < 96 {
            if let Some(copy) = self.copy.as_ref().filter(|_| !self.news) {
                self.entries = copy.entries();
            }
            damage(&mut self.entries, &mut choices);
            (self.news, self.refused) = (true, false);
            return;
        }
        // Somebody new, now and then.
        if choice >= 250 {
            self.entries = self.copy.take().map_or_else(|| self.entries.clone(), |it| it.entries());
        }
        match &mut self.copy {
            Some(copy) if self.news => copy.follow(&self.entries),
            Some(_) => {}
            None if self.refused => return,
            None => {
                self.copy = Copy::open(&self.entries, 1);
                self.refused = self.copy.is_none();
                // Whoever is let in finds a table that makes sense.
                if let Some(copy) = &self.copy {
                    assert_eq!(copy.table().verify(), Ok(()));
                }
            }
        }
        self.news = false;
        if let Some(copy) = &mut self.copy {
            let was_corrupt = copy.is_corrupt();
            let told = call(copy, choice % 24, &mut choices);
            assert!(!was_corrupt || told.is_err(), "a table that makes no sense has no answers");
            // What a damaged table did is told to nobody.
            if !copy.is_corrupt() {
                copy.tell();
                copy.write_base();
            }
        }
    }
}

fn call(copy: &mut Copy, call: u8, choices: &mut Choices) -> Result<(), Error> {
    let index = choices.below(NAMES.len());
    let names = [NAMES[index], NAMES[(index + 1) % NAMES.len()]];
    let holder = choices.one_of(&HOLDERS);
    let now = copy.later(choices.one_of(&[0, 1, 5, 50]));
    let table = copy.table();
    let leases = table.leases();
    let lease = leases.get(choices.below(leases.len().max(1)));
    let lease = lease.map_or(LeaseId(choices.half().into()), |lease| lease.id);
    let tickets = table.tickets();
    let ticket = tickets.get(choices.below(tickets.len().max(1))).map(|ticket| ticket.id);
    let resources = [table.resource_id(names[0]), table.resource_id(names[1])];
    let span = choices.one_of(&[0, 1, 7, 40, FOREVER]);
    let one = Claim { owner: 1, wait: span, ..Claim::one(holder, &names[..1]) };
    let two = Claim { candidates: Candidates::Named(&names), priority: 3, ..one };
    match call {
        0..3 => table.claim(now, &Claim { wait: 0, ttl: 30, ..one }).map(drop),
        3 | 4 => table.claim(now, &one).map(drop),
        5 => table.claim(now, &Claim { count: 2, preempt: true, ..two }).map(drop),
        6 => table.claim(now, &Claim { spare: true, take: Take::Shared, ..two }).map(drop),
        7 => table.claim(now, &Claim { preemptible: true, grace: 5, ..two }).map(drop),
        8 => table.claim(now, &Claim { parent: Some(lease), ..one }).map(drop),
        9 => table.claim(now, &Claim { together: true, count: 2, ..two }).map(drop),
        10 | 11 => table.release(now, lease),
        12 => table.renew(now, lease, (span != 0).then_some(span)).map(drop),
        13 => table.revoke(now, lease, Reason::NodeDrain, holder, span.min(40)).map(drop),
        14 => table.want(now, holder, names[0]),
        15 => table.unwant(now, holder, names[0]),
        16 => table.find_deadlocks(now).map(drop),
        17 => table.declare(now, names[0], choices.byte().into(), 100).map(drop),
        18 => match resources[0] {
            Some(it) => {
                table.set_health(now, it, choices.one_of(&[Health::Healthy, Health::Failed]))
            }
            None => table.advance(now),
        },
        19 => match resources {
            [Some(it), node] => {
                let traits = Traits { island: span as u32 % 4, node, checked: true };
                table.set_traits(now, it, traits)
            }
            _ => table.advance(now),
        },
        20 => table.reap(now, choices.byte().into(), Reason::HolderDied).map(drop),
        21 => match ticket {
            Some(ticket) => table.withdraw(now, ticket).map(drop),
            None => table.advance(now),
        },
        22 => table.give_to(now, lease, choices.byte().into()),
        _ => {
            look(copy);
            copy.table().advance(now)
        }
    }
}

/// Everything that only looks. What is found may be anything.
fn look(copy: &Copy) {
    let table = copy.table();
    for lease in table.leases() {
        let _ = (table.lease(lease.id), table.state(lease.id, table.now()));
    }
    for ticket in table.tickets() {
        let _ = (table.ticket(ticket.id), table.waiting_ticket(ticket.id));
    }
    let mut events = Vec::new();
    let missed = table.events_since(0, &mut events);
    assert!(events.len() <= 8, "the ring has no more, and {missed} were missed");
    for event in &events {
        assert!(event.number > missed && event.number <= table.last_event());
    }
    let _ = (table.resources(), table.verify(), table.held_by("ann"), table.leases_on("gpu0"));
}
