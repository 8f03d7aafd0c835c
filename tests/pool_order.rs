//! Nobody starves: order is proven by the events, not by the clock.

#[path = "common/gpus.rs"]
mod gpus;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gpus::wait_until;
use ternlease::inventory::Declared;
use ternlease::{Event, GpuPool, LeaseId, PoolOptions, TicketId, What};

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
        wait_until("small claims wait", || pool.pending_claimers() > 0);
        for _ in 0..20 {
            let large = pool.claim().holder("large").devices(4).wait().unwrap().unwrap();
            assert_eq!(large.devices().count(), 4);
            drop(large);
        }
        stop.store(true, Ordering::SeqCst);
    });
    let (events, missed) = pool.manager().events_since(0);
    assert!(missed == 0 || !events.is_empty());
    let large_grants = check_that_nobody_was_overtaken(&pool, &events);
    assert!(large_grants > 0, "no grant of a large claim is left in the ring");
}

/// Every claim that waited was granted before any claim that came to wait, or was granted at once, after it: all compete for the same
/// devices here. How many of them were large.
fn check_that_nobody_was_overtaken(pool: &GpuPool, events: &[Event]) -> usize {
    let mut waiting: BTreeMap<TicketId, u64> = BTreeMap::new();
    let mut large = 0;
    for event in events {
        match &event.what {
            What::Queued { ticket } => {
                waiting.insert(*ticket, event.number);
            }
            What::Refused { ticket, .. } => {
                waiting.remove(ticket);
            }
            What::Granted { lease, ticket: None } => {
                assert!(waiting.is_empty(), "lease {lease} was granted past {waiting:?}");
            }
            What::Granted { lease, ticket: Some(ticket) } => {
                // Tickets queued before the ring begins were not seen to queue.
                let queued = waiting.remove(ticket);
                let earlier = waiting.iter().find(|(_, number)| Some(**number) < queued);
                assert!(earlier.is_none(), "{ticket} was granted before {earlier:?}");
                large += usize::from(is_large(pool, *lease));
            }
            _ => {}
        }
    }
    large
}

fn is_large(pool: &GpuPool, lease: LeaseId) -> bool {
    pool.manager().lease(lease).is_some_and(|info| info.takes.len() == 4)
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
