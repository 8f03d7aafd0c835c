//! Nobody starves: order is proven by the events, not by the clock.

#[path = "common/gpus.rs"]
mod gpus;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gpus::wait_until;
use ternlease::inventory::Declared;
use ternlease::{GpuPool, LeaseId, PoolOptions, TicketId, What};

fn pool(n: u32) -> GpuPool {
    GpuPool::open_with("process:", PoolOptions::of(Declared::fake(n))).unwrap()
}

#[test]
fn a_claim_for_four_among_endless_claims_for_one_gets_the_next_four_that_are_released() {
    let pool = pool(4);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    drop(pool.claim().wait().unwrap());
                }
            });
        }
        // Also when a check fails: the scope ends only after all its threads.
        let _stop = SetOnDrop(&stop);
        wait_until("small claims wait", || pool.pending_claimers() > 0);
        let mut order = OrderCheck::default();
        for _ in 0..20 {
            let large = pool.claim().holder("large").devices(4).wait().unwrap().unwrap();
            assert_eq!(large.devices().count(), 4);
            // Read before the release: while this lease holds all devices, each small claim adds at
            // most one event. Afterwards they can fill the ring before this thread runs again.
            order.read(&pool, large.id());
            drop(large);
        }
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Checks that every claim that waited was granted before any claim that queued, or was granted
/// at once, after it: all claims compete for the same devices.
#[derive(Default)]
struct OrderCheck {
    cursor: u64,
    /// Tickets that wait, and the number of the event that queued them.
    waiting: BTreeMap<TicketId, u64>,
}

impl OrderCheck {
    /// Reads the events since the last call. Fails unless they contain the grant of `large` and,
    /// if that claim waited, the event that queued it.
    fn read(&mut self, pool: &GpuPool, large: LeaseId) {
        let (events, missed) = pool.manager().events_since(self.cursor);
        if missed > 0 {
            // Tickets may have been decided in the gap. A ticket without a known queue event is
            // older than all events that follow.
            self.waiting.clear();
        }
        let mut large_was_granted = false;
        for event in &events {
            self.cursor = event.number;
            match &event.what {
                What::Queued { ticket } => {
                    self.waiting.insert(*ticket, event.number);
                }
                What::Refused { ticket, .. } => {
                    self.waiting.remove(ticket);
                }
                What::Granted { lease, ticket: None } => {
                    large_was_granted |= *lease == large;
                    let waiting = &self.waiting;
                    assert!(waiting.is_empty(), "lease {lease} was granted before {waiting:?}");
                }
                What::Granted { lease, ticket: Some(ticket) } => {
                    let queued = self.waiting.remove(ticket);
                    let mut waiting = self.waiting.iter();
                    let earlier = waiting.find(|(_, number)| Some(**number) < queued);
                    assert!(earlier.is_none(), "{ticket} was granted before {earlier:?}");
                    if *lease == large {
                        assert!(queued.is_some(), "the queue event of {ticket} is not in the ring");
                        large_was_granted = true;
                    }
                }
                _ => {}
            }
        }
        assert!(large_was_granted, "the grant of lease {large} is not in the ring");
    }
}

#[test]
fn a_large_claim_is_granted_with_the_release_that_makes_it_possible() {
    let pool = pool(4);
    let mut small: Vec<_> = (0..4).map(|_| pool.try_claim().unwrap().unwrap()).collect();
    thread::scope(|scope| {
        let large = scope.spawn(|| pool.claim().devices(4).wait().unwrap().unwrap().id());
        wait_until("the large claim waits", || pool.pending_claimers() == 1);
        // One that comes later does not get what the large claim collects.
        let later = scope.spawn(|| pool.claim().wait().unwrap().unwrap().id());
        wait_until("the later claim waits", || pool.pending_claimers() == 2);
        while let Some(lease) = small.pop() {
            assert!(pool.try_claim().unwrap().is_none());
            drop(lease);
            let left = small.len();
            assert_eq!(pool.pending_claimers() == 2, left > 0, "{left} still held");
        }
        assert!(large.join().unwrap() < later.join().unwrap());
    });
    let (events, _) = pool.manager().events_since(0);
    let ended: Vec<u64> = events
        .iter()
        .filter(|event| matches!(event.what, What::Ended { .. }))
        .map(|event| event.number)
        .collect();
    let granted: Vec<u64> = events
        .iter()
        .filter(|event| matches!(event.what, What::Granted { ticket: Some(_), .. }))
        .map(|event| event.number)
        .collect();
    assert_eq!(granted[0], ended[3] + 1, "granted by the fourth release, and by nothing later");
}

#[test]
fn small_claims_go_on_where_a_large_one_does_not_wait() {
    let pool = pool(4);
    let names = ["nvidia:0", "nvidia:1"];
    let held = pool.claim().named(&names[..1]).wait().unwrap().unwrap();
    thread::scope(|scope| {
        let large = scope.spawn(|| pool.claim().named(&names).devices(2).wait().unwrap().unwrap());
        wait_until("the large claim waits", || pool.pending_claimers() == 1);
        let elsewhere = pool.claim().named(&["nvidia:2", "nvidia:3"]).try_now();
        assert!(elsewhere.unwrap().is_some(), "this cannot delay the large claim");
        assert!(pool.claim().named(&["nvidia:1"]).try_now().is_err(), "this would delay it");
        drop(held);
        assert_eq!(large.join().unwrap().devices().count(), 2);
    });
}
