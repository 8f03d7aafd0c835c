//! An open manager, what is known of it, and what must hold for it after every call.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use crate::c::*;
use crate::seen::Seen;
use crate::watch::Watch;

/// The library's word for "I do not know".
pub const UNKNOWN: i8 = i8::MIN;

/// A lease or ticket, and its state when it was last looked at.
pub struct Known {
    pub id: u64,
    state: i8,
}

/// So many are remembered here; more than the table remembers, if its history is short.
const REMEMBERED: usize = 32;

pub struct Manager {
    pub pointer: *mut tern_manager_t,
    /// Does time stand still between calls? Otherwise anything may end at any time.
    pub ticks: bool,
    pub leases: Vec<Known>,
    pub tickets: Vec<Known>,
    /// Tickets that were withdrawn: they never give a lease.
    pub withdrawn: Vec<u64>,
    pub resources: Vec<u32>,
    pub watches: Vec<*mut Watch>,
    /// Descriptors of tickets.
    pub descriptors: Vec<(u64, OwnedFd)>,
    /// The largest id of a lease when it was last looked at, and since.
    largest: u64,
    told: u64,
    pub seen: Seen,
}

impl Manager {
    pub fn new(pointer: *mut tern_manager_t, ticks: bool) -> Self {
        Manager {
            pointer,
            ticks,
            leases: Vec::new(),
            tickets: Vec::new(),
            withdrawn: Vec::new(),
            resources: Vec::new(),
            watches: Vec::new(),
            descriptors: Vec::new(),
            largest: 0,
            told: 0,
            seen: Seen::default(),
        }
    }

    /// One that counts ticks, with room for little.
    pub fn small() -> Self {
        let options = tern_options_t {
            struct_size: size_of::<tern_options_t>(),
            flags: TERN_OPTION_TICKS,
            leases: 16,
            tickets: 8,
            resources: 16,
            history: 8,
        };
        let url = b"process:";
        let mut pointer = ptr::null_mut();
        let (text, none) = (url.as_ptr().cast(), ptr::null_mut());
        // SAFETY: all of these live until the call returns.
        let status = unsafe { tern_manager_open(text, url.len(), &options, &mut pointer, none) };
        assert_eq!(status, TERN_OK);
        Manager::new(pointer, true)
    }

    /// A lease was granted just now.
    #[track_caller]
    pub fn granted(&mut self, lease: u64) {
        assert!(lease > self.largest, "lease {lease} is not above {}", self.largest);
        self.told_of(lease);
    }

    /// A lease was told of, which may have been granted earlier.
    pub fn told_of(&mut self, lease: u64) {
        self.told = self.told.max(lease);
        remember(&mut self.leases, lease, 1);
    }

    #[track_caller]
    pub fn queued(&mut self, ticket: u64) {
        assert!(ticket != 0 && self.tickets.iter().all(|known| known.id != ticket), "used again");
        remember(&mut self.tickets, ticket, 0);
    }

    pub fn lease_state(&self, lease: u64) -> i8 {
        // SAFETY: the manager is open.
        unsafe { tern_lease_state(self.pointer, lease, ptr::null_mut()) }
    }

    pub fn ticket_state(&self, ticket: u64) -> i8 {
        // SAFETY: the manager is open.
        unsafe { tern_ticket_state(self.pointer, ticket, ptr::null_mut()) }
    }

    pub fn held(&self, lease: u64) -> Option<&tern_lease_info_t> {
        self.seen.leases.iter().find(|info| info.lease == lease)
    }

    pub fn waiting(&self, ticket: u64) -> Option<&tern_ticket_info_t> {
        self.seen.tickets.iter().find(|info| info.ticket == ticket)
    }

    /// Looks at everything. If nothing may have changed, nothing has.
    #[track_caller]
    pub fn look(&mut self, may_have_changed: bool) {
        self.look_at_states();
        if !self.ticks {
            self.largest = self.told;
            return;
        }
        let now = Seen::of(self.pointer);
        if !may_have_changed {
            assert!(now.is_same_as(&self.seen), "a call that did nothing has changed something");
        }
        assert!(now.revocations >= self.seen.revocations && now.time >= self.seen.time);
        for lease in now.leases.iter().map(|info| info.lease) {
            let fine = lease > self.largest || self.held(lease).is_some();
            assert!(fine, "lease {lease} came back, or is not above {}", self.largest);
            self.told_of(lease);
        }
        self.largest = self.told;
        self.seen = now;
        self.compare_states();
        self.look_at_descriptors();
    }

    /// What is over stays over, and as it was; what is forgotten stays forgotten.
    #[track_caller]
    fn look_at_states(&mut self) {
        let leases: Vec<i8> = self.leases.iter().map(|known| self.lease_state(known.id)).collect();
        for (known, state) in self.leases.iter_mut().zip(leases) {
            let fine = known.state == 1 || state == known.state || state == UNKNOWN;
            assert!(fine, "lease {} was {} and is {state}", known.id, known.state);
            known.state = state;
        }
        let tickets: Vec<i8> =
            self.tickets.iter().map(|known| self.ticket_state(known.id)).collect();
        for (known, state) in self.tickets.iter_mut().zip(tickets) {
            // What was granted and not collected can be withdrawn.
            let withdrawn = (known.state, state) == (1, -1) && self.withdrawn.contains(&known.id);
            let fine = known.state == 0 || state == known.state || state == UNKNOWN || withdrawn;
            assert!(fine, "ticket {} was {} and is {state}", known.id, known.state);
            known.state = state;
        }
    }

    /// The state of a lease says the same as the list of leases.
    #[track_caller]
    fn compare_states(&self) {
        for info in &self.seen.leases {
            assert_eq!(self.lease_state(info.lease), 1);
        }
        for known in &self.leases {
            assert_eq!(known.state == 1, self.held(known.id).is_some(), "lease {}", known.id);
        }
        for info in &self.seen.tickets {
            assert_eq!(self.ticket_state(info.ticket), 0);
        }
        for known in &self.tickets {
            assert_eq!(known.state == 0, self.waiting(known.id).is_some(), "ticket {}", known.id);
        }
    }

    /// A ticket's descriptor is readable once it is decided, and not before.
    #[track_caller]
    fn look_at_descriptors(&self) {
        for (ticket, fd) in &self.descriptors {
            let waits = self.waiting(*ticket).is_some();
            assert_eq!(is_readable(fd.as_raw_fd()), !waits, "ticket {ticket}");
        }
    }

    /// Closes it, and with it its table. Whoever watched is told that that is over.
    pub fn close(self) {
        end_watches(self.close_handle());
    }

    /// Closes it, while others have its table; who watches.
    pub fn close_handle(self) -> Vec<*mut Watch> {
        // SAFETY: it is open, and this is its last use but for those that the library notices.
        unsafe { tern_manager_close(self.pointer) };
        self.watches
    }
}

/// Their table is closed.
pub fn end_watches(watches: Vec<*mut Watch>) {
    for watch in watches {
        // SAFETY: `Watch::new` made it, and as the table is closed the library does not use it any more.
        unsafe { Box::from_raw(watch) }.check_at_end();
    }
}

/// `state` is one from which every state can follow.
fn remember(list: &mut Vec<Known>, id: u64, state: i8) {
    if list.iter().all(|known| known.id != id) {
        if list.len() == REMEMBERED {
            list.remove(0);
        }
        list.push(Known { id, state });
    }
}

pub fn is_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor, and a place for what is known of it.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 && poll.revents & libc::POLLIN != 0 }
}
