use super::gpu_claim::draw as draw_claim;
use super::manager::told_json;
use super::task::{check_time, draw as draw_task};
use crate::c::*;
use crate::call::Call;

pub fn advise(mut call: Call) {
    let (machine, pool) = call.on_machine_and_pool();
    let mut advice = call.one_struct::<tern_advice_t>();
    let mut task = draw_task(&mut call);
    let mut claim = draw_claim(&mut call, None);
    let (said, to) = (task.pointer(), advice.pointer());
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_machine_advise(machine, said, pool, claim.claim.pointer(), to, call.err()) };
    task.check();
    claim.claim.check();
    let told = advice.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_machine_advise({machine:p}, {pool:p}, {:?})", claim.said), status);
    if let (true, Some(told)) = (advice.is_whole(), told.first()) {
        [told.cpu, told.gpu, told.gpu_now, told.gpu_wait, told.fetch].iter().for_each(check_time);
        assert_eq!(told.cpu.mid == u64::MAX, told.why_not_cpu != 0);
        assert!((0..=4).contains(&told.choice) && (0..=3).contains(&told.wait));
        assert!(told.words[0] != 0 && told.words[511] == 0 && told.reserved == [0; 3]);
        assert!(told.choice != 0 || told.decisive == 0);
    }
}

pub fn json(mut call: Call) {
    let (machine, pool) = call.on_machine_and_pool();
    let mut task = draw_task(&mut call);
    let mut claim = draw_claim(&mut call, None);
    let (said, wanted) = (task.pointer(), claim.claim.pointer());
    let status = told_json(&mut call, &[2048, 0, 1, 100], |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_machine_advise_json(machine, said, pool, wanted, to, capacity, needed, err) }
    });
    call.done(format_args!("tern_machine_advise_json({machine:p}, {pool:p})"), status);
}

/// What is told of a wait makes sense.
#[track_caller]
fn check(wait: Option<i32>, nanoseconds: Option<u64>) {
    if let (Some(wait), Some(nanoseconds)) = (wait, nanoseconds) {
        assert!(match wait {
            0 => nanoseconds == 0,
            1 => nanoseconds > 0 && nanoseconds < u64::MAX,
            2 | 3 => nanoseconds == u64::MAX,
            _ => false,
        });
    }
}

pub fn expected_wait(mut call: Call) {
    let pool = call.on_pool();
    let (mut wait, mut time) = (call.required::<i32>(), call.optional::<u64>());
    let mut claim = draw_claim(&mut call, None);
    let (to, claimed) = (wait.pointer(), claim.claim.pointer());
    // SAFETY: as above.
    let status = unsafe { tern_pool_expected_wait(pool, claimed, to, time.pointer(), call.err()) };
    claim.claim.check();
    let wait = wait.answer(status == TERN_OK);
    check(wait, time.answer(status == TERN_OK));
    call.done(
        format_args!("tern_pool_expected_wait({pool:p}, {:?}): {wait:?}", claim.said),
        status,
    );
    let none = call.pool().is_some_and(|pool| pool.devices == 0);
    assert!(wait.is_none_or(|wait| none == (wait == 3)));
}

pub fn expected_wait_of(mut call: Call) {
    let pool = call.on_pool();
    let ticket = call.ticket();
    let (mut wait, mut time) = (call.required::<i32>(), call.optional::<u64>());
    let (to, err) = (wait.pointer(), call.err());
    // SAFETY: as above.
    let status = unsafe { tern_pool_expected_wait_of(pool, ticket, to, time.pointer(), err) };
    let wait = wait.answer(status == TERN_OK);
    check(wait, time.answer(status == TERN_OK));
    call.done(format_args!("tern_pool_expected_wait_of({pool:p}, {ticket}): {wait:?}"), status);
}
