//! Real computations on one thread, of which the cost model says beforehand how long they take. Written as one would write them, not so that
//! they fit.

use std::hint::black_box;
use std::time::Instant;

use sha2::{Digest, Sha256};
use ternlease::{FnCost, Kind, Task};

const MIB: usize = 1 << 20;

/// A kernel at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub kernel: Kernel,
    /// The whole is divided by this.
    pub divisor: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    Sort,
    Hash,
    Dgemm,
    Scan,
    Copy,
    Etl,
    Csv,
    ScanByHand,
}

pub const KERNELS: [Kernel; 8] = [
    Kernel::Sort,
    Kernel::Hash,
    Kernel::Dgemm,
    Kernel::Scan,
    Kernel::Copy,
    Kernel::Etl,
    Kernel::Csv,
    Kernel::ScanByHand,
];

/// The eighth and the sixty-fourth part are still more than a core's own caches hold; the latter is less than a shared one may hold.
pub const DIVISORS: [usize; 3] = [1, 8, 64];

const ITEMS: usize = 1_000_000;
const ITEM: usize = 64;
const HASHED: usize = 1 << 30;
const SIDE: usize = 1000;
const SCANNED: usize = 1 << 30;
const COPIED: usize = 256 * MIB;
const ROWS: usize = 1_000_000;
const ROW: usize = 256;
/// What is done with a row of either sort, about.
const OPERATIONS: usize = 100;

/// What goes through a buffer more than once goes through one of this size.
const SCAN_BUFFER: usize = 256 * MIB;
const HASH_BUFFER: usize = 64 * MIB;

impl Kernel {
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Sort => "sort",
            Kernel::Hash => "sha256",
            Kernel::Dgemm => "dgemm",
            Kernel::Scan => "scan",
            Kernel::Copy => "copy",
            Kernel::Etl => "etl",
            Kernel::Csv => "csv",
            Kernel::ScanByHand => "scan_by_hand",
        }
    }

    /// Is there a goal for it? Two more show how much depends on how something is written: text that is taken apart, and a scan that
    /// waits for nothing but memory.
    pub fn counts(self) -> bool {
        !matches!(self, Kernel::Csv | Kernel::ScanByHand)
    }
}

impl Case {
    pub fn name(self) -> String {
        match self.divisor {
            1 => self.kernel.name().to_owned(),
            divisor => format!("{}.1_{divisor}", self.kernel.name()),
        }
    }

    /// The constructor of the cost, with its arguments: the same for ours and the peer's. The result is as large as makes fetching it a
    /// question: what was sorted, copied or changed, a hash, a product, or 10 MiB found in a gigabyte.
    pub fn cost_words(self) -> (&'static str, Vec<usize>) {
        let part = |whole: usize| whole / self.divisor;
        match self.kernel {
            Kernel::Sort => ("sort", vec![part(ITEMS), ITEM, part(ITEMS) * ITEM]),
            Kernel::Hash => ("hash", vec![part(HASHED)]),
            Kernel::Dgemm => {
                let side = self.side();
                ("matmul", vec![side, side, side, 8 * side * side])
            }
            Kernel::Scan | Kernel::ScanByHand => ("scan", vec![part(SCANNED), part(10 * MIB)]),
            Kernel::Copy => ("copy", vec![part(COPIED)]),
            Kernel::Etl => ("etl", vec![part(ROWS), ROW, OPERATIONS, part(ROWS) * ROW]),
            // Of text that is as long, four numbers of each row.
            Kernel::Csv => ("etl", vec![part(ROWS), CSV_ROW, OPERATIONS, part(ROWS) * 32]),
        }
    }

    pub fn task(self) -> Task {
        let (constructor, words) = self.cost_words();
        let words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
        let cost = match (constructor, &words[..]) {
            ("sort", &[items, bytes, result]) => FnCost::sort(items, bytes, result),
            ("hash", &[bytes]) => FnCost::hash(bytes),
            ("matmul", &[m, n, k, result]) => FnCost::matmul(m, n, k, result),
            ("scan", &[bytes, result]) => FnCost::scan(bytes, result),
            ("copy", &[bytes]) => FnCost::copy(bytes),
            ("etl", &[rows, bytes, operations, result]) => {
                FnCost::etl(rows, bytes, operations, result)
            }
            unknown => unreachable!("no such cost: {unknown:?}"),
        };
        cost.kind(match self.kernel {
            Kernel::Sort => Kind::Sort,
            Kernel::Hash => Kind::Hash,
            Kernel::Dgemm => Kind::Dense64,
            Kernel::Scan => Kind::Bytes,
            Kernel::ScanByHand => Kind::Stream,
            Kernel::Copy => Kind::Copy,
            Kernel::Etl => Kind::Rows,
            Kernel::Csv => Kind::Parse,
        })
    }

    /// Of a matrix whose multiplication is this part of the whole.
    fn side(self) -> usize {
        (SIDE as f64 / (self.divisor as f64).cbrt()).round() as usize
    }

    /// Nanoseconds of each of so many runs, after one for nothing.
    pub fn measure(self, runs: usize) -> Vec<u64> {
        let part = |whole: usize| whole / self.divisor;
        match self.kernel {
            Kernel::Sort => sort(part(ITEMS), runs),
            Kernel::Hash => hash(part(HASHED), runs),
            Kernel::Dgemm => dgemm(self.side(), runs),
            Kernel::Scan => scan(part(SCANNED), runs, count),
            Kernel::ScanByHand => scan(part(SCANNED), runs, count_by_hand),
            Kernel::Copy => copy(part(COPIED), runs),
            Kernel::Etl => etl(part(ROWS), runs),
            Kernel::Csv => csv(part(ROWS), runs),
        }
    }
}

/// How long each of so many runs takes; `prepare` does not count.
fn times<T>(runs: usize, mut prepare: impl FnMut() -> T, mut run: impl FnMut(&mut T)) -> Vec<u64> {
    let mut once = || {
        let mut with = prepare();
        let begun = Instant::now();
        run(black_box(&mut with));
        let took = begun.elapsed().as_nanos() as u64;
        black_box(with);
        took
    };
    once();
    (0..runs).map(|_| once()).collect()
}

/// Numbers that look like chance and are the same each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(count).collect()
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Item {
    key: u64,
    rest: [u64; ITEM / 8 - 1],
}

fn sort(count: usize, runs: usize) -> Vec<u64> {
    let mut chance = Chance(1);
    let item = |_| Item { key: chance.next(), rest: [0; ITEM / 8 - 1] };
    let unsorted: Vec<Item> = (0..count).map(item).collect();
    times(
        runs,
        || unsorted.clone(),
        |items| {
            items.sort_by_key(|item| item.key);
            black_box(items.first().map(|item| item.rest));
        },
    )
}

fn hash(bytes: usize, runs: usize) -> Vec<u64> {
    let buffer = Chance(2).bytes(bytes.min(HASH_BUFFER));
    times(runs, Sha256::new, |hash| {
        (0..bytes / buffer.len()).for_each(|_| hash.update(black_box(&buffer)));
        black_box(hash.clone().finalize());
    })
}

fn dgemm(side: usize, runs: usize) -> Vec<u64> {
    let matrix = |from: u64| -> Vec<f64> {
        let mut chance = Chance(from);
        (0..side * side).map(|_| (chance.next() >> 40) as f64 / 1e7).collect()
    };
    let (a, b, mut c) = (matrix(3), matrix(4), vec![0.0; side * side]);
    let rows = side as isize;
    times(
        runs,
        || (),
        |()| {
            let (to, a, b) = (c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
            let alone = gemm::Parallelism::None;
            // SAFETY: three matrices of `side` columns of as many numbers, one after the other, as the strides say; `c` is borrowed alone.
            unsafe {
                gemm::gemm(
                    side, side, side, to, rows, 1, false, a, rows, 1, b, rows, 1, 0.0, 1.0, false,
                    false, false, alone,
                );
            }
            black_box(to);
        },
    )
}

fn scan(bytes: usize, runs: usize, count: fn(&[u8]) -> usize) -> Vec<u64> {
    let buffer = Chance(5).bytes(bytes.min(SCAN_BUFFER));
    times(
        runs,
        || 0,
        |found| {
            for _ in 0..bytes / buffer.len() {
                *found += count(black_box(&buffer));
            }
        },
    )
}

/// As everybody writes it. The compiler counts each byte in a number of eight bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'x').count()
}

/// As who knows that writes it: in bytes, and only as many as one can count.
fn count_by_hand(bytes: &[u8]) -> usize {
    let in_chunk = |chunk: &[u8]| -> usize {
        let mut lanes = [0_u8; 64];
        let whole = chunk.chunks_exact(lanes.len());
        let rest = count(whole.remainder());
        for part in whole {
            lanes.iter_mut().zip(part).for_each(|(lane, &byte)| *lane += u8::from(byte == b'x'));
        }
        rest + lanes.iter().map(|&lane| usize::from(lane)).sum::<usize>()
    };
    bytes.chunks(64 * 255).map(in_chunk).sum()
}

fn copy(bytes: usize, runs: usize) -> Vec<u64> {
    let from = Chance(6).bytes(bytes);
    let mut to = vec![1_u8; bytes];
    times(runs, || (), |()| black_box(&mut to[..]).copy_from_slice(black_box(&from)))
}

/// Rows of 32 numbers: each is limited, moved and summed up, and goes to the same place of another row; the first is the sum.
fn etl(rows: usize, runs: usize) -> Vec<u64> {
    let from = Chance(7).bytes(rows * ROW);
    let mut to = vec![1_u8; rows * ROW];
    let change = |from: &[u8], to: &mut [u8]| {
        let mut sum = 0_u64;
        for (from, to) in from.chunks_exact(8).zip(to.chunks_exact_mut(8)) {
            let number = u64::from_le_bytes(from.try_into().expect("eight bytes"));
            let number = number.min(1 << 60) + 17;
            sum ^= number;
            to.copy_from_slice(&number.to_le_bytes());
        }
        to[..8].copy_from_slice(&sum.to_le_bytes());
    };
    times(
        runs,
        || (),
        |()| {
            let to = black_box(&mut to[..]);
            for (from, to) in black_box(&from[..]).chunks_exact(ROW).zip(to.chunks_exact_mut(ROW)) {
                change(from, to);
            }
        },
    )
}

/// Bytes of a line.
const CSV_ROW: usize = 64;

/// Lines of six fields, of which the four that are numbers are kept.
fn csv(rows: usize, runs: usize) -> Vec<u64> {
    let mut chance = Chance(8);
    let mut text = String::with_capacity(rows * CSV_ROW);
    for row in 0..rows {
        let (a, b) = (chance.next() % 100_000_000, chance.next() % 10_000);
        let line = format!("{row:08},{a:08},name of it,{b:04},{:012},some other", a * b);
        text.push_str(&line);
        text.extend(std::iter::repeat_n('.', CSV_ROW - 1 - line.len()));
        text.push('\n');
    }
    let mut to = vec![0_u64; rows * 4];
    times(
        runs,
        || (),
        |()| {
            let mut places = black_box(&mut to[..]).iter_mut();
            for line in black_box(&text[..]).lines() {
                for number in line.split(',').filter_map(|field| field.parse().ok()) {
                    if let Some(place) = places.next() {
                        *place = number;
                    }
                }
            }
        },
    )
}
