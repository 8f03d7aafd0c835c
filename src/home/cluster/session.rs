//! The session of a member: how it begins, what it reports, and how it ends.
//!
//! A session joins with an entry that requires that its key does not exist, in the transaction that
//! writes this key. It ends with an entry that requires that the key is gone, or is the own one.
//! Any member may append the end of another session; the last entry of that session, which the
//! transaction requires too, makes sure that a late request does not append the end again.

use std::sync::atomic::Ordering::{AcqRel, Release as Releasing};

use super::entry::{LogEntry, What};
use super::info::session_value;
use super::keys::END;
use super::member::{ATTEMPTS, Joined, Member, PAUSE, State};
use super::store::{
    Compare, Op, Range, Read, Revision, SessionEvent, StoreError, Txn, TxnReply, Watch, WatchEvent,
};
use crate::rt;
use crate::table::{Error, Reason};

/// The value of the hint of a session that has left.
pub(super) const LEFT: &[u8] = b"left";

impl Member {
    fn hear_session(&self, event: SessionEvent) {
        match event {
            SessionEvent::Jeopardy { since } => {
                self.silent_since.store(since.max(1), Releasing);
            }
            SessionEvent::Safe => {
                self.silent_since.store(0, Releasing);
                // The store may have been restored from a backup meanwhile: a read finds that out.
                self.heard.lock().stale = true;
                self.wake_ticker();
            }
            SessionEvent::Lost => self.lose_session(),
        }
    }

    /// Watches for ends of sessions.
    pub fn watch_sessions(&self, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let member = self.me.clone();
        let listener = move |event| {
            let Some(member) = member.upgrade() else { return };
            let mut heard = member.heard.lock();
            match event {
                WatchEvent::Missed => heard.missed_ends = true,
                WatchEvent::Changed { changes, .. } => {
                    let gone = changes.iter().filter(|change| change.value.is_none());
                    heard
                        .ended
                        .extend(gone.filter_map(|change| member.keys.session_of(&change.key)));
                    if heard.ended.is_empty() {
                        return;
                    }
                }
            }
            drop(heard);
            member.wake_ticker();
        };
        self.store.watch_deletions(self.keys.sessions(), after, Box::new(listener))
    }

    /// Watches for hints of other members.
    pub fn watch_hints(&self, session: i64, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let member = self.me.clone();
        let listener = move |_| {
            if let Some(member) = member.upgrade() {
                member.heard.lock().stale = true;
                member.wake_ticker();
            }
        };
        self.store.watch(Range::only(self.keys.hint(session)), after, Box::new(listener))
    }

    /// Begins a session, and joins with it in place of the session before. Returns the revision of
    /// its key.
    pub fn join(&self) -> Result<Revision, StoreError> {
        let state = self.lock();
        let previous = Some(state.session.id).filter(|id| *id != 0);
        drop(state);
        let old = self.session.lock().take();
        if let Some(old) = old {
            // If that fails, the session ends by itself.
            let _ = old.revoke();
        }
        let member = self.me.clone();
        let listener = move |event| {
            if let Some(member) = member.upgrade() {
                member.hear_session(event);
            }
        };
        self.refresh()?;
        let full = || "as many processes as can share a table do already".to_owned();
        if self.lock().replica.is_full() {
            return Err(StoreError::Denied(full()));
        }
        let session = self.store.session(self.config.session_ttl, Box::new(listener))?;
        let id = session.id();
        let joined = self.append_join(id, previous).and_then(|created| {
            self.catch_up()?;
            let owner = self.lock().replica.owner_of(id);
            Ok((created, owner.ok_or_else(|| StoreError::Denied(full()))?))
        });
        let (created, owner) = match joined {
            Ok(joined) => joined,
            Err(error) => {
                let _ = session.revoke();
                return Err(error);
            }
        };
        let mut state = self.lock();
        state.session = Joined { id, created, owner };
        state.ends.clear();
        state.tickets.clear();
        state.collected.clear();
        state.dropped.clear();
        *self.session.lock() = Some(session);
        self.silent_since.store(0, Releasing);
        if let Some(lost) = state.lost.take() {
            state.lost_before = Some(lost);
            self.turns.fetch_add(1, AcqRel);
        }
        self.lost.store(false, Releasing);
        // Subscribers can report now what they could not report while the session was lost.
        let State { waiters, wake, .. } = &mut *state;
        waiters.take_all_subscribers(wake);
        self.changed.notify_all();
        Ok(created)
    }

    /// Appends the entry with which a session joins. Returns the revision of its key.
    fn append_join(&self, id: i64, previous: Option<i64>) -> Result<Revision, StoreError> {
        let mut state = self.lock();
        let now = self.entry_time(&state);
        let seen = state.replica.seen();
        state.ending.extend(previous);
        drop(state);
        let what = What::Join { principal: self.principal, previous };
        let bytes = LogEntry { session: id, number: 0, now, seen, check: None, what }.encode();
        let (key, session) = (self.keys.entry(id, 0), self.keys.session(id));
        let value = session_value(self.process).into_bytes();
        let mut then = self.entry_ops(&key, &bytes);
        then.push(Op::Put { key: session.clone(), value, session: Some(id) });
        let txn = Txn {
            compare: vec![
                Compare::Created(session.clone(), 0),
                Compare::Modified(self.keys.shape(), self.shape_revision),
            ],
            then,
            otherwise: vec![Read { keys_only: true, ..Read::key(session) }],
        };
        let mut attempts = 0;
        loop {
            match self.store.txn(&txn) {
                Ok(TxnReply::Done { revision, .. }) => return Ok(revision),
                Ok(TxnReply::Failed(found)) => {
                    let found = found.into_iter().flatten().next();
                    return found.map(|session| session.created).ok_or_else(|| {
                        self.refuse(Error::OtherStore);
                        StoreError::Denied("the table was deleted or replaced".to_owned())
                    });
                }
                Err(StoreError::Unknown(_)) if attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(error),
            }
            rt::sleep(PAUSE);
        }
    }

    /// Appends the end of a session. True if it is in the log, or the session lasts.
    pub fn append_end(&self, session: i64, reason: Reason) -> bool {
        let mut state = self.lock();
        let Some((last, last_revision)) = state.replica.last_of(session) else { return true };
        let now = self.entry_time(&state);
        let own = (session == state.session.id).then_some(state.session.created);
        let seen = state.replica.seen();
        let State { ending, replica, .. } = &mut *state;
        ending.retain(|other| replica.owner_of(*other).is_some());
        ending.insert(session);
        drop(state);
        let what = What::End { reason };
        let bytes = LogEntry { session, number: END, now, seen, check: None, what }.encode();
        let (key, alive) = (self.keys.entry(session, END), self.keys.session(session));
        let mut then = self.entry_ops(&key, &bytes);
        then.push(Op::Delete(Range::only(self.keys.hint(session))));
        if own.is_some() {
            // No append of this session is done after its end.
            then.push(Op::Delete(Range::only(alive.clone())));
        }
        let txn = Txn {
            compare: vec![
                Compare::Created(alive.clone(), own.unwrap_or(0)),
                Compare::Modified(self.keys.shape(), self.shape_revision),
                Compare::Modified(self.keys.entry(session, last), last_revision),
                Compare::Created(key.clone(), 0),
            ],
            then,
            otherwise: vec![Read { keys_only: true, ..Read::key(alive) }],
        };
        match self.store.txn(&txn) {
            Ok(TxnReply::Done { revision, mut replaced }) => {
                let mut state = self.lock();
                self.receive(&mut state, replaced.pop().flatten(), revision, bytes);
                true
            }
            // Another member has appended it, or the session lasts, or had a later entry.
            Ok(TxnReply::Failed(found)) => {
                let lasts = own.is_none() && found.iter().any(|found| !found.is_empty());
                let known = self.catch_up().is_ok();
                known && (lasts || self.lock().replica.owner_of(session).is_none())
            }
            Err(_) => false,
        }
    }

    /// Marks a session as left, if it has ended in the log and all holders whose leases ended with
    /// it are notified: other members need not read the log because its key is gone. If that
    /// fails, they read it.
    fn mark_left(&self, session: i64) {
        let lasts = || self.lock().replica.owner_of(session).is_some();
        if lasts() && (self.catch_up().is_err() || lasts()) {
            return;
        }
        self.notify_others();
        if self.lock().hints.is_empty() {
            let left =
                Op::Put { key: self.keys.hint(session), value: LEFT.to_vec(), session: None };
            let _ = self.store.txn(&Txn { then: vec![left], ..Txn::default() });
        }
    }

    /// Ends what this process has, its session and its threads.
    pub fn leave(&self) {
        self.leaving.store(true, Releasing);
        if self.session_lasts() {
            let mut state = self.lock();
            while state.appending && self.session_lasts() {
                state.wait(PAUSE);
            }
            let session = state.session.id;
            drop(state);
            let ended = |_| self.append_end(session, Reason::Released) || !self.session_lasts();
            // If that fails, other members end it when the session has ended.
            if (0..ATTEMPTS).any(ended) {
                self.mark_left(session);
            }
        }
        if self.lock().snapshot_due {
            self.write_snapshot();
        }
        self.closed.store(true, Releasing);
        self.changed.notify_all();
        self.follow(false);
        let session = self.session.lock().take();
        if let Some(session) = session {
            // If that fails, the session ends by itself.
            let _ = session.revoke();
        }
        self.wake_threads();
        self.session_ticker.join();
        self.ticker.join();
        // The ticker may have joined again meanwhile.
        let session = self.session.lock().take();
        if let Some(session) = session {
            let _ = session.revoke();
        }
        self.store.close();
    }
}
