//! Changing a sequence call by call. Of bytes that are moved by one, everything that follows would become something else.

use crate::input::RECORD;

/// Changes the first `size` bytes of `data`, which has room for `max`; the new size.
pub fn mutate(data: &mut [u8], size: usize, max: usize, seed: u32) -> usize {
    let calls = size / RECORD;
    let size = calls * RECORD;
    let pick = |salt: u32| (seed.rotate_left(salt) as usize / 8) % calls.max(1) * RECORD;
    let (here, there) = (pick(0), pick(13));
    match seed % 8 {
        // A call is left out.
        0 if calls > 1 => {
            data.copy_within(here + RECORD..size, here);
            size - RECORD
        }
        // A call is made again elsewhere.
        1 | 2 if calls > 0 && size + RECORD <= max => {
            let mut copy = [0; RECORD];
            copy.copy_from_slice(&data[here..][..RECORD]);
            data.copy_within(there..size, there + RECORD);
            data[there..][..RECORD].copy_from_slice(&copy);
            size + RECORD
        }
        // Calls change places.
        3 if here != there => {
            for offset in 0..RECORD {
                data.swap(here + offset, there + offset);
            }
            size
        }
        // A call is changed.
        4 | 5 if calls > 0 => {
            let record = &mut data[here..][..RECORD];
            libfuzzer_sys::fuzzer_mutate(record, RECORD, RECORD);
            size
        }
        // Anything.
        _ => libfuzzer_sys::fuzzer_mutate(data, size, max),
    }
}
