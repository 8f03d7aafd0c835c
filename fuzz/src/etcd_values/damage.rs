//! What somebody does to the keys of a table.

use crate::choices::Choices;
use crate::copy::Entries;

/// Where the keys of the table begin.
const PREFIX: &str = "/ternlease/fuzzed/";

/// Cells are so many halves of words away from the beginning of the table at most, or just beyond its end.
const CELLS: u64 = 6000;

pub fn damage(entries: &mut Entries, choices: &mut Choices) {
    let kind = choices.byte() % 12;
    let place = choices.half() as usize % entries.len().max(1);
    if kind >= 8 || entries.is_empty() {
        return forge(entries, choices);
    }
    let (key, value) = &mut entries[place];
    let byte = choices.half() as usize % value.len().max(1);
    match kind {
        0 | 1 if !value.is_empty() => value[byte] ^= 1 << (choices.byte() % 8),
        2 if !value.is_empty() => value[byte] = choices.byte(),
        3 => value.truncate(byte),
        4 => value.extend([choices.byte(); 3]),
        // A number, if it is one that this is.
        5 => {
            let old = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            *value = number(choices, old).to_le_bytes().to_vec();
        }
        6 => drop(entries.remove(place)),
        _ => {
            let end = choices.one_of(&["0", "f", "/", "/0001", "+1", "ä"]);
            key.pop();
            key.push_str(end);
        }
    }
    keep_small(entries);
    entries.sort();
}

/// A large table is slow, and no other.
fn keep_small(entries: &mut Entries) {
    let shape = format!("{PREFIX}shape");
    let of_shape = entries.iter_mut().filter(|(key, _)| *key == shape);
    for limit in of_shape.flat_map(|(_, value)| value.chunks_mut(4).take(4)) {
        for (byte, most) in limit.iter_mut().zip([255, 3, 0, 0]) {
            *byte &= most;
        }
    }
}

/// The next change, as nobody of ours would have made it.
fn forge(entries: &mut Entries, choices: &mut Choices) {
    let head = format!("{PREFIX}head");
    let Some(entry) = entries.iter_mut().find(|(key, _)| *key == head) else { return };
    let last = entry.1.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let next = last.wrapping_add(1);
    entry.1 = next.to_le_bytes().to_vec();
    let mut change = vec![0xfe; 16];
    let word = choices.byte() % 2;
    let cell = u64::from(choices.half()) % CELLS;
    let cell = if word == 1 { cell & !1 } else { cell };
    varint(&mut change, cell << 1 | u64::from(word));
    let near = u64::from(choices.byte());
    let value = number(choices, near);
    varint(&mut change, if word == 1 { value } else { value & u64::from(u32::MAX) });
    entries.push((format!("{PREFIX}d/{next:016x}"), change));
    entries.sort();
}

/// One that means something, or that is just beyond what does.
fn number(choices: &mut Choices, near: u64) -> u64 {
    let small = u64::from(choices.byte());
    match choices.byte() % 8 {
        0..3 => small % 32,
        3 => 1 << 31 | small % 32,
        4 => near.wrapping_add(small),
        5 => near.wrapping_sub(small),
        6 => u64::MAX - small % 4,
        _ => 1 << (small % 64),
    }
}

/// In groups of seven bits, the lowest first.
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
