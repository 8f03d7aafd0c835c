//! What is drawn: the leases of each device, from the history and from what the table remembers of them.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ternlease::{Actor, LeaseId, LeaseInfo, LeaseState, Reason, Time, What};

use crate::names::Named;
use crate::text::clock::Clock;

/// Who had what, for as long as it is remembered.
#[derive(Debug)]
pub struct History {
    /// The beginning of what is shown.
    pub from: Time,
    /// Its end: now.
    pub to: Time,
    /// One for each device, in the pool's order, then what else is leased in this table.
    pub rows: Vec<Row>,
    /// Leases of which it is not remembered any more what they were on.
    pub forgotten: usize,
    /// To turn times of the table into times of the day.
    pub clock: Clock,
}

/// A device.
#[derive(Debug)]
pub struct Row {
    /// What people call it.
    pub name: String,
    /// Its leases. Those that it had at the same time are in different lanes; there is always one.
    pub lanes: Vec<Vec<Bar>>,
}

/// One lease on one device.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Which.
    pub lease: LeaseId,
    /// Who had it.
    pub holder: String,
    /// Since when.
    pub from: Time,
    /// Until when: now, if it is still held.
    pub to: Time,
    /// How it ended.
    pub fate: Fate,
    /// Why it ended, or will.
    pub reason: Option<Reason>,
    /// The process that ended it or revokes it, if it is not its owner's.
    pub ended_by: Option<Actor>,
    /// Who revoked it, as the caller that did so claimed.
    pub revoker: Option<String>,
    /// Its holder released it during a notice.
    pub acknowledged: bool,
    /// Do machines share the table?
    pub in_cluster: bool,
}

/// How a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It did not: it is held.
    Held,
    /// It is held, and its holder has been told that it will be taken away.
    Notified,
    /// The holder gave it back.
    Released,
    /// Nobody renewed it.
    RanOut,
    /// The holder died.
    Died,
    /// It was taken away.
    Revoked,
}

impl Fate {
    /// All there are, in the order of a legend.
    pub const ALL: [Fate; 6] =
        [Fate::Held, Fate::Notified, Fate::Released, Fate::RanOut, Fate::Died, Fate::Revoked];

    /// As a legend has it.
    pub const fn name(self) -> &'static str {
        match self {
            Fate::Held => "held",
            Fate::Notified => "held, notice given",
            Fate::Released => "given back",
            Fate::RanOut => "ran out",
            Fate::Died => "holder died",
            Fate::Revoked => "revoked",
        }
    }

    /// Is it still held?
    pub const fn goes_on(self) -> bool {
        matches!(self, Fate::Held | Fate::Notified)
    }

    fn of(info: &LeaseInfo) -> Self {
        match (info.state, info.reason) {
            (LeaseState::Held, _) if info.revoking => Fate::Notified,
            (LeaseState::Held, _) => Fate::Held,
            (LeaseState::Revoked, _) => Fate::Revoked,
            (_, Some(Reason::Released)) => Fate::Released,
            (_, Some(Reason::HolderDied)) => Fate::Died,
            _ => Fate::RanOut,
        }
    }
}

/// Less than this makes no chart.
const SHORTEST: Time = 1000;

impl History {
    /// Reads it; `since` says how far back.
    pub fn read(named: &Named, since: Option<Duration>) -> Self {
        // What is over by now shall be shown as over.
        named.manager.tick();
        let clock = Clock::of(&named.manager);
        let to = clock.now;
        let earliest = since.map(|since| {
            let back = Time::try_from(since.as_micros()).unwrap_or(Time::MAX);
            to.saturating_sub(back.max(SHORTEST))
        });
        let (ids, granted) = leases(named);
        let infos: Vec<LeaseInfo> = ids.iter().filter_map(|id| named.manager.lease(*id)).collect();
        let known: BTreeSet<LeaseId> = infos.iter().map(|info| info.id).collect();
        let forgotten = ids
            .iter()
            .filter(|id| !known.contains(id))
            .filter(|id| earliest.is_none_or(|from| granted.get(id).is_some_and(|at| *at >= from)))
            .count();
        let mut rows: Vec<(String, Vec<Bar>)> =
            named.devices.iter().map(|(_, name)| (name.clone(), Vec::new())).collect();
        let mut places: HashMap<&str, usize> =
            named.devices.iter().enumerate().map(|(at, (key, _))| (key.as_str(), at)).collect();
        for info in &infos {
            let fate = Fate::of(info);
            let end = if fate.goes_on() { to } else { info.end.min(to) };
            if earliest.is_some_and(|from| end < from) {
                continue;
            }
            for taken in &info.takes {
                let at = *places.entry(&taken.resource).or_insert_with(|| {
                    rows.push((taken.resource.clone(), Vec::new()));
                    rows.len() - 1
                });
                rows[at].1.push(Bar {
                    lease: info.id,
                    holder: info.holder.clone(),
                    from: info.granted_at.min(end),
                    to: end,
                    fate,
                    reason: info.reason,
                    ended_by: info.ended_by,
                    revoker: info.revoker.clone(),
                    acknowledged: info.acknowledged,
                    in_cluster: named.is_in_cluster(),
                });
            }
        }
        let first = rows.iter().flat_map(|(_, bars)| bars).map(|bar| bar.from).min();
        // A window without a lease at its beginning begins with the first.
        let from = first.max(earliest).unwrap_or(to).min(to.saturating_sub(SHORTEST));
        let rows = rows.into_iter().map(|(name, bars)| Row { name, lanes: lanes(bars) }).collect();
        History { from, to, rows, forgotten, clock }
    }

    /// All leases that are drawn.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.rows.iter().flat_map(|row| &row.lanes).flatten()
    }

    /// The ways in which they ended that occur.
    pub fn fates(&self) -> Vec<Fate> {
        Fate::ALL.into_iter().filter(|fate| self.bars().any(|bar| bar.fate == *fate)).collect()
    }

    /// Where a time is between the beginning (0) and the end (1).
    pub fn part(&self, at: Time) -> f64 {
        let span = self.to.saturating_sub(self.from).max(1);
        at.clamp(self.from, self.to).saturating_sub(self.from) as f64 / span as f64
    }
}

/// All leases that are held, or of which the history tells; and when those that it tells of were granted.
fn leases(named: &Named) -> (BTreeSet<LeaseId>, HashMap<LeaseId, Time>) {
    let mut ids: BTreeSet<LeaseId> = named.manager.leases().iter().map(|info| info.id).collect();
    let mut granted = HashMap::new();
    for event in named.manager.events_since(0).0 {
        match event.what {
            What::Granted { lease, .. } => {
                ids.insert(lease);
                granted.insert(lease, event.at);
            }
            What::Ended { lease, held, .. } => {
                ids.insert(lease);
                granted.insert(lease, event.at.saturating_sub(held));
            }
            _ => {}
        }
    }
    (ids, granted)
}

/// Each into the first lane that is free when it begins.
fn lanes(mut bars: Vec<Bar>) -> Vec<Vec<Bar>> {
    bars.sort_by_key(|bar| (bar.from, bar.lease));
    let mut lanes: Vec<Vec<Bar>> = vec![Vec::new()];
    for bar in bars {
        let free = |lane: &Vec<Bar>| lane.last().is_none_or(|last| last.to <= bar.from);
        match lanes.iter().position(free) {
            Some(at) => lanes[at].push(bar),
            None => lanes.push(vec![bar]),
        }
    }
    lanes
}
