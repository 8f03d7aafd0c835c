//! Going over memory once. In machine code, so that it is done as written whatever the build; the narrow registers that every processor of the
//! family has are wide enough, as memory is what takes the time.

/// Do the passes below say something about the machine, or about how this library was built?
pub(super) const TELL_OF_THE_MACHINE: bool =
    cfg!(target_arch = "x86_64") || !cfg!(debug_assertions);

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // machine code
mod machine {
    use std::arch::asm;

    /// Bytes that a turn reads of an array.
    const TURN: usize = 64;

    /// Reads every byte.
    pub fn read(from: &[f64]) {
        let bytes = size_of_val(from) / TURN * TURN;
        if bytes == 0 {
            return;
        }
        // SAFETY: reads `bytes`, a multiple of 64 and not zero, from the beginning of the slice, which has as many.
        unsafe {
            asm!(
                "2:",
                "movups xmm0, [rsi]",
                "movups xmm1, [rsi + 16]",
                "movups xmm2, [rsi + 32]",
                "movups xmm3, [rsi + 48]",
                "add rsi, 64",
                "sub rcx, 64",
                "jnz 2b",
                inout("rsi") from.as_ptr() => _,
                inout("rcx") bytes => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                options(nostack, readonly),
            );
        }
    }

    /// `a = b + 3 * c`
    pub fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
        let bytes = size_of_val(a).min(size_of_val(b)).min(size_of_val(c)) / TURN * TURN;
        if bytes == 0 {
            return;
        }
        let factor = [3.0_f64; 2];
        // SAFETY: reads and writes `bytes`, a multiple of 64 and not zero, from the beginning of three slices, each of which has as many;
        // the one that is written is borrowed alone.
        unsafe {
            asm!(
                "movups xmm4, [{factor}]",
                "2:",
                "movups xmm0, [r8 + rax]",
                "movups xmm1, [r8 + rax + 16]",
                "movups xmm2, [r8 + rax + 32]",
                "movups xmm3, [r8 + rax + 48]",
                "mulpd xmm0, xmm4",
                "mulpd xmm1, xmm4",
                "mulpd xmm2, xmm4",
                "mulpd xmm3, xmm4",
                "movups xmm5, [rsi + rax]",
                "movups xmm6, [rsi + rax + 16]",
                "movups xmm7, [rsi + rax + 32]",
                "movups xmm8, [rsi + rax + 48]",
                "addpd xmm0, xmm5",
                "addpd xmm1, xmm6",
                "addpd xmm2, xmm7",
                "addpd xmm3, xmm8",
                "movups [rdi + rax], xmm0",
                "movups [rdi + rax + 16], xmm1",
                "movups [rdi + rax + 32], xmm2",
                "movups [rdi + rax + 48], xmm3",
                "add rax, 64",
                "cmp rax, rcx",
                "jb 2b",
                factor = in(reg) &factor,
                in("rdi") a.as_mut_ptr(),
                in("rsi") b.as_ptr(),
                in("r8") c.as_ptr(),
                in("rcx") bytes,
                inout("rax") 0_usize => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                options(nostack),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    use std::hint::black_box;

    /// Reads every byte.
    pub fn read(from: &[f64]) {
        let sums = from.chunks_exact(8).fold([0_u64; 8], |mut sums, chunk| {
            sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum ^= x.to_bits());
            sums
        });
        black_box(sums);
    }

    /// `a = b + 3 * c`
    pub fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
        a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = b + 3.0 * c);
    }
}

pub(super) use machine::{read, triad};

/// Asks for large pages for the memory that an array has reserved: getting it then takes less time than measuring it. They may be refused.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)] // the system call
pub(super) fn advise_huge_pages(array: &mut Vec<f64>) {
    const PAGE: usize = 4096;
    let begin = (array.as_mut_ptr() as usize).next_multiple_of(PAGE);
    let end = (array.as_mut_ptr() as usize + array.capacity() * size_of::<f64>()) / PAGE * PAGE;
    if begin < end {
        // SAFETY: whole pages of memory that belong to this array alone; the advice does not change what is in them.
        unsafe { libc::madvise(begin as *mut _, end - begin, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn advise_huge_pages(_: &mut Vec<f64>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triad_is_one() {
        let (b, c): (Vec<f64>, Vec<f64>) = (0..1024).map(|n| (n as f64, 2.0 * n as f64)).unzip();
        let mut a = vec![0.0; 1024];
        triad(&mut a, &b, &c);
        assert!(a.iter().enumerate().all(|(n, &x)| x == 7.0 * n as f64));
    }

    #[test]
    fn odd_lengths_do_no_harm() {
        for len in 0..20 {
            let (mut a, b) = (vec![0.0; len], vec![1.0; len + 9]);
            read(&b);
            triad(&mut a, &b, &b);
            assert!(a.iter().take(len / 8 * 8).all(|&x| x == 4.0));
        }
    }
}
