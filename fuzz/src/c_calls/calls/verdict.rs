use super::manager::told_json;
use super::task::{check_time, draw};
use crate::c::*;
use crate::call::Call;
use crate::manager::UNKNOWN;

pub fn verdict(mut call: Call) {
    let machine = call.on_machine();
    let mut task = draw(&mut call);
    let mut verdict = call.one_struct::<tern_verdict_t>();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status =
        unsafe { tern_machine_verdict(machine, task.pointer(), verdict.pointer(), call.err()) };
    task.check();
    let told = verdict.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_machine_verdict({machine:p})"), status);
    if let (true, Some(told)) = (verdict.is_whole(), told.first()) {
        [told.t_compute, told.t_fetch, told.t_store].iter().for_each(check_time);
        assert_eq!(told.trit == UNKNOWN, told.can_compute + told.can_fetch == 0);
        assert_eq!(told.can_compute == 1, told.why_not_compute == 0);
        assert_eq!(told.can_fetch == 1, told.why_not_fetch == 0);
        assert_eq!(told.score_ns == i64::MAX, told.can_compute < told.can_fetch);
        assert_eq!(told.score_ns == i64::MIN, told.can_compute > told.can_fetch);
        assert!(told.words[0] != 0 && told.words[127] == 0 && told.reserved == [0; 7]);
    }
}

pub fn json(mut call: Call) {
    let machine = call.on_machine();
    let mut task = draw(&mut call);
    let capacities = [2048, 0, 1, 2, 100, 2048];
    let status = told_json(&mut call, &capacities, |to, capacity, needed, err| {
        // SAFETY: as above.
        unsafe { tern_machine_verdict_json(machine, task.pointer(), to, capacity, needed, err) }
    });
    task.check();
    call.done(format_args!("tern_machine_verdict_json({machine:p})"), status);
}
