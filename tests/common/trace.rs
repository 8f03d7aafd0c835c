//! Running a process instruction by instruction, and killing it between any two of them.
//!
//! The process is a fork of the test. Only its first thread is traced: what other threads it starts run freely, as they would. It says by
//! [`mark`] where the part that matters begins and ends.
#![allow(dead_code)] // Not every test needs all of it.

use std::ffi::c_long;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// A stop of a traced process that it asks for itself.
#[inline(always)]
pub fn mark() {
    // SAFETY: a breakpoint changes nothing; whoever traces this process goes on after it.
    unsafe { std::arch::asm!("int3", options(nomem, nostack, preserves_flags)) }
}

/// Where a process stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Where it was to go: one instruction further on, or further.
    Step,
    /// At a [`mark`].
    Mark,
    /// It is gone: it came to its end, or something ended it.
    Ended,
}

/// A process that runs only when it is told to. It dies with its owner, whatever happens to that.
#[derive(Debug)]
pub struct Traced {
    pid: libc::pid_t,
    gone: bool,
}

impl Traced {
    /// A fork of this process that does the work and ends. It is stopped before it has begun.
    ///
    /// Of the threads only the calling one is in the fork, and only that one can go on with it here.
    pub fn fork(work: impl FnOnce()) -> Traced {
        // SAFETY: the child does its work and ends without going back to the test; the allocator is fit for that.
        let pid = unsafe { libc::fork() };
        assert_ne!(pid, -1, "cannot fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            be_traced(work);
        }
        let traced = Traced { pid, gone: false };
        let status = traced.wait();
        assert!(libc::WIFSTOPPED(status), "processes cannot be traced here");
        let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
        traced.ask(libc::PTRACE_SETOPTIONS, options as usize);
        traced
    }

    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Runs to the next mark.
    pub fn run_to_mark(&mut self) -> Stop {
        self.go_on(libc::PTRACE_CONT)
    }

    /// One instruction. A system call is one, too.
    pub fn step(&mut self) -> Stop {
        self.go_on(libc::PTRACE_SINGLESTEP)
    }

    /// So many instructions, or to the next mark if that comes first.
    pub fn steps(&mut self, count: usize) -> Stop {
        let mut stops = (0..count).map(|_| self.step());
        stops.find(|&stop| stop != Stop::Step).unwrap_or(Stop::Step)
    }

    /// Runs until it is for the so many-th time about to do the instruction at this address, or to the next mark if that comes first.
    ///
    /// That is a step at a time as far as anybody can see, only faster: the processor looks out for the address.
    pub fn run_to(&mut self, address: usize, times: usize) -> Stop {
        self.look_out(address, 1);
        let mut stops = (0..times).map(|_| self.go_on(libc::PTRACE_CONT));
        let stop = stops.find(|&stop| stop != Stop::Step).unwrap_or(Stop::Step);
        if stop != Stop::Ended {
            self.look_out(0, 0);
        }
        stop
    }

    /// From now on, [`run_to_stop`](Self::run_to_stop) stops when the thread has written to the four bytes at this address.
    pub fn watch(&mut self, address: usize) {
        self.look_out(address, 1 | 0b1101 << 16);
    }

    /// Runs to the next system call, to the end of one, or until it has written to what is watched; or to the next mark if that comes first.
    pub fn run_to_stop(&mut self) -> Stop {
        self.go_on(libc::PTRACE_SYSCALL)
    }

    /// The processor has registers for addresses that it looks out for in this thread, and one that says how.
    fn look_out(&self, address: usize, how: usize) {
        let register = |number: usize| offset_of!(libc::user, u_debugreg) + 8 * number;
        for (number, value) in [(7, 0), (0, address), (7, how)] {
            let set = self.ask_at(libc::PTRACE_POKEUSER, register(number), value);
            assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
        }
    }

    /// The address of the next instruction.
    pub fn address(&self) -> usize {
        self.ask_at(libc::PTRACE_PEEKUSER, offset_of!(libc::user_regs_struct, rip), 0) as usize
    }

    /// Is the instruction at this address a system call?
    pub fn is_call(&self, address: usize) -> bool {
        self.ask_at(libc::PTRACE_PEEKTEXT, address, 0) as u16 == u16::from_le_bytes([0x0f, 0x05])
    }

    /// Kills it where it is. When this returns, nothing is left of it: not one thread, not one open file.
    pub fn kill(mut self) {
        self.end();
    }

    /// Lets it come to its end; did it succeed? Its marks do not hold it up.
    pub fn finish(mut self) -> bool {
        let mut signal = 0;
        loop {
            self.ask(libc::PTRACE_CONT, signal as usize);
            let status = self.wait();
            if !libc::WIFSTOPPED(status) {
                self.gone = true;
                return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
            }
            // What is not a mark of ours is for the process itself, such as the end of one that aborts.
            let stop = libc::WSTOPSIG(status);
            signal = if stop == libc::SIGTRAP { 0 } else { stop };
        }
    }

    fn go_on(&mut self, how: u32) -> Stop {
        self.ask(how, 0);
        let status = self.wait();
        if !libc::WIFSTOPPED(status) {
            self.gone = true;
            return Stop::Ended;
        }
        let signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP | 0x80 {
            // The option says that system calls are told in this way.
            return Stop::Step;
        }
        if signal != libc::SIGTRAP {
            eprintln!("process {} is ended by signal {signal}", self.pid);
            self.end();
            return Stop::Ended;
        }
        // SAFETY: all zeros are such a record.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let place = &raw mut info;
        // SAFETY: the place is valid, and the process is ours and stopped.
        let done =
            unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, self.pid, null_mut::<u8>(), place) };
        assert_eq!(done, 0);
        // The kernel says so of breakpoints, and of no step.
        if info.si_code == libc::SI_KERNEL { Stop::Mark } else { Stop::Step }
    }

    fn wait(&self) -> i32 {
        let mut status = 0;
        // SAFETY: waits for a child of ours, and the place is valid.
        let pid = unsafe { libc::waitpid(self.pid, &mut status, libc::__WALL) };
        assert_eq!(pid, self.pid, "{}", std::io::Error::last_os_error());
        status
    }

    fn ask(&self, request: u32, data: usize) {
        // SAFETY: a request without places in memory, about a process that is ours and stopped.
        let answer = unsafe { libc::ptrace(request, self.pid, null_mut::<u8>(), data) };
        assert_eq!(answer, 0, "request {request}: {}", std::io::Error::last_os_error());
    }

    fn ask_at(&self, request: u32, place: usize, data: usize) -> c_long {
        // SAFETY: a word of a process that is ours and stopped; a bad place is an error.
        unsafe { libc::ptrace(request, self.pid, place, data) }
    }

    fn end(&mut self) {
        if !self.gone {
            self.gone = true;
            // SAFETY: it is ours, and nobody has waited for its end, so the number is still its own.
            assert_eq!(unsafe { libc::kill(self.pid, libc::SIGKILL) }, 0);
            // It may have ended by itself a moment before, or may have been about to stop.
            while libc::WIFSTOPPED(self.wait()) {}
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.end();
    }
}

fn be_traced(work: impl FnOnce()) -> ! {
    // SAFETY: asks to be traced by the parent, and waits for it; or ends this process.
    unsafe {
        if libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) != 0 {
            libc::_exit(2);
        }
        libc::raise(libc::SIGSTOP);
    }
    // What the test harness would keep for the report of this test is lost with this process.
    std::panic::set_hook(Box::new(|panic| {
        let text = format!("in the traced process: {panic}\n");
        // SAFETY: writes the text.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }));
    let done = catch_unwind(AssertUnwindSafe(work)).is_ok();
    // SAFETY: ends this process at once.
    unsafe { libc::_exit(if done { 0 } else { 1 }) }
}

/// Keeps this thread, and what it starts from now on, on one processor. A step is then several times as fast: nobody has to be woken
/// elsewhere.
pub fn stay_on_one_processor() {
    // SAFETY: a set of processors is bits, so all zeros are one; the place is valid.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        // If that is refused, it only takes longer.
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}
