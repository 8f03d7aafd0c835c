//! Blocking a thread until a ticket is decided.

#[cfg(feature = "cluster")]
use std::time::Duration;
use std::time::Instant;

use super::Core;
#[cfg(feature = "cluster")]
use super::clustered::PAUSE;
use crate::home::arrays::Undo;
use crate::home::wake::{self, Role};
use crate::home::world;
use crate::table::{Error, TicketId, TicketState};

impl<U: Undo> Core<U> {
    /// Blocks the thread until the ticket is decided or the time has come; what it is then.
    pub fn await_ticket(
        &self,
        id: TicketId,
        role: Role,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error> {
        let state = self.ticket(id);
        let over = |until: Option<Instant>| until.is_some_and(|until| world::instant() >= until);
        if state != Some(TicketState::Waiting) || over(until) {
            return Ok(state);
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.await_shared(host, id, until);
        }
        let mut state = self.watch(id, role, &wake::this_thread());
        // Others may unpark this thread for reasons of their own.
        while state == Some(TicketState::Waiting) {
            self.check_open()?;
            if over(until) {
                break;
            }
            #[cfg(feature = "cluster")]
            if let Some(part) = self.part() {
                let left = until.map(|until| until.saturating_duration_since(world::instant()));
                let sure = part.sure_for().max(PAUSE);
                world::park_timeout(sure.min(left.unwrap_or(Duration::MAX)));
                state = self.ticket(id);
                continue;
            }
            match self.look_by(until) {
                Some(look) => {
                    world::park_timeout(look.saturating_duration_since(world::instant()));
                    // Lets what is due happen, if nobody else does.
                    self.look(|_| ());
                }
                None => world::park(),
            }
            state = self.ticket(id);
        }
        Ok(state)
    }

    /// An error if nothing will ever be decided any more.
    pub(super) fn check_open(&self) -> Result<(), Error> {
        if self.is_abandoned() {
            return Err(Error::Corrupt);
        }
        if self.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }
}
