//! What machines tell each other beside the table: which devices they have. Only a table of many machines has any of that.

use std::time::Duration;

use super::home::ClusterHome;
use crate::home::ClusterOps;
use crate::home::clock::Clock;
use crate::home::cluster::{Answer, Op, Part, Range, Txn};
use crate::table::Error;

/// How often to begin again if others publish at the same time.
const ATTEMPTS: u32 = 16;

impl ClusterOps for ClusterHome {
    fn unreachable_for(&self) -> Option<Duration> {
        let since = self.part.hearing.silent_since()?;
        Some(Duration::from_micros(Clock::Real.now().saturating_sub(since)))
    }

    fn session_left(&self) -> Duration {
        if self.part.is_sure() { self.part.sure_for() } else { Duration::ZERO }
    }

    fn publish(&self, node: &str, renew: &dyn Fn(Option<&str>) -> String) -> Result<(), Error> {
        let part = &self.part;
        may_speak(part)?;
        let key = part.keys().node(node);
        let only = Range::only(key.clone());
        for _ in 0..ATTEMPTS {
            let (found, _) = part.kv().read(&only).map_err(|_| Error::Unavailable)?;
            let before = found.first().and_then(|entry| std::str::from_utf8(&entry.value).ok());
            let after = renew(before);
            if before == Some(&after) {
                return Ok(());
            }
            let revision = found.first().map_or(0, |entry| entry.modified);
            let txn = Txn {
                unchanged: vec![(key.clone(), revision)],
                then: vec![Op::Put { key: key.clone(), value: after.into(), session: None }],
                otherwise: Vec::new(),
            };
            if let Answer::Done(_) = part.kv().txn(&txn).map_err(|_| Error::Unavailable)? {
                return Ok(());
            }
        }
        Err(Error::Unavailable)
    }

    fn published(&self) -> Result<Vec<(String, String)>, Error> {
        let part = &self.part;
        may_speak(part)?;
        let (found, _) = part.kv().read(&part.keys().nodes()).map_err(|_| Error::Unavailable)?;
        let named = found.into_iter().filter_map(|entry| {
            let node = part.keys().node_of(&entry.key)?.to_owned();
            Some((node, String::from_utf8_lossy(&entry.value).into_owned()))
        });
        Ok(named.collect())
    }
}

fn may_speak(part: &Part) -> Result<(), Error> {
    match (part.is_forked(), part.is_closed()) {
        (true, _) => Err(Error::Forked),
        (_, true) => Err(Error::Closed),
        _ => Ok(()),
    }
}
