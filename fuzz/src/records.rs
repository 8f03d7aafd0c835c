//! Changing a sequence record by record. Of bytes that are moved by one, everything that follows would become something else.

/// Changes the first `size` bytes of `data`, which has room for `max`; the new size. A record has `RECORD` bytes.
pub fn mutate<const RECORD: usize>(data: &mut [u8], size: usize, max: usize, seed: u32) -> usize {
    let records = size / RECORD;
    let size = records * RECORD;
    let pick = |salt: u32| (seed.rotate_left(salt) as usize / 8) % records.max(1) * RECORD;
    let (here, there) = (pick(0), pick(13));
    match seed % 8 {
        // A record is left out.
        0 if records > 1 => {
            data.copy_within(here + RECORD..size, here);
            size - RECORD
        }
        // A record comes again elsewhere.
        1 | 2 if records > 0 && size + RECORD <= max => {
            let mut copy = [0; RECORD];
            copy.copy_from_slice(&data[here..][..RECORD]);
            data.copy_within(there..size, there + RECORD);
            data[there..][..RECORD].copy_from_slice(&copy);
            size + RECORD
        }
        // Records change places.
        3 if here != there => {
            for offset in 0..RECORD {
                data.swap(here + offset, there + offset);
            }
            size
        }
        // A record is changed.
        4 | 5 if records > 0 => {
            let record = &mut data[here..][..RECORD];
            libfuzzer_sys::fuzzer_mutate(record, RECORD, RECORD);
            size
        }
        // Anything.
        _ => libfuzzer_sys::fuzzer_mutate(data, size, max),
    }
}
