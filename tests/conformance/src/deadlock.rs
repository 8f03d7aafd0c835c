//! Deadlocks, in a line each.

use ternlease::TicketId;

use crate::Driver;
use crate::answer::Step;

impl Driver {
    pub fn deadlocks(&self) -> Step {
        let labels = &self.labels;
        let told: Vec<String> = self
            .manager()?
            .find_deadlocks()?
            .iter()
            .map(|deadlock| {
                let cycle: Vec<String> = deadlock
                    .cycle
                    .iter()
                    .map(|wait| {
                        let ticket = labels.of_ticket(wait.ticket.unwrap_or(TicketId(0)));
                        format!("{}:{ticket}>{}", wait.worker, labels.of_lease(wait.lease))
                    })
                    .collect();
                format!(
                    "victim={} stuck={} cycle={}",
                    labels.of_lease(deadlock.victim),
                    deadlock.stuck.join(","),
                    cycle.join(",")
                )
            })
            .collect();
        Ok(if told.is_empty() { "OK -".to_owned() } else { format!("OK {}", told.join(" ; ")) })
    }
}
