//! How a member reads the log: all of it since the last entry that it has applied, or a snapshot
//! and the entries behind that, or entries as they are appended (*following*).
//!
//! A member follows the log while a thread or task of its process waits, and for a while after it
//! has met entries of others. At other times it reads when a call needs the latest state, and after
//! a hint (`upkeep.rs`).

use super::counters;
use super::entry::hash_of;
use super::member::{ATTEMPTS, Member, State, WATCH_DELAY, is_last, number_in, position_of};
use super::replica::Replica;
use super::store::{Change, Range, Read, StoreError, WatchEvent};
use crate::table::Error;

impl Member {
    /// Reads what the log has and the replica has not.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let state = self.lock();
            let (position, revision) = (state.replica.position, state.replica.revision);
            let last_hash = state.replica.seen().1;
            drop(state);
            // The last entry too, so that another history is noticed.
            let entries = Read { after: (revision - 1).max(0), ..Read::all(self.keys.entries()) };
            let reads = [Read::key(self.keys.head()), Read::key(self.keys.base()), entries];
            let (mut found, _) = self.store.read(&reads)?;
            let (Some(mut entries), Some(base), Some(head)) =
                (found.pop(), found.pop(), found.pop())
            else {
                return Err(StoreError::Unavailable("an answer is incomplete".to_owned()));
            };
            let head = head.first();
            let last = head.map_or(0, position_of);
            let base = base.first().and_then(|base| Some((number_in(base)?, base.modified)));
            entries.sort_by_key(|entry| entry.modified);
            let known = entries.first().is_some_and(|entry| {
                entry.modified == revision && hash_of(&entry.value, 0) == last_hash
            });
            let new = entries.split_off(usize::from(known));
            let mut state = self.lock();
            if let Some(base) = base {
                state.base = base;
            }
            if last < position {
                self.refuse(Error::OtherStore);
                return Ok(());
            }
            let complete = new.len() as u64 == last - position
                && new
                    .last()
                    .is_none_or(|entry| head.map(|head| head.modified) == Some(entry.modified));
            if complete && (known || position == 0 || base.is_some_and(|base| base.0 >= position)) {
                for (place, entry) in new.into_iter().enumerate() {
                    let position = position + 1 + place as u64;
                    state.early.insert(position, (entry.modified, entry.value));
                }
                self.apply_early(&mut state);
                return Ok(());
            }
            drop(state);
            match base {
                Some((base, _)) if base > position => self.load_snapshot(base)?,
                _ => {
                    self.refuse(Error::OtherStore);
                    return Ok(());
                }
            }
            if self.refusal().is_some() {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("the log is truncated faster than it is read".to_owned()))
    }

    /// Replaces the replica by that of a snapshot.
    fn load_snapshot(&self, position: u64) -> Result<(), StoreError> {
        let reads = [Read::key(self.keys.base()), Read::all(self.keys.pieces(position))];
        let (found, _) = self.store.read(&reads)?;
        let [base, pieces] = &found[..] else {
            return Err(StoreError::Unavailable("an answer is incomplete".to_owned()));
        };
        // Another snapshot may have taken its place meanwhile.
        if base.first().and_then(number_in) != Some(position) {
            return Ok(());
        }
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| &piece.value).copied().collect();
        let replica = match Replica::from_snapshot(&self.shape, &bytes) {
            None => return Err(StoreError::Unavailable("no memory for the table".to_owned())),
            Some(Ok(replica)) if replica.position == position => replica,
            Some(_) => {
                self.refuse(Error::Corrupt);
                return Ok(());
            }
        };
        let mut state = self.lock();
        if replica.position <= state.replica.position {
            return Ok(());
        }
        let session = state.session.id;
        // Every entry of this session that was applied here must be in the snapshot.
        let last = replica.last_of(session);
        if last.is_some() && last < state.replica.last_of(session) {
            self.refuse(Error::OtherStore);
            return Ok(());
        }
        // What these entries did to leases of others is not known.
        let is_over =
            |id: &i64| state.replica.owner_of(*id).is_some() && replica.owner_of(*id).is_none();
        if last > state.replica.last_of(session) || state.ending.iter().any(is_over) {
            state.hints.extend(replica.sessions().filter(|other| *other != session));
            self.wake_ticker();
        }
        state.replica = replica;
        state.lag += self.clock.at_least(state.replica.table.now());
        counters::add(&self.counters.snapshots_loaded, 1);
        // The entry of the batch in flight may be in the snapshot only.
        if let Some((last, _)) = state.replica.last_of(session) {
            state.answer_in_flight(last);
        }
        if session != 0 && state.replica.owner_of(session).is_none() {
            self.lose_session();
        }
        state.find_ends();
        let State { replica, waiters, wake, .. } = &mut *state;
        waiters.take_if(|place| replica.table.is_decided(place), wake);
        // Tickets that the snapshot does not know any more.
        waiters.take_wakers(wake);
        self.publish_changes(&mut state);
        Ok(())
    }

    /// Brings the replica up to all that was appended before the call.
    pub fn refresh(&self) -> Result<(), StoreError> {
        let before = self.lock().replica.position;
        let (found, _) = self.store.read(&[Read::key(self.keys.head())])?;
        let head = found.into_iter().flatten().next();
        let last = head.as_ref().map_or(0, position_of);
        if last < before {
            self.refuse(Error::OtherStore);
            return Ok(());
        }
        let mut state = self.lock();
        if let Some(head) = head.as_ref().filter(|_| last == state.replica.position + 1) {
            state.early.insert(last, (head.modified, head.value.clone()));
            self.apply_early(&mut state);
        }
        if state.replica.position == last {
            let head = head.as_ref().filter(|head| !is_last(head, &state.replica));
            if head.is_some() {
                self.refuse(Error::OtherStore);
            }
            return Ok(());
        }
        if state.following.is_some() && state.replica.position < last {
            state.wait(WATCH_DELAY);
        }
        // A watch may have been faster than the read.
        if state.replica.position >= last {
            return Ok(());
        }
        drop(state);
        self.catch_up()
    }

    /// Begins to follow the log, or stops. What fails is tried again.
    pub fn follow(&self, wanted: bool) {
        if self.lock().following.is_some() == wanted {
            return;
        }
        let mut following = None;
        if wanted {
            // From now on: etcd serves a watch of the past only a few times a second.
            let head = Read { keys_only: true, ..Read::key(self.keys.head()) };
            let Ok((_, revision)) = self.store.read(&[head]) else { return };
            let member = self.me.clone();
            let listener = Box::new(move |event| {
                if let Some(member) = member.upgrade() {
                    member.hear_entries(event);
                }
            });
            following = self.store.watch(Range::only(self.keys.head()), revision, listener).ok();
        }
        let stopped = std::mem::replace(&mut self.lock().following, following);
        // Its listener may be called while it is dropped.
        drop(stopped);
        if wanted && self.catch_up().is_err() {
            self.set_stale();
        }
    }

    fn hear_entries(&self, event: WatchEvent) {
        match event {
            WatchEvent::Missed => {
                self.heard.lock().stale = true;
                self.wake_ticker();
            }
            WatchEvent::Changed { revision, changes } => {
                let entry = |change: Change| {
                    let position = u64::try_from(change.version).ok()?;
                    Some((position, revision, change.value?))
                };
                self.heard.lock().entries.extend(changes.into_iter().filter_map(entry));
                self.apply_heard();
            }
        }
    }
}
