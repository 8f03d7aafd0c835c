//! What a processor of this sort usually does: until somebody has measured, or where nobody may.

use crate::cost::rates::{Rate, Rates};

/// If a processor does not say how fast its clock is.
const USUAL_MHZ: u32 = 2500;
const GB: u64 = 1_000_000_000;

pub(in crate::cost) fn estimated(threads: u32, mhz: u32) -> Rates {
    rates(threads, mhz, flops_per_cycle(), hashes_in_hardware())
}

/// Of eight cores at 3 GHz, with registers of 32 bytes, wherever this runs.
pub(in crate::cost) fn example() -> Rates {
    rates(8, 3000, 16, true)
}

fn rates(threads: u32, mhz: u32, flops_per_cycle: u64, hashes: bool) -> Rates {
    let hertz = u64::from(if mhz == 0 { USUAL_MHZ } else { mhz }) * 1_000_000;
    let rate = |per_cycle_in_tenths: u64| Rate::estimated(hertz / 10 * per_cycle_in_tenths);
    let all =
        |one: Rate, most: u64| Rate::estimated((one.per_second * u64::from(threads)).min(most));
    let flop64 = rate(flops_per_cycle * 10);
    let (read, triad, copy) =
        (Rate::estimated(10 * GB), Rate::estimated(10 * GB), Rate::estimated(6 * GB));
    Rates {
        flop64,
        flop64_all: flop64.times(threads.into()),
        flop32: flop64.times(2),
        read,
        read_all: all(read, 40 * GB),
        triad,
        triad_all: all(triad, 40 * GB),
        copy,
        copy_all: all(copy, 20 * GB),
        scalar: rate(10),
        parse: rate(2),
        hash: rate(if hashes { 5 } else { 1 }),
        compare: rate(13),
        shift: rate(15),
        bytes: rate(10),
    }
}

/// Of one core, with two units of the widest registers that it has.
#[cfg(target_arch = "x86_64")]
fn flops_per_cycle() -> u64 {
    use std::arch::is_x86_feature_detected;
    if is_x86_feature_detected!("avx512f") {
        32
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        16
    } else {
        4
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn flops_per_cycle() -> u64 {
    8
}

#[cfg(target_arch = "x86_64")]
fn hashes_in_hardware() -> bool {
    std::arch::is_x86_feature_detected!("sha")
}

#[cfg(not(target_arch = "x86_64"))]
fn hashes_in_hardware() -> bool {
    cfg!(target_arch = "aarch64")
}
