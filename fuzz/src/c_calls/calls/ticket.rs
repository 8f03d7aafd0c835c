use std::os::fd::{FromRawFd, OwnedFd};

use super::info::listed;
use crate::c::*;
use crate::call::Call;
use crate::manager::is_readable;

pub fn state(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    // SAFETY: whatever is not NULL lives until the call returns.
    let state = unsafe { tern_ticket_state(manager, ticket, call.err()) };
    let what = format_args!("tern_ticket_state({manager:p}, {ticket}): {state}");
    call.done_trit(what, state, TERN_ERR_UNKNOWN_TICKET);
}

pub fn wait(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    let in_line = call.manager().is_some_and(|manager| manager.ticket_state(ticket) == 0);
    // What is decided needs no waiting, and nobody else decides.
    let timeout = match in_line {
        true => call.input.below(50) as u64,
        false => call.input.span(),
    };
    let mut lease = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_ticket_wait(manager, ticket, timeout, lease.pointer(), call.err()) };
    let granted = lease.answer(status == TERN_OK);
    if let Some(lease) = granted {
        let manager = call.the_manager();
        assert!(!manager.withdrawn.contains(&ticket), "a lease by a claim that was withdrawn");
        manager.told_of(lease);
    }
    let what = format_args!("tern_ticket_wait({manager:p}, {ticket}, {timeout}): {granted:?}");
    call.done(what, status);
    if call.ticks() && status == TERN_OK {
        assert_eq!(call.the_manager().ticket_state(ticket), 1);
    }
}

pub fn cancel(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    // SAFETY: as above.
    let status = unsafe { tern_ticket_cancel(manager, ticket, call.err()) };
    if status == TERN_OK {
        call.the_manager().withdrawn.push(ticket);
    }
    call.done(format_args!("tern_ticket_cancel({manager:p}, {ticket})"), status);
    if status == TERN_OK {
        assert_ne!(call.the_manager().ticket_state(ticket), 0, "withdrawn, and in line");
    }
}

pub fn fd(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    let mut fd = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_ticket_fd(manager, ticket, fd.pointer(), call.err()) };
    if let Some(fd) = fd.answer(status == TERN_OK) {
        // SAFETY: the descriptor is the caller's.
        let own = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: it is open.
        assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, libc::FD_CLOEXEC);
        let descriptors = &mut call.the_manager().descriptors;
        descriptors.truncate(3);
        descriptors.insert(0, (ticket, own));
        let ticks = call.ticks();
        assert!(!ticks || is_readable(fd) == (call.the_manager().ticket_state(ticket) != 0));
    }
    call.done(format_args!("tern_ticket_fd({manager:p}, {ticket})"), status);
}

pub fn info(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    let mut info = call.one_struct::<tern_ticket_info_t>();
    // SAFETY: as above.
    let status = unsafe { tern_ticket_info(manager, ticket, info.pointer(), call.err()) };
    let told = info.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_ticket_info({manager:p}, {ticket})"), status);
    if let (true, true, Some(told)) = (call.ticks(), info.is_whole(), told.first()) {
        let listed = call.the_manager().waiting(ticket).expect("only what waits is told of");
        assert_eq!((told.ticket, told.place), (ticket, listed.place));
    }
}

pub fn resources(mut call: Call) {
    let manager = call.on_manager();
    let ticket = call.ticket();
    let mut names = call.structs::<tern_name_t>();
    let mut needed = call.optional();
    let (to, capacity) = (names.pointer(), names.capacity());
    // SAFETY: as above.
    let status = unsafe {
        tern_ticket_resources(manager, ticket, to, capacity, needed.pointer(), call.err())
    };
    let (_, count) = listed(&names, &needed, status);
    let what = format_args!("tern_ticket_resources({manager:p}, {ticket}, {capacity}): {count:?}");
    call.done(what, status);
    if let (true, Some(count)) = (call.ticks(), count) {
        let waiting = call.the_manager().waiting(ticket).expect("only what waits is told of");
        assert_eq!(waiting.resource_count as usize, count);
    }
}

pub fn list(mut call: Call) {
    let manager = call.on_manager();
    let mut infos = call.structs::<tern_ticket_info_t>();
    let mut needed = call.optional();
    let (to, capacity) = (infos.pointer(), infos.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_manager_tickets(manager, to, capacity, needed.pointer(), call.err()) };
    let (_, count) = listed(&infos, &needed, status);
    call.done(format_args!("tern_manager_tickets({manager:p}, {capacity}): {count:?}"), status);
    if let (true, Some(count)) = (call.ticks(), count) {
        assert_eq!(call.the_manager().seen.tickets.len(), count);
    }
}
