//! How much arithmetic a processor can do.
//!
//! Written in machine code, and chosen when the program runs: neither the options that this library was built with nor what the compiler
//! makes of a loop changes the result. Twelve chains of `x = x * 0.999 + 0.000001` keep two units of latency four or five busy, and stay
//! finite for ever.

use std::time::Instant;

use super::slices::{fill, repeat};
use super::team;
use crate::cost::rates::Rate;

/// How wide the numbers are, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Eight,
    Four,
}

const CHAINS: u64 = 12;

/// A loop that this processor can run, and how many operations a turn of it has.
#[derive(Clone, Copy)]
struct Loop {
    run: unsafe fn(u64),
    operations: u64,
}

impl Loop {
    #[allow(unsafe_code)] // the processor has what the loop needs, as `widest` has seen to
    fn run(&self, turns: u64) {
        // SAFETY: `widest` gives only loops that this processor has the features for; they need nothing else.
        unsafe { (self.run)(turns) }
    }
}

/// Operations per second of one thread.
pub(super) fn one(width: Width, until: Instant) -> Option<Rate> {
    let widest = widest(width)?;
    let turns = fill(until, |turns| widest.run(turns));
    repeat(until, turns.saturating_mul(widest.operations), || widest.run(turns))
}

/// Operations with 8-byte numbers per second of so many threads together. Each has units of its own, so what each can do adds up.
pub(super) fn all(threads: u32, until: Instant) -> Option<Rate> {
    let rates = team::each(threads, |_| one(Width::Eight, until))?;
    let first = *rates.first()?;
    Some(rates[1..].iter().fold(first, |sum, rate| Rate {
        per_second: sum.per_second.saturating_add(rate.per_second),
        usual: sum.usual.saturating_add(rate.usual),
        spread_permille: sum.spread_permille.max(rate.spread_permille),
        source: sum.source,
    }))
}

#[cfg(target_arch = "x86_64")]
use machine::widest;
#[cfg(not(target_arch = "x86_64"))]
use portable::widest;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // machine code
mod machine {
    use std::arch::{asm, is_x86_feature_detected};

    use super::{CHAINS, Loop, Width};

    /// The loop with the widest registers that this processor has.
    pub(super) fn widest(width: Width) -> Option<Loop> {
        let eight = width == Width::Eight;
        let (run, bytes): (unsafe fn(u64), u64) = if is_x86_feature_detected!("avx512f") {
            (if eight { zmm_eight } else { zmm_four }, 64)
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            (if eight { ymm_eight } else { ymm_four }, 32)
        } else {
            (if eight { xmm_eight } else { xmm_four }, 16)
        };
        let numbers = bytes / if eight { 8 } else { 4 };
        Some(Loop { run, operations: CHAINS * numbers * 2 })
    }

    /// One line for each chain.
    macro_rules! each_chain {
        ($before:literal, $after:literal) => {
            concat!(
                $before, "0", $after, "\n", $before, "1", $after, "\n", $before, "2", $after, "\n",
                $before, "3", $after, "\n", $before, "4", $after, "\n", $before, "5", $after, "\n",
                $before, "6", $after, "\n", $before, "7", $after, "\n", $before, "8", $after, "\n",
                $before, "9", $after, "\n", $before, "10", $after, "\n", $before, "11", $after
            )
        };
    }

    /// The chains are in registers 0 to 11, the factor in 12, the summand in 13.
    macro_rules! chains {
        ($name:ident, $number:ty, $features:literal, $load_factor:literal, $load_summand:literal, $begin:expr, $turn:expr, $end:literal) => {
            #[target_feature(enable = $features)]
            fn $name(turns: u64) {
                let (factor, summand): ([$number; 4], [$number; 4]) = ([0.999; 4], [0.000_001; 4]);
                // SAFETY: reads the constants, changes registers that a C function may change, and counts down from at least one.
                unsafe {
                    asm!(
                        $load_factor,
                        $load_summand,
                        $begin,
                        "2:",
                        $turn,
                        "sub rcx, 1",
                        "jnz 2b",
                        $end,
                        factor = in(reg) &factor,
                        summand = in(reg) &summand,
                        inout("rcx") turns.max(1) => _,
                        clobber_abi("C"),
                        options(nostack, readonly),
                    );
                }
            }
        };
    }

    chains!(
        zmm_eight,
        f64,
        "avx512f",
        "vbroadcastsd zmm12, [{factor}]",
        "vbroadcastsd zmm13, [{summand}]",
        each_chain!("vmovapd zmm", ", zmm13"),
        each_chain!("vfmadd213pd zmm", ", zmm12, zmm13"),
        "vzeroupper"
    );
    chains!(
        zmm_four,
        f32,
        "avx512f",
        "vbroadcastss zmm12, [{factor}]",
        "vbroadcastss zmm13, [{summand}]",
        each_chain!("vmovapd zmm", ", zmm13"),
        each_chain!("vfmadd213ps zmm", ", zmm12, zmm13"),
        "vzeroupper"
    );
    chains!(
        ymm_eight,
        f64,
        "avx2,fma",
        "vbroadcastsd ymm12, [{factor}]",
        "vbroadcastsd ymm13, [{summand}]",
        each_chain!("vmovapd ymm", ", ymm13"),
        each_chain!("vfmadd213pd ymm", ", ymm12, ymm13"),
        "vzeroupper"
    );
    chains!(
        ymm_four,
        f32,
        "avx2,fma",
        "vbroadcastss ymm12, [{factor}]",
        "vbroadcastss ymm13, [{summand}]",
        each_chain!("vmovapd ymm", ", ymm13"),
        each_chain!("vfmadd213ps ymm", ", ymm12, ymm13"),
        "vzeroupper"
    );
    // Without a joint instruction: first all products, then all sums.
    chains!(
        xmm_eight,
        f64,
        "sse2",
        "movups xmm12, [{factor}]",
        "movups xmm13, [{summand}]",
        each_chain!("movaps xmm", ", xmm13"),
        concat!(each_chain!("mulpd xmm", ", xmm12"), "\n", each_chain!("addpd xmm", ", xmm13")),
        ""
    );
    chains!(
        xmm_four,
        f32,
        "sse2",
        "movups xmm12, [{factor}]",
        "movups xmm13, [{summand}]",
        each_chain!("movaps xmm", ", xmm13"),
        concat!(each_chain!("mulps xmm", ", xmm12"), "\n", each_chain!("addps xmm", ", xmm13")),
        ""
    );
}

/// What a compiler makes of the same chains. In a build without optimisation it says nothing about the machine, and is left out.
#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use std::hint::black_box;

    use super::{CHAINS, Loop, Width};

    const NUMBERS: u64 = 4;

    pub(super) fn widest(width: Width) -> Option<Loop> {
        if cfg!(debug_assertions) {
            return None;
        }
        let (run, numbers): (unsafe fn(u64), u64) = match width {
            Width::Eight => (eight, NUMBERS),
            Width::Four => (four, NUMBERS * 2),
        };
        Some(Loop { run, operations: CHAINS * numbers * 2 })
    }

    fn eight(turns: u64) {
        let mut chains = [0.000_001_f64; (CHAINS * NUMBERS) as usize];
        for _ in 0..turns {
            chains.iter_mut().for_each(|x| *x = x.mul_add(0.999, 0.000_001));
        }
        black_box(chains);
    }

    fn four(turns: u64) {
        let mut chains = [0.000_001_f32; (CHAINS * NUMBERS * 2) as usize];
        for _ in 0..turns {
            chains.iter_mut().for_each(|x| *x = x.mul_add(0.999, 0.000_001));
        }
        black_box(chains);
    }
}
