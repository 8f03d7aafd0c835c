//! What can be seen of a manager, and what must be true of that by itself.

use std::ptr;

use crate::c::*;

/// Everything, at one time by the manager's clock.
#[derive(Default)]
pub struct Seen {
    pub time: u64,
    pub revocations: u64,
    pub leases: Vec<tern_lease_info_t>,
    pub tickets: Vec<tern_ticket_info_t>,
    pub resources: Vec<tern_resource_info_t>,
}

type Counter =
    unsafe extern "C" fn(*const tern_manager_t, *mut u64, *mut tern_error_t) -> tern_status_t;

impl Seen {
    #[track_caller]
    pub fn of(pointer: *mut tern_manager_t) -> Self {
        let count = |counter: Counter| {
            let mut out = 0;
            // SAFETY: the manager is open.
            assert_eq!(unsafe { counter(pointer, &mut out, ptr::null_mut()) }, TERN_OK);
            out
        };
        let active = count(tern_manager_active_count);
        let pending = count(tern_manager_pending_claimers);
        let seen = Seen {
            time: count(tern_manager_tick_count),
            revocations: count(tern_manager_revocations),
            leases: list(active, |to, capacity, needed| {
                // SAFETY: the manager is open, and `to` has room for `capacity`.
                unsafe { tern_manager_leases(pointer, to, capacity, needed, ptr::null_mut()) }
            }),
            tickets: list(pending, |to, capacity, needed| {
                // SAFETY: as above.
                unsafe { tern_manager_tickets(pointer, to, capacity, needed, ptr::null_mut()) }
            }),
            resources: list(resources(pointer), |to, capacity, needed| {
                // SAFETY: as above.
                unsafe { tern_manager_resources(pointer, to, capacity, needed, ptr::null_mut()) }
            }),
        };
        seen.check();
        seen
    }

    #[track_caller]
    fn check(&self) {
        assert!(self.leases.is_sorted_by(|a, b| a.lease < b.lease), "the oldest comes first");
        for info in &self.leases {
            assert!(info.state == 1 && info.end > self.time && info.granted_at <= self.time);
            assert!(info.flags <= 15 && info.take_count >= 1 && info.parent < info.lease);
            assert_eq!((info.holder[255], info.revoker[255], info.reserved), (0, 0, [0; 7]));
            let revoking = info.flags & 1 != 0;
            assert!(revoking || info.reason == 0 && info.revoker[0] == 0);
        }
        for info in &self.tickets {
            assert!(info.queued_at <= self.time && info.place >= 1 && info.holder[255] == 0);
            assert!(1 <= info.count && info.count <= info.resource_count);
        }
        for info in &self.resources {
            assert!(info.used_slots <= info.slots && info.used_memory_mib <= info.memory_mib);
            assert!(info.health.abs() <= 1 && info.declared <= 1 && info.reserved == [0; 2]);
            assert!(info.name[0] != 0 && info.name[255] == 0);
        }
    }

    pub fn is_same_as(&self, other: &Seen) -> bool {
        (self.time, self.revocations) == (other.time, other.revocations)
            && bytes(&self.leases) == bytes(&other.leases)
            && bytes(&self.tickets) == bytes(&other.tickets)
            && bytes(&self.resources) == bytes(&other.resources)
    }
}

/// A struct that begins with its size.
fn empty<T: Copy>() -> T {
    crate::memory::read(&size_of::<T>().to_ne_bytes())
}

/// A list that has as many as were counted.
#[track_caller]
fn list<T: Copy>(
    count: u64,
    fill: impl FnOnce(*mut T, usize, *mut usize) -> tern_status_t,
) -> Vec<T> {
    let mut found = vec![empty::<T>(); count as usize];
    let mut needed = usize::MAX;
    let status = fill(found.as_mut_ptr(), found.len(), &mut needed);
    assert_eq!((status, needed), (TERN_OK, found.len()), "the list has what was counted");
    found
}

/// How many resources there are.
#[track_caller]
fn resources(manager: *mut tern_manager_t) -> u64 {
    let (mut needed, none) = (0, ptr::null_mut());
    // SAFETY: the manager is open; no room is needed for nothing.
    let status = unsafe { tern_manager_resources(manager, ptr::null_mut(), 0, &mut needed, none) };
    assert_eq!(status, if needed == 0 { TERN_OK } else { TERN_MORE });
    needed as u64
}

fn bytes<T: Copy>(list: &[T]) -> &[u8] {
    // SAFETY: structs of the C boundary are integers without padding.
    unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), size_of_val(list)) }
}
