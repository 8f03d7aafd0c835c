use super::info::{listed, listed_leases, told_takes};
use super::lease::as_chars;
use crate::c::*;
use crate::call::Call;

pub fn declare(mut call: Call) {
    let manager = call.on_manager();
    let name = call.name();
    let slots = call.input.one_of(&[1, 2, 4, 0, 3, u32::MAX]);
    let memory = call.input.one_of(&[0, 4, 100, 0, u32::MAX]);
    call.bad_if(slots == 0 && memory == 0);
    let mut number = call.optional();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe {
        tern_resource_declare(
            manager,
            name.data,
            name.len,
            slots,
            memory,
            number.pointer(),
            call.err(),
        )
    };
    let number = number.answer(status == TERN_OK);
    if let Some(number) = number {
        assert_ne!(number, 0);
        let known = &mut call.the_manager().resources;
        known.retain(|&other| other != number);
        known.push(number);
    }
    let what = format_args!("tern_resource_declare({manager:p}, {slots}, {memory}): {number:?}");
    call.done(what, status);
}

pub fn set_health(mut call: Call) {
    let manager = call.on_manager();
    let name = call.name();
    let health = call.input.one_of(&[1, 0, -1, 1, 1, 2, i8::MIN]);
    call.bad_if(!(-1..=1).contains(&health));
    // SAFETY: as above.
    let status =
        unsafe { tern_resource_set_health(manager, name.data, name.len, health, call.err()) };
    call.done(format_args!("tern_resource_set_health({manager:p}, {health})"), status);
}

pub fn info(mut call: Call) {
    let manager = call.on_manager();
    let name = call.name();
    let mut info = call.one_struct::<tern_resource_info_t>();
    // SAFETY: as above.
    let status =
        unsafe { tern_resource_info(manager, name.data, name.len, info.pointer(), call.err()) };
    info.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_resource_info({manager:p})"), status);
}

pub fn list(mut call: Call) {
    let manager = call.on_manager();
    let mut infos = call.structs::<tern_resource_info_t>();
    let mut needed = call.optional();
    let (to, capacity) = (infos.pointer(), infos.capacity());
    // SAFETY: as above.
    let status =
        unsafe { tern_manager_resources(manager, to, capacity, needed.pointer(), call.err()) };
    let (_, count) = listed(&infos, &needed, status);
    call.done(format_args!("tern_manager_resources({manager:p}, {capacity}): {count:?}"), status);
    if let (true, Some(count)) = (call.ticks(), count) {
        assert_eq!(call.the_manager().seen.resources.len(), count);
    }
}

pub fn leases(mut call: Call) {
    let manager = call.on_manager();
    let name = call.input.text(&call.world.texts);
    call.bad_if(name.bad && name.len != 0);
    let (status, leases) = listed_leases(&mut call, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_resource_leases(manager, name.data, name.len, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_resource_leases({manager:p}): {leases:?}"), status);
    if call.ticks() {
        for lease in leases.unwrap_or_default() {
            let held = call.the_manager().held(lease).expect("only what is held is listed");
            let takes = told_takes(manager, lease, held.take_count);
            let name = as_chars(name.bytes());
            assert!(takes.iter().any(|take| take.resource.starts_with(name)));
        }
    }
}
