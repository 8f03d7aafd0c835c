use super::info::listed;
use crate::c::*;
use crate::call::Call;
use crate::world::Answer;

pub fn find(mut call: Call) {
    if call.world.answers.is_full() {
        return;
    }
    let manager = call.on_manager();
    let mut deadlocks = call.required();
    let mut count = call.optional::<usize>();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_deadlocks_find(manager, deadlocks.pointer(), count.pointer(), call.err()) };
    let count = count.answer(status == TERN_OK);
    let found = deadlocks.answer(status == TERN_OK);
    call.done(format_args!("tern_deadlocks_find({manager:p}): {count:?}"), status);
    let Some(pointer) = found else { return };
    let victims = victims(pointer);
    assert!(count.is_none_or(|count| count == victims.len()));
    if call.ticks() {
        for &victim in &victims {
            assert!(call.the_manager().held(victim).is_some(), "the victim is not held");
        }
    }
    call.world.answers.open.push(Answer { pointer, count: victims.len() });
}

/// The victims of all deadlocks: there is one for each index below their number.
fn victims(deadlocks: *mut tern_deadlocks_t) -> Vec<u64> {
    let victim = |index| {
        let mut victim = 0;
        // SAFETY: the answer is open.
        let status =
            unsafe { tern_deadlocks_victim(deadlocks, index, &mut victim, std::ptr::null_mut()) };
        (status == TERN_OK).then_some(victim)
    };
    (0..).map_while(victim).collect()
}

pub fn close(mut call: Call) {
    let deadlocks = call.on_answer();
    match call.answer_place() {
        Some(place) => call.world.close_answer(place),
        // SAFETY: what is no answer, or none any more, is left alone.
        None => unsafe { tern_deadlocks_close(deadlocks) },
    }
}

/// Which of them, mostly one that there is.
fn index(call: &mut Call) -> usize {
    let count = call.answer().map_or(0, |answer| answer.count);
    let index = match call.input.byte() {
        good @ 0..=231 => usize::from(good) % count.max(1),
        odd => [count, usize::MAX, 1 << 32][usize::from(odd) % 3],
    };
    call.bad_if(index >= count);
    index
}

pub fn victim(mut call: Call) {
    let deadlocks = call.on_answer();
    let index = index(&mut call);
    let mut victim = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_deadlocks_victim(deadlocks, index, victim.pointer(), call.err()) };
    let victim = victim.answer(status == TERN_OK);
    call.done(format_args!("tern_deadlocks_victim({deadlocks:p}, {index}): {victim:?}"), status);
}

pub fn stuck(mut call: Call) {
    let deadlocks = call.on_answer();
    let index = index(&mut call);
    let mut names = call.structs::<tern_name_t>();
    let mut needed = call.optional();
    let (to, capacity) = (names.pointer(), names.capacity());
    // SAFETY: as above.
    let status = unsafe {
        tern_deadlocks_stuck(deadlocks, index, to, capacity, needed.pointer(), call.err())
    };
    let (told, _) = listed(&names, &needed, status);
    assert!(told.is_sorted_by(|a, b| as_bytes(&a.text) <= as_bytes(&b.text)), "they are sorted");
    call.done(format_args!("tern_deadlocks_stuck({deadlocks:p}, {index}, {capacity})"), status);
}

fn as_bytes(text: &[libc::c_char]) -> Vec<u8> {
    text.iter().map(|&byte| byte as u8).collect()
}

pub fn cycle(mut call: Call) {
    let deadlocks = call.on_answer();
    let index = index(&mut call);
    let mut waits = call.structs::<tern_wait_t>();
    let mut needed = call.optional();
    let (to, capacity) = (waits.pointer(), waits.capacity());
    // SAFETY: as above.
    let status = unsafe {
        tern_deadlocks_cycle(deadlocks, index, to, capacity, needed.pointer(), call.err())
    };
    let (_, count) = listed(&waits, &needed, status);
    assert_ne!(count, Some(0), "there is no circle of nobody");
    call.done(format_args!("tern_deadlocks_cycle({deadlocks:p}, {index}, {capacity})"), status);
}
