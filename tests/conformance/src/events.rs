//! Events and watches.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ternlease::{Notice, TicketId, What};

use crate::Driver;
use crate::answer::{Problem, Step, ok, time, trit};
use crate::labels::Labels;
use crate::words::Words;

/// What the watched leases were told, by label.
pub type Watches = HashMap<String, Receiver<Notice>>;

impl Driver {
    pub fn event_step(&mut self, verb: &str, mut words: Words) -> Step {
        match verb {
            "events" => self.events(),
            "watch" => {
                let label = words.next()?;
                let (told, heard) = channel();
                let lease = self.labels.lease(label);
                self.manager()?.watch(lease, move |notice| {
                    // Nobody listens any more: then there is nothing to tell.
                    let _ = told.send(*notice);
                })?;
                self.watches.insert(label.to_owned(), heard);
                ok()
            }
            _ => {
                let heard = self.watches.get(words.next()?).ok_or(Problem::Nonsense)?;
                let timeout = Duration::from_millis(words.number()?);
                let notice = heard.recv_timeout(timeout).or(Err(Problem::Status("TIMEOUT")))?;
                let reason = notice.reason.map_or("NONE", |reason| reason.name());
                Ok(format!("OK {} {reason}", trit(notice.state.map(|state| state as i8))))
            }
        }
    }

    fn events(&mut self) -> Step {
        let manager = self.manager.as_ref().ok_or(Problem::Nonsense)?;
        let Some(reader) = &mut self.reader else {
            self.reader = Some(manager.events(u64::MAX));
            return Ok("OK -".to_owned());
        };
        let told: Vec<String> = reader.map(|event| words_of(event.what, &self.labels)).collect();
        Ok(if told.is_empty() { "OK -".to_owned() } else { format!("OK {}", told.join("; ")) })
    }
}

fn words_of(what: What, labels: &Labels) -> String {
    let lease = |id| labels.of_lease(id);
    let ticket = |id: TicketId| labels.of_ticket(id);
    match what {
        What::Granted { lease: id, ticket: None } => format!("granted {}", lease(id)),
        What::Granted { lease: id, ticket: Some(by) } => {
            format!("granted {} {}", lease(id), ticket(by))
        }
        What::RenewedLate { lease: id, until } => {
            format!("renewed-late {} {}", lease(id), time(until))
        }
        What::Revoking { lease: id, reason, until } => {
            format!("revoking {} {} {}", lease(id), reason.name(), time(until))
        }
        What::Ended { lease: id, reason, held, .. } => {
            format!("ended {} {} {held}", lease(id), reason.name())
        }
        What::Queued { ticket: id } => format!("queued {}", ticket(id)),
        What::Refused { ticket: id, reason, waited } => {
            format!("refused {} {} {waited}", ticket(id), reason.name())
        }
        What::Health { resource, health } => {
            format!("health {resource} {}", trit(Some(health as i8)))
        }
        What::Died { .. } => "died".to_owned(),
        What::RolledBack { .. } => "rolled-back".to_owned(),
        _ => "?".to_owned(),
    }
}
