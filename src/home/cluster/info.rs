//! The condition of a table and of its store, for operators.

use std::time::Duration;

use super::member::{Member, number_in};
use super::store::{Entry, Read, StoreError};
use crate::home::clock::Clock;
use crate::home::{ClusterInfo, Metric};
use crate::rt;

impl Member {
    /// Asks the store. The entries of the log are counted, not read.
    pub fn info(&self) -> Result<ClusterInfo, StoreError> {
        let asked = Clock::Real.now();
        self.store.read(&[Read::key(self.keys.head())])?;
        let read_time = Duration::from_micros(Clock::Real.now().saturating_sub(asked));
        let keys = Read { keys_only: true, ..Read::all(self.keys.entries()) };
        let reads = [
            Read::key(self.keys.head()),
            Read::key(self.keys.base()),
            keys,
            Read::all(self.keys.sessions()),
        ];
        let (found, _) = self.store.read(&reads)?;
        let [head, base, entries, sessions] = &found[..] else {
            return Err(StoreError::Unavailable("an answer is incomplete".to_owned()));
        };
        let last = head.first().map_or(0, |head| head.version as u64);
        let base = base.first().and_then(number_in).unwrap_or(0);
        let now = self.lock().replica.table.now();
        let table = Duration::from_micros(self.shape.epoch.saturating_add(now));
        Ok(ClusterInfo {
            read_time,
            processes: sessions.len() as u32,
            entries: last,
            entries_since_snapshot: last.saturating_sub(base),
            stored_entries: entries.len() as u64,
            clock_difference: clock_difference(sessions, table, rt::since_1970()),
            ..self.store.status(&self.keys.head())?
        })
    }

    pub fn metrics(&self) -> Vec<Metric> {
        let state = self.lock();
        self.counters.metrics(state.replica.malformed(), state.is_following())
    }
}

/// The value of the key of a session.
pub(super) fn session_value(process: u32) -> String {
    format!("process {process} of {} at {}", rt::node_name(), rt::since_1970().as_micros())
}

/// By how much the clocks of machines differ at least. The times at which sessions joined must grow
/// in the order of the store, and neither they nor the time of the table are later than `now`.
fn clock_difference(sessions: &[Entry], table: Duration, now: Duration) -> Duration {
    let mut sessions: Vec<&Entry> = sessions.iter().collect();
    sessions.sort_unstable_by_key(|session| session.created);
    let joined = sessions.iter().filter_map(|session| {
        let (_, time) = std::str::from_utf8(&session.value).ok()?.rsplit_once(" at ")?;
        time.parse().ok().map(Duration::from_micros)
    });
    let mut latest = Duration::ZERO;
    let differences = joined.chain([now]).map(|time| {
        latest = latest.max(time);
        latest - time
    });
    differences.max().unwrap_or_default().max(table.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_difference_is_seen_in_either_direction() {
        let session = |created, time: u64| Entry {
            key: String::new(),
            value: format!("process 1 of a at {time}").into_bytes(),
            created,
            modified: created,
            version: 1,
        };
        let micros = Duration::from_micros;
        let seen = |sessions: &[Entry], table, now| {
            clock_difference(sessions, micros(table), micros(now)).as_micros()
        };
        assert_eq!(seen(&[], 5, 9), 0);
        assert_eq!(seen(&[session(1, 3), session(2, 4)], 5, 9), 0);
        // The second joined after the first.
        assert_eq!(seen(&[session(2, 3), session(1, 7)], 5, 9), 4);
        assert_eq!(seen(&[session(1, 12)], 5, 9), 3);
        assert_eq!(seen(&[session(1, 3)], 15, 9), 6);
        let unknown = Entry { value: b"text".to_vec(), ..session(1, 0) };
        assert_eq!(seen(&[unknown], 5, 9), 0);
    }
}
