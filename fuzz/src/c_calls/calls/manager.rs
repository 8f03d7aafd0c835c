use crate::c::*;
use crate::call::Call;
use crate::manager::Manager;
use crate::memory::{Place, Told};

pub fn open(mut call: Call) {
    const LIMITS: [u32; 8] = [8, 1, 2, 3, 5, 64, 1000, 16];
    const URLS: [&[u8]; 5] = [b"process:x", b"disk:", b"gpu0", b"proc\xff:", b""];
    if call.world.managers.is_full() {
        return;
    }
    let shape = call.input.byte();
    let ticks = shape < 224;
    let mut flags = u64::from(ticks) | u64::from(shape % 4) << 1;
    let mut limit = |odd: u32| match call.input.byte() {
        plain @ 0..=247 => LIMITS[usize::from(plain) % LIMITS.len()],
        _ => odd,
    };
    // Zero is the usual limit; these are beyond the largest.
    let limits = [limit(0), limit(0), limit((1 << 24) + 1), limit(u32::MAX)];
    if call.input.byte() >= 248 {
        flags |= 1 << 40;
    }
    let said = tern_options_t {
        struct_size: 0,
        flags,
        leases: limits[0],
        tickets: limits[1],
        resources: limits[2],
        history: limits[3],
    };
    let mut options = match call.input.byte() {
        0..=251 => Told::draw(&mut call.input, &said),
        _ => Told::null(),
    };
    call.bad_if(options.is_bad());
    let beyond = limits.iter().any(|&limit| limit > 1 << 24) || flags > 7;
    call.bad_if(beyond && options.is_whole() && !options.is_null());
    let mut url = match call.input.byte() {
        odd @ 240..=252 => Place::with(URLS[usize::from(odd) % URLS.len()]),
        253.. => Place::null(),
        _ => Place::with(b"process:"),
    };
    let url_len = if url.is_null() { 8 } else { url.bytes().len() };
    call.bad_if(url.is_null() || url.bytes() != b"process:");
    let mut manager = call.required();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe {
        tern_manager_open(url.pointer(), url_len, options.pointer(), manager.pointer(), call.err())
    };
    options.check();
    url.check(0);
    let opened = manager.answer(status == TERN_OK);
    call.done(format_args!("tern_manager_open({said:?}): {opened:?}"), status);
    if let Some(pointer) = opened {
        let ticks = options.said().flags & TERN_OPTION_TICKS != 0;
        call.world.managers.open.push(Manager::new(pointer, ticks));
    }
}

pub fn close(mut call: Call) {
    let manager = call.on_manager();
    match call.manager_place() {
        // The last one stays.
        Some(place) if call.world.managers.open.len() > 1 => call.world.close_manager(place),
        Some(_) => {}
        // SAFETY: what is no manager, or none any more, is left alone.
        None => unsafe { tern_manager_close(manager) },
    }
}

pub fn tick(mut call: Call) {
    let manager = call.on_manager();
    let before = call.manager().map_or(0, |manager| manager.seen.time);
    // SAFETY: as above.
    let status = unsafe { tern_manager_tick(manager, call.err()) };
    call.done(format_args!("tern_manager_tick({manager:p})"), status);
    if call.ticks() && status == TERN_OK {
        assert_eq!(call.the_manager().seen.time, before + 1);
    }
}

pub fn counters(mut call: Call) {
    let manager = call.on_manager();
    let which = call.input.below(4);
    let mut out = call.required();
    let (to, err) = (out.pointer(), call.err());
    // SAFETY: as above.
    let status = unsafe {
        match which {
            0 => tern_manager_tick_count(manager, to, err),
            1 => tern_manager_active_count(manager, to, err),
            2 => tern_manager_pending_claimers(manager, to, err),
            _ => tern_manager_revocations(manager, to, err),
        }
    };
    let count = out.answer(status == TERN_OK);
    call.done(format_args!("counter {which} of {manager:p}: {count:?}"), status);
}

pub fn count(mut call: Call) {
    let manager = call.on_manager();
    let reason = call.input.one_of(&[101, 602, 601, 501, 702, 703, 0, 99, -1, i32::MIN]);
    call.bad_if(reason < 101);
    let mut out = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_manager_count(manager, reason, out.pointer(), call.err()) };
    let count = out.answer(status == TERN_OK);
    call.done(format_args!("tern_manager_count({manager:p}, {reason}): {count:?}"), status);
}

/// Makes a call that writes a text into a buffer; what it wrote, if all of it fitted.
#[track_caller]
pub fn told_text(
    call: &mut Call,
    capacities: &[usize],
    make: impl FnOnce(*mut std::ffi::c_char, usize, *mut usize, *mut tern_error_t) -> tern_status_t,
) -> (tern_status_t, Option<String>) {
    let capacity = call.input.one_of(capacities);
    let mut buffer = match call.input.byte() {
        240.. => Place::null(),
        _ => Place::new(capacity),
    };
    call.bad_if(capacity != 0 && buffer.is_null());
    let mut needed = call.optional::<usize>();
    let status = make(buffer.pointer(), capacity, needed.pointer(), call.err());
    let told = matches!(status, TERN_OK | TERN_MORE);
    let needed = needed.answer(told);
    match needed {
        Some(needed) if status == TERN_OK => buffer.check(needed),
        _ if told => buffer.check(capacity),
        _ => buffer.check(0),
    }
    if !told || capacity == 0 {
        return (status, None);
    }
    let len = buffer.bytes().iter().position(|&byte| byte == 0).expect("it is terminated");
    let text = str::from_utf8(&buffer.bytes()[..len]).expect("it is UTF-8");
    assert!(needed.is_none_or(|needed| (needed == len + 1) == (status == TERN_OK)));
    (status, (status == TERN_OK).then(|| text.to_owned()))
}

/// As [`told_text`], of a call that tells an object in JSON: there is no infinity in it, and no NaN.
#[track_caller]
pub fn told_json(
    call: &mut Call,
    capacities: &[usize],
    make: impl FnOnce(*mut std::ffi::c_char, usize, *mut usize, *mut tern_error_t) -> tern_status_t,
) -> tern_status_t {
    let (status, text) = told_text(call, capacities, make);
    if let Some(text) = text {
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(read.is_ok_and(|value| value.is_object()), "{text}");
    }
    status
}

pub fn metrics(mut call: Call) {
    let manager = call.on_manager();
    let capacities = [8192, 0, 1, 2, 100, 500, 1000, 8192];
    let (status, _) = told_text(&mut call, &capacities, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_manager_metrics(manager, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_manager_metrics({manager:p})"), status);
}

pub fn want(mut call: Call) {
    let manager = call.on_manager();
    let (holder, resource) = (call.name(), call.name());
    // SAFETY: as above.
    let status = unsafe {
        tern_manager_want(manager, holder.data, holder.len, resource.data, resource.len, call.err())
    };
    call.done(format_args!("tern_manager_want({manager:p})"), status);
}

pub fn unwant(mut call: Call) {
    let manager = call.on_manager();
    let (holder, resource) = (call.name(), call.name());
    // SAFETY: as above.
    let status = unsafe {
        tern_manager_unwant(
            manager,
            holder.data,
            holder.len,
            resource.data,
            resource.len,
            call.err(),
        )
    };
    call.done(format_args!("tern_manager_unwant({manager:p})"), status);
}
