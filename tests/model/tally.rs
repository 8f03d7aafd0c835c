//! How often things happened, so that the test cannot quietly stop testing them.

use std::collections::BTreeMap;
use std::fmt;

use ternlease::table::{Error, Event, What};

use super::Model;
use super::step::Answer;

#[derive(Default)]
pub struct Tally {
    pub commands: u64,
    pub episodes: u64,
    counts: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&mut self, what: impl Into<String>, times: u64) {
        *self.counts.entry(what.into()).or_default() += times;
    }

    pub fn get(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    pub fn answer(&mut self, answer: &Result<Answer, Error>) {
        self.commands += 1;
        match answer {
            Err(Error::NotHeld(..)) => self.add("error NotHeld", 1),
            Err(Error::NotARevocation(_)) => self.add("error NotARevocation", 1),
            Err(error) => self.add(format!("error {error:?}"), 1),
            Ok(Answer::Revoked(revoked)) => {
                let text = format!("{revoked:?}");
                self.add(format!("answer {}", text.split('(').next().unwrap_or_default()), 1);
            }
            Ok(Answer::Cancelled(cancelled)) => {
                let text = format!("{cancelled:?}");
                self.add(format!("answer {}", text.split('(').next().unwrap_or_default()), 1);
            }
            Ok(Answer::Deadlocks(found)) => {
                self.add("deadlock reported", found.len() as u64);
                let several = found.iter().filter(|deadlock| deadlock.cycle.len() > 1).count();
                self.add("deadlock of several reported", several as u64);
                let wants = found
                    .iter()
                    .filter(|deadlock| deadlock.cycle.iter().any(|wait| wait.ticket.is_none()));
                self.add("deadlock with a want reported", wants.count() as u64);
            }
            Ok(_) => {}
        }
    }

    pub fn event(&mut self, event: &Event) {
        let what = match &event.what {
            What::Granted { ticket: None, .. } => "granted at once".to_string(),
            What::Granted { ticket: Some(_), .. } => "granted from line".to_string(),
            What::RenewedLate { .. } => "renewed late".to_string(),
            What::Revoking { reason, .. } => format!("notice {reason}"),
            What::Ended { reason, .. } => format!("ended {reason}"),
            What::Queued { .. } => "queued".to_string(),
            What::Refused { reason, .. } => format!("refused {reason}"),
            What::Health { .. } => "health changed".to_string(),
            unknown => panic!("the model does not know {unknown:?}"),
        };
        self.add(what, 1);
    }

    pub fn episode(&mut self, model: &Model) {
        self.episodes += 1;
        for (what, times) in &model.happened {
            self.add(*what, *times);
        }
    }

    pub fn merge(&mut self, other: Tally) {
        self.commands += other.commands;
        self.episodes += other.episodes;
        for (what, times) in other.counts {
            self.add(what, times);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:8}  commands in {} episodes", self.commands, self.episodes)?;
        self.counts.iter().try_for_each(|(what, times)| writeln!(f, "{times:8}  {what}"))
    }
}
