use crate::c::*;
use crate::call::Call;

pub fn draw(call: &mut Call) -> tern_cost_t {
    let mut number = || match call.input.byte() {
        0..=223 => call.input.number(),
        edge => [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, u64::MAX / 3][usize::from(edge) % 6],
    };
    tern_cost_t { flops: number(), mem_bytes: number(), peak_mem: number(), result_bytes: number() }
}

/// Costs only grow, and nothing wraps around.
pub fn costs(mut call: Call) {
    let (a, b) = (draw(&mut call), draw(&mut call));
    let (then, par, both) = (tern_cost_then(a, b), tern_cost_par(a, b), tern_cost_both(a, b));
    assert!(then.flops >= a.flops.max(b.flops) && then.result_bytes == b.result_bytes);
    assert!(par.flops == a.flops.max(b.flops) && par.peak_mem == both.peak_mem);
    assert!(both.flops == then.flops && both.result_bytes == par.result_bytes);
    assert_eq!(tern_cost_repeat(a, 1), a);
    assert_eq!(tern_cost_repeat(a, b.flops).flops, a.flops.saturating_mul(b.flops));
    assert_eq!(tern_cost_copy(a.flops).mem_bytes, a.flops);
    assert_eq!(tern_cost_scan(a.flops, b.flops).peak_mem, a.flops);
    assert_eq!(tern_cost_hash(a.flops).result_bytes, 32);
    let sort = tern_cost_sort(a.flops, a.mem_bytes, a.peak_mem);
    assert!(sort.mem_bytes >= sort.peak_mem && sort.result_bytes == a.peak_mem);
    let matmul = tern_cost_matmul(a.flops, a.mem_bytes, a.peak_mem, b.flops);
    assert_eq!((matmul.mem_bytes, matmul.result_bytes), (matmul.peak_mem, b.flops));
    let etl = tern_cost_etl(a.flops, a.mem_bytes, a.peak_mem, b.flops);
    assert!(etl.mem_bytes >= etl.peak_mem && etl.flops == a.flops.saturating_mul(a.peak_mem));
    let time = tern_nanoseconds(a.flops, b.flops);
    assert_eq!(time == 0, a.flops == 0);
    assert!(a.flops == 0 || b.flops != 0 || time == u64::MAX);
}
