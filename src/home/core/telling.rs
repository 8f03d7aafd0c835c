//! Who is to be told: of a ticket that is decided, of events.

use std::task::Waker;

use super::guard::Guard;
use super::{Core, State};
use crate::home::EventPosition;
use crate::home::arrays::Undo;
#[cfg(feature = "cluster")]
use crate::home::cluster::Part;
#[cfg(target_os = "linux")]
use crate::home::signal_fd::SignalFd;
use crate::home::wake::{Listener, Role};
#[cfg(target_os = "linux")]
use crate::table::Error;
use crate::table::{Event, LeaseId, LeaseInfo, TicketId, TicketState};

impl<U: Undo> Core<U> {
    /// Calls `waker` when the ticket is decided; what it is now.
    pub fn watch(&self, ticket: TicketId, role: Role, waker: &Waker) -> Option<TicketState> {
        if self.is_forked() {
            return None;
        }
        let waker = waker.clone();
        let mut state = self.lock_ticket(ticket);
        let found = self.told_of(&state, ticket);
        let place = state.table.place_of(ticket);
        let unused = match found {
            Some(TicketState::Waiting) => state.wakers.add(place, role, waker),
            _ => Some(waker),
        };
        self.keeper_must_know(&state);
        drop(state);
        drop(unused);
        found
    }

    /// A descriptor that becomes readable when the ticket is decided. However often it is asked for, the home keeps one.
    #[cfg(target_os = "linux")]
    pub fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        if self.is_forked() {
            return Err(Error::Forked);
        }
        self.check_keeper()?;
        let mut fd = SignalFd::new()?;
        let mut state = self.lock_ticket(ticket);
        match self.told_of(&state, ticket) {
            None => return Err(Error::UnknownTicket),
            Some(TicketState::Waiting) => {
                let place = state.table.place_of(ticket);
                fd = state.wakers.descriptor(place, fd);
                self.keeper_must_know(&state);
            }
            Some(_) => fd.raise(),
        }
        drop(state);
        fd.share()
    }

    /// The lock, at a moment when what is known of a ticket may be told.
    fn lock_ticket(&self, _ticket: TicketId) -> Guard<'_, U> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            let is_own = |state: &State<U>| super::held::is_own_ticket(part, state, _ticket);
            return Guard::new(self.lock_about(part, self.ticket_record(_ticket), is_own));
        }
        self.lock()
    }

    fn told_of(&self, state: &State<U>, ticket: TicketId) -> Option<TicketState> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return super::held::in_vain(part, state, ticket, self.ticket_record(ticket));
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return super::shared::unless_lost(host, state.table.ticket(ticket));
        }
        state.table.ticket(ticket)
    }

    /// Everything about a lease.
    pub fn lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part().filter(|part| !part.is_forked()) {
            return self.clustered_lease(part, id);
        }
        self.current_lease(id)
    }

    fn current_lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        let found = self.look(|table| table.lease(id));
        #[cfg(target_os = "linux")]
        if self.host().is_some_and(|host| host.is_lost()) {
            return found.map(|info| match info.state {
                crate::table::LeaseState::Held => info.with_engine_lost(self.clock().now()),
                _ => info,
            });
        }
        found
    }

    /// As [`Self::lease`], without a question to an engine: listeners are woken when there is more
    /// to know. `None` if what is known may yet be undone.
    pub fn known_lease(&self, id: LeaseId) -> Option<Option<LeaseInfo>> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part().filter(|part| !part.is_forked()) {
            return self.known_clustered(part, id);
        }
        Some(self.current_lease(id))
    }

    /// Changes when a session with an engine is lost, when it is found again, and when the file of the table is lost.
    pub fn session_turns(&self) -> u64 {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return part.session_turns();
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return host.is_lost().into();
        }
        0
    }

    /// Where a reader begins that has read the events up to this number; `u64::MAX`: that wants
    /// what comes from now on.
    pub fn event_position(&self, cursor: u64) -> EventPosition {
        let cursor_now = cursor.min(self.look(|table| table.last_event()));
        #[cfg_attr(not(feature = "cluster"), expect(unused_mut))]
        let mut position = EventPosition { cursor: cursor_now, ..EventPosition::default() };
        #[cfg(feature = "cluster")]
        if let Some(lost) = self.part().filter(|_| cursor == u64::MAX).and_then(Part::lost_session)
        {
            position.losses = lost.number;
        }
        position
    }

    /// The events after a position, which moves on; how many were missed. Without `ask` an engine
    /// is not asked for news: listeners are woken when there are some.
    pub fn events_after(
        &self,
        position: &mut EventPosition,
        _ask: bool,
        events: &mut Vec<Event>,
    ) -> u64 {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part().filter(|part| !part.is_forked()) {
            return self.clustered_events(part, position, _ask, events);
        }
        // With its manager the time of a table ends.
        let ended = self.is_closed() || self.is_abandoned();
        let missed = self.run(|table, now| {
            if !ended {
                // Fails only for a time beyond all times, and then looking is still right.
                let _ = table.advance(now);
            }
            table.events_since(position.cursor, events)
        });
        position.cursor = events.last().map_or(position.cursor, |event| event.number);
        missed
    }

    /// Calls `waker` after every command that had events, until [`Self::unlisten`].
    pub fn listen(&self, waker: Waker) -> Listener {
        if self.is_forked() {
            return Listener::default();
        }
        let mut state = self.lock();
        let last = state.table.last_event();
        let listener = state.listeners.add(last, waker);
        self.keeper_must_know(&state);
        // The keeper may have to get up for it.
        self.hand_over(state);
        listener
    }

    pub fn unlisten(&self, listener: Listener) {
        if self.is_forked() {
            return;
        }
        // The waker is dropped without the lock.
        let _waker = self.lock().listeners.remove(listener);
    }

    /// Somebody waits who does not sleep on a ticket itself: in a shared home the keeper must learn it from others.
    fn keeper_must_know(&self, _state: &State<U>) {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            host.listen(!_state.listeners.is_empty(), !_state.wakers.is_empty());
            host.ring_own();
        }
    }
}
