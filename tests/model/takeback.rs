//! Taking back spare and preemptible leases for those who wait.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ternlease::table::{Reason, Take, Taken};

use super::line::{Loads, add_load, loads};
use super::{Ask, Lease, Model, Ticket, conflict};

/// A picture of the table in which leases can be removed and taken without consequence.
#[derive(Clone)]
struct Sketch {
    leases: BTreeMap<u64, Lease>,
    picked: Vec<(Taken, Take)>,
}

impl Sketch {
    fn remove_with_all_below(&mut self, id: u64) -> bool {
        let below: Vec<u64> = self
            .leases
            .values()
            .filter(|lease| lease.ask.parent == Some(id))
            .map(|lease| lease.id)
            .collect();
        for child in below {
            self.remove_with_all_below(child);
        }
        self.leases.remove(&id).is_some()
    }

    fn loads(&self) -> Loads {
        let mut loads = loads(self.leases.values());
        for (taken, take) in &self.picked {
            add_load(&mut loads, taken, *take);
        }
        loads
    }
}

impl Model {
    /// Look at the tickets that are not spare, in order, and take leases back for the first that
    /// this helps; true if there is one.
    pub fn take_back(&mut self) -> bool {
        let effective = self.effective();
        let line = self.in_order(&effective).into_iter().filter(|ticket| !ticket.ask.spare);
        let staying = self.held.values().filter(|lease| !self.is_leaving(lease));
        let mut sketch = Sketch {
            leases: staying.map(|lease| (lease.id, lease.clone())).collect(),
            picked: Vec::new(),
        };
        let mut unsatisfied: Vec<&Ticket> = Vec::new();
        for ticket in line {
            let behind = unsatisfied.iter().any(|earlier| conflict(&earlier.ask, &ticket.ask));
            let plan = if behind && !ticket.may_overtake {
                None
            } else {
                self.plan(&sketch, ticket, &effective)
            };
            let Some((after, removed)) = plan else {
                unsatisfied.push(ticket);
                continue;
            };
            sketch = after;
            if removed.is_empty() {
                continue;
            }
            if ticket.ask.together {
                self.note("taken back for one node");
            }
            for id in removed {
                // It may have gone with its parent a moment ago.
                let Some(lease) = self.held.get(&id) else { continue };
                let reason =
                    if lease.ask.spare { Reason::SpareReclaimed } else { Reason::Preempted };
                let grace = lease.ask.grace;
                self.take_away(id, reason, None, grace, None);
            }
            return true;
        }
        false
    }

    /// How the sketch looks once the ticket is satisfied, and which leases go for it in order.
    fn plan(
        &self,
        sketch: &Sketch,
        ticket: &Ticket,
        effective: &BTreeMap<u64, i16>,
    ) -> Option<(Sketch, Vec<u64>)> {
        let ask = &ticket.ask;
        let sketch = sketch.clone();
        let at_first = sketch.loads();
        let (fitting, others): (Vec<String>, Vec<String>) = ask
            .candidates
            .iter()
            .cloned()
            .partition(|name| self.fits_soon(&at_first, name, ask.take));
        if self.enough(&fitting, ask) {
            let picks = self.choose(fitting, ask);
            return Some((self.with_picks(sketch, ask, picks), Vec::new()));
        }
        // Those of one node, or all. The nodes first of which most fit; of equals the first.
        let mut choices = match ask.together {
            false => vec![ask.candidates.clone()],
            true => self.by_node(&ask.candidates),
        };
        let fits = |name: &&String| fitting.contains(name);
        choices.sort_by_key(|names| Reverse(names.iter().filter(fits).count()));
        choices.iter().find_map(|names| {
            let of = |list: &[String]| list.iter().filter(|n| names.contains(n)).cloned().collect();
            self.plan_with(&sketch, ticket, effective, of(&fitting), of(&others))
        })
    }

    /// How the sketch looks once the ticket has what fits and as many others as it needs, and which leases go for them.
    fn plan_with(
        &self,
        sketch: &Sketch,
        ticket: &Ticket,
        effective: &BTreeMap<u64, i16>,
        fitting: Vec<String>,
        others: Vec<String>,
    ) -> Option<(Sketch, Vec<u64>)> {
        let ask = &ticket.ask;
        let needed = ask.count as usize;
        let mut sketch = sketch.clone();
        let mut removed = Vec::new();
        let mut picks = fitting;
        for name in &others {
            if picks.len() == needed {
                break;
            }
            let mut trial = sketch.clone();
            let mut gone = Vec::new();
            let mut takeable: Vec<&Lease> = sketch
                .leases
                .values()
                .filter(|lease| {
                    lease.takes_of(name) && self.may_take_back(ticket, lease, effective)
                })
                .collect();
            takeable.sort_by_key(|lease| {
                (!lease.ask.spare, lease.ask.priority, Reverse((lease.age, lease.id)))
            });
            let mut takeable = takeable.into_iter();
            let fits = loop {
                if self.fits_soon(&trial.loads(), name, ask.take) {
                    break true;
                }
                let Some(next) = takeable.next() else { break false };
                // It may have gone with its parent.
                if trial.remove_with_all_below(next.id) {
                    gone.push(next.id);
                }
            };
            if fits {
                sketch = trial;
                removed.extend(gone);
                picks.push(name.clone());
            }
        }
        if picks.len() < needed {
            return None;
        }
        Some((self.with_picks(sketch, ask, picks), removed))
    }

    fn with_picks(&self, mut sketch: Sketch, ask: &Ask, picks: Vec<String>) -> Sketch {
        for name in picks {
            sketch.picked.push((self.taken(&name, ask.take), ask.take));
        }
        sketch
    }

    fn may_take_back(
        &self,
        ticket: &Ticket,
        lease: &Lease,
        effective: &BTreeMap<u64, i16>,
    ) -> bool {
        lease.ask.spare
            || (ticket.ask.preempt
                && lease.ask.preemptible
                && self.standing(lease, effective) < effective[&ticket.id])
    }

    /// The highest of a lease's own priority and those its worker makes wait elsewhere.
    fn standing(&self, lease: &Lease, effective: &BTreeMap<u64, i16>) -> i16 {
        let loads = loads(self.held.values());
        let held_elsewhere = |name: &str| {
            let others = self
                .held
                .values()
                .filter(|other| other.worker == lease.worker && other.id != lease.id);
            others.into_iter().any(|other| other.takes_of(name))
        };
        let waiting_elsewhere =
            self.waiting.values().filter(|ticket| {
                ticket.worker != lease.worker
                    && !ticket.ask.spare
                    && !ticket.ask.candidates.iter().any(|name| lease.takes_of(name))
                    && ticket.ask.candidates.iter().any(|name| {
                        held_elsewhere(name) && !self.fits(&loads, name, ticket.ask.take)
                    })
            });
        let theirs = waiting_elsewhere.map(|ticket| effective[&ticket.id]);
        theirs.chain([lease.ask.priority]).max().expect("its own is there")
    }
}
