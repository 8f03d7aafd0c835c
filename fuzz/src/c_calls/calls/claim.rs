use std::ptr;

use super::info::{told_of_lease, told_takes};
use super::lease::as_chars;
use crate::c::*;
use crate::call::Call;
use crate::input::Text;
use crate::memory::{Place, Told};

/// A claim, and what it is made of.
struct Drawn {
    claim: Told<tern_claim_t>,
    said: tern_claim_t,
    holder: Text,
    /// Alive until the call is over.
    _resources: Place,
}

/// `below`: the claim waits for less than this, if that matters.
fn draw(call: &mut Call, below: Option<u8>) -> Drawn {
    let holder = call.input.text(&call.world.texts);
    let (mut resources, by_number, count) = draw_resources(call);
    let texts = if by_number { ptr::null() } else { resources.pointer() };
    let numbers = if by_number { resources.pointer() } else { ptr::null_mut() };
    // Sometimes both: that is not allowed.
    let both = call.input.byte() >= 248;
    let ttl = call.input.span();
    let wait = match (call.input.byte(), below) {
        (short, Some(below)) => u64::from(short % below),
        (0..=63, None) => 0,
        (_, None) => call.input.span(),
    };
    let flags = match call.input.byte() {
        flags @ 0..=239 => u64::from(flags % 32) & [0, 31, 0, 12][usize::from(flags / 32) % 4],
        flags => u64::from(flags) << (flags % 57),
    };
    let parent = if call.input.byte() < 128 { 0 } else { call.lease() };
    let amounts = call.input.byte();
    let said = tern_claim_t {
        struct_size: 0,
        holder: holder.data,
        holder_len: holder.len,
        resources: texts,
        resource_count: if by_number { 0 } else { count },
        resource_ids: numbers,
        resource_id_count: if by_number || both { count } else { 0 },
        ttl,
        wait,
        notice: if call.input.byte() < 128 { 0 } else { call.input.span() },
        parent,
        flags,
        count: (amounts % 4).into(),
        slots: [0, 0, 1, 2][usize::from(amounts / 4 % 4)],
        memory_mib: [0, 0, 1, u32::MAX][usize::from(amounts / 16 % 4)],
        priority: match amounts / 64 {
            0 | 1 => i32::from(call.input.byte() as i8) / 32,
            2 => i32::from(i16::MIN) - i32::from(amounts % 2),
            _ => i32::from(i16::MAX) + i32::from(amounts % 2),
        },
    };
    let claim = match call.input.byte() {
        255 => Told::null(),
        _ => Told::draw(&mut call.input, &said),
    };
    call.bad_if(claim.is_bad() || claim.is_null());
    // What a short struct does not say is another claim.
    let whole = claim.is_whole();
    call.bad_if(whole && (holder.bad || ttl == 0 || count == 0 || flags > 31));
    Drawn { claim, said, holder, _resources: resources }
}

/// Names or numbers of resources, whether they are numbers, and how many.
fn draw_resources(call: &mut Call) -> (Place, bool, usize) {
    let choice = call.input.byte();
    let count = match choice {
        0..=231 => 1 + usize::from(choice % 4),
        232..=239 => 0,
        // More than fit into what the boundary keeps without allocating.
        _ => 40,
    };
    let by_number = choice / 4 % 4 == 3;
    let known = call.manager().map(|manager| manager.resources.clone()).unwrap_or_default();
    let mut bytes = Vec::new();
    for _ in 0..count {
        if by_number {
            let choice = call.input.byte();
            let known = known.get(usize::from(choice) % known.len().max(1)).copied();
            let number = known.filter(|_| choice < 240).unwrap_or(choice.into());
            bytes.extend(number.to_ne_bytes());
        } else {
            let text = call.input.text(&call.world.texts);
            bytes.extend((text.data as usize).to_ne_bytes());
            bytes.extend(text.len.to_ne_bytes());
        }
    }
    (Place::with(&bytes), by_number, count)
}

/// What was granted is what was asked for.
fn compare(call: &mut Call, drawn: &Drawn, lease: u64) {
    let said = &drawn.said;
    if !call.ticks() || !drawn.claim.is_whole() || call.the_manager().held(lease).is_none() {
        return;
    }
    let manager = call.the_manager().pointer;
    let info = told_of_lease(manager, lease);
    assert_eq!(info.holder[..drawn.holder.len], *as_chars(drawn.holder.bytes()));
    assert_eq!((info.parent, info.priority), (said.parent, said.priority));
    assert_eq!(info.take_count, said.count.max(1));
    let forever = (1 << 48) - 1;
    assert_eq!(info.ttl, if said.ttl >= forever { u64::MAX } else { said.ttl });
    let has = |flag| said.flags & flag != 0;
    assert_eq!(info.flags & 2 != 0, has(TERN_CLAIM_SPARE));
    assert_eq!(info.flags & 8 != 0, has(TERN_CLAIM_SHARED));
    let plain = said.flags & (TERN_CLAIM_EXCLUSIVE | TERN_CLAIM_SHARED) == 0;
    let slots = if said.slots == 0 && said.memory_mib == 0 { 1 } else { said.slots };
    for take in told_takes(manager, lease, info.take_count) {
        assert!(!plain || (take.slots, take.memory_mib) == (slots, said.memory_mib));
    }
}

pub fn claim(mut call: Call) {
    let manager = call.on_manager();
    let mut lease = call.required();
    // Nobody ticks while the only thread waits.
    let below = if call.ticks() { 1 } else { 50 };
    let mut drawn = draw(&mut call, Some(below));
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_manager_claim(manager, drawn.claim.pointer(), lease.pointer(), call.err()) };
    drawn.claim.check();
    let granted = lease.answer(status == TERN_OK);
    if let Some(lease) = granted {
        call.the_manager().granted(lease);
    }
    call.done(
        format_args!("tern_manager_claim({manager:p}, {:?}): {granted:?}", drawn.said),
        status,
    );
    if let Some(lease) = granted {
        compare(&mut call, &drawn, lease);
    }
}

pub fn enqueue(mut call: Call) {
    let manager = call.on_manager();
    let (mut lease, mut ticket) = (call.required(), call.required());
    let mut drawn = draw(&mut call, None);
    let claim = drawn.claim.pointer();
    // SAFETY: as above.
    let status = unsafe {
        tern_manager_enqueue(manager, claim, lease.pointer(), ticket.pointer(), call.err())
    };
    drawn.claim.check();
    let granted = lease.answer(status == TERN_OK);
    let waits = ticket.answer(status == TERN_WAITING);
    if let Some(lease) = granted {
        call.the_manager().granted(lease);
    }
    if let Some(ticket) = waits {
        call.the_manager().queued(ticket);
    }
    call.changes_if(status == TERN_WAITING);
    let what =
        format_args!("tern_manager_enqueue({manager:p}, {:?}): {granted:?} {waits:?}", drawn.said);
    call.done(what, status);
    if let Some(lease) = granted {
        compare(&mut call, &drawn, lease);
    }
}
