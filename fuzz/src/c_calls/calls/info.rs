use std::ptr;

use crate::c::*;
use crate::call::Call;
use crate::memory::{Out, Place, Structs, read};

/// Everything about a lease that is surely remembered.
#[track_caller]
pub fn told_of_lease(manager: *mut tern_manager_t, lease: u64) -> tern_lease_info_t {
    let mut info = read(&size_of::<tern_lease_info_t>().to_ne_bytes());
    // SAFETY: the manager is open.
    let status = unsafe { tern_lease_info(manager, lease, &mut info, ptr::null_mut()) };
    assert_eq!(status, TERN_OK);
    info
}

/// What it takes, of so many resources.
#[track_caller]
pub fn told_takes(manager: *mut tern_manager_t, lease: u64, count: u32) -> Vec<tern_take_t> {
    let mut takes = vec![read(&size_of::<tern_take_t>().to_ne_bytes()); count as usize];
    let (to, len) = (takes.as_mut_ptr(), takes.len());
    // SAFETY: the manager is open, and `takes` has room for so many.
    let status =
        unsafe { tern_lease_takes(manager, lease, to, len, ptr::null_mut(), ptr::null_mut()) };
    assert_eq!(status, TERN_OK);
    takes
}

/// A list as the library gave it: what is in it, and how many there would be.
#[track_caller]
pub fn listed<T: Copy>(
    list: &Structs<T>,
    needed: &Out<usize>,
    status: tern_status_t,
) -> (Vec<T>, Option<usize>) {
    let needed = needed.answer(matches!(status, TERN_OK | TERN_MORE));
    let capacity = list.capacity();
    let count = match (status, needed) {
        (TERN_OK, Some(needed)) => needed,
        // Nobody asked how many there are.
        (TERN_OK, None) => return (Vec::new(), None),
        (TERN_MORE, needed) => {
            assert!(needed.is_none_or(|needed| needed > capacity));
            capacity
        }
        _ => 0,
    };
    assert!(count <= capacity);
    (list.answers(count), needed)
}

pub fn lease(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let mut info = call.one_struct::<tern_lease_info_t>();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_lease_info(manager, lease, info.pointer(), call.err()) };
    let told = info.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_lease_info({manager:p}, {lease})"), status);
    if let (true, Some(told)) = (call.ticks(), told.first()) {
        let state = call.the_manager().lease_state(lease);
        assert!(!info.is_whole() || (told.lease, told.state) == (lease, state));
    }
}

pub fn takes(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let mut takes = call.structs::<tern_take_t>();
    let mut needed = call.optional();
    let (to, capacity) = (takes.pointer(), takes.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_lease_takes(manager, lease, to, capacity, needed.pointer(), call.err()) };
    let (_, count) = listed(&takes, &needed, status);
    call.done(format_args!("tern_lease_takes({manager:p}, {lease}, {capacity})"), status);
    if let (true, Some(count)) = (call.ticks(), count) {
        assert_eq!(told_of_lease(manager, lease).take_count as usize, count);
    }
}

/// Makes a call that lists leases; which they are, if it told how many.
#[track_caller]
pub fn listed_leases(
    call: &mut Call,
    make: impl FnOnce(*mut u64, usize, *mut usize, *mut tern_error_t) -> tern_status_t,
) -> (tern_status_t, Option<Vec<u64>>) {
    let capacity = call.input.capacity();
    let mut leases = match call.input.byte() {
        240.. => Place::null(),
        _ => Place::new(capacity * size_of::<u64>()),
    };
    call.bad_if(capacity != 0 && leases.is_null());
    let mut needed = call.optional::<usize>();
    let status = make(leases.pointer(), capacity, needed.pointer(), call.err());
    let told = matches!(status, TERN_OK | TERN_MORE);
    let needed = needed.answer(told);
    assert!(needed.is_none_or(|needed| (status == TERN_MORE) == (needed > capacity)));
    let written = if told { needed.unwrap_or(capacity).min(capacity) } else { 0 };
    leases.check(written * size_of::<u64>());
    let list = leases.bytes().chunks(size_of::<u64>()).take(written).map(read).collect();
    (status, needed.map(|_| list))
}

pub fn held_by(mut call: Call) {
    let manager = call.on_manager();
    let holder = call.input.text(&call.world.texts);
    call.bad_if(holder.bad && holder.len != 0);
    let (status, leases) = listed_leases(&mut call, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_manager_held_by(manager, holder.data, holder.len, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_manager_held_by({manager:p}): {leases:?}"), status);
    if call.ticks() {
        for lease in leases.unwrap_or_default() {
            let held = call.the_manager().held(lease).expect("only what is held is listed");
            assert_eq!(held.holder[..holder.len], *super::lease::as_chars(holder.bytes()));
        }
    }
}

pub fn leases(mut call: Call) {
    let manager = call.on_manager();
    let mut infos = call.structs::<tern_lease_info_t>();
    let mut needed = call.optional();
    let (to, capacity) = (infos.pointer(), infos.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_manager_leases(manager, to, capacity, needed.pointer(), call.err()) };
    let (_, count) = listed(&infos, &needed, status);
    call.done(format_args!("tern_manager_leases({manager:p}, {capacity}): {count:?}"), status);
    if let (true, Some(count)) = (call.ticks(), count) {
        assert_eq!(call.the_manager().seen.leases.len(), count);
    }
}
