//! An engine in memory that does what a test tells it to: loses answers, does things late, is away.

use parking_lot::Mutex;

use super::keyspace::Keyspace;
use super::kv::{Answer, Entry, Kv, Range, Revision, Trouble, Txn};

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
    keys: Keyspace,
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

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.inner.lock().keys.len()
    }
}

impl Kv for Model {
    fn txn(&self, txn: &Txn) -> Result<Answer, Trouble> {
        let fate = (self.fate.lock())();
        let mut inner = self.inner.lock();
        let late = std::mem::take(&mut inner.late);
        let told = match fate {
            Fate::Answered => Ok(inner.keys.run(txn).0),
            Fate::Lost => Err(Trouble::Unreachable("away".to_owned())),
            Fate::Mute => {
                inner.keys.run(txn);
                Err(Trouble::Unknown("no answer".to_owned()))
            }
            Fate::Late => {
                inner.late.push(txn.clone());
                Err(Trouble::Unknown("no answer".to_owned()))
            }
        };
        late.iter().for_each(|txn| drop(inner.keys.run(txn)));
        told
    }

    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), Trouble> {
        match (self.fate.lock())() {
            Fate::Answered => {
                let inner = self.inner.lock();
                Ok((inner.keys.read(range), inner.keys.revision))
            }
            _ => Err(Trouble::Unreachable("away".to_owned())),
        }
    }
}
