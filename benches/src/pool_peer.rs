//! The peer of the pool benchmarks: slots behind a `tokio::sync::Semaphore`, as async Rust programs build their GPU pools.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// `n` slots. A permit says that some slot is free, a flag says which.
pub struct SlotPool {
    free: Vec<AtomicBool>,
    permits: Arc<Semaphore>,
    pending: AtomicUsize,
}

/// One slot; dropping it gives it back.
pub struct SlotLease {
    pool: Arc<SlotPool>,
    slot: usize,
    _permit: OwnedSemaphorePermit,
}

impl Drop for SlotLease {
    fn drop(&mut self) {
        // Before the permit, which is dropped after this: whoever gets the permit finds a free slot.
        self.pool.free[self.slot].store(true, Ordering::Release);
    }
}

/// Counts a claim as pending for as long as it lives, even if its future is dropped.
struct Pending<'a>(&'a AtomicUsize);

impl<'a> Pending<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Pending(count)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SlotPool {
    pub fn new(n: usize) -> Arc<SlotPool> {
        Arc::new(SlotPool {
            free: (0..n).map(|_| AtomicBool::new(true)).collect(),
            permits: Arc::new(Semaphore::new(n)),
            pending: AtomicUsize::new(0),
        })
    }

    pub fn try_claim(self: &Arc<Self>) -> Option<SlotLease> {
        let permit = self.permits.clone().try_acquire_owned().ok()?;
        Some(self.take_slot(permit))
    }

    pub async fn claim(self: &Arc<Self>) -> SlotLease {
        let _pending = Pending::new(&self.pending);
        let permit = self.permits.clone().acquire_owned().await;
        self.take_slot(permit.expect("the semaphore is never closed"))
    }

    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    fn take_slot(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> SlotLease {
        let take = |free: &AtomicBool| {
            free.compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let slot = self.free.iter().position(take).expect("a permit means that a slot is free");
        SlotLease { pool: self.clone(), slot, _permit: permit }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, parking it in between. The lightest way there is, so as not to charge the peer for a
/// runtime it does not need here.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    }
    WAKER.with(|waker| {
        let mut future = pin!(future);
        let mut context = Context::from_waker(waker);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
            std::thread::park();
        }
    })
}

/// The value of a future that has no reason to wait.
#[inline(always)]
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("something that is free had to be waited for"),
    }
}
