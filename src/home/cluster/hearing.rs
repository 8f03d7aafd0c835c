//! What a process hears of the engine: how its session is, who goes, and what others do to what is its own. It is heard on a thread of the engine's, and
//! the ticker looks at it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::keys::Keys;
use super::kv::{Engine, Listener, Range, SessionNews, StoreError, Watch, WatchNews};
use crate::rt::Thread;
use crate::table::Time;

/// What was heard, and not looked at yet.
#[derive(Debug, Default)]
struct Heard {
    changed: AtomicBool,
    gone: Mutex<Vec<u16>>,
    /// Some may have gone of whom nothing was heard.
    missed: AtomicBool,
    lost: AtomicBool,
    /// Since when the engine does not answer, by [`Clock::Real`](crate::home::clock::Clock::Real); 0 if it does.
    silent_since: AtomicU64,
    ticker: Mutex<Option<Thread>>,
    /// The thread that reports the loss of the session, see `core/lost.rs`.
    session_watcher: Mutex<Option<Thread>>,
}

impl Heard {
    fn wake_ticker(&self) {
        if let Some(ticker) = &*self.ticker.lock() {
            ticker.unpark();
        }
    }

    fn wake_session_watcher(&self) {
        if let Some(watcher) = &*self.session_watcher.lock() {
            watcher.unpark();
        }
    }

    /// Wakes threads only on the first call after the loss.
    fn set_lost(&self) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            self.wake_ticker();
            self.wake_session_watcher();
        }
    }

    fn hear_of_session(&self, news: SessionNews) {
        match news {
            SessionNews::Jeopardy { since } => {
                self.silent_since.store(since.max(1), Ordering::Release);
            }
            SessionNews::Safe => {
                self.silent_since.store(0, Ordering::Release);
                // It may have been restored from a backup meanwhile: the next refresh detects that.
                self.changed.store(true, Ordering::Release);
                self.wake_ticker();
            }
            SessionNews::Lost => self.set_lost(),
        }
    }

    fn hear_of_keys(&self, keys: &Keys, news: &WatchNews) {
        let called = match news {
            WatchNews::Missed => {
                self.missed.store(true, Ordering::Release);
                true
            }
            WatchNews::Changed(changes) => {
                let gone = changes.iter().filter(|(_, is_there)| !is_there);
                self.gone.lock().extend(gone.filter_map(|(key, _)| keys.owner_of(key)));
                // That somebody comes concerns nobody.
                changes.iter().any(|(key, is_there)| !is_there || keys.owner_of(key).is_none())
            }
        };
        if called {
            self.changed.store(true, Ordering::Release);
            self.wake_ticker();
        }
    }
}

/// What a process listens to.
#[derive(Debug, Default)]
struct Watches {
    /// Who comes and goes, and what all have to hear.
    everybody: Option<Box<dyn Watch>>,
    /// What is done to its own leases and claims.
    own: Option<Box<dyn Watch>>,
    /// Every change, for those who want to know all.
    all: Option<Box<dyn Watch>>,
}

#[derive(Debug, Default)]
pub(crate) struct Hearing {
    heard: Arc<Heard>,
    watches: Mutex<Watches>,
}

impl Hearing {
    /// For a session that begins.
    pub fn of_session(&self) -> Listener<SessionNews> {
        let heard = self.heard.clone();
        Box::new(move |news| heard.hear_of_session(news))
    }

    /// A session has begun: whatever the one before had to say of the engine is over.
    pub fn is_answered(&self) {
        self.heard.silent_since.store(0, Ordering::Release);
    }

    /// From now on it is heard who goes, and what others do to what is this process's.
    pub fn listen(&self, engine: &dyn Engine, keys: &Keys, owner: u16) -> Result<(), StoreError> {
        let everybody = self.watch(engine, keys, keys.owners())?;
        let own = self.watch(engine, keys, Range::only(keys.bell(owner)))?;
        let mut watches = self.watches.lock();
        (watches.everybody, watches.own) = (Some(everybody), Some(own));
        drop(watches);
        // What happened before that.
        self.heard.changed.store(true, Ordering::Release);
        Ok(())
    }

    /// From now on every change is heard, or no longer.
    pub fn listen_to_all(&self, engine: &dyn Engine, keys: &Keys, all: bool) {
        if self.watches.lock().all.is_some() == all {
            return;
        }
        // If that fails, it is tried again.
        let watch = all.then(|| self.watch(engine, keys, Range::only(keys.head())).ok()).flatten();
        self.heard.changed.fetch_or(watch.is_some(), Ordering::AcqRel);
        self.watches.lock().all = watch;
    }

    fn watch(
        &self,
        engine: &dyn Engine,
        keys: &Keys,
        range: Range,
    ) -> Result<Box<dyn Watch>, StoreError> {
        let (heard, names) = (self.heard.clone(), keys.clone());
        // Only what is the table's own may be asked for by all who may use it.
        engine.watch(range, &keys.head(), Box::new(move |news| heard.hear_of_keys(&names, &news)))
    }

    pub fn stop(&self) {
        *self.watches.lock() = Watches::default();
    }

    /// Whom to tell of whatever happens.
    pub fn set_ticker(&self, ticker: Thread) {
        *self.heard.ticker.lock() = Some(ticker);
    }

    pub fn wake_ticker(&self) {
        self.heard.wake_ticker();
    }

    /// The thread to wake when the session is lost or found again.
    pub fn set_session_watcher(&self, watcher: Thread) {
        *self.heard.session_watcher.lock() = Some(watcher);
    }

    pub fn wake_session_watcher(&self) {
        self.heard.wake_session_watcher();
    }

    /// Since when the engine does not answer.
    pub fn silent_since(&self) -> Option<Time> {
        Some(self.heard.silent_since.load(Ordering::Acquire)).filter(|since| *since != 0)
    }

    /// Is the session over, or may it be?
    pub fn is_lost(&self) -> bool {
        self.heard.lost.load(Ordering::Acquire)
    }

    /// The session may be over.
    pub fn set_lost(&self) {
        self.heard.set_lost();
    }

    pub fn set_found(&self) {
        self.heard.lost.store(false, Ordering::Release);
        self.heard.wake_session_watcher();
    }

    /// Has anything happened since this was asked last?
    pub fn take_changed(&self) -> bool {
        self.heard.changed.swap(false, Ordering::AcqRel)
    }

    /// The processes that have gone since this was asked last.
    pub fn take_gone(&self) -> Vec<u16> {
        std::mem::take(&mut self.heard.gone.lock())
    }

    /// To be looked at again: what it had could not be given back.
    pub fn is_still_gone(&self, owner: u16) {
        self.heard.gone.lock().push(owner);
    }

    /// Have news been missed since this was asked last?
    pub fn take_missed(&self) -> bool {
        self.heard.missed.swap(false, Ordering::AcqRel)
    }

    /// To be asked about again.
    pub fn has_missed(&self) {
        self.heard.missed.store(true, Ordering::Release);
    }
}
