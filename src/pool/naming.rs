//! The names of devices and claims in the table.

use std::collections::{HashMap, HashSet};

use crate::inventory::GpuDevice;
use crate::table::MAX_NAME;

/// The longest name of a device, in bytes, with room for a number that makes it distinct.
const KEY_MAX: usize = MAX_NAME - "#4294967295".len();

/// The names of devices in the table, made distinct: declared devices may have equal names. A
/// device whose name is empty or too long is named by its number. In a pool of many machines each
/// name begins with that of the node.
pub(super) fn distinct_keys(devices: &[GpuDevice], node: Option<&str>) -> Vec<String> {
    let prefix = node.map_or(String::new(), |node| format!("{node}/"));
    let longest = KEY_MAX.saturating_sub(prefix.len());
    let mut taken = HashSet::with_capacity(devices.len());
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut distinct = |device: &GpuDevice| {
        let mut key = device.key();
        if !(1..=longest).contains(&key.len()) {
            key = device.vendor_and_index();
        }
        key.insert_str(0, &prefix);
        let mut distinct = key.clone();
        while !taken.insert(distinct.clone()) {
            let number = numbers.entry(key.clone()).or_insert(1);
            *number += 1;
            distinct = format!("{key}#{number}");
        }
        distinct
    };
    devices.iter().map(&mut distinct).collect()
}

/// `claim-N`, or `claim-P-N` in a process that is one of several, without an allocation.
pub(super) fn claim_name(process: u16, number: u64, buffer: &mut [u8; 32]) -> &str {
    const PREFIX: &[u8] = b"claim-";
    let mut at = write_before(buffer, buffer.len(), number);
    if process != 0 {
        at -= 1;
        buffer[at] = b'-';
        at = write_before(buffer, at, process.into());
    }
    at -= PREFIX.len();
    buffer[at..at + PREFIX.len()].copy_from_slice(PREFIX);
    // The rest of the buffer is ASCII too. Whole words are checked faster than eleven single bytes.
    let text = std::str::from_utf8(buffer).unwrap_or("claim");
    text.get(at..).unwrap_or(text)
}

/// Writes the digits of a number so that they end before `at`. Returns where they begin.
fn write_before(buffer: &mut [u8; 32], mut at: usize, mut number: u64) -> usize {
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::claim_name;

    #[test]
    fn claims_are_numbered() {
        for number in [0, 9, 10, u64::MAX] {
            assert_eq!(claim_name(0, number, &mut [0; 32]), format!("claim-{number}"));
            let shared = format!("claim-65535-{number}");
            assert_eq!(claim_name(u16::MAX, number, &mut [0; 32]), shared);
        }
    }
}
