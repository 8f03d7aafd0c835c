//! What machines tell each other beside the table: which devices they have. Only a table of many machines has any of that.

use super::Core;
use super::clustered::UNREACHABLE;
use crate::home::arrays::Undo;
use crate::home::cluster::{Answer, Op, Part, Range, Txn};
use crate::table::Error;

/// How often to begin again if others publish at the same time.
const ATTEMPTS: u32 = 16;

impl<U: Undo> Core<U> {
    /// Do many machines share the table?
    pub fn is_clustered(&self) -> bool {
        self.part().is_some()
    }

    /// Replaces what a machine has published by what `renew` makes of it.
    pub fn publish(&self, node: &str, renew: &dyn Fn(Option<&str>) -> String) -> Result<(), Error> {
        let Some(part) = self.part() else { return Err(Error::NotShared) };
        may_speak(part)?;
        let key = part.keys().node(node);
        let only = Range::only(key.clone());
        for _ in 0..ATTEMPTS {
            let (found, _) = part.kv().read(&only).map_err(|_| UNREACHABLE)?;
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
            if let Answer::Done(_) = part.kv().txn(&txn).map_err(|_| UNREACHABLE)? {
                return Ok(());
            }
        }
        Err(UNREACHABLE)
    }

    /// What all machines have published, each with its name.
    pub fn published(&self) -> Result<Vec<(String, String)>, Error> {
        let Some(part) = self.part() else { return Ok(Vec::new()) };
        may_speak(part)?;
        let (found, _) = part.kv().read(&part.keys().nodes()).map_err(|_| UNREACHABLE)?;
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
