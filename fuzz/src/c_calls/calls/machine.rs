use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use super::manager::told_json;
use super::task::check_time;
use crate::c::*;
use crate::call::Call;
use crate::memory::{Place, Told, read as read_bytes};
use crate::world::Machine;

const NO_BENCHMARKS: u64 = TERN_MACHINE_NO_BENCHMARKS;

/// A machine that nobody measures.
#[track_caller]
pub fn read_machine() -> *mut tern_machine_t {
    let mut options: tern_machine_options_t =
        read_bytes(&size_of::<tern_machine_options_t>().to_ne_bytes());
    options.flags = NO_BENCHMARKS;
    let (store, mut machine) = (b"/", ptr::null_mut());
    // SAFETY: all of it lives until the call returns.
    let status = unsafe {
        tern_machine_read(store.as_ptr().cast(), 1, &options, &mut machine, ptr::null_mut())
    };
    assert_eq!(status, TERN_OK);
    machine
}

unsafe extern "C" fn on_progress(_: *mut c_void, step: *const c_char, done: u32, of: u32) {
    // SAFETY: the text is terminated.
    assert!(!unsafe { CStr::from_ptr(step) }.is_empty() && done < of);
}

pub fn read(mut call: Call) {
    if call.world.machines.is_full() {
        return;
    }
    let choice = call.input.byte();
    let mut store = Place::with(match choice {
        0..=199 => b"/".as_slice(),
        200..=215 => b"/nowhere",
        216..=223 => b"/\0",
        224..=231 => b"/\xff",
        _ => b"",
    });
    if choice >= 248 {
        store = Place::null();
    }
    let store_len = if choice >= 248 { 3 } else { store.bytes().len() };
    let mut file = Place::with(b"/nowhere/rates");
    let time = |call: &mut Call| match call.input.byte() {
        0..=199 => 0,
        _ => call.input.span(),
    };
    let flags = call.input.byte();
    let said = tern_machine_options_t {
        struct_size: 0,
        // Never measured for long.
        flags: NO_BENCHMARKS | u64::from(flags) & 14 | u64::from(flags >= 248) << 40,
        budget_us: time(&mut call),
        disk_budget_us: 0,
        max_age_us: time(&mut call),
        cache_file: file.pointer(),
        cache_file_len: file.bytes().len(),
        progress: if flags & 1 == 0 { Some(on_progress) } else { None },
        user: ptr::null_mut(),
    };
    let mut options = Told::draw(&mut call.input, &said);
    let large = |micros: u64| micros != u64::MAX && micros >= 1 << 48;
    let odd = flags >= 248 || flags & 12 == 12 || large(said.budget_us) || large(said.max_age_us);
    call.bad_if(choice >= 200 || options.is_bad() || options.is_whole() && odd);
    // One that is too short to say that nothing is to be measured would measure for long.
    let short = options.said();
    let short = !options.is_bad() && short.flags & NO_BENCHMARKS == 0;
    if short {
        options = Told::draw(&mut crate::input::Input::new(&[]), &said);
        call.bad_if(odd);
    }
    let mut machine = call.required();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe {
        let (to, err) = (machine.pointer(), call.err());
        tern_machine_read(store.pointer(), store_len, options.pointer(), to, err)
    };
    options.check();
    store.check(0);
    let opened = machine.answer(status == TERN_OK);
    call.done(format_args!("tern_machine_read({said:?}): {opened:?}"), status);
    if let Some(pointer) = opened {
        call.world.machines.open.push(Machine(pointer));
    }
}

pub fn close(mut call: Call) {
    let machine = call.on_machine();
    match call.machine_place() {
        Some(place) => call.world.close_machine(place),
        // SAFETY: what is no machine, or none any more, is left alone.
        None => unsafe { tern_machine_close(machine) },
    }
}

pub fn info(mut call: Call) {
    let machine = call.on_machine();
    let mut info = call.one_struct::<tern_machine_info_t>();
    // SAFETY: as above.
    let status = unsafe { tern_machine_info(machine, info.pointer(), call.err()) };
    let told = info.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_machine_info({machine:p})"), status);
    if let (true, Some(told)) = (info.is_whole(), told.first()) {
        assert!(told.cores_usable > 0 && told.mem_pressure_permille <= 1000 && told.reserved == 0);
        assert!(told.processor[127] == 0 && told.store[1023] == 0 && told.age_us == u64::MAX);
    }
}

pub fn json(mut call: Call) {
    let machine = call.on_machine();
    let capacities = [8192, 0, 1, 2, 100, 8192];
    let status = told_json(&mut call, &capacities, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_machine_json(machine, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_machine_json({machine:p})"), status);
}

pub fn gpu_start(mut call: Call) {
    let machine = call.on_machine();
    let [lo, mid, hi] = [(); 3].map(|()| call.input.number());
    call.bad_if(lo > mid || mid > hi);
    // SAFETY: as above.
    let status = unsafe { tern_machine_set_gpu_start(machine, lo, mid, hi, call.err()) };
    call.done(format_args!("tern_machine_set_gpu_start({machine:p}, {lo}, {mid}, {hi})"), status);
}

/// So many kinds of rates there are.
const RATES: i32 = tern_rate_of_t::TERN_RATE_DISK_READ as i32 + 1;

pub fn rate(mut call: Call) {
    let machine = call.on_machine();
    let which = match call.input.byte() {
        good @ 0..=239 => i32::from(good % RATES as u8),
        odd => [RATES, -1, i32::MIN, i32::MAX][usize::from(odd) % 4],
    };
    call.bad_if(!(0..RATES).contains(&which));
    let mut rate = call.one_struct::<tern_rate_t>();
    // SAFETY: as above.
    let status = unsafe { tern_machine_rate(machine, which, rate.pointer(), call.err()) };
    let told = rate.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_machine_rate({machine:p}, {which})"), status);
    if rate.is_whole() {
        assert!(told.iter().all(|rate| rate.per_second > 0 && (1..=3).contains(&rate.source)));
    }
}

pub fn times(mut call: Call) {
    let machine = call.on_machine();
    let bytes = call.input.number();
    let fetch = call.input.below(2) == 1;
    let mut time = call.required::<tern_estimate_t>();
    let (to, err) = (time.pointer(), call.err());
    // SAFETY: as above.
    let status = unsafe {
        match fetch {
            true => tern_machine_fetch_time(machine, bytes, to, err),
            false => tern_machine_store_time(machine, bytes, to, err),
        }
    };
    let time = time.answer(status == TERN_OK);
    time.iter().for_each(check_time);
    call.done(format_args!("time of {machine:p} for {bytes}: {time:?}"), status);
}

pub fn can_store(mut call: Call) {
    let machine = call.on_machine();
    let bytes = call.input.number();
    // SAFETY: as above.
    let trit = unsafe { tern_machine_can_store(machine, bytes, call.err()) };
    call.done_trit(format_args!("tern_machine_can_store({machine:p}, {bytes})"), trit, TERN_OK);
}

pub fn etl_buffer(mut call: Call) {
    let machine = call.on_machine();
    let row = call.input.number();
    let mut bytes = call.required::<u64>();
    // SAFETY: as above.
    let status = unsafe { tern_machine_etl_buffer(machine, row, bytes.pointer(), call.err()) };
    let bytes = bytes.answer(status == TERN_OK);
    call.done(format_args!("tern_machine_etl_buffer({machine:p}, {row}): {bytes:?}"), status);
    assert!(bytes.is_none_or(|bytes| bytes > 0 && bytes % row.max(1) == 0));
}

pub fn normalize(mut call: Call) {
    let machine = call.on_machine();
    let [took, peak, result] = [(); 3].map(|()| call.input.number());
    let mut cost = call.required::<tern_cost_t>();
    // SAFETY: as above.
    let status =
        unsafe { tern_machine_normalize(machine, took, peak, result, cost.pointer(), call.err()) };
    let cost = cost.answer(status == TERN_OK);
    call.done(format_args!("tern_machine_normalize({machine:p}, {took}): {cost:?}"), status);
    assert!(cost.is_none_or(|cost| (cost.peak_mem, cost.result_bytes) == (peak, result)));
}
