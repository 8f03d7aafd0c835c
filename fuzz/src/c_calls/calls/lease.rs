use super::info::{told_of_lease, told_takes};
use crate::c::*;
use crate::call::Call;
use crate::manager::UNKNOWN;

pub fn acquire(mut call: Call) {
    let manager = call.on_manager();
    let (resource, holder) = (call.name(), call.name());
    let ttl = call.input.span();
    call.bad_if(ttl == 0);
    let mut lease = call.required();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe {
        tern_lease_acquire(
            manager,
            resource.data,
            resource.len,
            holder.data,
            holder.len,
            ttl,
            lease.pointer(),
            call.err(),
        )
    };
    let granted = lease.answer(status == TERN_OK);
    if let Some(lease) = granted {
        call.the_manager().granted(lease);
    }
    call.done(format_args!("tern_lease_acquire({manager:p}, ttl {ttl}): {granted:?}"), status);
    if let (true, Some(lease)) = (call.ticks(), granted) {
        let info = told_of_lease(manager, lease);
        assert_eq!((info.lease, info.parent, info.take_count), (lease, 0, 1));
        assert_eq!(info.holder[..holder.len], *as_chars(holder.bytes()));
        let take = told_takes(manager, lease, 1)[0];
        assert_eq!(take.resource[..resource.len], *as_chars(resource.bytes()));
    }
}

/// Text in the type that it has in structs.
pub fn as_chars(bytes: &[u8]) -> &[libc::c_char] {
    // SAFETY: both are bytes.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

pub fn state(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    // SAFETY: as above.
    let state = unsafe { tern_lease_state(manager, lease, call.err()) };
    let what = format_args!("tern_lease_state({manager:p}, {lease}): {state}");
    call.done_trit(what, state, TERN_ERR_UNKNOWN_LEASE);
}

pub fn renew(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let mut end = call.optional();
    // SAFETY: as above.
    let status = unsafe { tern_lease_renew(manager, lease, end.pointer(), call.err()) };
    let end = end.answer(status == TERN_OK);
    call.done(format_args!("tern_lease_renew({manager:p}, {lease}): {end:?}"), status);
    check_end(&mut call, lease, end);
}

pub fn renew_for(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    let ttl = call.input.span();
    call.bad_if(ttl == 0);
    let mut end = call.optional();
    // SAFETY: as above.
    let status = unsafe { tern_lease_renew_for(manager, lease, ttl, end.pointer(), call.err()) };
    let end = end.answer(status == TERN_OK);
    let what = format_args!("tern_lease_renew_for({manager:p}, {lease}, {ttl}): {end:?}");
    call.done(what, status);
    check_end(&mut call, lease, end);
}

pub fn states(mut call: Call) {
    let manager = call.on_manager();
    let leases = several(&mut call);
    let mut states = vec![77i8; leases.len()];
    let no_room = call.input.below(8) == 0;
    call.bad_if(no_room && !leases.is_empty());
    let room = if no_room { std::ptr::null_mut() } else { states.as_mut_ptr() };
    // SAFETY: as above.
    let status =
        unsafe { tern_lease_states(manager, leases.as_ptr(), leases.len(), room, call.err()) };
    call.done(format_args!("tern_lease_states({manager:p}, {leases:?}): {states:?}"), status);
    let known = if status == TERN_OK { [1, 0, -1, UNKNOWN] } else { [77; 4] };
    assert!(states.iter().all(|state| known.contains(state)), "{states:?}");
}

pub fn renew_all(mut call: Call) {
    let manager = call.on_manager();
    let leases = several(&mut call);
    let mut renewed = call.optional::<usize>();
    // SAFETY: as above.
    let status = unsafe {
        tern_lease_renew_all(manager, leases.as_ptr(), leases.len(), renewed.pointer(), call.err())
    };
    let renewed = renewed.answer(status == TERN_OK);
    call.done(format_args!("tern_lease_renew_all({manager:p}, {leases:?}): {renewed:?}"), status);
    assert!(renewed.is_none_or(|renewed| renewed <= leases.len()));
}

/// Up to four leases, the same one perhaps twice.
fn several(call: &mut Call) -> Vec<u64> {
    (0..call.input.below(5)).map(|_| call.lease()).collect()
}

/// The end that a renewal tells is the end that the lease has.
fn check_end(call: &mut Call, lease: u64, end: Option<u64>) {
    if let (true, Some(end)) = (call.ticks(), end) {
        let held = call.the_manager().held(lease).expect("only a lease that is held is renewed");
        assert_eq!(held.end, end);
    }
}

pub fn release(mut call: Call) {
    let manager = call.on_manager();
    let lease = call.lease();
    // SAFETY: as above.
    let status = unsafe { tern_lease_release(manager, lease, call.err()) };
    call.done(format_args!("tern_lease_release({manager:p}, {lease})"), status);
    if status == TERN_OK {
        let state = call.the_manager().lease_state(lease);
        // -1: the release acknowledged a notice.
        assert!(matches!(state, 0 | -1 | UNKNOWN), "released, and {state}");
    }
}

pub fn revoke(mut call: Call) {
    const REASONS: [i32; 12] = [0, 101, 102, 104, 201, 303, 401, 502, 602, 701, 100, -1];
    let manager = call.on_manager();
    let lease = call.lease();
    let reason = call.input.one_of(&REASONS);
    call.bad_if(!matches!(reason / 100, 0..=5) || matches!(reason, 100 | -1));
    let by = call.input.text(&call.world.texts);
    // Nobody in particular is somebody.
    call.bad_if(by.bad && by.len != 0);
    let notice = if call.input.byte() < 128 { 0 } else { call.input.span() };
    let mut at = call.optional();
    // SAFETY: as above.
    let status = unsafe {
        tern_lease_revoke(manager, lease, reason, by.data, by.len, notice, at.pointer(), call.err())
    };
    let at = at.answer(matches!(status, TERN_OK | TERN_UNCHANGED));
    let what = format_args!("tern_lease_revoke({manager:p}, {lease}, {reason}, {notice}): {at:?}");
    call.done(what, status);
    if status == TERN_OK && notice == 0 {
        let (state, time) = (call.the_manager().lease_state(lease), call.the_manager().seen.time);
        assert!(matches!(state, -1 | UNKNOWN), "revoked, and {state}");
        assert!(!call.ticks() || at.is_none_or(|at| at == time));
    } else if let (true, TERN_OK | TERN_UNCHANGED, Some(at)) = (call.ticks(), status, at) {
        let held = call.the_manager().held(lease).expect("held until the notice ends");
        assert!(held.flags & 1 != 0 && held.end <= at);
    }
}
