//! An engine in memory that does what a test tells it to: loses answers, does things late, is away.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::kv::{Answer, Entry, Kv, Op, Range, Revision, Trouble, Txn};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// It never arrives.
    Lost,
    /// It is done, and the answer never arrives.
    Mute,
    /// Nobody hears of it, and it is done after the next request.
    Late,
}

#[derive(Default)]
struct Inner {
    revision: Revision,
    entries: BTreeMap<String, (Vec<u8>, Revision)>,
    late: Vec<Txn>,
}

pub(crate) struct Model {
    inner: Mutex<Inner>,
    fate: Mutex<Box<dyn FnMut() -> Fate + Send>>,
}

impl Model {
    pub fn new(fate: impl FnMut() -> Fate + Send + 'static) -> Self {
        Model { inner: Mutex::default(), fate: Mutex::new(Box::new(fate)) }
    }

    /// All that there is.
    #[cfg(fuzzing)]
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        let inner = self.inner.lock();
        inner.entries.iter().map(|(key, (value, _))| (key.clone(), value.clone())).collect()
    }

    /// Somebody has put this there, and removed what else there was.
    #[cfg(fuzzing)]
    pub fn replace(&self, entries: &[(String, Vec<u8>)]) {
        let inner = &mut *self.inner.lock();
        inner.revision += 1;
        let old = std::mem::take(&mut inner.entries);
        for (key, value) in entries {
            let same = old.get(key).filter(|(before, _)| before == value);
            let modified = same.map_or(inner.revision, |(_, modified)| *modified);
            inner.entries.insert(key.clone(), (value.clone(), modified));
        }
    }

    /// How many keys there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.inner.lock().entries.len()
    }
}

impl Inner {
    fn read(&self, range: &Range) -> Vec<Entry> {
        let found = self.entries.range(range.from.clone()..range.to.clone());
        let entry = |(key, (value, modified)): (&String, &(Vec<u8>, Revision))| Entry {
            key: key.clone(),
            value: value.clone(),
            modified: *modified,
        };
        found.map(entry).collect()
    }

    fn run(&mut self, txn: &Txn) -> Answer {
        let modified = |key: &String| self.entries.get(key).map_or(0, |(_, modified)| *modified);
        if txn.unchanged.iter().any(|(key, revision)| modified(key) != *revision) {
            return Answer::Changed(txn.otherwise.iter().map(|range| self.read(range)).collect());
        }
        self.revision += 1;
        for op in &txn.then {
            match op {
                Op::Put { key, value, .. } => {
                    self.entries.insert(key.clone(), (value.clone(), self.revision));
                }
                Op::Delete { from, to } => {
                    self.entries.retain(|key, _| key < from || key >= to);
                }
            }
        }
        Answer::Done(self.revision)
    }
}

impl Kv for Model {
    fn txn(&self, txn: &Txn) -> Result<Answer, Trouble> {
        let fate = (self.fate.lock())();
        let mut inner = self.inner.lock();
        let late = std::mem::take(&mut inner.late);
        let told = match fate {
            Fate::Answered => Ok(inner.run(txn)),
            Fate::Lost => Err(Trouble::Unreachable("away".to_owned())),
            Fate::Mute => {
                inner.run(txn);
                Err(Trouble::Unknown("no answer".to_owned()))
            }
            Fate::Late => {
                inner.late.push(txn.clone());
                Err(Trouble::Unknown("no answer".to_owned()))
            }
        };
        late.iter().for_each(|txn| drop(inner.run(txn)));
        told
    }

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), Trouble> {
        match (self.fate.lock())() {
            Fate::Answered => {
                let inner = self.inner.lock();
                Ok((inner.read(range), inner.revision))
            }
            _ => Err(Trouble::Unreachable("away".to_owned())),
        }
    }
}
