//! The table in the engine: a whole copy, the changes since, and the number of the last.
//!
//! A change is one transaction: it counts if nobody else has made one since this process last looked. If somebody has, the answer brings what
//! they did. Now and then somebody writes a whole copy, and the changes up to there are removed; that is in nobody's way, as copies and changes
//! are never rewritten.

use std::hash::{DefaultHasher, Hasher};

use super::diff::{self, Change};
use super::keys::Keys;
use super::kv::{Answer, Entry, Kv, Op, Range, Revision, StoreError, Txn};
use super::replica::Replica;

/// A change that is to be made.
#[derive(Debug)]
pub struct Delta {
    pub made_by: u16,
    /// No other change has the same: so whoever had no answer can find out whether its change was made.
    pub mark: u128,
    pub changes: Vec<Change>,
}

/// What became of an attempt to make a change.
#[derive(Debug, PartialEq, Eq)]
pub enum Made {
    Done,
    /// Others were faster, or may have been: undo it, then [`Store::follow`] them.
    Overtaken(Vec<Entry>),
    /// Nobody can tell any more: somebody else has its maker's number by now. Undo it and follow, as above.
    Forgotten(Vec<Entry>),
}

/// Why the copy cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was done.
    Engine(StoreError),
    /// It may have been done, or be done yet: [`Store::find_out`] until there is an answer.
    InDoubt(StoreError),
    /// The engine has another history of the table than the copy: it was restored from a backup
    /// meanwhile.
    Diverged,
    /// What is in the engine makes no sense.
    Corrupt,
}

impl From<StoreError> for Failure {
    fn from(trouble: StoreError) -> Self {
        Failure::Engine(trouble)
    }
}

/// How far this process's copy has come.
#[derive(Debug)]
pub struct Store {
    keys: Keys,
    replica: Replica,
    /// The last change that the copy has, and the revision of `head` with which it was made.
    number: u64,
    head: Revision,
    /// The fingerprint of the last change; `None` if only a whole copy of it was read.
    last: Option<u64>,
    /// Up to which change there is a whole copy in the engine.
    base: u64,
    base_revision: Revision,
    /// After so many changes a whole copy is due.
    changes_per_base: u64,
}

/// So many processes are called one by one.
const MOST_CALLED: usize = 64;

/// So many changes come with the answer to one that was overtaken: all of them together are no more than an answer can hold.
const AT_ONCE: u64 = 64;

/// A whole copy comes in pieces of this size: half of what the engine takes at once.
const PIECE: usize = 512 << 10;

impl Store {
    pub fn new(name: &str, replica: Replica, changes_per_base: u64) -> Self {
        Store {
            keys: Keys::new(name),
            replica,
            number: 0,
            head: 0,
            last: None,
            base: 0,
            base_revision: 0,
            changes_per_base,
        }
    }

    /// Reads everything. False if there is nothing yet.
    pub fn load(&mut self, kv: &dyn Kv) -> Result<bool, Failure> {
        let (entries, _) = kv.read(&self.keys.all())?;
        self.take_in(&entries)?.ok_or(Failure::Corrupt)
    }

    fn take_in(&mut self, entries: &[Entry]) -> Result<Option<bool>, Failure> {
        let Some(number) = self.take_base(entries) else { return Ok(None) };
        let Some((number, head)) = number else { return Ok(Some(false)) };
        self.add(entries)?;
        self.head = head;
        // Number 0 means that no change was written: a process has only invalidated its own first
        // attempt.
        Ok((self.number == number).then_some(number != 0))
    }

    /// Reads a whole copy; the number of the last change, and the revision of `head`, if there are
    /// any.
    fn take_base(&mut self, entries: &[Entry]) -> Option<Option<(u64, Revision)>> {
        let find = |key: String| entries.iter().find(|entry| entry.key == key);
        let Some(head) = find(self.keys.head()) else { return Some(None) };
        let base = find(self.keys.base());
        let number = number_in(head)?;
        self.base = base.map_or(Some(0), number_in)?;
        self.base_revision = base.map_or(0, |entry| entry.modified);
        self.replica.clear();
        let mut parts = 0;
        for entry in entries {
            match self.keys.piece_of(&entry.key) {
                Some((of, part)) if of == self.base && part == parts => {
                    parts += 1;
                    self.replica.apply(&diff::decode_words(&entry.value)?).then_some(())?;
                }
                _ => {}
            }
        }
        (self.number, self.last) = (self.base, None);
        Some(Some((number, head.modified)))
    }

    /// The last change that the copy has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Applies the changes that others have made since `known`, the number of the copy when the question was asked;
    /// reads everything anew if some of them are gone by now. Had another process changed the table?
    pub fn follow(&mut self, kv: &dyn Kv, read: &[Entry], known: u64) -> Result<bool, Failure> {
        let before = (self.number, self.head);
        self.follow_up(kv, read, known)?;
        Ok((self.number, self.head) != before)
    }

    fn follow_up(&mut self, kv: &dyn Kv, read: &[Entry], known: u64) -> Result<(), Failure> {
        let head = read.iter().find(|entry| entry.key == self.keys.head());
        let last = head.and_then(number_in).ok_or(Failure::Corrupt)?;
        if last < known {
            // The engine has forgotten changes: reads are linearizable, so numbers only grow.
            return Err(Failure::Diverged);
        }
        if last < self.number {
            // The copy has moved on since the question was asked.
            return Ok(());
        }
        self.add(read)?;
        if self.number == last {
            self.head = head.map_or(0, |entry| entry.modified);
            return Ok(());
        }
        // There are more than one answer holds.
        let (rest, _) = kv.read(&self.keys.changes_from(self.number + 1))?;
        self.add(&rest)?;
        if self.number >= last || self.load(kv)? { Ok(()) } else { Err(Failure::Corrupt) }
    }

    /// Reads several things at one moment.
    pub fn ask(kv: &dyn Kv, otherwise: Vec<Range>) -> Result<Vec<Entry>, Failure> {
        // No key has this revision: so the answer is what there is to read.
        let unchanged = vec![(otherwise[0].from.clone(), -1)];
        match kv.txn(&Txn { unchanged, then: Vec::new(), otherwise })? {
            Answer::Done(_) => Err(Failure::Corrupt),
            Answer::Changed(read) => Ok(read.concat()),
        }
    }

    /// What to read to learn what others have done.
    pub fn news(&self) -> Vec<Range> {
        let head = self.keys.head();
        // Includes the last known change, to verify that it is unchanged.
        let changes = self.keys.some_changes_from(self.number.max(1), AT_ONCE + 1);
        vec![Range::only(head), changes]
    }

    /// Applies the changes among these that follow on what the copy has.
    fn add(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        for entry in entries {
            let number = self.keys.number_of(&entry.key);
            if number == Some(self.number) && self.last.is_some() {
                if self.last != Some(fingerprint(&entry.value)) {
                    return Err(Failure::Diverged);
                }
            } else if number == Some(self.number + 1) {
                let changes = diff::decode(&entry.value).ok_or(Failure::Corrupt)?;
                if !self.replica.apply(&changes) {
                    return Err(Failure::Corrupt);
                }
                (self.number, self.head) = (self.number + 1, entry.modified);
                self.last = Some(fingerprint(&entry.value));
            }
        }
        Ok(())
    }

    /// The copy has this already: tells the others, if these keys are unchanged, too, and calls those whom it concerns.
    pub fn make(
        &mut self,
        kv: &dyn Kv,
        delta: &Delta,
        mut unchanged: Vec<(String, Revision)>,
        concerned: &[u16],
    ) -> Result<Made, Failure> {
        let number = self.number + 1;
        let mut then = vec![
            self.set_head(number),
            put(self.keys.change(number), diff::encode(&delta.changes)),
            put(self.keys.mark(delta.made_by), delta.mark.to_le_bytes().to_vec()),
        ];
        // More than so many at once are called by what all hear: an engine does not do any number of things together.
        let everybody = [0];
        let called = if concerned.len() <= MOST_CALLED { concerned } else { &everybody };
        then.extend(called.iter().map(|owner| put(self.keys.bell(*owner), Vec::new())));
        unchanged.push((self.keys.head(), self.head));
        match kv.txn(&Txn { unchanged, then, otherwise: self.news_of(delta) }) {
            Ok(Answer::Done(revision)) => {
                (self.number, self.head) = (number, revision);
                self.last = Some(fingerprint(&diff::encode(&delta.changes)));
                Ok(Made::Done)
            }
            Ok(Answer::Changed(read)) => Ok(self.found_out(delta, read.concat())),
            Err(StoreError::Unknown(_)) => self.find_out(kv, delta),
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// Whether a change was made is not known, and it may be made yet. Changing the revision of the head ends that: after it, it was or never will be.
    pub fn find_out(&mut self, kv: &dyn Kv, delta: &Delta) -> Result<Made, Failure> {
        let answer = kv.txn(&Txn { otherwise: self.news_of(delta), ..self.end_doubts() });
        match answer.map_err(Failure::InDoubt)? {
            Answer::Done(revision) => Ok(Made::Overtaken(vec![Entry {
                key: self.keys.head(),
                value: self.number.to_le_bytes().to_vec(),
                modified: revision,
            }])),
            Answer::Changed(read) => Ok(self.found_out(delta, read.concat())),
        }
    }

    /// Changes the revision of the head, unless somebody else has: what was under way before never comes to count, or has by then.
    pub fn end_doubts(&self) -> Txn {
        Txn {
            unchanged: vec![(self.keys.head(), self.head)],
            then: vec![self.set_head(self.number)],
            otherwise: Vec::new(),
        }
    }

    /// What others have done, and whether this was made. The change itself may be gone by the time that somebody looks: then it is in a whole copy.
    fn news_of(&self, delta: &Delta) -> Vec<Range> {
        let mut news = self.news();
        news.push(Range::only(self.keys.mark(delta.made_by)));
        news
    }

    /// Somebody has changed something: perhaps it was this change.
    fn found_out(&mut self, delta: &Delta, read: Vec<Entry>) -> Made {
        let key = self.keys.mark(delta.made_by);
        let Some(entry) = read.iter().find(|entry| entry.key == key) else {
            return Made::Overtaken(read);
        };
        match entry.value.as_slice().try_into().map(u128::from_le_bytes) {
            Ok(mark) if mark == delta.mark => {
                // Others may have made further ones since: the next attempt will tell.
                (self.number, self.head) = (self.number + 1, entry.modified);
                self.last = Some(fingerprint(&diff::encode(&delta.changes)));
                Made::Done
            }
            Ok(mark) if maker_in(mark) == maker_in(delta.mark) => Made::Overtaken(read),
            _ => Made::Forgotten(read),
        }
    }

    fn set_head(&self, number: u64) -> Op {
        put(self.keys.head(), number.to_le_bytes().to_vec())
    }

    /// A whole copy for the engine, if one is due. The copy here must be as the engine has it.
    pub fn base_if_due(&self) -> Option<Base> {
        // Somebody else's may be one of later changes than this copy has.
        (self.number.saturating_sub(self.base) >= self.changes_per_base).then(|| Base {
            keys: self.keys.clone(),
            number: self.number,
            unchanged: (self.keys.base(), self.base_revision),
            pieces: diff::encode_words(self.replica.words(), PIECE),
        })
    }

    /// There is a whole copy of this change in the engine, written at that revision.
    pub fn has_base(&mut self, (number, revision): (u64, Revision)) {
        (self.base, self.base_revision) = (number, revision);
    }
}

/// A whole copy that is to be written.
#[derive(Debug)]
pub struct Base {
    keys: Keys,
    number: u64,
    unchanged: (String, Revision),
    pieces: Vec<Vec<u8>>,
}

impl Base {
    /// Writes it, and removes the changes that it has. Which copy there is afterwards: somebody else's, if they were faster.
    pub fn write(self, kv: &dyn Kv) -> Result<(u64, Revision), Failure> {
        for (part, piece) in self.pieces.into_iter().enumerate() {
            let then = vec![put(self.keys.piece(self.number, part), piece)];
            kv.txn(&Txn { then, ..Txn::default() })?;
        }
        let (changes, pieces) =
            (self.keys.changes_up_to(self.number), self.keys.pieces_before(self.number));
        let base = self.keys.base();
        let then = vec![
            put(base.clone(), self.number.to_le_bytes().to_vec()),
            Op::Delete { from: changes.from, to: changes.to },
            Op::Delete { from: pieces.from, to: pieces.to },
        ];
        let otherwise = vec![Range::only(base)];
        match kv.txn(&Txn { unchanged: vec![self.unchanged], then, otherwise })? {
            Answer::Done(revision) => Ok((self.number, revision)),
            // What was written here goes with the next one.
            Answer::Changed(read) => {
                let found = read.concat().into_iter().next().ok_or(Failure::Corrupt)?;
                Ok((number_in(&found).ok_or(Failure::Corrupt)?, found.modified))
            }
        }
    }
}

fn fingerprint(change: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(change);
    hasher.finish()
}

/// A mark is the number of a process, which no other ever has, and below it that of its change.
fn maker_in(mark: u128) -> u128 {
    mark >> 64
}

fn put(key: String, value: Vec<u8>) -> Op {
    Op::Put { key, value, session: None }
}

/// No table has had more changes than this: so there is always a next one.
const MOST_CHANGES: u64 = u64::MAX / 2;

fn number_in(entry: &Entry) -> Option<u64> {
    let number = u64::from_le_bytes(entry.value.as_slice().try_into().ok()?);
    (number <= MOST_CHANGES).then_some(number)
}
