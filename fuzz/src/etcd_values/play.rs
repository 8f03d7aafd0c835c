//! What the bytes of an input are.

use super::replicas::Replicas;
use super::steps::{self, STEP, Steps};
use super::values;

/// The first byte is the kind of the input, the second one selects the shape of the table.
pub const HEAD: usize = 2;

/// Kinds, by the remainder of the first byte.
const KINDS: u8 = 4;
pub const VALUE: u8 = 0;
pub const LOG: u8 = 1;
pub const STEPS: u8 = 2;

/// A run applies no more entries of a log, and no more steps.
const ENTRIES_MAX: usize = 64;
const STEPS_MAX: usize = 96;

pub fn is_steps(kind: u8) -> bool {
    kind % KINDS >= STEPS
}

/// Panics if something does not hold.
pub fn play(bytes: &[u8]) {
    let Some((&[kind, shape], rest)) = bytes.split_first_chunk() else { return };
    match kind % KINDS {
        VALUE => values::check(shape, rest),
        LOG => play_log(shape, rest),
        _ => {
            let mut steps = Steps::new(shape);
            rest.chunks(STEP).take(STEPS_MAX).for_each(|step| steps.take(step));
        }
    }
}

/// Each entry has its length in two bytes before it.
fn play_log(shape: u8, mut rest: &[u8]) {
    let mut replicas = Replicas::new(steps::shape(shape));
    for _ in 0..ENTRIES_MAX {
        let Some((&length, behind)) = rest.split_first_chunk() else { break };
        let length = usize::from(u16::from_le_bytes(length)).min(behind.len());
        let (entry, behind) = behind.split_at(length);
        rest = behind;
        replicas.apply(entry);
        replicas.compare();
    }
    replicas.rebuild();
}
