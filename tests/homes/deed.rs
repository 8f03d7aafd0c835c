//! What is done to a table through its managers, as data: the commands of the model's generator, with times that real clocks
//! do not bring about, apart from one at a time that they soon do.

use ternlease::table::{FOREVER, Time};

use super::managers::{Home, MANAGERS};
use crate::model::generate::{Rng, World};
use crate::model::step::Command;
use crate::model::{Ask, Model};

/// What the generator calls one: so long that none ends while the test runs.
const HOUR: Time = 3_600_000_000;

/// What ends before the next deed.
const SHORT: Time = 3_000;

/// Whatever is due within this time is waited for.
pub const SOON: Time = HOUR / 2;

#[derive(Debug, Clone)]
pub enum What {
    Do(Command),
    /// Whoever waits for the ticket looks what became of it.
    Collect {
        ticket: u64,
    },
    /// This manager is closed, and another one opened in its place.
    Replace,
}

#[derive(Debug, Clone)]
pub struct Deed {
    /// By which of the managers.
    pub by: usize,
    pub what: What,
}

/// The next one. What a manager does not offer is left out.
pub fn next(rng: &mut Rng, world: &World, model: &Model, nth: usize, home: &Home) -> Deed {
    loop {
        let command = world.step(rng, model, nth).command;
        let by = rng.below(MANAGERS as u64) as usize;
        let what = match command {
            Command::Evidence { .. }
            | Command::Traits { .. }
            | Command::Fail { .. }
            | Command::GiveTo { .. } => {
                // While names are declared they come in turn: there is nothing else to choose.
                let turns = 2 * world.declared + world.nodes.len();
                if nth < turns { What::Do(Command::Advance) } else { continue }
            }
            Command::End { .. } => What::Collect { ticket: world.a_ticket(rng, model) },
            Command::Reap { .. } if home.is_shared() => What::Replace,
            Command::Reap { .. } | Command::Join { .. } => continue,
            command => What::Do(for_real_time(command, rng, model)),
        };
        return Deed { by, what };
    }
}

fn for_real_time(mut command: Command, rng: &mut Rng, model: &Model) -> Command {
    match &mut command {
        Command::Claim { ask, .. } => {
            if !ask.spare && !ask.preemptible {
                // The only leases to which a claim can promise a notice.
                ask.grace = 0;
            }
            let times = [&mut ask.ttl, &mut ask.wait, &mut ask.grace];
            let short = (rng.percent(12) && is_calm(model)).then(|| rng.below(3) as usize);
            for (place, time) in times.into_iter().enumerate() {
                *time = if Some(place) == short && *time != 0 { SHORT } else { hours(*time) };
            }
        }
        Command::Renew { ttl: Some(ttl), .. } => *ttl = hours(*ttl),
        Command::Revoke { notice, .. } => {
            let short = *notice != 0 && rng.percent(30) && is_calm(model);
            *notice = if short { SHORT } else { hours(*notice) };
        }
        _ => {}
    }
    command
}

/// Nothing and no end are the same by every clock, and so is what is wrong.
fn hours(time: Time) -> Time {
    if time >= FOREVER - 1 { time } else { time * HOUR }
}

/// Is there nothing that may run out soon? With two of them it would depend on the machine which is noticed first.
fn is_calm(model: &Model) -> bool {
    let short = |ask: &Ask| [ask.ttl, ask.wait, ask.grace].contains(&SHORT);
    !model.held.values().any(|lease| short(&lease.ask))
        && !model.waiting.values().any(|ticket| short(&ticket.ask))
}

/// What is noticed next if nobody does anything.
pub fn next_due(model: &Model) -> Time {
    let leases = model.held.values().map(|lease| lease.end());
    let tickets = model.waiting.values().map(|ticket| ticket.deadline);
    leases.chain(tickets).min().unwrap_or(FOREVER)
}
