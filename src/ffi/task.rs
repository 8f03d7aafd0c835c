//! Task: a cost, and what else a prediction needs to know.
//!
//! What sort of work it is, on how many threads, from how much input, and what earlier runs taught. A task is a struct of the caller's
//! that the library only reads.
//!
//!     tern_task_t task = tern_task_init();
//!     task.cost = tern_cost_matmul(1000, 1000, 1000, 8000000);
//!     task.kind = TERN_KIND_DENSE64;
//!     task.threads = 4;
//!     // Predicted without anything learned, and measured, in nanoseconds:
//!     tern_learned_record(&task.learned_runs, &task.learned_permille, 11189438, 14000000, &err);

use super::boundary::without;
use super::cost::tern_cost_t;
use super::error::{Failure, tern_error_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::required;
use crate::cost::{Kind, Learned, Task};

/// What sort of work a cost is made of, and so by which of a machine's rates it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_kind_t {
    /// Nobody said: the longer of calculating at full speed and of moving the bytes.
    TERN_KIND_ROOFLINE = 0,
    /// Dense arithmetic with 8-byte floating-point numbers, by a good library: tern_cost_matmul().
    TERN_KIND_DENSE64 = 1,
    /// The same with 4-byte ones.
    TERN_KIND_DENSE32 = 2,
    /// Reading memory from end to end, as fast as it comes: tern_cost_scan() by a good library, sums, searches.
    TERN_KIND_STREAM = 3,
    /// Copying memory: tern_cost_copy().
    TERN_KIND_COPY = 4,
    /// A few operations for each row, one after the other: tern_cost_etl().
    TERN_KIND_ROWS = 5,
    /// Rows of text that are taken apart: tern_cost_etl() of CSV or JSON.
    TERN_KIND_PARSE = 6,
    /// Sorting by comparison: tern_cost_sort().
    TERN_KIND_SORT = 7,
    /// SHA-256: tern_cost_hash(). For other functions, use tern_learned_record().
    TERN_KIND_HASH = 8,
    /// Looking at each byte by a plain loop: tern_cost_scan() as most programs do it.
    TERN_KIND_BYTES = 9,
}

/// A cost, and what else a prediction needs to know. What is zero is as usual: one thread of which nothing but its cost is known. Make it
/// with tern_task_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_task_t {
    /// sizeof(tern_task_t)
    pub struct_size: usize,
    /// What it needs.
    pub cost: tern_cost_t,
    /// With TERN_TASK_INPUT: how many bytes it reads, which must get to a GPU before it can begin there. Without: all that it has in
    /// memory, or all that passes through if it keeps nothing.
    pub input_bytes: u64,
    /// TERN_TASK_…
    pub flags: u64,
    /// TERN_KIND_…
    pub kind: i32,
    /// On how many threads it runs; more than the machine has are as many as it has; 0: one.
    pub threads: u32,
    /// How many runs were measured: tern_learned_record(). 0: nothing was learned.
    pub learned_runs: u32,
    /// How long they took, in thousandths of what is predicted without this. 0: nothing was learned.
    pub learned_permille: u32,
}

// SAFETY: integers only; 8 + 32 + 2 times 8 + 4 times 4 bytes have no padding.
unsafe impl Plain for tern_task_t {}

/// `input_bytes` is said, even if it is zero.
pub const TERN_TASK_INPUT: u64 = 1;

fn wrong(argument: &'static str, problem: &'static str) -> Failure {
    Failure::argument(TERN_ERR_BAD_VALUE, argument, problem)
}

/// A caller's task.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn task(from: *const tern_task_t) -> Result<Task, Failure> {
    // SAFETY: as required.
    unsafe { sized::with(from, "task", read) }
}

fn read(task: &tern_task_t) -> Result<Task, Failure> {
    if task.flags & !TERN_TASK_INPUT != 0 {
        return Err(wrong("task.flags", "has unknown bits"));
    }
    // Their numbers are their places.
    let kind = usize::try_from(task.kind).ok().and_then(|place| Kind::ALL.get(place));
    let kind = kind.ok_or_else(|| wrong("task.kind", "is none that is known"))?;
    let made = Task::new(task.cost.into()).kind(*kind).threads(task.threads.max(1));
    let made = made.learned(Learned::restored(task.learned_runs, task.learned_permille));
    Ok(match task.flags & TERN_TASK_INPUT {
        0 => made,
        _ => made.input(task.input_bytes),
    })
}

/// A run was predicted to take so many nanoseconds, without anything learned (tern_machine_untaught_time()), and took so many: changes what was
/// learned, the two members of a task. The first run counts in full; after that each new one counts as much as all before it. A time of
/// 0 or TERN_NEVER teaches nothing. Keep the two numbers for each function, with its results or its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_learned_record(
    runs: *mut u32,
    permille: *mut u32,
    predicted_ns: u64,
    measured_ns: u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        without(err, || {
            required(runs, "runs")?;
            required(permille, "permille")?;
            let mut learned = Learned::restored(runs.read_unaligned(), permille.read_unaligned());
            learned.record(predicted_ns, measured_ns);
            runs.write_unaligned(learned.runs());
            permille.write_unaligned(learned.permille());
            Ok(TERN_OK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::tern_kind_t::*;
    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_their_places() {
        let named = [
            (TERN_KIND_ROOFLINE, Kind::Roofline),
            (TERN_KIND_DENSE64, Kind::Dense64),
            (TERN_KIND_DENSE32, Kind::Dense32),
            (TERN_KIND_STREAM, Kind::Stream),
            (TERN_KIND_COPY, Kind::Copy),
            (TERN_KIND_ROWS, Kind::Rows),
            (TERN_KIND_PARSE, Kind::Parse),
            (TERN_KIND_SORT, Kind::Sort),
            (TERN_KIND_HASH, Kind::Hash),
            (TERN_KIND_BYTES, Kind::Bytes),
        ];
        assert_eq!(named.map(|(_, kind)| kind), Kind::ALL);
        for (code, kind) in named {
            assert_eq!(Kind::ALL[code as usize], kind);
        }
    }
}
