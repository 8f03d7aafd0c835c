//! The end of the session of a process with etcd, as this process notices it by its own clock.
//!
//! While etcd is unreachable no event of the table reports that the leases of this process are
//! lost, and the ticker may wait for an answer of etcd. So a thread that never calls etcd waits for
//! the deadline of the session and wakes all that wait or listen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Replica;
use super::home::{ClusterHome, State};
use crate::home::cluster::{Failure, Group, Part};
use crate::home::open::OpenError;
use crate::home::waiters::WakeList;
use crate::home::{EventPosition, Home};
use crate::memory::Arrays;
use crate::rt::{self, MutexGuard};
use crate::table::layout::Lease;
use crate::table::query::LeaseById;
use crate::table::slot::Word;
use crate::table::{
    Error, Event, LeaseId, LeaseInfo, LeaseState, Memory, Reason, Table, Time, What,
};

/// The longest sleep: timed sleeps do not count the time for which the machine was suspended, and
/// the deadline does.
const SLICE: Duration = Duration::from_secs(1);

/// How long to wait for a command that etcd has not answered before the session is looked at again.
const LOOK: Duration = Duration::from_millis(20);

impl ClusterHome {
    /// Starts the thread that reports the loss of the session.
    pub(super) fn start_session_watcher(self: &Arc<Self>, part: &Part) -> Result<(), OpenError> {
        let home = self.clone();
        let watch = move || {
            let mut reported = 0;
            let run = || while home.watch_session(&home.part, &mut reported) {};
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                home.poison();
            }
        };
        self.session_ticker.start_with("tern-session", watch).map_err(|error| {
            OpenError::system("the system does not start the thread that it needs", &error)
        })?;
        if let Some(thread) = self.session_ticker.thread() {
            part.hearing.set_session_watcher(thread);
        }
        Ok(())
    }

    /// Sleeps until the deadline of the session, or reports its loss once. False when the home is
    /// closed.
    fn watch_session(&self, part: &Part, reported: &mut u64) -> bool {
        if part.is_closed() || self.steps.is_closed() {
            return false;
        }
        if part.is_sure() {
            rt::park_timeout(part.sure_for().min(SLICE));
            return true;
        }
        let mut wake = WakeList::default();
        let mut state = self.state.lock();
        self.note_lost_session(part, &state);
        match part.lost_session() {
            Some(lost) if lost.number != *reported => {
                *reported = lost.number;
                state.waiters.take_all(&mut wake);
                drop(state);
                wake.wake();
            }
            _ => {
                drop(state);
                rt::park_timeout(SLICE);
            }
        }
        true
    }

    /// Notes which leases are lost, if the session is and nothing was noted yet.
    fn note_lost_session(&self, part: &Part, state: &State) {
        // The session may have been found again before this thread had the lock.
        if !part.is_sure() && part.lost_session().is_none() {
            let group = state.group.as_ref();
            let word = |record: &Lease| group.and_then(|group| group.committed(&record.slot.word));
            self.note_lost_leases(part, &state.table, word);
        }
    }

    /// Notes which leases are lost. `committed` is the word of a lease before the commands that are
    /// in flight, if they change it.
    pub(super) fn note_lost_leases(
        &self,
        part: &Part,
        table: &Table<Arrays<Replica>>,
        committed: impl Fn(&Lease) -> Option<u64>,
    ) {
        if self.memory.kept().is_none_or(|kept| kept.is_nobodys()) {
            return;
        }
        let lost = |id: LeaseId| {
            let info = table.lease(id).filter(|info| info.owner == part.owner())?;
            let word = self.record_of(id).and_then(&committed);
            let held = word.map_or(info.state == LeaseState::Held, |word| Word(word).held());
            held.then_some((id, info.granted_at))
        };
        let over_for = Time::try_from(part.over_for().as_micros()).unwrap_or(Time::MAX);
        let at = self.clock.now().saturating_sub(over_for);
        part.set_lost_leases(at, table.kept_ids().into_iter().filter_map(lost).collect());
    }

    /// If what etcd has is not the table of this process any more, this process holds nothing. With
    /// the lock, and with nothing in flight.
    pub(super) fn lose_table(
        &self,
        part: &Part,
        table: &Table<Arrays<Replica>>,
        failure: &Failure,
    ) {
        let error = match failure {
            Failure::Engine(_) | Failure::InDoubt(_) => return,
            Failure::Diverged => Error::OtherStore,
            Failure::Corrupt => Error::Corrupt,
        };
        // This process must not write to etcd any more: it does not know how far the table is.
        part.refuse(error);
        self.note_lost_leases(part, table, |_| None);
        if error == Error::Corrupt {
            table.mark_corrupt();
        }
    }

    /// The lock at a moment when the copy has nothing that may be undone, or when the session is
    /// lost: then it may have.
    fn lock_until_lost(&self, part: &Part) -> (MutexGuard<'_, State>, bool) {
        let mut state = self.state.lock();
        let in_flight = |state: &State| state.group.as_ref().is_some_and(|it| !it.is_settled());
        if in_flight(&state) {
            state.group.iter_mut().for_each(Group::ask_for_a_moment);
            while in_flight(&state) && part.is_sure() {
                part.landed.wait_for(&mut state, LOOK);
            }
            state.group.iter_mut().for_each(Group::have_a_moment);
            part.landed.notify_all();
        }
        self.note_lost_session(part, &state);
        let settled = !in_flight(&state);
        (state, settled)
    }

    /// Everything about a lease. What this process lost with its session is reported without a
    /// question to etcd.
    pub(super) fn clustered_lease(&self, part: &Part, id: LeaseId) -> Option<LeaseInfo> {
        if let Some(lost) = self.lost_lease(part, id) {
            return Some(lost);
        }
        let found = self.query(&LeaseById { lease: id });
        // The session may have ended while etcd was asked.
        self.lost_lease(part, id).or(found)
    }

    fn lost_lease(&self, part: &Part, id: LeaseId) -> Option<LeaseInfo> {
        if part.is_sure() || part.is_closed() {
            return None;
        }
        let state = self.state.lock();
        self.note_lost_session(part, &state);
        let lost = part.lost_session().filter(|lost| lost.has(id))?;
        Some(state.table.lease(id)?.with_engine_lost(lost.at))
    }

    /// As [`Self::clustered_lease`], by what is known here. `None` if that may yet be undone.
    pub(super) fn known_clustered(&self, part: &Part, id: LeaseId) -> Option<Option<LeaseInfo>> {
        let (state, settled) = self.lock_until_lost(part);
        let found = state.table.lease(id);
        match part.lost_session().filter(|lost| lost.has(id)) {
            Some(lost) => Some(found.map(|info| info.with_engine_lost(lost.at))),
            None => settled.then_some(found),
        }
    }

    /// The events after a position, which moves on; how many were missed. With `ask`, etcd is asked
    /// for news, if it answers.
    pub(super) fn clustered_events(
        &self,
        part: &Part,
        position: &mut EventPosition,
        ask: bool,
        events: &mut Vec<Event>,
    ) -> u64 {
        if ask && !part.is_closed() && part.is_sure() && part.hearing.silent_since().is_none() {
            self.bring_up_to_date(part);
        }
        let (state, settled) = self.lock_until_lost(part);
        let lost = part.lost_session().filter(|lost| lost.number > position.losses);
        let mut missed = 0;
        if settled {
            missed = state.table.events_since(position.cursor, events);
            position.cursor = events.last().map_or(position.cursor, |event| event.number);
        }
        drop(state);
        // What the table records of these leases later was reported before.
        events.retain(|event| match event.what {
            What::Ended { lease, .. } => !position.reported.remove(&lease),
            _ => true,
        });
        if let Some(lost) = lost {
            position.losses = lost.number;
            let is_recorded = |id: LeaseId| {
                let ends =
                    |event: &Event| matches!(event.what, What::Ended { lease, .. } if lease == id);
                events.iter().any(ends)
            };
            // An end that the table records already is reported as the table has it.
            let new: Vec<_> = lost.leases.iter().filter(|(id, _)| !is_recorded(*id)).collect();
            position.reported.extend(new.iter().map(|(id, _)| *id));
            let ended = |&(lease, granted_at): &(LeaseId, Time)| Event {
                number: position.cursor,
                at: lost.at,
                what: What::Ended {
                    lease,
                    reason: Reason::EngineLost,
                    held: lost.at.saturating_sub(granted_at),
                    acknowledged: false,
                },
                actor: None,
            };
            position.local.extend(new.into_iter().map(ended));
        }
        missed
    }
}
