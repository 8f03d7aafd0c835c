//! What becomes of a file.

use std::os::unix::fs::FileExt;

use crate::choices::Choices;
use crate::image::{Image, file};

/// Where the lock of the file is, and the length of its journal.
const LOCK: u64 = 64;
const JOURNAL: u64 = 80;

/// The slots of those who live: nobody waits for the lock of one of them.
const LIVING: u32 = 4;

/// How much was changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Nothing,
    Byte,
    More,
}

/// Changes something. A file that is shorter kills whoever has it in memory: only while nobody has.
pub fn damage(image: &Image, mapped: bool, choices: &mut Choices) -> Extent {
    let kind = choices.byte() % 16;
    let place = place(image, choices);
    let extent = match kind {
        0..5 => {
            let place = place + choices.byte() as u64 % 4;
            let old: [u8; 1] = read(place);
            let value = choices.byte();
            let new = match choices.byte() % 3 {
                0 => old[0] ^ 1 << (value % 8),
                1 => old[0].wrapping_add(value),
                _ => value,
            };
            write(place, &[new]);
            if new == old[0] { Extent::Nothing } else { Extent::Byte }
        }
        5 | 6 => {
            let value = choices.half() as i16;
            let old = u32::from_le_bytes(read(place));
            write(place, &old.wrapping_add_signed(value.into()).to_le_bytes());
            Extent::More
        }
        7 | 8 => {
            let value = number(choices) as u32;
            write(place, &value.to_le_bytes());
            Extent::More
        }
        9 => {
            write(place & !7, &number(choices).to_le_bytes());
            Extent::More
        }
        10 => copy::<4>(place, self::place(image, choices)),
        11 => copy::<64>(place & !63, self::place(image, choices) & !63),
        12 => {
            write(place & !4095, &[0; 4096]);
            Extent::More
        }
        // As if somebody had died in the middle: what the last commands noted is still there.
        13 => {
            let length = u64::from(choices.byte() % 64);
            write(JOURNAL, &(length | length << 32).to_le_bytes());
            Extent::More
        }
        14 if !mapped => {
            let len = image.bytes.len() as u64;
            file().set_len(u64::from(choices.half()) * len / 65535).expect("it gets shorter");
            Extent::More
        }
        _ => {
            let more = u64::from(choices.half());
            let len = file().metadata().expect("it is there").len();
            file().set_len((len + more).min(1 << 20)).expect("there is room");
            Extent::More
        }
    };
    let lock = u32::from_le_bytes(read(LOCK));
    if (1..=LIVING).contains(&(lock & 0x7ff)) {
        write(LOCK, &(lock | 0x400).to_le_bytes());
    }
    extent
}

/// A word of the file: mostly one that is used, or near one.
fn place(image: &Image, choices: &mut Choices) -> u64 {
    let choice = choices.half() as usize;
    let place = match choice % 4 {
        3 => choice / 4 * 64 % image.bytes.len(),
        near => {
            let used = image.used[choice / 4 % image.used.len()];
            used + [0, 0, 4][near]
        }
    };
    place as u64
}

/// One that means something, or that is just beyond what does.
fn number(choices: &mut Choices) -> u64 {
    let small = u64::from(choices.byte());
    match choices.byte() % 8 {
        0..3 => small % 32,
        3 => 1 << 31 | small % 32,
        4 => u64::from(u32::MAX) - small % 4,
        5 => u64::MAX - small % 4,
        6 => 1 << (small % 64),
        _ => (1 << (small % 64)) - 1,
    }
}

/// What is behind the end is zero.
fn read<const N: usize>(place: u64) -> [u8; N] {
    let mut bytes = [0; N];
    let _ = file().read_exact_at(&mut bytes, place);
    bytes
}

/// Only as far as the file goes.
fn write(place: u64, bytes: &[u8]) {
    let left = file().metadata().expect("it is there").len().saturating_sub(place);
    let bytes = &bytes[..bytes.len().min(left as usize)];
    file().write_all_at(bytes, place).expect("it is there");
}

fn copy<const N: usize>(to: u64, from: u64) -> Extent {
    write(to, &read::<N>(from));
    Extent::More
}
