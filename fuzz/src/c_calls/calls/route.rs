use crate::c::*;
use crate::call::Call;
use crate::memory::Told;

pub fn route(mut call: Call) {
    let machine = call.on_machine();
    let mut route = call.one_struct::<tern_route_t>();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_machine_route(machine, route.pointer(), call.err()) };
    let told = route.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_machine_route({machine:p})"), status);
    if let (true, Some(told)) = (route.is_whole(), told.first()) {
        assert!(told.bytes_per_second > 0 && (1..=1000).contains(&told.hits_permille));
        assert!((0..=2).contains(&told.known));
    }
}

pub fn set_route(mut call: Call) {
    let machine = call.on_machine();
    let said = tern_route_t {
        struct_size: 0,
        round_trip_ns: call.input.number(),
        bytes_per_second: call.input.number(),
        query_ns: call.input.number(),
        hits_permille: call.input.one_of(&[0, 1, 500, 1000, 1001, u32::MAX]),
        known: call.input.one_of(&[0, 1, 2, 0, 3, -1]),
    };
    let mut route = match call.input.byte() {
        224.. => Told::null(),
        _ => Told::draw(&mut call.input, &said),
    };
    let odd =
        said.bytes_per_second == 0 || said.hits_permille > 1000 || !(0..=2).contains(&said.known);
    call.bad_if(!route.is_null() && (route.is_bad() || route.is_whole() && odd));
    // SAFETY: as above.
    let status = unsafe { tern_machine_set_route(machine, route.pointer(), call.err()) };
    route.check();
    call.done(format_args!("tern_machine_set_route({machine:p}, {said:?})"), status);
}

pub fn record_fetch(mut call: Call) {
    let machine = call.on_machine();
    let (bytes, took) = (call.input.number(), call.input.span());
    // SAFETY: as above.
    let status = unsafe { tern_machine_record_fetch(machine, bytes, took, call.err()) };
    call.done(format_args!("tern_machine_record_fetch({machine:p}, {bytes}, {took})"), status);
}
