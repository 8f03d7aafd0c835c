//! The harness that kills a process between any two instructions does so: half-done work is seen, and nothing else is held up.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "common/trace.rs"]
mod trace;

use std::collections::BTreeSet;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trace::{Stop, Traced, mark};

/// Two words that this process shares with its forks.
type Words = &'static [AtomicU64; 2];

fn words() -> Words {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: fresh memory wherever the kernel likes.
    let at = unsafe { libc::mmap(null_mut(), size_of::<[AtomicU64; 2]>(), access, kind, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    // SAFETY: it is large enough, zeros are atomics, and it stays for as long as the process.
    unsafe { &*at.cast() }
}

/// Not one instruction, on purpose.
fn add_one(word: &AtomicU64) {
    word.store(word.load(Relaxed) + 1, Relaxed);
}

/// A fork that adds one to two words, stopped just before.
fn adds_to_both(words: Words) -> Traced {
    let mut traced = Traced::fork(|| {
        mark();
        add_one(&words[0]);
        add_one(&words[1]);
        mark();
    });
    assert_eq!(traced.run_to_mark(), Stop::Mark);
    traced
}

fn count_steps(traced: &mut Traced) -> usize {
    std::iter::from_fn(|| (traced.step() == Stop::Step).then_some(())).count()
}

#[test]
fn killed_at_each_instruction() {
    trace::stay_on_one_processor();
    let words = words();
    let whole = count_steps(&mut adds_to_both(words));
    assert_eq!((words[0].load(Relaxed), words[1].load(Relaxed)), (1, 1));

    let mut seen = Vec::new();
    for count in 0..=whole {
        words.iter().for_each(|word| word.store(0, Relaxed));
        let mut traced = adds_to_both(words);
        assert_eq!(traced.steps(count), Stop::Step, "instruction {count} of {whole}");
        traced.kill();
        seen.push((words[0].load(Relaxed), words[1].load(Relaxed)));
    }
    let distinct: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(distinct, [(0, 0), (1, 0), (1, 1)].into(), "untouched, torn and whole");
    assert!(seen.is_sorted(), "one instruction more never does less: {seen:?}");
}

/// Running to an address for the so many-th time comes to the same place as going there step by step.
#[test]
fn in_leaps_as_in_steps() {
    trace::stay_on_one_processor();
    let words = words();
    let adds = || {
        words.iter().for_each(|word| word.store(0, Relaxed));
        let mut traced = Traced::fork(|| {
            mark();
            (0..3).for_each(|_| add_one(&words[0]));
            mark();
        });
        assert_eq!(traced.run_to_mark(), Stop::Mark);
        traced
    };
    let mut path = Vec::new();
    let mut traced = adds();
    loop {
        path.push((traced.address(), words[0].load(Relaxed)));
        if traced.step() == Stop::Mark {
            break;
        }
    }
    let (end, value) = path[path.len() - 1];
    assert_eq!(value, 3);
    for (index, &(address, value)) in path.iter().enumerate().step_by(7) {
        let times = path[..=index].iter().filter(|(other, _)| *other == address).count();
        let mut traced = adds();
        assert_eq!(traced.run_to(address, times), Stop::Step);
        assert_eq!((traced.address(), words[0].load(Relaxed)), (address, value), "step {index}");
        assert_eq!(traced.steps(path.len() - 1 - index), Stop::Step);
        assert_eq!((traced.address(), traced.step()), (end, Stop::Mark));
    }
    let mut traced = adds();
    assert_eq!(traced.run_to(end, 2), Stop::Mark, "it comes there only once");
}

#[test]
fn only_one_thread_is_held_up() {
    let words = words();
    let mut traced = Traced::fork(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while words[1].load(Relaxed) == 0 {
                    add_one(&words[0]);
                }
            });
            mark();
            add_one(&words[1]);
        });
    });
    assert_eq!(traced.run_to_mark(), Stop::Mark);
    // The first thread stands still: what goes on is the other one.
    let before = words[0].load(Relaxed);
    while words[0].load(Relaxed) < before + 1000 {
        std::thread::yield_now();
    }
    assert_eq!(words[1].load(Relaxed), 0);
    traced.kill();
    // Both are gone.
    let before = words[0].load(Relaxed);
    (0..1000).for_each(|_| std::thread::yield_now());
    assert_eq!(words[0].load(Relaxed), before);
}

#[test]
fn a_system_call_is_one_instruction() {
    let words = words();
    let mut traced = Traced::fork(|| {
        mark();
        // SAFETY: asks for a number.
        let number = unsafe { libc::syscall(libc::SYS_getppid) };
        words[0].store(number as u64, Relaxed);
        mark();
    });
    assert_eq!(traced.run_to_mark(), Stop::Mark);
    let mut calls = 0;
    loop {
        calls += usize::from(traced.is_call(traced.address()));
        if traced.step() != Stop::Step {
            break;
        }
    }
    assert_eq!(calls, 1);
    assert_eq!(words[0].load(Relaxed), u64::from(std::process::id()));
    assert!(traced.finish());
}

#[test]
fn stops_are_calls_and_writes_to_what_is_watched() {
    let words = words();
    let mut traced = Traced::fork(|| {
        mark();
        (0..3).for_each(|_| add_one(&words[0]));
        // SAFETY: asks for a number.
        unsafe { libc::syscall(libc::SYS_getppid) };
        add_one(&words[1]);
        mark();
    });
    assert_eq!(traced.run_to_mark(), Stop::Mark);
    traced.watch(words[0].as_ptr() as usize);
    let mut seen = Vec::new();
    while traced.run_to_stop() == Stop::Step {
        seen.push((words[0].load(Relaxed), words[1].load(Relaxed)));
    }
    // Three writes, then before the call and after it.
    assert_eq!(seen, [(1, 0), (2, 0), (3, 0), (3, 0), (3, 0)]);
    assert!(traced.finish());
}

#[test]
fn a_process_that_fails_says_so() {
    assert!(Traced::fork(|| ()).finish());
    assert!(!Traced::fork(|| std::process::abort()).finish());
    assert_eq!(Traced::fork(|| ()).run_to_mark(), Stop::Ended);
    assert_eq!(Traced::fork(|| std::process::abort()).run_to_mark(), Stop::Ended);
}

#[test]
fn what_is_not_needed_any_more_is_killed() {
    let pid = Traced::fork(|| ()).pid();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}
