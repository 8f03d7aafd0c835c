//! The thread that talks to etcd, and how other threads have it do something.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::config::Config;
use super::error::EngineError;
use super::links::{Links, Repeat};
use super::messages::StatusRequest;
use super::of_this_process::OfThisProcess;
use super::seen::Replaced;
use crate::rt::thread;

/// How much longer than its time limit a call may take before its caller gives up on the engine's thread.
const GRACE: Duration = Duration::from_secs(2);

/// A connection to a cluster, on a thread of its own. Calls wait for their answer. When the engine goes, its watches and sessions end.
#[derive(Debug)]
pub(crate) struct Engine {
    core: Arc<OfThisProcess<Core>>,
}

/// What sessions keep, too.
#[derive(Debug)]
pub(super) struct Core {
    links: Arc<Links>,
    runtime: Handle,
    thread: ThreadId,
    closed: AtomicBool,
    ending: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

/// Ends a task when it goes.
#[derive(Debug)]
pub(super) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Engine {
    /// Connects to the cluster: one of its servers has to answer, know the user, and be new enough.
    pub fn connect(config: &Config) -> Result<Engine, EngineError> {
        let links = Arc::new(Links::new(config)?);
        let system = |error: std::io::Error| EngineError::Refused(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::spawn("tern-etcd", move || {
            // That the sender is gone says the same.
            let _ = runtime.block_on(ended);
            // Not to wait for a name server.
            runtime.shutdown_background();
        });
        let thread = thread.map_err(system)?;
        let engine = Engine {
            core: Arc::new(OfThisProcess::new(Core {
                links: links.clone(),
                runtime: handle,
                thread: thread.thread().id(),
                closed: AtomicBool::new(false),
                ending: Mutex::new(Some((end, thread))),
            })),
        };
        let timeout = config.timeout;
        engine.ask(timeout, async move {
            let until = Instant::now() + timeout;
            links.call(StatusRequest {}, until, Repeat::Freely).await?;
            Ok(())
        })?;
        Ok(engine)
    }

    /// Ends the connection, its watches and sessions. Calls that are under way get an answer: nobody knows what became of them.
    /// Waits for a callback that is running, and therefore must not be called with anything that one waits for.
    pub fn close(&self) {
        if let Ok(core) = self.core.get() {
            core.close();
        }
    }

    pub(super) fn core(&self) -> &Arc<OfThisProcess<Core>> {
        &self.core
    }

    /// Why no answer is believed any more, if that is so.
    pub fn replaced(&self) -> Option<Replaced> {
        self.core.get().ok()?.links.seen.replaced()
    }

    pub(super) fn links(&self) -> Result<Arc<Links>, EngineError> {
        Ok(self.core.get()?.links.clone())
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        self.core.get()?.ask(timeout, work)
    }

    #[cfg(test)]
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
        tell: impl FnOnce(Result<T, EngineError>) + Send + 'static,
    ) -> Result<(), EngineError> {
        self.core.get()?.begin(work, tell)
    }

    /// Starts what goes on until the task is dropped.
    pub(super) fn start(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<OfThisProcess<Task>, EngineError> {
        let core = self.core.get()?;
        core.check_open()?;
        Ok(OfThisProcess::new(Task(core.runtime.spawn(work).abort_handle())))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

impl Core {
    pub fn links(&self) -> &Arc<Links> {
        &self.links
    }

    fn check_open(&self) -> Result<(), EngineError> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(EngineError::Closed),
            false => Ok(()),
        }
    }

    fn is_this_thread(&self) -> bool {
        std::thread::current().id() == self.thread
    }

    /// Has the engine's thread do something, and waits for the answer.
    pub fn ask<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        if self.is_this_thread() {
            let why = "what the engine calls cannot wait for the engine";
            return Err(EngineError::Refused(why.to_owned()));
        }
        let (tell, told) = sync_channel(1);
        // Who asked may have given up.
        self.begin(work, move |answer| drop(tell.send(answer)))?;
        match told.recv_timeout(timeout.saturating_add(GRACE)) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                Err(EngineError::Unknown("the engine's thread does not answer".to_owned()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(cut_short()),
        }
    }

    /// Has the engine's thread do something, and then call `tell`, in any case once.
    fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
        tell: impl FnOnce(Result<T, EngineError>) + Send + 'static,
    ) -> Result<(), EngineError> {
        self.check_open()?;
        let tell = Tell(Some(tell), PhantomData);
        self.runtime.spawn(async move { tell.say(work.await) });
        Ok(())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let Some((end, thread)) = self.ending.lock().take() else { return };
        // It may have ended by itself.
        let _ = end.send(());
        if !self.is_this_thread() {
            let _ = thread.join();
        }
    }
}

/// Whom to tell; told even if the work is dropped on its way.
struct Tell<F: FnOnce(Result<T, EngineError>), T>(Option<F>, PhantomData<fn(T)>);

impl<F: FnOnce(Result<T, EngineError>), T> Tell<F, T> {
    fn say(mut self, answer: Result<T, EngineError>) {
        if let Some(tell) = self.0.take() {
            tell(answer);
        }
    }
}

impl<F: FnOnce(Result<T, EngineError>), T> Drop for Tell<F, T> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(cut_short()));
        }
    }
}

fn cut_short() -> EngineError {
    EngineError::Unknown("the connection was closed meanwhile".to_owned())
}
