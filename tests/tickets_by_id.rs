//! Tickets known only by their ids, as programs in other languages have them.

use std::time::Duration;

use ternlease::{Cancelled, Error, LeaseId, LeaseManager, Outcome, Reason, TicketId, TicketState};

const HOUR: Duration = Duration::from_secs(3600);

/// A manager whose only device is taken, and a claim that waits for it.
fn waiting() -> (LeaseManager, LeaseId, TicketId) {
    let manager = LeaseManager::open("process:").unwrap();
    let (lease, ticket) = waiting_in(&manager);
    (manager, lease, ticket)
}

fn waiting_in(manager: &LeaseManager) -> (LeaseId, TicketId) {
    let lease = manager.acquire("gpu0", "a", HOUR).unwrap();
    let Ok(Outcome::Waiting(ticket)) = manager.claim("b").of(&["gpu0"]).ttl(HOUR).submit() else {
        panic!("it should wait");
    };
    (lease, ticket)
}

#[test]
fn asking_waiting_and_asking_again() {
    let (manager, lease, ticket) = waiting();
    assert_eq!(manager.ticket_state(ticket), Some(TicketState::Waiting));
    assert_eq!(manager.ticket_place(ticket), Some(1));
    assert_eq!(manager.wait_for_ticket(ticket, Some(Duration::ZERO)), Ok(TicketState::Waiting));
    manager.release(lease).unwrap();
    let Ok(TicketState::Granted(mine)) = manager.wait_for_ticket(ticket, None) else {
        panic!("it should be granted");
    };
    assert_eq!(manager.held_by("b"), [mine]);
    assert_eq!(manager.wait_for_ticket(ticket, None), Ok(TicketState::Granted(mine)));
    assert_eq!(manager.ticket_place(ticket), None);
    assert!(manager.ticket(ticket).is_none());
}

#[test]
fn two_threads_may_wait_for_one_ticket() {
    let (manager, lease, ticket) = waiting();
    let (one, two) = std::thread::scope(|scope| {
        let wait = || manager.wait_for_ticket(ticket, None);
        let (one, two) = (scope.spawn(wait), scope.spawn(wait));
        // Not before both wait, where that can be told; whatever the order, both must end.
        manager.release(lease).unwrap();
        (one.join().unwrap(), two.join().unwrap())
    });
    assert!(matches!(one, Ok(TicketState::Granted(_))));
    assert_eq!(one, two);
}

#[test]
fn cancelling_gives_back_only_what_nobody_was_told_of() {
    let (manager, lease, ticket) = waiting();
    assert_eq!(manager.cancel_ticket(ticket), Ok(Cancelled::Left));
    assert_eq!(manager.cancel_ticket(ticket), Ok(Cancelled::WasRefused(Reason::Cancelled)));
    let Ok(Outcome::Waiting(second)) = manager.claim("c").of(&["gpu0"]).submit() else {
        panic!("it should wait");
    };
    manager.release(lease).unwrap();
    assert!(matches!(manager.cancel_ticket(second), Ok(Cancelled::WasGranted(_))));
    assert_eq!(manager.active_count(), 0);
    // What was given back is told to nobody afterwards.
    let cancelled = TicketState::Refused(Reason::Cancelled);
    assert_eq!(manager.ticket_state(second), Some(cancelled));
    assert_eq!(manager.wait_for_ticket(second, None), Ok(cancelled));

    let (manager, lease, ticket) = waiting();
    manager.release(lease).unwrap();
    manager.wait_for_ticket(ticket, None).unwrap();
    assert!(matches!(manager.cancel_ticket(ticket), Ok(Cancelled::WasCollected(_))));
    assert_eq!(manager.active_count(), 1);
}

#[test]
fn a_claim_that_waits_too_long_is_refused_by_itself() {
    let manager = LeaseManager::open("process:").unwrap();
    manager.acquire("gpu0", "a", HOUR).unwrap();
    let patience = Duration::from_millis(5);
    let Ok(Outcome::Waiting(ticket)) = manager.claim("b").of(&["gpu0"]).patience(patience).submit()
    else {
        panic!("it should wait");
    };
    let refused = TicketState::Refused(Reason::WaitTimedOut);
    assert_eq!(manager.wait_for_ticket(ticket, None), Ok(refused));
}

#[test]
fn an_unknown_ticket_is_said_to_be_so() {
    let (manager, lease, _) = waiting();
    for id in [TicketId(0), TicketId(u64::MAX), TicketId(lease.0)] {
        assert_eq!(manager.ticket_state(id), None);
        assert_eq!(manager.wait_for_ticket(id, None), Err(Error::UnknownTicket));
        assert_eq!(manager.cancel_ticket(id), Err(Error::UnknownTicket));
        assert!(matches!(manager.ticket_fd(id), Err(Error::UnknownTicket)));
    }
}

/// A lease is told of or given back, never both, whoever is quicker.
#[test]
fn waiting_and_cancelling_at_once_agree() {
    let manager = LeaseManager::open("process:").unwrap();
    for _ in 0..500 {
        let (lease, ticket) = waiting_in(&manager);
        manager.release(lease).unwrap();
        let (told, found) = std::thread::scope(|scope| {
            let told = scope.spawn(|| manager.wait_for_ticket(ticket, None).unwrap());
            let found = scope.spawn(|| manager.cancel_ticket(ticket).unwrap());
            (told.join().unwrap(), found.join().unwrap())
        });
        match (told, found) {
            (TicketState::Granted(a), Cancelled::WasCollected(b)) if a == b => {
                manager.release(a).unwrap();
            }
            (TicketState::Refused(Reason::Cancelled), Cancelled::WasGranted(_)) => {}
            both => panic!("{both:?}"),
        }
        assert_eq!(manager.active_count(), 0);
    }
}

/// Ids of managers that are open at the same time are not mixed up.
#[test]
fn no_manager_knows_the_ids_of_another() {
    let managers: Vec<LeaseManager> =
        (0..8).map(|_| LeaseManager::open("process:").unwrap()).collect();
    let mut ids = std::collections::BTreeSet::new();
    for round in 0..2_000 {
        let manager = &managers[round % managers.len()];
        let lease = manager.acquire("gpu0", "a", HOUR).unwrap();
        assert!(ids.insert(lease), "two managers gave out {lease}");
        manager.release(lease).unwrap();
    }
}

/// Asking for the descriptor again and again costs the caller's descriptors, not the library's.
#[test]
fn one_descriptor_per_ticket_is_kept() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (manager, lease, ticket) = waiting();
    let first = manager.ticket_fd(ticket).unwrap();
    let before = open();
    for _ in 0..100 {
        drop(manager.ticket_fd(ticket).unwrap());
    }
    // Other tests of this program may open some meanwhile.
    assert!(open() < before + 50);
    manager.release(lease).unwrap();
    let mut ask =
        libc::pollfd { fd: std::os::fd::AsRawFd::as_raw_fd(&first), events: 1, revents: 0 };
    // SAFETY: one valid entry.
    assert_eq!(unsafe { libc::poll(&mut ask, 1, -1) }, 1);
}
