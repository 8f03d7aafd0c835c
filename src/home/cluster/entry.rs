//! Entries of the log, as bytes.
//!
//! An entry is a version byte, the version of the rules, the session and the number of the entry in
//! it, a time, what its author knew of the log, and what happens. The primitives are those of
//! `table/codec.rs`: every entry has one encoding, and decoding trusts nothing.

use super::keys::END;
use crate::table::codec::{Decode, DecodeError, Encode};
use crate::table::{FOREVER, Reason, ReasonClass, Time};

/// The first byte of each entry.
const VERSION: u64 = 1;

/// The version of the rules by which replicas apply entries. Replicas with unequal rules do not
/// share a table: raise it with every change of the table that replies to a log of commands
/// otherwise, or ends in another state.
pub const RULES: u64 = 3;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The session that the entry is about: that of its author, or the one that has ended.
    pub session: i64,
    /// Counts the entries of the session, from 0; [`END`](super::keys::END) if it ends the session.
    pub number: u64,
    /// The author's time.
    pub now: Time,
    /// The position that the author's replica had, and the hash of the entry there.
    pub seen: (u64, u64),
    /// A position of the log, and the hash of the author's replica there.
    pub check: Option<(u64, u64)>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The session gets an owner number. The session that its process had before ends.
    Join { principal: u32, previous: Option<i64> },
    /// The session has ended: its leases end for this reason.
    End { reason: Reason },
    /// Encoded commands of the session.
    Commands(Vec<Vec<u8>>),
}

/// Why an entry is not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    Bytes(DecodeError),
    /// Another version of the entry or of the rules.
    Version,
    /// A snapshot of a state that no log leads to.
    State,
}

impl From<DecodeError> for Malformed {
    fn from(error: DecodeError) -> Self {
        Malformed::Bytes(error)
    }
}

impl LogEntry {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        (VERSION, RULES).put(&mut out);
        (self.session, self.number).put(&mut out);
        (self.now, (self.seen, self.check)).put(&mut out);
        match &self.what {
            What::Join { principal, previous } => {
                0u64.put(&mut out);
                (*principal, *previous).put(&mut out);
            }
            What::End { reason } => {
                1u64.put(&mut out);
                reason.put(&mut out);
            }
            What::Commands(commands) => {
                2u64.put(&mut out);
                (commands.len() as u64).put(&mut out);
                for command in commands {
                    (command.len() as u64).put(&mut out);
                    out.extend(command);
                }
            }
        }
        out
    }

    pub fn decode(mut bytes: &[u8]) -> Result<LogEntry, Malformed> {
        let bytes = &mut bytes;
        if (u64::take(bytes)?, u64::take(bytes)?) != (VERSION, RULES) {
            return Err(Malformed::Version);
        }
        let (session, number) = Decode::take(bytes)?;
        let (now, seen, check): (_, _, Option<(u64, u64)>);
        (now, (seen, check)) = Decode::take(bytes)?;
        let what = match u64::take(bytes)? {
            0 => {
                let (principal, previous) = Decode::take(bytes)?;
                What::Join { principal, previous }
            }
            1 => What::End { reason: Reason::take(bytes)? },
            2 => {
                let count = u64::take(bytes)?;
                What::Commands((0..count).map(|_| take_bytes(bytes)).collect::<Result<_, _>>()?)
            }
            tag => return Err(DecodeError::UnknownTag(tag.min(255) as u8).into()),
        };
        let valid = match &what {
            What::End { reason } => number == END && reason.class() == ReasonClass::Ended,
            _ => number != END,
        };
        let checked = check.map_or(0, |(position, _)| position);
        match bytes.is_empty() {
            _ if now >= FOREVER || checked > i64::MAX as u64 || !valid => {
                Err(DecodeError::InvalidNumber.into())
            }
            true => Ok(LogEntry { session, number, now, seen, check, what }),
            false => Err(DecodeError::TrailingBytes.into()),
        }
    }
}

/// A hash of bytes that is equal on every machine: FNV-1a.
pub fn hash_of(bytes: &[u8], start: u64) -> u64 {
    bytes
        .iter()
        .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn take_bytes(bytes: &mut &[u8]) -> Result<Vec<u8>, DecodeError> {
    let len = u64::take(bytes)?;
    let len = usize::try_from(len).map_err(|_| DecodeError::Truncated)?;
    let (taken, rest) = bytes.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *bytes = rest;
    Ok(taken.to_vec())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn entries() -> Vec<LogEntry> {
        let seen = (300, u64::MAX / 3);
        let entry = |what| LogEntry { session: -7, number: 3, now: 300, seen, check: None, what };
        vec![
            entry(What::Join { principal: 9, previous: None }),
            entry(What::Join { principal: 9, previous: Some(1 << 60) }),
            LogEntry { number: END, ..entry(What::End { reason: Reason::HolderDied }) },
            entry(What::Commands(vec![vec![], vec![1, 2, 3]])),
            LogEntry { check: Some((256, u64::MAX)), ..entry(What::Commands(vec![])) },
        ]
    }

    #[test]
    fn entries_are_decoded_as_they_were_encoded() {
        for entry in entries() {
            assert_eq!(LogEntry::decode(&entry.encode()), Ok(entry));
        }
    }

    #[test]
    fn damaged_entries_are_refused_or_have_one_encoding() {
        for entry in entries() {
            let bytes = entry.encode();
            for len in 0..bytes.len() {
                assert!(LogEntry::decode(&bytes[..len]).is_err(), "{entry:?} cut to {len}");
            }
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= 1 << bit;
                    if let Ok(read) = LogEntry::decode(&damaged) {
                        assert_eq!(read.encode(), damaged);
                    }
                }
            }
        }
    }

    #[test]
    fn entry_of_other_rules_is_told_from_damage() {
        let mut bytes = entries()[0].encode();
        bytes[1] += 1;
        assert_eq!(LogEntry::decode(&bytes), Err(Malformed::Version));
    }
}
