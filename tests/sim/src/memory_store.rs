//! An engine in memory that loses or delays what a test tells it to.

use std::sync::{Mutex, MutexGuard};

use super::keyspace::Keyspace;
use ternlease::sim_api::kv::{Answer, Entry, Kv, Range, Revision, StoreError, Txn};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// It never arrives.
    Lost,
    /// It is executed, and its answer is lost.
    Mute,
    /// Its answer is lost, and it is executed after the next request.
    Late,
}

#[derive(Default)]
struct Inner {
    keys: Keyspace,
    late: Vec<Txn>,
}

pub(crate) struct MemoryStore {
    inner: Mutex<Inner>,
    fate: Mutex<Box<dyn FnMut() -> Fate + Send>>,
}

impl MemoryStore {
    pub fn new(fate: impl FnMut() -> Fate + Send + 'static) -> Self {
        MemoryStore { inner: Mutex::default(), fate: Mutex::new(Box::new(fate)) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic under it")
    }

    fn next_fate(&self) -> Fate {
        (self.fate.lock().expect("no panic under it"))()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.lock().keys.len()
    }
}

impl Kv for MemoryStore {
    fn txn(&self, txn: &Txn) -> Result<Answer, StoreError> {
        let fate = self.next_fate();
        let mut inner = self.lock();
        let late = std::mem::take(&mut inner.late);
        let told = match fate {
            Fate::Answered => Ok(inner.keys.run(txn).0),
            Fate::Lost => Err(StoreError::Unavailable("away".to_owned())),
            Fate::Mute => {
                inner.keys.run(txn);
                Err(StoreError::Unknown("no answer".to_owned()))
            }
            Fate::Late => {
                inner.late.push(txn.clone());
                Err(StoreError::Unknown("no answer".to_owned()))
            }
        };
        late.iter().for_each(|txn| drop(inner.keys.run(txn)));
        told
    }

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), StoreError> {
        match self.next_fate() {
            Fate::Answered => {
                let inner = self.lock();
                Ok((inner.keys.read(range), inner.keys.revision))
            }
            _ => Err(StoreError::Unavailable("away".to_owned())),
        }
    }
}
