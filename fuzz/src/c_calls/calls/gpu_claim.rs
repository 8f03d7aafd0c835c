use super::gpu_lease::count_devices;
use crate::c::*;
use crate::call::Call;
use crate::memory::{Place, Told};

/// A claim, and what it is made of.
pub struct Drawn {
    pub claim: Told<tern_gpu_claim_t>,
    pub said: tern_gpu_claim_t,
    /// Alive until the call is over.
    _names: Vec<Place>,
    _devices: Place,
}

/// `below`: the claim waits for less than this, if that matters.
pub fn draw(call: &mut Call, below: Option<u8>) -> Drawn {
    let holder = call.input.text(&call.world.texts);
    let (names, mut devices, count) = draw_devices(call);
    let wait = match (call.input.byte(), below) {
        (short, Some(below)) => u64::from(short % below),
        (0..=63, None) => 0,
        (_, None) => call.input.span(),
    };
    let flags = match call.input.byte() {
        flags @ 0..=239 => u64::from(flags) & [0, 28, 32, 12][usize::from(flags / 32) % 4],
        flags => u64::from(flags) << (flags % 57),
    };
    let parent = if call.input.byte() < 192 { 0 } else { call.lease() };
    let (amounts, limits) = (call.input.byte(), call.input.byte());
    let said = tern_gpu_claim_t {
        struct_size: 0,
        holder: holder.data,
        holder_len: holder.len,
        devices: devices.pointer(),
        device_count: count,
        ttl: if limits < 128 { 0 } else { call.input.span() },
        wait,
        notice: if amounts < 192 { 0 } else { call.input.span() },
        parent,
        flags,
        count: (amounts % 4).into(),
        slots: [0, 0, 1, 2][usize::from(amounts / 4 % 4)],
        memory_mib: [0, 0, 1, u32::MAX][usize::from(amounts / 16 % 4)],
        min_memory_mib: [0, 0, 1, 100_000][usize::from(limits % 4)],
        min_compute_major: [0, 0, 8, 9][usize::from(limits / 4 % 4)],
        min_compute_minor: [0, 0, 0, 1][usize::from(limits / 16 % 4)],
        vendor: [0, 0, 1, 0, 2, 0, -1, 5][usize::from(limits / 32)],
        priority: match call.input.byte() {
            0..=247 => i32::from(amounts % 3) - 1,
            odd => [i32::MIN, 32_768, -32_769, i32::MAX][usize::from(odd) % 4],
        },
    };
    let claim = match call.input.byte() {
        255 => Told::null(),
        _ => Told::draw(&mut call.input, &said),
    };
    call.bad_if(claim.is_bad() || claim.is_null());
    // What a short struct does not say is another claim.
    let whole = claim.is_whole();
    let odd = flags & !60 != 0 || !(0..=4).contains(&said.vendor);
    call.bad_if(whole && (holder.bad && holder.len != 0 || odd));
    Drawn { claim, said, _names: names, _devices: devices }
}

/// The names of devices, an array of texts, and how many.
fn draw_devices(call: &mut Call) -> (Vec<Place>, Place, usize) {
    const NAMES: [&[u8]; 8] =
        [b"0", b"1", b"nvidia:1", b"0000:01:00.0", b"GPU-00000003", b"9", b"amd:0", b"GPU-\xff"];
    let choice = call.input.byte();
    let count = match choice {
        0..=127 => 0,
        128..=239 => 1 + usize::from(choice % 4),
        _ => 40,
    };
    let mut names: Vec<Place> = Vec::new();
    let mut bytes = Vec::new();
    for _ in 0..count {
        let choice = usize::from(call.input.byte());
        let known = if choice < 192 { 5 } else { NAMES.len() };
        let mut name = Place::with(NAMES[choice % known]);
        bytes.extend((name.pointer::<u8>() as usize).to_ne_bytes());
        bytes.extend(name.bytes().len().to_ne_bytes());
        names.push(name);
    }
    (names, Place::with(&bytes), count)
}

/// What was granted is as many as were asked for.
#[track_caller]
fn compare(pool: *mut tern_pool_t, drawn: &Drawn, lease: u64) {
    if drawn.claim.is_whole() {
        assert_eq!(count_devices(pool, lease), drawn.said.count.max(1) as usize);
    }
}

/// Every pool without devices says so, and no other does.
#[track_caller]
fn check_empty(call: &Call, status: tern_status_t) {
    let devices = call.pool().map_or(1, |pool| pool.devices);
    assert!(status != TERN_EMPTY || devices == 0);
    assert!(status != TERN_OK || devices != 0);
}

pub fn claim(mut call: Call) {
    let pool = call.on_pool();
    let mut lease = call.required();
    // Nobody ticks while the only thread waits.
    let below = if call.pool().is_some_and(|pool| pool.ticks) { 1 } else { 50 };
    let mut drawn = draw(&mut call, Some(below));
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_pool_claim(pool, drawn.claim.pointer(), lease.pointer(), call.err()) };
    drawn.claim.check();
    let granted = lease.answer(status == TERN_OK);
    if let (Some(lease), Some(manager)) = (granted, call.manager()) {
        manager.granted(lease);
    }
    call.done(format_args!("tern_pool_claim({pool:p}, {:?}): {granted:?}", drawn.said), status);
    check_empty(&call, status);
    if let Some(lease) = granted {
        compare(pool, &drawn, lease);
    }
}

pub fn try_claim(mut call: Call) {
    let pool = call.on_pool();
    let mut lease = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_pool_try_claim(pool, lease.pointer(), call.err()) };
    let granted = lease.answer(status == TERN_OK);
    if let (Some(lease), Some(manager)) = (granted, call.manager()) {
        manager.granted(lease);
    }
    call.done(format_args!("tern_pool_try_claim({pool:p}): {granted:?}"), status);
    check_empty(&call, status);
    if let Some(lease) = granted {
        assert_eq!(count_devices(pool, lease), 1);
    }
}

pub fn enqueue(mut call: Call) {
    let pool = call.on_pool();
    let (mut lease, mut ticket) = (call.required(), call.required());
    let mut drawn = draw(&mut call, None);
    let claim = drawn.claim.pointer();
    // SAFETY: as above.
    let status =
        unsafe { tern_pool_enqueue(pool, claim, lease.pointer(), ticket.pointer(), call.err()) };
    drawn.claim.check();
    let granted = lease.answer(status == TERN_OK);
    let waits = ticket.answer(status == TERN_WAITING);
    if let (Some(lease), Some(manager)) = (granted, call.manager()) {
        manager.granted(lease);
    }
    if let (Some(ticket), Some(manager)) = (waits, call.manager()) {
        manager.queued(ticket);
    }
    call.changes_if(status == TERN_WAITING);
    let what = format_args!("tern_pool_enqueue({pool:p}, {:?}): {granted:?} {waits:?}", drawn.said);
    call.done(what, status);
    check_empty(&call, status);
    if let Some(lease) = granted {
        compare(pool, &drawn, lease);
    }
}
