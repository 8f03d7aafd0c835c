use std::os::fd::{FromRawFd, OwnedFd};

use super::info::listed;
use crate::c::*;
use crate::call::Call;
use crate::shared::{Held, hold};

/// A lease of the shared table, or something else; and whether it is held there.
fn lease(call: &mut Call) -> (u64, Option<Held>) {
    let held = hold();
    match call.input.byte() {
        0..=191 => (held.0, Some(held)),
        odd => (held.0.wrapping_add(u64::from(odd)), None),
    }
}

pub fn hand_to(mut call: Call) {
    let manager = call.on_shared();
    let (lease, held) = lease(&mut call);
    let process = match call.input.byte() {
        0..=191 => std::process::id(),
        odd => [0, u32::MAX, std::process::id() + 1][usize::from(odd) % 3],
    };
    // SAFETY: the manager is open, or noticed not to be.
    let status = unsafe { tern_lease_hand_to(manager, lease, process, call.err()) };
    call.done(format_args!("tern_lease_hand_to({manager:p}, {lease}, {process})"), status);
    if status == TERN_OK {
        assert!(call.is_shared() && held.is_some() && process == std::process::id());
    }
}

pub fn keep_for_children(mut call: Call) {
    let manager = call.on_shared();
    let (lease, held) = lease(&mut call);
    let mut fd = call.required();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_lease_keep_for_children(manager, lease, fd.pointer(), call.err()) };
    let fd = fd.answer(status == TERN_OK);
    call.done(format_args!("tern_lease_keep_for_children({manager:p}, {lease})"), status);
    if let Some(fd) = fd {
        // SAFETY: the descriptor is the caller's.
        let kept = unsafe { OwnedFd::from_raw_fd(fd) };
        assert!(held.is_some());
        // SAFETY: as above.
        assert_eq!(unsafe { tern_lease_state(manager, lease, std::ptr::null_mut()) }, 1);
        drop(kept);
    }
}

pub fn info(mut call: Call) {
    let manager = call.on_shared();
    let mut info = call.one_struct::<tern_host_info_t>();
    // SAFETY: as above.
    let status = unsafe { tern_manager_host(manager, info.pointer(), call.err()) };
    let told = info.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_manager_host({manager:p})"), status);
    if let (true, Some(told)) = (info.is_whole(), told.first()) {
        assert!(told.bytes > 0 && told.process_count > 0);
        assert_eq!((told.roll_backs, told.corrupt, told.reserved), (0, 0, [0; 7]));
        assert!(told.path[0] != 0 && told.path[1023] == 0);
    }
}

pub fn processes(mut call: Call) {
    let manager = call.on_shared();
    let mut processes = call.structs::<tern_process_info_t>();
    let mut needed = call.optional();
    let (to, capacity) = (processes.pointer(), processes.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_manager_processes(manager, to, capacity, needed.pointer(), call.err()) };
    let (told, count) = listed(&processes, &needed, status);
    call.done(format_args!("tern_manager_processes({manager:p}, {capacity})"), status);
    if let (true, Some(count)) = (call.is_shared(), count) {
        assert!(count > 0 && told.len() <= count);
    }
}
