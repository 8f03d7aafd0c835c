//! What a member does beside the calls of its process: it joins again after its session was lost,
//! appends what time and the ends of other sessions bring about, notifies other members, and writes
//! snapshots, after which the log is truncated.
//!
//! A snapshot is written in pieces under its position, and counts when `base` names that position.
//! `base` is only changed from the value that was read, to a later position. Entries up to the
//! position are deleted afterwards, so a reader finds either the entries or a later snapshot. The
//! last entry of each session is kept: the next one requires it. A deletion names the keys that
//! have become obsolete since the snapshot before, because a store remembers deleted keys for a
//! while, and would look at all of them in a wider range. Now and then a sweep finds what a member
//! that ended early has not deleted.
//!
//! *A holder learns of each change of its leases by another session.* The author of the entry
//! writes the holder's hint in the same transaction if it knows the holder, else after it has
//! applied the entry, again until that succeeds or its own session ends. At the end of a session
//! without the mark that it has left, each member reads the log. A hint that a watch does not
//! report is found by a read of one key every third of the time of a session. So a holder at rest
//! reads no entries, however many are appended.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::counters;
use super::etcd::half_to_whole;
use super::keys::END;
use super::member::{CONTENDING, Member, PAUSE, State, lease_in, number_in};
use super::session::LEFT;
use super::store::{Compare, Entry, Op, Range, Read, Revision, StoreError, Txn, TxnReply, Watch};
use crate::home::Dropped;
use crate::home::clock::Clock;
use crate::home::open::OpenError;
use crate::rt;
use crate::table::codec::{self, AnyReply};
use crate::table::command::{Advance, Expire, Release, Withdraw};
use crate::table::{Command, Error, FOREVER, Reason, Time};

/// The longest sleep of the ticker.
const NAP: Duration = Duration::from_secs(1);

/// How long a member for which nothing waits leaves what is due to the members that it concerns.
const LATE: Duration = Duration::from_millis(500);

/// The same for a member with a waiter, as all waiters see the same time.
const STAGGER: Duration = Duration::from_millis(40);

/// The size of a piece of a snapshot: etcd takes requests of 1.5 MiB.
const PIECE_BYTES: usize = 512 << 10;

/// Between two sweeps.
const SNAPSHOTS_PER_SWEEP: u64 = 64;

/// How many deletions a transaction has at most.
const DELETIONS: usize = 100;

fn encoded<C: Command>(command: &C) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode(command, &mut bytes);
    bytes
}

fn has_failed(replies: &[Result<AnyReply, Error>]) -> bool {
    replies.iter().any(|reply| matches!(reply, Err(Error::Unavailable)))
}

/// The watches of one session.
#[derive(Default)]
struct Watches {
    session: i64,
    /// Until when ends of sessions are left to other members, by [`Clock::Real`]; 0: none is known.
    patience: Time,
    /// When the hint was read last, by [`Clock::Real`], and at which revision it was written.
    hint_read_at: Time,
    hint_written: Revision,
    _watches: Vec<Box<dyn Watch>>,
}

impl Member {
    /// Starts the threads of the member.
    pub fn start(self: &Arc<Self>, joined: Revision) -> Result<(), OpenError> {
        let mut watches = Watches::default();
        self.watch_store(&mut watches, joined)
            .map_err(|why| OpenError::store("cannot watch the table in etcd", &why))?;
        let (member, other) = (self.clone(), self.clone());
        let upkeep = move || member.run(|| member.run_due(&mut watches));
        let session = move || other.run(|| other.watch_session());
        let refused = |error| OpenError::system("cannot start a thread", &error);
        self.ticker.start_with("tern-ticker", upkeep).map_err(refused)?;
        self.session_ticker.start_with("tern-session", session).map_err(refused)?;
        self.set_threads();
        Ok(())
    }

    /// Runs a thread of the member to its end. After a panic nothing that is due happens any more.
    fn run(&self, mut step: impl FnMut() -> bool) {
        if catch_unwind(AssertUnwindSafe(|| while step() {})).is_err() {
            self.refuse(Error::Corrupt);
            // Other members may have what this one held.
            self.drop_session();
        }
    }

    fn watch_store(&self, watches: &mut Watches, after: Revision) -> Result<(), StoreError> {
        let session = self.lock().session.id;
        let new = vec![self.watch_sessions(after)?, self.watch_hints(session, after)?];
        *watches = Watches { session, _watches: new, ..Watches::default() };
        // Sessions may have ended before the watch began.
        self.set_missed_ends();
        Ok(())
    }

    /// One step of the ticker. False when the member has left.
    fn run_due(&self, watches: &mut Watches) -> bool {
        if self.is_closed() || self.is_forked() {
            return false;
        }
        self.wake_heard();
        if self.refusal().is_some() {
            drop(self.lock_noted());
            self.drop_session();
            rt::park_timeout(NAP);
            return true;
        }
        if self.is_leaving() {
            rt::park_timeout(NAP);
            return true;
        }
        if !self.session_lasts() {
            drop(self.lock_noted());
            let joined = self.join().and_then(|joined| self.watch_store(watches, joined));
            if joined.is_err() {
                rt::park_timeout(half_to_whole(PAUSE * 2));
                return true;
            }
        }
        let session = self.lock().session.id;
        if watches.session != session && self.watch_store(watches, 0).is_err() {
            rt::park_timeout(PAUSE);
            return true;
        }
        self.read_what_is_stale(watches);
        self.append_ends(&mut watches.patience);
        let awaited = self.follow_if_awaited();
        let due = self.append_due(awaited);
        self.give_back_dropped();
        self.notify_others();
        self.flush_collected();
        if self.lock().snapshot_due {
            self.write_snapshot();
        }
        let patience = match watches.patience {
            0 => NAP,
            until => Duration::from_micros(until.saturating_sub(Clock::Real.now())),
        };
        let sleep = due.min(NAP).min(patience).min(self.session_left().max(PAUSE));
        if !sleep.is_zero() {
            rt::park_timeout(sleep);
        }
        true
    }

    /// Reads the log after a hint. While this process holds or awaits something, looks for a hint
    /// now and then: a watch may be late.
    fn read_what_is_stale(&self, watches: &mut Watches) {
        let state = self.lock();
        let interval = self.config.session_ttl.as_micros() as Time / 3;
        let concerned = !state.ends.is_empty() || !state.tickets.is_empty();
        let waits = !state.tickets.is_empty();
        drop(state);
        let now = Clock::Real.now();
        let mut stale = self.take_stale();
        if !stale && concerned && now >= watches.hint_read_at.saturating_add(interval) {
            let hint = Read { keys_only: true, ..Read::key(self.keys.hint(watches.session)) };
            match self.store.read(&[hint]) {
                Err(_) => return self.set_stale(),
                Ok((found, _)) => {
                    let written = found.iter().flatten().next().map_or(0, |hint| hint.modified);
                    stale = waits || written != watches.hint_written;
                    (watches.hint_read_at, watches.hint_written) = (now, written);
                }
            }
        }
        if stale && self.refresh().is_err() {
            self.set_stale();
        }
    }

    /// Appends the ends of sessions that have ended in the store.
    fn append_ends(&self, patience: &mut Time) {
        let mut ended = self.take_ended();
        if self.take_missed_ends() {
            let sessions = Read { keys_only: true, ..Read::all(self.keys.sessions()) };
            match self.refresh().and_then(|()| self.store.read(&[sessions])) {
                Err(_) => self.set_missed_ends(),
                Ok((found, _)) => {
                    let present = found.into_iter().flatten();
                    let present: Vec<i64> =
                        present.filter_map(|entry| self.keys.session_of(&entry.key)).collect();
                    let state = self.lock();
                    let known = state.replica.sessions();
                    ended.extend(known.filter(|session| !present.contains(session)));
                }
            }
        }
        let own = self.lock().session.id;
        ended.remove(&own);
        if ended.is_empty() {
            *patience = 0;
            return;
        }
        // All members see the end of a session: those that wait for it append it first.
        let now = Clock::Real.now();
        if *patience == 0 {
            *patience = now + half_to_whole(LATE).as_micros() as Time;
        }
        if now < *patience && !self.lock().is_awaited() {
            return self.add_ended(ended);
        }
        *patience = 0;
        if self.remove_left(&mut ended).is_err() {
            return self.add_ended(ended);
        }
        if ended.is_empty() {
            return;
        }
        if self.refresh().is_err() {
            return self.add_ended(ended);
        }
        let failed = ended.into_iter().filter(|id| !self.append_end(*id, Reason::HolderDied));
        self.add_ended(failed.collect::<Vec<_>>());
    }

    /// Sessions that have left have appended their ends, and written all hints.
    fn remove_left(&self, ended: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        let hints: Vec<Read> = ended.iter().map(|id| Read::key(self.keys.hint(*id))).collect();
        for hints in hints.chunks(DELETIONS) {
            let (found, _) = self.store.read(hints)?;
            for hint in found.iter().flatten().filter(|hint| hint.value == LEFT) {
                self.keys.hinted(&hint.key).map(|session| ended.remove(&session));
            }
        }
        Ok(())
    }

    /// Follows the log while something of this process waits, or did so a short time ago. Returns
    /// whether something waits.
    fn follow_if_awaited(&self) -> bool {
        let mut state = self.lock();
        let State { replica, tickets, .. } = &mut *state;
        let waits =
            |ticket: &_| replica.table.ticket(*ticket) == Some(crate::table::TicketState::Waiting);
        tickets.retain(waits);
        let awaited = state.is_awaited();
        if awaited {
            // The next claim may wait too.
            state.contending_until = Clock::Real.now() + CONTENDING;
        }
        let contending = Clock::Real.now() < state.contending_until;
        drop(state);
        self.follow(awaited || contending);
        awaited
    }

    /// Appends what time has brought about. Returns for how long nothing more is due.
    fn append_due(&self, awaited: bool) -> Duration {
        // What fails is still due, and is tried again.
        let expired = self.expire_own();
        let state = self.lock();
        let (now, due) = (self.clock.now(), state.replica.table.next_due());
        let patience = match awaited {
            true if state.first_wait_end() <= due => Duration::ZERO,
            true => half_to_whole(STAGGER),
            false => LATE + half_to_whole(LATE),
        };
        let own_left = state.ends_due.saturating_sub(state.own_time(&self.clock));
        drop(state);
        let mut left = due.saturating_sub(now);
        if due != FOREVER && left == 0 {
            let late = now.saturating_sub(due) >= patience.as_micros() as Time;
            left = patience.as_micros() as Time;
            if late {
                left = if self.advance().is_ok() { 0 } else { PAUSE.as_micros() as Time };
            }
        }
        match expired {
            Ok(()) => Duration::from_micros(left.min(own_left)),
            Err(_) => PAUSE,
        }
    }

    /// Appends the ends of the leases of this process whose time is over.
    pub fn expire_own(&self) -> Result<(), Error> {
        let expired = self.lock().take_expired(&self.clock);
        if expired.is_empty() {
            return Ok(());
        }
        let expire = |(lease, at)| encoded(&Expire { lease, at });
        let sent = self.execute_all(expired.into_iter().map(expire).collect());
        let done = sent.and_then(|replies| match has_failed(&replies) {
            true => Err(Error::Unavailable),
            false => Ok(()),
        });
        if done.is_err() {
            self.lock().ends_due = 0;
        }
        done
    }

    /// Runs what is due in the table.
    pub fn advance(&self) -> Result<(), Error> {
        if self.clock.now() < self.lock().replica.table.next_due() {
            return Ok(());
        }
        self.run_command(&Advance {})
    }

    /// Sends a command, and returns its reply.
    pub fn run_command<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        let command = encoded(command);
        let lease = lease_in(&command);
        let known = |lease| self.lock().replica.table.owner_of_lease(lease).is_some();
        if lease.is_some_and(|lease| !known(lease)) {
            // The transaction notifies the owner, if it is known by then.
            let _ = self.refresh();
        }
        let reply = self.execute(command)?.to().unwrap_or(Err(Error::Corrupt));
        match (reply, lease) {
            // Other members record that the session has ended; this process was only cut off.
            (Err(Error::NotHeld(state, Reason::HolderDied)), Some(lease))
                if self.lock().was_lost(lease) =>
            {
                Err(Error::NotHeld(state, Reason::EngineLost))
            }
            (reply, _) => reply,
        }
    }

    /// Gives back what was dropped while the store did not answer.
    fn give_back_dropped(&self) {
        let dropped = std::mem::take(&mut self.lock().dropped);
        self.give_back(dropped);
    }

    /// Gives back leases and claims of this session; later, if the store cannot be reached.
    pub fn give_back(&self, dropped: BTreeSet<Dropped>) {
        let state = self.lock();
        // What has ended, or belongs to another owner by now, needs nothing.
        let dropped: BTreeSet<Dropped> =
            dropped.into_iter().filter(|dropped| state.has(*dropped)).collect();
        let session = state.session.id;
        drop(state);
        if dropped.is_empty() {
            return;
        }
        let tickets = || {
            dropped.iter().filter_map(|dropped| match dropped {
                Dropped::Ticket(ticket) => Some(*ticket),
                Dropped::Lease(_) => None,
            })
        };
        self.lock().withdrawing.extend(tickets());
        let command = |dropped: &Dropped| match *dropped {
            Dropped::Lease(lease) => encoded(&Release { lease }),
            Dropped::Ticket(ticket) => encoded(&Withdraw { ticket }),
        };
        let given = self.execute_all(dropped.iter().map(command).collect());
        let mut state = self.lock();
        for ticket in tickets() {
            state.withdrawing.remove(&ticket);
        }
        let failed = given.is_err() || given.is_ok_and(|replies| has_failed(&replies));
        if failed && state.session.id == session {
            state.dropped.extend(dropped);
        }
    }

    /// Tickets that were collected a while ago are reported to the log without another command, so
    /// that it can forget them.
    fn flush_collected(&self) {
        let state = self.lock();
        let age = Clock::Real.now().saturating_sub(state.collected_at);
        let due = !state.collected.is_empty() && age >= NAP.as_micros() as Time;
        drop(state);
        if due {
            self.flush();
        }
    }

    /// Notifies other members of changes of their leases. What fails is tried again.
    pub fn notify_others(&self) {
        let _one = self.notifying.lock();
        let hints: Vec<i64> = std::mem::take(&mut self.lock().hints).into_iter().collect();
        for sessions in hints.chunks(DELETIONS) {
            let then = sessions.iter().map(|session| self.hint(*session)).collect();
            if self.store.txn(&Txn { then, ..Txn::default() }).is_err() {
                self.lock().hints.extend(sessions);
            }
        }
    }

    /// Writes a snapshot, and truncates the log. If that fails, it is due again after some entries.
    pub fn write_snapshot(&self) {
        self.lock().snapshot_due = false;
        // A store that does not answer now is asked again with the next entries.
        let _ = self.try_write_snapshot();
    }

    fn try_write_snapshot(&self) -> Result<(), StoreError> {
        let (found, _) = self.store.read(&[Read::key(self.keys.base())])?;
        let base = found.into_iter().flatten().next();
        let modified = base.as_ref().map_or(0, |base| base.modified);
        let known = base.as_ref().and_then(number_in).unwrap_or(0);
        let mut state = self.lock();
        // What a refused member has applied must not replace the log.
        if self.refusal().is_some() {
            return Ok(());
        }
        state.base = (known, modified);
        let (position, revision) = (state.replica.position, state.replica.revision);
        if position < known + self.store.entries_per_snapshot() / 2 {
            return Ok(());
        }
        let replica = &state.replica;
        let bytes = replica.encode_snapshot();
        let obsolete = replica.obsolete_since(known);
        let sessions = replica.sessions().filter_map(|id| Some((id, replica.last_of(id)?.0)));
        let sessions: BTreeMap<i64, u64> = sessions.collect();
        drop(state);
        for (number, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
            let key = self.keys.piece(position, number);
            let put = Op::Put { key, value: piece.to_vec(), session: None };
            self.store.txn(&Txn { then: vec![put], ..Txn::default() })?;
        }
        let value = position.to_le_bytes().to_vec();
        let txn = Txn {
            compare: vec![
                Compare::Modified(self.keys.base(), modified),
                Compare::Modified(self.keys.shape(), self.shape_revision),
            ],
            then: vec![Op::Put { key: self.keys.base(), value, session: None }],
            otherwise: Vec::new(),
        };
        let TxnReply::Done { revision: written, .. } = self.store.txn(&txn)? else {
            // Another member was faster: its next snapshot deletes these pieces.
            return Ok(());
        };
        counters::add(&self.counters.snapshots_written, 1);
        self.lock().base = (position, written);
        let mut deletions = Vec::new();
        let sweep = |position| position / (SNAPSHOTS_PER_SWEEP * self.store.entries_per_snapshot());
        match obsolete {
            Some(obsolete) if sweep(known) == sweep(position) => {
                let range = |(session, numbers)| Op::Delete(self.keys.entries_of(session, numbers));
                deletions.push(Op::Delete(self.keys.pieces_between(known, position)));
                deletions.extend(obsolete.into_iter().map(range));
            }
            _ => {
                deletions.push(Op::Delete(self.keys.pieces_between(0, position)));
                self.sweep(revision, &sessions, &mut deletions)?;
            }
        }
        for then in deletions.chunks(DELETIONS) {
            self.store.txn(&Txn { then: then.to_vec(), ..Txn::default() })?;
        }
        Ok(())
    }

    /// Finds all obsolete entries up to the revision of a snapshot, and hints for sessions that
    /// have ended. `sessions` has the last entry of each session in the snapshot.
    fn sweep(
        &self,
        revision: Revision,
        sessions: &BTreeMap<i64, u64>,
        deletions: &mut Vec<Op>,
    ) -> Result<(), StoreError> {
        let keys = Read { keys_only: true, ..Read::all(self.keys.entries()) };
        let hints = Read { keys_only: true, ..Read::all(self.keys.hints()) };
        let (found, _) = self.store.read(&[keys, hints])?;
        let [entries, hints] = &found[..] else { return Ok(()) };
        let numbered = |entry: &Entry| Some((self.keys.entry_of(&entry.key)?, entry.modified));
        let entries: Vec<_> = entries.iter().filter_map(numbered).collect();
        let new = entries.iter().filter(|(_, modified)| *modified > revision);
        let joined_since: BTreeSet<i64> = new.map(|((session, _), _)| *session).collect();
        let mut deleted: BTreeMap<(i64, bool), (u64, u64)> = BTreeMap::new();
        for ((session, number), _) in entries.into_iter().filter(|(_, it)| *it <= revision) {
            let last = sessions.get(&session);
            // A session with later entries that is not in the snapshot has no entry of its own yet.
            if last.is_some_and(|last| number < *last)
                || last.is_none() && !joined_since.contains(&session)
            {
                let range = deleted.entry((session, number == END)).or_insert((number, number));
                *range = (range.0.min(number), range.1.max(number));
            }
        }
        deletions.extend(
            deleted
                .into_iter()
                .map(|((session, _), numbers)| Op::Delete(self.keys.entries_of(session, numbers))),
        );
        // A member may have notified a session that had just ended.
        let live: BTreeSet<i64> = self.lock().replica.sessions().collect();
        let hints = hints.iter().filter(|hint| hint.modified <= revision);
        let hints = hints.filter_map(|hint| self.keys.hinted(&hint.key));
        let ended = hints.filter(|session| !live.contains(session));
        deletions.extend(ended.map(|id| Op::Delete(Range::only(self.keys.hint(id)))));
        Ok(())
    }
}
