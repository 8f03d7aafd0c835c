//! Threads and tasks on one manager: nobody barges in, nobody is lost, and cancelling leaves no trace.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

// Unlike the standard library's, it is built with these tests, so that the thread sanitizer sees what it does.
use parking_lot::Mutex;
use ternlease::{
    Error, LeaseId, LeaseManager, LeaseState, Options, Reason, Take, TicketState, What,
};

fn real() -> LeaseManager {
    LeaseManager::open("process:").unwrap()
}

/// Waits for threads one by one: what a scope does in the end, the thread sanitizer does not see.
fn join(threads: Vec<ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Waits for a condition that another thread brings about.
fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_blocked_claim_is_handed_the_lease() {
    let manager = real();
    let first = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| manager.claim("b").of(&["gpu0"]).wait());
        until(|| manager.pending_claimers() == 1);
        assert_eq!(manager.claim("c").of(&["gpu0"]).try_now(), Err(Error::Busy));
        manager.release(first).unwrap();
        // It belongs to the waiter now, whether or not the waiter has woken up.
        assert_eq!(manager.claim("c").of(&["gpu0"]).try_now(), Err(Error::Busy));
        let second = waiter.join().unwrap().unwrap();
        assert_eq!(manager.held_by("b"), [second]);
    });
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let manager = real();
    manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    let outcome = manager.claim("b").of(&["gpu0"]).wait_for(Duration::from_millis(5));
    assert_eq!(outcome, Err(Error::Refused(Reason::WaitTimedOut)));
    assert_eq!(manager.pending_claimers(), 0);
}

#[test]
fn a_lease_that_runs_out_is_handed_on_by_time_alone() {
    let manager = real();
    let first = manager.acquire("gpu0", "a", Duration::from_millis(5)).unwrap();
    let second = manager.claim("b").of(&["gpu0"]).wait().unwrap();
    assert_eq!(manager.state(first), Some(LeaseState::Expired));
    assert_eq!(manager.state(second), Some(LeaseState::Held));
}

#[test]
fn ticks_hand_on_too() {
    let manager = LeaseManager::with(Options::ticks());
    manager.acquire("gpu0", "a", 3).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| manager.claim("b").of(&["gpu0"]).wait());
        until(|| manager.pending_claimers() == 1);
        for _ in 0..3 {
            assert!(!waiter.is_finished());
            manager.tick();
        }
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn a_task_waits_as_well() {
    let manager = real();
    let first = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    std::thread::scope(|scope| {
        let task = scope.spawn(|| block_on(manager.claim("b").of(&["gpu0"]).into_future()));
        until(|| manager.pending_claimers() == 1);
        manager.release(first).unwrap();
        task.join().unwrap().unwrap();
    });
}

#[test]
fn a_dropped_future_leaves_no_trace() {
    let manager = real();
    let first = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    {
        let mut future = Box::pin(manager.claim("b").of(&["gpu0"]).into_future());
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_eq!(manager.pending_claimers(), 1);
    }
    assert_eq!(manager.pending_claimers(), 0);
    // Dropped after the grant, before the task looked: the lease goes back.
    let mut future = Box::pin(manager.claim("c").of(&["gpu0"]).into_future());
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    manager.release(first).unwrap();
    assert_eq!(manager.active_count(), 1);
    drop(future);
    assert_eq!(manager.active_count(), 0);
    manager.claim("d").of(&["gpu0"]).try_now().unwrap();
}

#[test]
fn a_dropped_ticket_makes_room_for_the_next() {
    let manager = real();
    let first = manager.claim("a").of(&["gpu0", "gpu1"]).count(2).try_now().unwrap();
    let big = manager.claim("b").of(&["gpu0", "gpu1"]).count(2).enqueue().unwrap();
    let small = manager.claim("c").of(&["gpu0"]).enqueue().unwrap();
    assert_eq!((big.place(), small.place()), (Some(1), Some(2)));
    drop(big);
    assert_eq!(small.place(), Some(1));
    manager.release(first).unwrap();
    assert!(matches!(small.state(), TicketState::Granted(_)));
}

/// Threads, tasks and descriptors can wait for the same ticket.
#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_becomes_readable() {
    use std::io::Read;
    let manager = real();
    let first = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    let ticket = manager.claim("b").of(&["gpu0"]).enqueue().unwrap();
    let mut file = std::fs::File::from(ticket.fd().unwrap());
    let mut count = [0; 8];
    let early = file.read(&mut count).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);

    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let counter = Arc::new(Count(AtomicUsize::new(0)));
    assert_eq!(ticket.watch(&Waker::from(counter.clone())), TicketState::Waiting);

    manager.release(first).unwrap();
    assert_eq!(file.read(&mut count).unwrap(), 8);
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    ticket.wait().unwrap();

    let ready = manager.claim("c").of(&["gpu1"]).enqueue().unwrap();
    let mut file = std::fs::File::from(ready.fd().unwrap());
    assert_eq!(file.read(&mut count).unwrap(), 8, "readable from the start");
}

/// The keeper thread of a manager ends with it.
#[cfg(target_os = "linux")]
#[test]
fn no_thread_stays_behind() {
    let keepers = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("tern-ticker")).count()
    };
    // Other tests of this process have keepers of their own, so look at one that must come and go.
    let managers: Vec<LeaseManager> = (0..50).map(|_| real()).collect();
    for manager in &managers {
        manager.claim("a").of(&["gpu0"]).try_now().unwrap();
        let ticket = manager.claim("b").of(&["gpu0"]).enqueue().unwrap();
        assert_eq!(ticket.watch(Waker::noop()), TicketState::Waiting);
    }
    until(|| keepers() >= 50);
    drop(managers);
    until(|| keepers() < 40);
}

/// 64 threads on four devices, each claiming one or several, some with timeouts so short that they are often cancelled.
/// A device is never in two hands, every claim is answered, and in the end nothing is left.
#[test]
fn stress() {
    const THREADS: usize = 64;
    const ROUNDS: usize = 100;
    let manager = real();
    let names: Vec<String> = (0..4).map(|i| format!("gpu{i}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let users: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
    let last_token: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    let (granted, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));

    let work = |id: LeaseId, count: usize| {
        let info = manager.lease(id).expect("a held lease is known");
        assert_eq!(info.takes.len(), count);
        let devices: Vec<usize> = info
            .takes
            .iter()
            .map(|taken| names.iter().position(|n| *n == taken.resource).unwrap())
            .collect();
        for &device in &devices {
            assert_eq!(users[device].fetch_add(1, Ordering::SeqCst), 0, "two on {device}");
            let before = last_token[device].swap(id.0, Ordering::SeqCst);
            assert!(before < id.0, "fencing tokens grow");
        }
        assert_eq!(manager.state(id), Some(LeaseState::Held));
        std::thread::yield_now();
        for &device in &devices {
            users[device].fetch_sub(1, Ordering::SeqCst);
        }
        manager.release(id).unwrap();
        assert_eq!(manager.state(id), Some(LeaseState::Expired));
        granted.fetch_add(1, Ordering::Relaxed);
    };

    std::thread::scope(|scope| {
        let spawn = |thread| {
            let (manager, all, work, refused) = (&manager, &all, &work, &refused);
            scope.spawn(move || {
                let holder = format!("t{thread}");
                for round in 0..ROUNDS {
                    let count = 1 + (thread + round) % 3;
                    let claim = manager.claim(&holder).of(all).count(count as u32);
                    let outcome = match (thread + 7 * round) % 5 {
                        0 => claim.wait_for(Duration::from_micros(round as u64 % 50)),
                        1 => claim.try_now(),
                        2 => block_on(claim.into_future()),
                        3 => {
                            drop(claim.enqueue().unwrap());
                            Err(Error::Refused(Reason::Cancelled))
                        }
                        _ => claim.take(Take::Exclusive).wait(),
                    };
                    match outcome {
                        Ok(id) => work(id, count),
                        Err(Error::Busy | Error::Refused(_)) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        };
        join((0..THREADS).map(spawn).collect());
    });
    let (granted, refused) = (granted.into_inner(), refused.into_inner());
    assert_eq!(granted + refused, THREADS * ROUNDS);
    // Two of the five ways to claim end with a lease only.
    assert!(granted >= THREADS * ROUNDS * 2 / 5, "{granted} granted, {refused} refused");
    assert!(refused >= THREADS * ROUNDS / 5, "{granted} granted, {refused} refused");
    assert_eq!((manager.active_count(), manager.pending_claimers()), (0, 0));
}

/// Whoever came first is served first: the order of arrival is read from the events.
#[test]
fn first_come_first_served() {
    let manager = real();
    let first = manager.claim("holder").of(&["gpu0"]).try_now().unwrap();
    std::thread::scope(|scope| {
        let manager = &manager;
        let spawn = |i| {
            scope.spawn(move || {
                let id = manager.claim(&format!("w{i}")).of(&["gpu0"]).wait().unwrap();
                manager.release(id).unwrap();
            })
        };
        let waiters = (0..16).map(spawn).collect();
        until(|| manager.pending_claimers() == 16);
        manager.release(first).unwrap();
        join(waiters);
    });
    let (events, missed) = manager.events_since(0);
    assert_eq!(missed, 0);
    let queued: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Queued { ticket } => Some(ticket),
            _ => None,
        })
        .collect();
    let served: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Granted { ticket, .. } => ticket,
            _ => None,
        })
        .collect();
    assert_eq!(queued, served);
}

/// `state()` beside renewals, revocations and reuse of records: once over, never held again; and unknown only when forgotten.
#[test]
fn readers_beside_writers() {
    let manager = LeaseManager::with(Options::ticks().open_house());
    let published = Mutex::new(Vec::<LeaseId>::new());
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let spawn = |_| {
            scope.spawn(|| {
                let mut last: BTreeMap<LeaseId, Option<LeaseState>> = BTreeMap::new();
                while done.load(Ordering::Acquire) == 0 {
                    let ids = published.lock().clone();
                    for id in ids {
                        let now = manager.state(id);
                        let before = last.insert(id, now).unwrap_or(Some(LeaseState::Held));
                        let fine = match before {
                            Some(LeaseState::Held) => true,
                            // Over stays over, until it is forgotten.
                            over => now == over || now.is_none(),
                        };
                        assert!(fine, "{id}: {before:?} then {now:?}");
                        let _ = manager.renew(id);
                    }
                    last.retain(|_, state| state.is_some());
                }
            })
        };
        let readers = (0..2).map(spawn).collect();
        for round in 0..20_000 {
            let id = manager.acquire("gpu0", "w", 1 + round % 4).unwrap();
            let mut ids = published.lock();
            ids.push(id);
            if ids.len() > 8 {
                let old = ids.remove(0);
                let _ = manager.revoke(old);
            }
            drop(ids);
            if round % 3 == 0 {
                manager.tick();
            }
        }
        done.store(1, Ordering::Release);
        join(readers);
    });
}

/// Ids go on growing when a table is made anew, whatever its limits: a fencing token is never outdone by an older one.
#[test]
fn ids_grow_from_table_to_table() {
    let sizes = [65_536, 10, 1000, 1];
    let mut last = LeaseId(0);
    for leases in sizes.into_iter().cycle().take(40) {
        let limits = ternlease::Limits { leases, history: leases, ..Default::default() };
        let manager = LeaseManager::with(Options::real().limits(limits));
        for _ in 0..20 {
            let id = manager.acquire("gpu0", "w", Duration::from_secs(1)).unwrap();
            assert!(id > last, "{id} after {last}");
            manager.release(id).unwrap();
            last = id;
        }
    }
}

/// A ticket that nobody waits for is decided by time all the same.
#[test]
fn a_ticket_that_is_only_looked_at_moves_on() {
    let manager = real();
    manager.acquire("gpu0", "a", Duration::from_millis(5)).unwrap();
    let ticket = manager.claim("b").of(&["gpu0"]).enqueue().unwrap();
    until(|| ticket.state() != TicketState::Waiting);
    assert!(matches!(ticket.state(), TicketState::Granted(_)));
}

/// A waker is the code of others: if it panics, nobody else suffers.
#[test]
fn a_waker_that_panics_harms_nobody() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this waker panics, as the test wants it to");
        }
    }
    let manager = real();
    let held = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    let claim = manager.claim("b").of(&["gpu0"]);
    // On a busy machine the time may be over before the waker is there: then again with more.
    let ticket = [5, 50, 500, 5000, 50_000]
        .into_iter()
        .map(|patience| claim.patience(Duration::from_millis(patience)).enqueue().unwrap())
        .find(|ticket| ticket.watch(&Waker::from(Arc::new(Panics))) == TicketState::Waiting)
        .unwrap();
    until(|| ticket.state() == TicketState::Refused(Reason::WaitTimedOut));
    // The keeper that called it is still there for the next.
    let next = manager.claim("c").of(&["gpu0"]).wait_for(Duration::from_millis(5));
    assert_eq!(next, Err(Error::Refused(Reason::WaitTimedOut)));
    manager.release(held).unwrap();
}

/// A waker may use the manager it is called by, and a task that moves brings a new one each time.
#[test]
fn wakers_are_called_without_the_lock_and_replaced() {
    struct Asks(LeaseManager, AtomicUsize);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1 + self.0.pending_claimers(), Ordering::Relaxed);
        }
    }
    let manager = real();
    let held = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    let mut future = pin!(manager.claim("b").of(&["gpu0"]).into_future());
    let wakers: Vec<Arc<Asks>> =
        (0..3).map(|_| Arc::new(Asks(manager.clone(), AtomicUsize::new(0)))).collect();
    for waker in &wakers {
        let waker = Waker::from(waker.clone());
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    manager.release(held).unwrap();
    let calls: Vec<usize> = wakers.iter().map(|waker| waker.1.load(Ordering::Relaxed)).collect();
    assert_eq!(calls, [0, 0, 1], "only the last one");
}
