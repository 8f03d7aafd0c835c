use super::cost::draw as draw_cost;
use crate::c::*;
use crate::call::Call;
use crate::memory::Told;

const LAST_KIND: i32 = tern_kind_t::TERN_KIND_BYTES as i32;

/// A task, and whether the library can make something of it.
pub fn draw(call: &mut Call) -> Told<tern_task_t> {
    let (kind, flags) = (call.input.byte(), call.input.byte());
    let said = tern_task_t {
        struct_size: 0,
        cost: draw_cost(call),
        input_bytes: call.input.number(),
        flags: if flags < 240 { u64::from(flags & 1) } else { 1 << (flags % 64) },
        kind: match kind {
            0..=239 => i32::from(kind) % (LAST_KIND + 1),
            odd => [LAST_KIND + 1, -1, i32::MIN, i32::MAX][usize::from(odd) % 4],
        },
        threads: call.input.one_of(&[0, 1, 2, u32::MAX]),
        learned_runs: call.input.one_of(&[0, 1, 3, u32::MAX]),
        learned_permille: call.input.one_of(&[0, 1, 1500, u32::MAX]),
    };
    let task = match call.input.byte() {
        255 => Told::null(),
        _ => Told::draw(&mut call.input, &said),
    };
    call.bad_if(task.is_bad() || task.is_null());
    // What a short struct does not say is another task.
    call.bad_if(task.is_whole() && (!(0..=LAST_KIND).contains(&said.kind) || said.flags > 1));
    task
}

#[track_caller]
pub fn check_time(time: &tern_estimate_t) {
    assert!(time.lo <= time.mid && time.mid <= time.hi, "{time:?}");
}

pub fn times(mut call: Call) {
    let machine = call.on_machine();
    let mut task = draw(&mut call);
    let untaught = call.input.below(2) == 1;
    if untaught {
        let mut time = call.required();
        // SAFETY: whatever is not NULL lives until the call returns.
        let status = unsafe {
            tern_machine_untaught_time(machine, task.pointer(), time.pointer(), call.err())
        };
        let time: Option<u64> = time.answer(status == TERN_OK);
        call.done(format_args!("tern_machine_untaught_time({machine:p}): {time:?}"), status);
    } else {
        let mut time = call.required::<tern_estimate_t>();
        // SAFETY: as above.
        let status = unsafe {
            tern_machine_compute_time(machine, task.pointer(), time.pointer(), call.err())
        };
        let time = time.answer(status == TERN_OK);
        time.iter().for_each(check_time);
        call.done(format_args!("tern_machine_compute_time({machine:p}): {time:?}"), status);
    }
    task.check();
}

pub fn suggest_ttl(mut call: Call) {
    let machine = call.on_machine();
    let mut task = draw(&mut call);
    let base = call.input.span();
    call.bad_if(base == 0 || base != u64::MAX && base >= 1 << 48);
    let mut ttl = call.required();
    // SAFETY: as above.
    let status = unsafe {
        tern_machine_suggest_ttl(machine, task.pointer(), base, ttl.pointer(), call.err())
    };
    task.check();
    let ttl: Option<u64> = ttl.answer(status == TERN_OK);
    call.done(format_args!("tern_machine_suggest_ttl({machine:p}, {base}): {ttl:?}"), status);
    assert!(ttl.is_none_or(|ttl| ttl >= base / 10 && (ttl < 1 << 48 || ttl == u64::MAX)));
}

pub fn cache_value(mut call: Call) {
    let machine = call.on_machine();
    let mut task = draw(&mut call);
    let mut value = call.required::<i64>();
    // SAFETY: as above.
    let status =
        unsafe { tern_machine_cache_value(machine, task.pointer(), value.pointer(), call.err()) };
    task.check();
    let value = value.answer(status == TERN_OK);
    call.done(format_args!("tern_machine_cache_value({machine:p}): {value:?}"), status);
}

pub fn learned(mut call: Call) {
    let (mut runs, mut permille) = (call.required::<u32>(), call.required::<u32>());
    let (predicted, measured) = (call.input.span(), call.input.span());
    // SAFETY: as above.
    let status = unsafe {
        tern_learned_record(runs.pointer(), permille.pointer(), predicted, measured, call.err())
    };
    let learned = (runs.answer(status == TERN_OK), permille.answer(status == TERN_OK));
    assert!(learned.1.is_none_or(|permille| permille != 0));
    call.done(format_args!("tern_learned_record({predicted}, {measured}): {learned:?}"), status);
}
