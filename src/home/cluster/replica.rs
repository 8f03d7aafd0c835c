//! The state that all members of a table agree on: what the entries of the log up to a position
//! make of it. Pure: no clock, no store, no lock.
//!
//! Data structure: the table, and for each session that has joined and not ended its owner number,
//! its principal, the number of its last entry and the replies to that entry.
//!
//! Invariants:
//!
//! * *Equal logs make equal replicas.* An entry is applied by its bytes and the replica alone. One
//!   that cannot be decoded changes nothing but a count, on every replica.
//! * *An entry counts once.* The store does not append it twice (`member.rs`), and `number` would
//!   drop the second one.
//! * *No command of an ended session counts.* The session is gone from the map, and the store never
//!   uses its id again. The owner number is free from then on.
//! * *No reply is lost.* A member whose entry is only in a snapshot finds the replies there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::entry::{LogEntry, Malformed, What, hash_of};
use super::keys::END;
use super::shape::Shape;
use super::store::Revision;
use crate::memory::Arrays;
use crate::table::codec::{AnyCommand, AnyReply, Decode, DecodeError, Encode};
use crate::table::command::{ReapOwner, SetPrincipal};
use crate::table::{
    Actor, Effect, Error, Issuer, LeaseId, Reaped, Reason, Table, Time, sequence_at,
};

/// Owner numbers are 1 to this.
const OWNERS: u16 = 1024;

/// A replica computes its hash whenever so many entries have been applied.
const CHECK_INTERVAL: u64 = 256;

/// How many hashes of its states a replica remembers.
const CHECKS: usize = 4;

/// How many entries a replica remembers.
const RECENT: usize = 1024;

/// The first byte of each snapshot.
const SNAPSHOT_VERSION: u64 = 1;

#[derive(Debug, Clone)]
struct SessionRecord {
    owner: u16,
    principal: u32,
    /// The number of its last entry, and the revision that appended it.
    last: u64,
    revision: Revision,
    /// The replies to the commands of that entry.
    replies: Vec<AnyReply>,
}

impl SessionRecord {
    fn issuer(&self) -> Issuer {
        Issuer::new(self.owner, Actor { principal: self.principal, process: self.owner.into() })
    }
}

/// Entries of a session, from the first number to the last.
pub type Entries = (i64, (u64, u64));

/// What a replica remembers of an entry.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    hash: u64,
    /// The entries that no member needs once a snapshot has this one.
    obsolete: Option<Entries>,
}

/// What an entry changed.
#[derive(Debug, Default)]
pub struct Applied {
    /// The session and the number of the entry, if its commands were applied.
    pub author: Option<(i64, u64)>,
    /// The session that the entry has ended.
    pub ended: Option<i64>,
    /// What happened to leases and tickets, with their owners; `None`: more than is remembered.
    pub effects: Option<Vec<Effect>>,
    /// Leases that have another owner now, with the owner before.
    pub moved: Vec<(LeaseId, u16)>,
}

/// Why a replica stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The entry has another version of the format or of the rules.
    OtherRules,
    /// Its hash is not the one that another member reported first.
    Diverged,
    /// The author of the entry has seen another log than this one.
    OtherLog,
    /// The table is damaged: a snapshot was no state that a log leads to.
    Corrupt,
}

/// See the module's text.
#[derive(Debug)]
pub struct Replica {
    pub table: Table<Arrays>,
    /// Time 0 of the table, in microseconds since 1970.
    epoch: u64,
    /// The bits of an id that name its record.
    id_bits: u32,
    sessions: BTreeMap<i64, SessionRecord>,
    /// How many entries have been applied, and the revision of the last one.
    pub position: u64,
    pub revision: Revision,
    /// The last entries, the last one last.
    recent: VecDeque<Recent>,
    /// Entries and commands that could not be decoded.
    malformed: u64,
    /// The latest position for which a member has reported a hash.
    checked: u64,
    /// The hashes of this replica at positions, the latest last.
    checks: VecDeque<(u64, u64)>,
}

impl Replica {
    /// The state before the first entry. `None` if the system does not provide the memory.
    pub fn try_new(shape: &Shape) -> Option<Replica> {
        let replica = Self::try_attach(shape)?;
        replica.table.prepare(shape.settings);
        Some(replica)
    }

    fn try_attach(shape: &Shape) -> Option<Replica> {
        let sizes = shape.settings.limits.sizes();
        Some(Replica {
            table: Table::try_attach(Arrays::try_new(&sizes)?, shape.settings)?,
            epoch: shape.epoch,
            id_bits: sizes.id_bits(),
            sessions: BTreeMap::new(),
            position: 0,
            revision: 0,
            recent: VecDeque::new(),
            malformed: 0,
            checked: 0,
            checks: VecDeque::new(),
        })
    }

    /// The owner number of a session; `None` if it has not joined or has ended.
    pub fn owner_of(&self, session: i64) -> Option<u16> {
        self.sessions.get(&session).map(|record| record.owner)
    }

    /// The session that has this owner number.
    pub fn session_of(&self, owner: u16) -> Option<i64> {
        let mut sessions = self.sessions.iter();
        sessions.find(|(_, record)| record.owner == owner).map(|(session, _)| *session)
    }

    /// Does no further session get an owner number?
    pub fn is_full(&self) -> bool {
        self.sessions.len() >= OWNERS.into()
    }

    pub fn sessions(&self) -> impl Iterator<Item = i64> + '_ {
        self.sessions.keys().copied()
    }

    /// The number of the last entry of a session, and the revision that appended it.
    pub fn last_of(&self, session: i64) -> Option<(u64, Revision)> {
        self.sessions.get(&session).map(|record| (record.last, record.revision))
    }

    /// The replies to the last entry of a session.
    pub fn replies_to(&self, session: i64) -> &[AnyReply] {
        self.sessions.get(&session).map_or(&[], |record| &record.replies)
    }

    /// The latest hash of this replica, with its position.
    pub fn check(&self) -> Option<(u64, u64)> {
        self.checks.back().copied()
    }

    /// How many entries and commands could not be decoded.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Applies the entry behind the last one.
    pub fn apply(&mut self, revision: Revision, bytes: &[u8]) -> Result<Applied, Stop> {
        let entry = match LogEntry::decode(bytes) {
            Err(Malformed::Version) => return Err(Stop::OtherRules),
            entry => entry,
        };
        let events = self.table.last_event();
        let mut applied = Applied::default();
        let mut obsolete = None;
        match entry {
            Ok(entry) => {
                self.verify_seen(entry.seen)?;
                self.verify_check(entry.check)?;
                obsolete = self.obsoleted_by(&entry);
                self.apply_entry(revision, entry, &mut applied);
            }
            Err(_) => self.malformed = self.malformed.saturating_add(1),
        }
        let mut effects = Vec::new();
        let complete = self.table.effects_since(events, |effect| effects.push(effect));
        applied.effects = complete.then_some(effects);
        if self.table.is_corrupt() {
            return Err(Stop::Corrupt);
        }
        (self.position, self.revision) = (self.position + 1, revision);
        self.recent.push_back(Recent { hash: hash_of(bytes, 0), obsolete });
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        if self.position.is_multiple_of(CHECK_INTERVAL) {
            self.checks.push_back((self.position, self.hash()));
            if self.checks.len() > CHECKS {
                self.checks.pop_front();
            }
        }
        Ok(applied)
    }

    /// The position, and the hash of the entry there; 0 before the first entry.
    pub fn seen(&self) -> (u64, u64) {
        (self.position, self.recent.back().map_or(0, |entry| entry.hash))
    }

    /// The last entry of each session is needed until the next one of it is in a snapshot.
    fn obsoleted_by(&self, entry: &LogEntry) -> Option<Entries> {
        let (session, to) = match &entry.what {
            What::Join { previous, .. } => ((*previous)?, None),
            What::End { .. } => (entry.session, Some(END)),
            What::Commands(_) => (entry.session, None),
        };
        let (last, _) = self.last_of(session)?;
        // An entry that is dropped replaces none.
        let counts = entry.session != session || entry.number > last;
        counts.then_some((session, (last, to.unwrap_or(last))))
    }

    /// The entries that the entries after a position have made obsolete, if those are all
    /// remembered.
    pub fn obsolete_since(&self, position: u64) -> Option<BTreeMap<i64, (u64, u64)>> {
        let count = usize::try_from(self.position.checked_sub(position)?).ok()?;
        if count >= self.recent.len() {
            return None;
        }
        let mut obsolete: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
        let recent = self.recent.iter().rev().take(count);
        for (session, (from, to)) in recent.filter_map(|entry| entry.obsolete) {
            let range = obsolete.entry(session).or_insert((from, to));
            *range = (range.0.min(from), range.1.max(to));
        }
        Some(obsolete)
    }

    /// A store that was restored from a backup has another log after some position.
    fn verify_seen(&self, (position, hash): (u64, u64)) -> Result<(), Stop> {
        let age = self.position.checked_sub(position).and_then(|age| usize::try_from(age).ok());
        let place = age.and_then(|age| self.recent.len().checked_sub(age + 1));
        let own = place.and_then(|place| self.recent.get(place));
        if own.is_some_and(|own| own.hash != hash) { Err(Stop::OtherLog) } else { Ok(()) }
    }

    /// The first member that reports a hash decides: all others compare theirs with it.
    fn verify_check(&mut self, check: Option<(u64, u64)>) -> Result<(), Stop> {
        let Some((position, hash)) = check.filter(|(position, _)| *position > self.checked) else {
            return Ok(());
        };
        self.checked = position;
        let own = self.checks.iter().find(|(own, _)| *own == position);
        if own.is_some_and(|(_, own)| *own != hash) { Err(Stop::Diverged) } else { Ok(()) }
    }

    fn apply_entry(&mut self, revision: Revision, entry: LogEntry, applied: &mut Applied) {
        let LogEntry { session, number, what, .. } = entry;
        let now = entry.now.max(self.table.now());
        // Ids are never below the wall clock: a table that was restored from an older backup does
        // not remember the ids that were issued since.
        let since_1970 = Duration::from_micros(self.epoch.saturating_add(now));
        // No time, however wrong, leads to ids of 2^63 and above.
        let limit = 1 << (62 - self.id_bits.min(31));
        self.table.raise_sequence(sequence_at(self.id_bits, since_1970).min(limit));
        match what {
            What::Join { principal, previous } => {
                if let Some(previous) = previous {
                    self.end(previous, now, Reason::EngineLost);
                    applied.ended = Some(previous);
                }
                self.join(session, (number, revision), principal, now);
            }
            What::End { reason } => {
                self.end(session, now, reason);
                applied.ended = Some(session);
            }
            What::Commands(commands) => {
                let Some(record) = self.sessions.get_mut(&session) else { return };
                if number <= record.last {
                    return;
                }
                let issuer = record.issuer();
                (record.last, record.revision) = (number, revision);
                let replies: Vec<AnyReply> =
                    commands.iter().map(|bytes| self.run(bytes, issuer, now, applied)).collect();
                if let Some(record) = self.sessions.get_mut(&session) {
                    record.replies = replies;
                }
                applied.author = Some((session, number));
            }
        }
    }

    fn run(&mut self, bytes: &[u8], issuer: Issuer, now: Time, applied: &mut Applied) -> AnyReply {
        let Ok(command) = AnyCommand::decode(bytes) else {
            self.malformed = self.malformed.saturating_add(1);
            return AnyReply::Refused(Error::Corrupt);
        };
        let lease = match &command {
            // Only the end of a session ends what it has, and its owner number is given by `join`.
            AnyCommand::ReapOwner(_) | AnyCommand::SetPrincipal(_) => {
                return AnyReply::Refused(Error::OtherPrincipal);
            }
            AnyCommand::Renew(renew) => Some(renew.lease),
            // No entry would end the lease of an owner without a session.
            AnyCommand::Transfer(transfer) if self.session_of(transfer.to).is_none() => {
                return AnyReply::Refused(Error::UnknownProcess);
            }
            AnyCommand::Transfer(transfer) => Some(transfer.lease),
            _ => None,
        };
        let owner = |table: &Table<Arrays>| lease.and_then(|lease| table.owner_of_lease(lease));
        let before = owner(&self.table);
        let reply = command.apply(&self.table, issuer, now);
        if let (Some(lease), Some(before)) = (lease, before)
            && owner(&self.table) != Some(before)
        {
            applied.moved.push((lease, before));
        }
        reply
    }

    /// Gives a session the lowest free owner number, if there is one.
    fn join(&mut self, session: i64, entry: (u64, Revision), principal: u32, now: Time) {
        if self.sessions.contains_key(&session) {
            return;
        }
        let taken: BTreeSet<u16> = self.sessions.values().map(|record| record.owner).collect();
        let Some(owner) = (1..=OWNERS).find(|owner| !taken.contains(owner)) else { return };
        let (last, revision) = entry;
        let record = SessionRecord { owner, principal, last, revision, replies: Vec::new() };
        // Fails only in a damaged table, which refuses every command anyway.
        let _ = self.table.apply(record.issuer(), &SetPrincipal { owner }, now);
        self.sessions.insert(session, record);
    }

    fn end(&mut self, session: i64, now: Time, reason: Reason) {
        let Some(record) = self.sessions.remove(&session) else { return };
        let issuer = if reason == Reason::Released { record.issuer() } else { Issuer::default() };
        let command = ReapOwner { owner: record.owner, reason, limit: u32::MAX };
        let reaped = self.table.apply(issuer, &command, now);
        if let Ok(reaped) = reaped
            && reason == Reason::HolderDied
            && reaped != Reaped::default()
        {
            self.table.record_death(now, record.owner.into(), reaped);
        }
    }

    /// A hash of the whole state, equal on every machine.
    pub fn hash(&self) -> u64 {
        let mut sessions = Vec::new();
        self.put_sessions(&mut sessions);
        hash_of(&sessions, self.table.state_hash())
    }

    fn put_sessions(&self, out: &mut Vec<u8>) {
        (self.sessions.len() as u64).put(out);
        for (session, record) in &self.sessions {
            (*session, (record.owner, record.principal)).put(out);
            (record.last, (record.revision, record.replies.len() as u64)).put(out);
            for reply in &record.replies {
                let mut bytes = Vec::new();
                reply.encode(&mut bytes);
                (bytes.len() as u64).put(out);
                out.extend(bytes);
            }
        }
    }

    /// The state as bytes, for members that join or have fallen behind.
    pub fn encode_snapshot(&self) -> Vec<u8> {
        let mut out = Vec::new();
        (SNAPSHOT_VERSION, super::entry::RULES).put(&mut out);
        (self.position, self.revision).put(&mut out);
        self.seen().1.put(&mut out);
        (self.malformed, self.checked).put(&mut out);
        self.put_sessions(&mut out);
        self.table.encode_snapshot(&mut out);
        out
    }

    /// The state that a snapshot has. `None` if the system does not provide the memory.
    pub fn from_snapshot(shape: &Shape, mut bytes: &[u8]) -> Option<Result<Replica, Malformed>> {
        let mut replica = Self::try_attach(shape)?;
        Some(replica.load(&mut bytes).map(|()| replica))
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), Malformed> {
        if <(u64, u64)>::take(bytes)? != (SNAPSHOT_VERSION, super::entry::RULES) {
            return Err(Malformed::Version);
        }
        (self.position, self.revision) = Decode::take(bytes)?;
        self.recent.push_back(Recent { hash: Decode::take(bytes)?, obsolete: None });
        (self.malformed, self.checked) = Decode::take(bytes)?;
        // The store counts entries in signed numbers.
        if self.position > i64::MAX as u64 || self.revision < 0 {
            return Err(Malformed::State);
        }
        for _ in 0..u64::take(bytes)? {
            let (session, (owner, principal)) = Decode::take(bytes)?;
            // In the order of their ids, so that each state has one encoding.
            let is_next = self.sessions.keys().next_back().is_none_or(|last| *last < session);
            if !is_next || !(1..=OWNERS).contains(&owner) || self.session_of(owner).is_some() {
                return Err(Malformed::State);
            }
            let (last, (revision, count)) = <(u64, (Revision, u64))>::take(bytes)?;
            if last == END || revision < 0 {
                return Err(Malformed::State);
            }
            let mut replies = Vec::new();
            for _ in 0..count {
                let len = u64::take(bytes)?;
                let split = usize::try_from(len).ok().and_then(|len| bytes.split_at_checked(len));
                let (reply, rest) = split.ok_or(DecodeError::Truncated)?;
                replies.push(AnyReply::decode(reply)?);
                *bytes = rest;
            }
            let record = SessionRecord { owner, principal, last, revision, replies };
            self.sessions.insert(session, record);
        }
        self.table.load_snapshot(bytes)?;
        match self.table.verify() {
            Ok(()) if bytes.is_empty() => Ok(()),
            _ => Err(Malformed::State),
        }
    }
}
