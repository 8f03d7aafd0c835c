//! What all members of a table agree on. The first one decides, and the others read it.

use super::entry::RULES;
use crate::rt;
use crate::table::codec::{Decode, DecodeError, Encode};
use crate::table::{DeadlockPolicy, Limits, Settings, Time};

/// The version of the keys and values of a table in the store.
const VERSION: u64 = 3;

/// See the module's text.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The settings of the table.
    pub settings: Settings,
    /// Time 0 of the table, in microseconds since 1970.
    pub epoch: u64,
}

/// Why a value is no shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeError {
    Malformed,
    /// Another version of the library, with another format or other rules, has made the table.
    Version {
        format: u64,
        rules: u64,
    },
}

impl From<DecodeError> for ShapeError {
    fn from(_: DecodeError) -> Self {
        ShapeError::Malformed
    }
}

impl Shape {
    /// Of a table that is made now.
    pub fn new(settings: Settings) -> Self {
        Shape { settings: replica_settings(settings), epoch: since_1970() }
    }

    pub fn encode(&self) -> Vec<u8> {
        let Settings { limits, implied_wants, deadlocks, .. } = self.settings;
        let mut out = Vec::new();
        (VERSION, RULES).put(&mut out);
        for limit in [limits.leases, limits.tickets, limits.resources, limits.history] {
            limit.put(&mut out);
        }
        (implied_wants, deadlocks == DeadlockPolicy::Break).put(&mut out);
        self.epoch.put(&mut out);
        out
    }

    pub fn decode(mut bytes: &[u8]) -> Result<Shape, ShapeError> {
        let bytes = &mut bytes;
        let (format, rules) = Decode::take(bytes)?;
        if (format, rules) != (VERSION, RULES) {
            return Err(ShapeError::Version { format, rules });
        }
        let mut limit = || {
            let limit = u32::take(bytes)?;
            // A larger table would only ask for memory that no system has.
            if (1..=Limits::MAX).contains(&limit) { Ok(limit) } else { Err(ShapeError::Malformed) }
        };
        let (leases, tickets) = (limit()?, limit()?);
        let limits = Limits { leases, tickets, resources: limit()?, history: limit()? };
        let (implied_wants, breaks) = Decode::take(bytes)?;
        let deadlocks = if breaks { DeadlockPolicy::Break } else { DeadlockPolicy::Report };
        let epoch = u64::take(bytes)?;
        if !bytes.is_empty() {
            return Err(ShapeError::Malformed);
        }
        let settings = Settings { limits, implied_wants, deadlocks, ..Settings::default() };
        Ok(Shape { settings: replica_settings(settings), epoch })
    }

    /// The table's time by this machine's wall clock. A machine whose wall clock is behind time 0
    /// begins at 1.
    pub fn now(&self) -> Time {
        since_1970().saturating_sub(self.epoch).max(1)
    }
}

/// Every replica begins with equal settings.
fn replica_settings(settings: Settings) -> Settings {
    Settings { replicated: true, first_sequence: 0, numbers: None, ..settings }
}

/// In microseconds, by this machine's wall clock.
fn since_1970() -> u64 {
    rt::since_1970().as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_is_decoded_as_it_was_encoded() {
        let limits = Limits { leases: 1, tickets: 2, resources: 3, history: Limits::MAX };
        let deadlocks = DeadlockPolicy::Break;
        let shape = Shape::new(Settings { limits, deadlocks, ..Settings::default() });
        let read = Shape::decode(&shape.encode()).unwrap();
        assert_eq!((read.settings.limits, read.epoch), (limits, shape.epoch));
        assert!(read.settings.deadlocks == deadlocks && read.settings.replicated);
    }

    #[test]
    fn damaged_shapes_are_refused_or_have_one_encoding() {
        let bytes = Shape::new(Settings::default()).encode();
        for len in 0..bytes.len() {
            assert!(Shape::decode(&bytes[..len]).is_err(), "cut to {len}");
        }
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            if let Ok(read) = Shape::decode(&damaged) {
                assert_eq!(read.encode(), damaged);
            }
        }
        let mut other = bytes;
        other[1] += 1;
        let found = Shape::decode(&other).unwrap_err();
        assert_eq!(found, ShapeError::Version { format: VERSION, rules: RULES + 1 });
    }
}
