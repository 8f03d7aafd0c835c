//! A claim of what is free, its release, its renewal and a look at its state make no system call, though other processes share the table.
//! The proof is the kernel's: the thread that makes them has given up all calls but `write` and `exit_group`, and its process would be
//! killed for any other.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::time::Duration;

use ternlease::{LeaseManager, LeaseState};

const TIMES: usize = 1000;
const DONE: &[u8] = b"done";

fn descriptors() -> (File, i32) {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the first is new, and belongs to nobody else.
    (unsafe { File::from_raw_fd(ends[0]) }, ends[1])
}

fn use_it(manager: &LeaseManager) {
    let lease = manager.acquire("gpu0", "holder", Duration::from_secs(3600)).expect("it is free");
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    manager.renew(lease).expect("it is held");
    manager.release(lease).expect("it is held");
}

/// Gives up all system calls but two, for this thread.
fn give_up_system_calls() {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};
    let step = |code: u32, yes, no, k| libc::sock_filter { code: code as u16, jt: yes, jf: no, k };
    let mut steps = [
        // The number of the call comes first in what a filter sees.
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, libc::SYS_write as u32),
        step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, libc::SYS_exit_group as u32),
        step(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter is valid, and the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

/// What the child does: it must not return into the test.
fn without_system_calls(url: &str, end: i32, forbidden: bool) -> ! {
    let manager = LeaseManager::open(url).expect("it can be opened");
    (0..TIMES).for_each(|_| use_it(&manager));
    give_up_system_calls();
    if forbidden {
        // SAFETY: takes and changes nothing.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    (0..TIMES).for_each(|_| use_it(&manager));
    // SAFETY: the bytes are valid. Ends the process.
    unsafe {
        libc::write(end, DONE.as_ptr().cast(), DONE.len());
        libc::_exit(0)
    }
}

/// Did the child come to its end?
fn comes_to_its_end(name: &str, forbidden: bool) -> bool {
    let path = format!("/dev/shm/ternlease-quiet-{name}-{}", std::process::id());
    let url = format!("host:{path}");
    let other = LeaseManager::open(&url).expect("it can be made");
    let (mut input, end) = descriptors();
    // SAFETY: the child uses what is its own: a new manager, and the end of a pipe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        without_system_calls(&url, end, forbidden);
    }
    assert!(child > 0);
    // SAFETY: it is this function's own.
    unsafe { libc::close(end) };
    let mut said = Vec::new();
    input.read_to_end(&mut said).expect("it can be read until the child has ended");
    // SAFETY: the child is this function's own.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    drop(other);
    std::fs::remove_file(path).expect("it is there");
    said == DONE
}

/// A keeper may have the lock just then, for which the kernel is asked to wait. Once is proof enough: nobody had it.
#[test]
fn what_is_free_is_had_without_a_system_call() {
    let quiet = (0..100).any(|_| comes_to_its_end("free", false));
    assert!(quiet, "a call that is not allowed was made each time");
    assert!(!comes_to_its_end("noticed", true), "the kernel forbids nothing");
}
