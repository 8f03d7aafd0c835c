//! Processes that use the file, all in this one, and what they were told.

use std::time::Duration;

use ternlease::{
    Error, Health, LeaseId, LeaseManager, LeaseState, Outcome, Reason, Take, TicketId, TicketState,
};

use crate::choices::Choices;
use crate::damage::{Extent, damage};
use crate::image::{self, HOLDERS, Image, NAMES};

const A_MOMENT: Duration = Duration::from_micros(50);

pub struct User {
    image: &'static Image,
    managers: Vec<LeaseManager>,
    /// The file was opened once: what is done to it now is done to what is in use.
    began: bool,
    damages: Vec<Extent>,
    /// Who was told of what, and of which thing it has all.
    leases: Vec<(LeaseId, Option<&'static str>)>,
    tickets: Vec<(TicketId, Option<&'static str>)>,
}

impl User {
    /// The first record says with what it begins.
    pub fn new(record: &[u8]) -> Self {
        let mut choices = Choices::new(record);
        let image = &image::all()[choices.below(image::all().len())];
        let lives = choices.byte() % 4 != 3;
        image::begin(image, lives);
        let whole = image.held.iter().map(|&(lease, name)| (lease, Some(name)));
        let others = image.leases.iter().map(|&lease| (lease, None));
        User {
            image,
            managers: Vec::new(),
            began: false,
            damages: Vec::new(),
            // The dead hold nothing.
            leases: if lives { whole.chain(others).collect() } else { Vec::new() },
            tickets: Vec::new(),
        }
    }

    /// Damages the file, or uses it.
    pub fn take(&mut self, record: &[u8]) {
        let mut choices = Choices::new(record);
        let choice = choices.byte();
        if choice < 96 {
            let extent = damage(self.image, self.began, &mut choices);
            return self.damages.push(extent);
        }
        if self.managers.is_empty() || choice >= 250 {
            self.began = true;
            self.managers.truncate(1);
            self.managers.extend(image::open());
        }
        let which = choices.below(self.managers.len().max(1));
        if let Some(manager) = self.managers.get(which).cloned() {
            self.call(&manager, choice % 32, &mut choices);
            self.collect(&manager);
            self.judge(&manager);
        }
    }

    fn call(&mut self, manager: &LeaseManager, call: u8, choices: &mut Choices) {
        let index = choices.below(NAMES.len());
        let (name, next) = (NAMES[index], NAMES[(index + 1) % NAMES.len()]);
        let holder = choices.one_of(&HOLDERS);
        let lease = self.leases.get(choices.below(self.leases.len().max(1))).map(|known| known.0);
        let lease = lease.unwrap_or(LeaseId(choices.half().into()));
        let time = choices.one_of(&[Duration::ZERO, A_MOMENT, Duration::MAX]);
        let pair = [name, next];
        let builder = manager.claim(holder).of(&pair).priority(i16::from(choices.byte() as i8));
        match call {
            0..6 => {
                if let Ok(lease) = manager.acquire(name, holder, Duration::from_secs(60)) {
                    self.leases.push((lease, (name != "x").then_some(name)));
                }
            }
            6 => self.note(builder.count(2).preempt().submit()),
            7 => self.note(builder.preemptible(time).take(Take::Exclusive).submit()),
            8 => self.note(builder.spare(time).take(Take::Shared).submit()),
            9 => self.note(builder.count(2).on_one_node().patience(time).submit()),
            10 => self.note(builder.take(Take::Amount { slots: 1, memory: 7 }).ttl(time).submit()),
            11 => self.note(manager.claim(holder).of(&["y"]).child_of(lease).submit()),
            12..16 => {
                if let Ok(told) = manager.claim(holder).of(&[name]).submit() {
                    let whole = (name != "x").then_some(name);
                    match told {
                        Outcome::Granted(lease) => self.leases.push((lease, whole)),
                        Outcome::Waiting(ticket) => self.tickets.push((ticket, whole)),
                    }
                }
            }
            16..19 => drop(manager.release(lease)),
            19 => drop(manager.renew(lease)),
            20 => drop(manager.renew_for(lease, time)),
            21 => drop(manager.revoke_with(lease, Reason::NodeDrain, holder, time)),
            22 => drop(manager.want(holder, name)),
            23 => drop(manager.unwant(holder, name)),
            24 => drop(manager.find_deadlocks()),
            // Not what others are judged by: of that there is one.
            25 => drop(manager.declare(choices.one_of(&["x", "z"]), choices.byte().into(), 100)),
            26 => {
                let health = choices.one_of(&[Health::Healthy, Health::Failed]);
                let _ = manager.set_health(name, health);
            }
            27 => drop(manager.set_node(name, Some(next))),
            28 => {
                if let Some((ticket, _)) = self.tickets.pop() {
                    let _ = manager.wait_for_ticket(ticket, Some(time.min(A_MOMENT)));
                    let _ = manager.cancel_ticket(ticket);
                }
            }
            29 => drop(manager.keep_for_children(lease)),
            30 => drop(manager.hand_to(lease, std::process::id())),
            _ => self.look(manager),
        }
    }

    fn note(&mut self, told: Result<Outcome, Error>) {
        match told {
            Ok(Outcome::Granted(lease)) => self.leases.push((lease, None)),
            Ok(Outcome::Waiting(ticket)) => self.tickets.push((ticket, None)),
            Err(_) => {}
        }
    }

    /// Everything that only looks. What is found may be anything.
    fn look(&self, manager: &LeaseManager) {
        for lease in manager.leases() {
            let _ = (manager.lease(lease.id), manager.state(lease.id));
        }
        for ticket in manager.tickets() {
            let _ = (manager.ticket(ticket.id), manager.ticket_place(ticket.id));
        }
        let _ = (manager.resources(), manager.host(), manager.verify(), manager.metrics());
        let _ = (manager.events_since(0), manager.held_by("ann"), manager.leases_on("gpu0"));
        let _ = (manager.active_count(), manager.pending_claimers(), manager.revocations());
    }

    /// Takes the leases that waiting claims were granted.
    fn collect(&mut self, manager: &LeaseManager) {
        let tickets = std::mem::take(&mut self.tickets);
        for (ticket, whole) in tickets {
            match manager.ticket_state(ticket) {
                Some(TicketState::Granted(lease)) => {
                    let _ = manager.wait_for_ticket(ticket, Some(Duration::ZERO));
                    self.leases.push((lease, whole));
                }
                Some(TicketState::Waiting) => self.tickets.push((ticket, whole)),
                _ => {}
            }
        }
    }

    /// After one byte nobody may believe to have what another believes to have. Whoever makes up more than that can make up a whole table.
    fn judge(&self, manager: &LeaseManager) {
        let damage = self.damages.iter().filter(|extent| **extent != Extent::Nothing);
        if damage.clone().count() > 1 || damage.clone().any(|extent| *extent == Extent::More) {
            return;
        }
        for name in NAMES.iter().filter(|name| **name != "x") {
            let of_it = self.leases.iter().filter(|(_, whole)| whole.is_some_and(|it| it == *name));
            let mut held: Vec<LeaseId> = of_it
                .map(|known| known.0)
                .filter(|lease| manager.state(*lease) == Some(LeaseState::Held))
                .collect();
            held.sort_unstable();
            held.dedup();
            assert!(held.len() < 2, "{held:?} all have {name}");
        }
    }
}
