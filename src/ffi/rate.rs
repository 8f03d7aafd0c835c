//! Rate: how much of something a machine does in a second.
//!
//!     tern_rate_t rate = tern_rate_init();
//!     if (tern_machine_rate(machine, TERN_RATE_FLOP64_ALL, &rate, &err) == TERN_OK)
//!         printf("%" PRIu64 " operations per second\n", rate.per_second);

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::machine::{Machine, tern_machine_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use crate::MachCap;
use crate::cost::{Rate, Source};

/// What is done in a second: operations or bytes; by one thread, or by all that this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_rate_of_t {
    /// Floating-point operations with 8-byte numbers, one thread.
    TERN_RATE_FLOP64 = 0,
    /// The same, all threads.
    TERN_RATE_FLOP64_ALL = 1,
    /// Floating-point operations with 4-byte numbers, one thread.
    TERN_RATE_FLOP32 = 2,
    /// Bytes read from memory, one thread.
    TERN_RATE_READ = 3,
    /// The same, all threads.
    TERN_RATE_READ_ALL = 4,
    /// Bytes of a = b + s * c in memory, one thread: two arrays read, one written.
    TERN_RATE_TRIAD = 5,
    /// The same, all threads.
    TERN_RATE_TRIAD_ALL = 6,
    /// Bytes copied in memory, one thread.
    TERN_RATE_COPY = 7,
    /// The same, all threads.
    TERN_RATE_COPY_ALL = 8,
    /// Plain operations on whole numbers, one thread.
    TERN_RATE_SCALAR = 9,
    /// Bytes of text taken apart, one thread.
    TERN_RATE_PARSE = 10,
    /// Bytes put through SHA-256, one thread.
    TERN_RATE_HASH = 11,
    /// Operations of a sort, as tern_cost_sort() counts them, one thread.
    TERN_RATE_COMPARE = 12,
    /// Bytes that a sort moves, as counted there, one thread.
    TERN_RATE_SHIFT = 13,
    /// Bytes that a plain loop looks at, one thread.
    TERN_RATE_BYTES = 14,
    /// Bytes written to the disk with the results.
    TERN_RATE_DISK_WRITE = 15,
    /// Bytes read from it.
    TERN_RATE_DISK_READ = 16,
}

/// Where a figure comes from, and so how far it may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_source_t {
    /// Measured, often enough.
    TERN_SOURCE_MEASURED = 1,
    /// Measured, but less often than needed, or with arrays that may have stayed in a cache.
    TERN_SOURCE_ROUGH = 2,
    /// Worked out from what the processor says of itself.
    TERN_SOURCE_ESTIMATED = 3,
}

use tern_source_t::*;

/// How much of something is done in a second. Make it with tern_rate_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_rate_t {
    /// sizeof(tern_rate_t)
    pub struct_size: usize,
    /// What the machine can do: nine of ten measurements gave less.
    pub per_second: u64,
    /// What it did while it was measured, beside everything else that it was doing: the middle one.
    pub usual: u64,
    /// How far measurements lay apart, in thousandths: the middle half of them, beside the middle one.
    pub spread_permille: u32,
    /// TERN_SOURCE_…: where it comes from.
    pub source: i32,
}

// SAFETY: integers only; 3 times 8 and 2 times 4 bytes have no padding.
unsafe impl Plain for tern_rate_t {}

fn rate(rate: Rate) -> tern_rate_t {
    let source = match rate.source {
        Source::Measured => TERN_SOURCE_MEASURED,
        Source::Rough => TERN_SOURCE_ROUGH,
        Source::Estimated => TERN_SOURCE_ESTIMATED,
    };
    tern_rate_t {
        struct_size: 0,
        per_second: rate.per_second,
        usual: rate.usual,
        spread_permille: rate.spread_permille,
        source: source as i32,
    }
}

/// The rates in the order of their numbers.
fn rate_of(machine: &MachCap, which: i32) -> Option<Rate> {
    let named = machine.rates.named().map(|(_, rate)| rate);
    let disk = [machine.disk.write, machine.disk.read];
    named.into_iter().chain(disk).nth(usize::try_from(which).ok()?)
}

/// How fast the machine is at something: TERN_RATE_…
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_rate(
    machine: *const tern_machine_t,
    which: i32,
    rate: *mut tern_rate_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let size = sized::room(rate, "rate")?;
            let problem =
                || Failure::argument(TERN_ERR_BAD_VALUE, "which", "is none that is known");
            let found = rate_of(&machine.0.read(), which).ok_or_else(problem)?;
            sized::store(rate, size, &self::rate(found));
            Ok(TERN_OK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::tern_rate_of_t::*;
    use super::*;
    use crate::cost::ReadOptions;

    #[test]
    fn rates_have_the_numbers_of_their_places() {
        let options = ReadOptions::new().without_benchmarks();
        let mut machine = MachCap::read_with("/", options).unwrap();
        let mut number = 0;
        let mut next = |rate: &mut Rate| {
            number += 1;
            rate.per_second = number;
        };
        let crate::cost::Rates {
            flop64,
            flop64_all,
            flop32,
            read,
            read_all,
            triad,
            triad_all,
            copy,
            copy_all,
            scalar,
            parse,
            hash,
            compare,
            shift,
            bytes,
        } = &mut machine.rates;
        let of = [
            (TERN_RATE_FLOP64, flop64),
            (TERN_RATE_FLOP64_ALL, flop64_all),
            (TERN_RATE_FLOP32, flop32),
            (TERN_RATE_READ, read),
            (TERN_RATE_READ_ALL, read_all),
            (TERN_RATE_TRIAD, triad),
            (TERN_RATE_TRIAD_ALL, triad_all),
            (TERN_RATE_COPY, copy),
            (TERN_RATE_COPY_ALL, copy_all),
            (TERN_RATE_SCALAR, scalar),
            (TERN_RATE_PARSE, parse),
            (TERN_RATE_HASH, hash),
            (TERN_RATE_COMPARE, compare),
            (TERN_RATE_SHIFT, shift),
            (TERN_RATE_BYTES, bytes),
            (TERN_RATE_DISK_WRITE, &mut machine.disk.write),
            (TERN_RATE_DISK_READ, &mut machine.disk.read),
        ];
        let of = of.map(|(code, rate)| {
            next(rate);
            (code, rate.per_second)
        });
        for (code, expected) in of {
            assert_eq!(rate_of(&machine, code as i32).unwrap().per_second, expected, "{code:?}");
        }
        assert_eq!((rate_of(&machine, -1), rate_of(&machine, 17)), (None, None));
    }
}
