//! What users of the first GpuPool rely on, each under its name.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use ternlease::{GpuDevice, GpuPool, Vendor};

fn nvidia(indices: &[u32]) -> Vec<GpuDevice> {
    indices.iter().map(|&i| GpuDevice::new(Vendor::Nvidia, i, &format!("GPU number {i}"))).collect()
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_empty_pool_gives_none_at_once() {
    let pool = GpuPool::new(&[]);
    assert_eq!(pool.capacity(), 0);
    assert!(pool.claim().wait().unwrap().is_none());
    assert!(pool.try_claim().unwrap().is_none());
    let mut context = Context::from_waker(Waker::noop());
    let answer = pin!(pool.claim().into_future()).poll(&mut context);
    assert!(matches!(answer, Poll::Ready(Ok(None))), "nobody waits for what will never be");
    assert_eq!(pool.pending_claimers(), 0);
    assert!(pool.snapshot_leases().is_empty());
}

#[test]
fn one_device_is_claimed_by_one_at_a_time() {
    let pool = GpuPool::new(&nvidia(&[0]));
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let lease = pool.claim().wait().unwrap().unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two have it");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lease);
                }
            });
        }
    });
    assert_eq!(pool.pending_claimers(), 0);
    assert!(!pool.snapshot_leases()[0].leased);
}

#[test]
fn as_many_claims_as_devices_get_distinct_ones() {
    let pool = GpuPool::new(&nvidia(&[0, 1, 2, 3]));
    let leases: Vec<_> = (0..4).map(|_| pool.claim().wait().unwrap().unwrap()).collect();
    let indices: Vec<u32> = leases.iter().map(|lease| lease.gpu_index()).collect();
    assert_eq!(indices, [0, 1, 2, 3]);
    assert!(pool.try_claim().unwrap().is_none());
}

#[test]
fn a_lease_that_is_dropped_goes_to_the_waiter() {
    let pool = GpuPool::new(&nvidia(&[5]));
    let first = pool.claim().wait().unwrap().unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut waiter = pin!(pool.claim().into_future());
    assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());

    drop(first);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(pool.snapshot_leases()[0].leased, "the waiter has it already");
    let Poll::Ready(Ok(Some(second))) = waiter.poll(&mut Context::from_waker(&waker)) else {
        panic!("the waiter was woken for nothing");
    };
    assert_eq!(second.gpu_index(), 5);
}

#[test]
fn try_claim_does_not_steal_from_a_waiter() {
    let pool = GpuPool::new(&nvidia(&[0]));
    let first = pool.claim().wait().unwrap().unwrap();
    let mut waiter = pin!(pool.claim().into_future());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiter.as_mut().poll(&mut context).is_pending());
    drop(first);
    // The waiter has not run since, and still nobody else gets it.
    assert!(pool.try_claim().unwrap().is_none());
    assert!(waiter.poll(&mut context).is_ready());
}

#[test]
fn pending_claimers_counts_those_who_wait() {
    let pool = GpuPool::new(&nvidia(&[0]));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(pool.pending_claimers(), 0);
    let first = pool.claim().wait().unwrap().unwrap();
    assert_eq!(pool.pending_claimers(), 0, "one who has it does not wait");

    let mut second = Box::pin(pool.claim().into_future());
    let mut third = Box::pin(pool.claim().into_future());
    assert_eq!(pool.pending_claimers(), 0, "a future asks when it is polled");
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(third.as_mut().poll(&mut context).is_pending());
    assert_eq!(pool.pending_claimers(), 2);

    drop(second);
    assert_eq!(pool.pending_claimers(), 1, "one that is cancelled does not count");
    drop(first);
    assert_eq!(pool.pending_claimers(), 0, "one that was granted does not count");
    assert!(third.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_claim_that_is_cancelled_after_its_grant_gives_the_device_back() {
    let pool = GpuPool::new(&nvidia(&[0]));
    let first = pool.claim().wait().unwrap().unwrap();
    let mut waiter = Box::pin(pool.claim().into_future());
    assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(first);
    drop(waiter);
    assert!(pool.try_claim().unwrap().is_some());
}

#[test]
fn the_snapshot_keeps_the_order_of_the_devices_and_their_names() {
    let pool = GpuPool::new(&nvidia(&[3, 1, 2]));
    let lease = pool.claim().holder("render").named(&["nvidia:1"]).wait().unwrap().unwrap();
    let snapshot = pool.snapshot_leases();
    let order: Vec<u32> = snapshot.iter().map(|entry| entry.gpu_index).collect();
    assert_eq!(order, [3, 1, 2]);
    let leased: Vec<bool> = snapshot.iter().map(|entry| entry.leased).collect();
    assert_eq!(leased, [false, true, false]);
    assert_eq!(snapshot[1].name, "GPU number 1");
    assert_eq!(snapshot[1].holders, ["render"]);
    assert_eq!(snapshot[1].leases, [lease.id()]);
}

#[test]
fn sparse_indices_are_kept() {
    let pool = GpuPool::new(&nvidia(&[2, 7]));
    let both = [pool.try_claim().unwrap().unwrap(), pool.try_claim().unwrap().unwrap()];
    assert_eq!(both.each_ref().map(|lease| lease.gpu_index()), [2, 7]);
}

#[test]
fn two_vendors_may_have_the_same_index() {
    let devices =
        [GpuDevice::new(Vendor::Nvidia, 0, "L4"), GpuDevice::new(Vendor::Intel, 0, "Arc")];
    let pool = GpuPool::new(&devices);
    let first = pool.try_claim().unwrap().unwrap();
    let second = pool.try_claim().unwrap().unwrap();
    assert_eq!((first.vendor(), first.gpu_index()), (Vendor::Nvidia, 0));
    assert_eq!((second.vendor(), second.gpu_index()), (Vendor::Intel, 0));
    assert!(pool.try_claim().unwrap().is_none());
}

#[test]
fn capacity_is_the_number_of_devices() {
    assert_eq!(GpuPool::new(&nvidia(&[0, 4, 9])).capacity(), 3);
}

#[test]
fn helpers_get_spare_capacity_and_step_back_for_others() {
    use std::time::Duration;
    use ternlease::{LeaseState, Reason};
    let pool = GpuPool::new(&nvidia(&[0, 1]));
    let helper = pool.claim().spare(Duration::ZERO).try_now().unwrap().unwrap();
    let variant = pool.claim().wait().unwrap().unwrap();
    assert_eq!(helper.state(), Some(LeaseState::Held), "there was room for both");
    // A second variant needs what the helper was lent.
    let second = pool.claim().wait().unwrap().unwrap();
    assert_eq!(second.gpu_index(), helper.gpu_index());
    assert_eq!(helper.state(), Some(LeaseState::Revoked));
    assert_eq!(helper.info().unwrap().reason, Some(Reason::SpareReclaimed));
    drop(helper);
    assert_ne!(variant.gpu_index(), second.gpu_index());
    assert!(pool.claim().spare(Duration::ZERO).try_now().is_err(), "nothing is spare");
}
