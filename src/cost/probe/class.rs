//! How fast a processor does work that is no arithmetic: sorting, hashing, taking text apart, rows.
//!
//! This is compiled code, which without optimisation says nothing about the machine: then the estimates stay.

use std::hint::black_box;
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::slices::repeat;
use crate::cost::FnCost;
use crate::cost::rates::{Rate, Rates};

/// Replaces estimates by what is measured, as far as there is time.
pub(super) fn class_rates(rates: &mut Rates, until: &dyn Fn(u32) -> Instant) {
    if cfg!(debug_assertions) {
        return;
    }
    rates.scalar = rows(until(14)).unwrap_or(rates.scalar);
    rates.parse = parse(until(17)).unwrap_or(rates.parse);
    rates.hash = hash(until(20)).unwrap_or(rates.hash);
    rates.bytes = bytes(until(22)).unwrap_or(rates.bytes);
    let small = sort::<8>(1 << 13, until(28));
    let large = sort::<64>(1 << 15, until(40));
    if let Some((compare, shift)) = small.zip(large).map(|(small, large)| divided(small, large)) {
        (rates.compare, rates.shift) = (compare, shift);
    }
}

/// Numbers that look like chance and are always the same.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A row of numbers: what is done with each is counted as three operations.
const ROW: usize = 32;
const ROWS: usize = 128;
const OPERATIONS: u64 = 3;

/// Rows that are checked, changed and summed up, in a cache.
fn rows(until: Instant) -> Option<Rate> {
    let mut chance = Chance(1);
    let mut rows = vec![[0_u64; ROW]; ROWS];
    rows.iter_mut().flatten().for_each(|field| *field = chance.next() >> 32);
    repeat(until, (ROWS * ROW) as u64 * OPERATIONS, || {
        for row in black_box(&mut rows) {
            let mut sum = 0_u64;
            for field in row.iter_mut() {
                sum = sum.wrapping_mul(31).wrapping_add(*field);
                *field = field.wrapping_add(sum & 1);
            }
            black_box(sum);
        }
    })
}

/// Lines of numbers and words.
fn parse(until: Instant) -> Option<Rate> {
    let mut chance = Chance(2);
    let mut text = String::new();
    while text.len() < 1 << 15 {
        let (a, b) = (chance.next() % 1_000_000, chance.next() % 10_000);
        text.push_str(&format!("{a},some words,{b},{},x\n", a * b));
    }
    repeat(until, text.len() as u64, || {
        let mut sum = 0_u64;
        for line in black_box(&text).lines() {
            for field in line.split(',') {
                sum = sum.wrapping_add(field.parse().unwrap_or(field.len() as u64));
            }
        }
        black_box(sum);
    })
}

fn hash(until: Instant) -> Option<Rate> {
    let data = vec![7_u8; 1 << 16];
    repeat(until, data.len() as u64, || {
        black_box(Sha256::digest(black_box(&data)));
    })
}

/// A byte that is counted.
fn bytes(until: Instant) -> Option<Rate> {
    let mut chance = Chance(4);
    let data: Vec<u8> = (0..1 << 16).map(|_| chance.next() as u8).collect();
    repeat(until, data.len() as u64, || {
        black_box(black_box(&data).iter().filter(|&&byte| byte == b'\n').count());
    })
}

/// Items by the number that each begins with.
#[derive(Clone, Copy)]
struct Item<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Item<BYTES> {
    fn key(&self) -> u64 {
        self.0.first_chunk().map_or(0, |key| u64::from_le_bytes(*key))
    }
}

/// How many times a second so many items can be sorted, and what that costs.
fn sort<const BYTES: usize>(count: usize, until: Instant) -> Option<(Rate, FnCost)> {
    let mut chance = Chance(3);
    let item = |_| {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&chance.next().to_le_bytes());
        Item(bytes)
    };
    let unsorted: Vec<Item<BYTES>> = (0..count).map(item).collect();
    let mut items = unsorted.clone();
    // A thousand thousandths of a sort each time, so that the rate has digits.
    let rate = repeat(until, 1_000_000, || {
        items.copy_from_slice(&unsorted);
        black_box(&mut items).sort_by_key(Item::key);
    })?;
    Some((rate, FnCost::sort(count as u64, BYTES as u64, 0)))
}

/// Small items take mostly comparing, large ones also moving: two measurements tell both apart.
fn divided(small: (Rate, FnCost), large: (Rate, FnCost)) -> (Rate, Rate) {
    // Nanoseconds of a sort.
    let time = |rate: Rate| 1e15 / rate.per_second.max(1) as f64;
    let per_operation = |(rate, cost): (Rate, FnCost)| time(rate) / cost.flops as f64;
    let bytes_per_operation = |cost: FnCost| cost.mem_bytes as f64 / cost.flops as f64;
    let more_bytes = bytes_per_operation(large.1) - bytes_per_operation(small.1);
    let more_time = (per_operation(large) - per_operation(small)).max(0.0);
    // A hundredth of a nanosecond per byte is faster than any cache.
    let byte = (more_time / more_bytes).max(0.01);
    let operation = (per_operation(small) - byte * bytes_per_operation(small.1)).max(0.01);
    let rate = |nanoseconds: f64, from: Rate| {
        let per_second = (1e9 / nanoseconds) as u64;
        let usual = per_second as f64 * from.usual as f64 / from.per_second.max(1) as f64;
        Rate { per_second, usual: usual as u64, ..from }
    };
    (rate(operation, small.0), rate(byte, large.0))
}
