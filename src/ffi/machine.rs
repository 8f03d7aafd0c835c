//! Machine: what this machine can do.
//!
//! A machine is read once: the operating system is asked, and the processor and its memory are measured, for 300 ms unless the options say
//! otherwise. After that it is a handle on figures: predictions from it take no time, start no thread and ask nobody. It is safe to use
//! from any thread. In a child after fork() it is TERN_ERR_FORKED as every handle is; reading it again there with
//! TERN_MACHINE_NO_BENCHMARKS, or with what was kept, takes a moment.
//!
//!     tern_machine_t *machine = NULL;
//!     if (tern_machine_read(TERN_STR("/var/cache/results"), NULL, &machine, &err) != TERN_OK)
//!         die(err.message);
//!     tern_verdict_t verdict = tern_verdict_init();
//!     if (tern_machine_verdict(machine, &task, &verdict, &err) == TERN_OK)
//!         printf("%s\n", verdict.words); // "compute", "fetch", "must compute (no network)"
//!     tern_machine_close(machine);

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::time::Duration;

use parking_lot::RwLock;

use super::boundary::{close, without};
use super::error::{Failure, tern_error_t};
use super::handle::{Closed, Handle, Object};
use super::pool::time;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{inline_text, required, text};
use crate::MachCap;
use crate::cost::{Progress, ReadOptions};

/// What this machine can do.
pub struct tern_machine_t {
    _private: [u8; 0],
}

/// Is called with what tern_machine_options_t has as `user`: this is being measured now, `done` of `of` steps are done. By the thread that reads
/// the machine, before that call returns. The text is there during the call only. It must not throw an exception or jump out.
pub type tern_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, step: *const c_char, done: u32, of: u32)>;

/// How a machine is read; what is zero is as usual. Make it with tern_machine_options_init(). Times are in microseconds.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_machine_options_t {
    /// sizeof(tern_machine_options_t)
    pub struct_size: usize,
    /// TERN_MACHINE_…
    pub flags: u64,
    /// Measure the processor and the memory for at most so long; 0: 300 ms. In less figures are rougher, and in very little time they are
    /// estimates. More than a minute is a minute.
    pub budget_us: u64,
    /// Measure the disk, too, for at most so long: writes a file without a name into `store`, of 32 MiB at most, and reads it again.
    /// 0: do not. More than a minute is a minute.
    pub disk_budget_us: u64,
    /// Use nothing that was kept and is older; 0: seven days, TERN_FOREVER: of whatever age.
    pub max_age_us: u64,
    /// Keep what is measured in this file, and look for it there, instead of one in the user's cache directory. If it has no length: that one,
    /// by the environment variables XDG_CACHE_HOME and HOME.
    pub cache_file: *const c_char,
    /// Length of `cache_file`.
    pub cache_file_len: usize,
    /// Is told what is being measured; may be NULL.
    pub progress: tern_progress_fn,
    /// For `progress`.
    pub user: *mut c_void,
}

// SAFETY: integers and pointers only; 9 times 8 bytes have no padding.
unsafe impl Plain for tern_machine_options_t {}

/// Measure nothing: all rates are estimates. Takes no time.
pub const TERN_MACHINE_NO_BENCHMARKS: u64 = 1;
/// Do not ask for the network: there is none.
pub const TERN_MACHINE_NO_NETWORK: u64 = 2;
/// Keep what is measured, so that next time nothing needs to be. Without this, nothing is written. To measure anew and keep that: with a
/// max_age_us of 1.
pub const TERN_MACHINE_KEEP: u64 = 4;
/// Measure anew, whatever was kept. Not together with TERN_MACHINE_KEEP.
pub const TERN_MACHINE_REFRESH: u64 = 8;

/// A machine that can be taught while others ask it.
pub(super) struct Machine(pub RwLock<MachCap>);

impl Object for Machine {
    type Opaque = tern_machine_t;
    const KIND: u32 = 0x7e41_0005;

    fn closed() -> &'static Closed<Self> {
        static CLOSED: Closed<Machine> = Closed::new();
        &CLOSED
    }

    /// Nobody waits for it.
    fn poison(&self) {}

    /// Nothing runs beside it.
    fn finish(&self) {}
}

const LONGEST_PATH: usize = 4096;

/// A caller's path.
///
/// # Safety
/// The caller's contract; `'a` ends with the call.
unsafe fn path<'a>(
    data: *const c_char,
    len: usize,
    name: &'static str,
) -> Result<&'a str, Failure> {
    if len > LONGEST_PATH {
        return Err(Failure::argument(TERN_ERR_BAD_VALUE, name, "is too long"));
    }
    // SAFETY: as required.
    let found = unsafe { text(data, len, name) }?;
    match found.as_bytes().contains(&0) {
        false => Ok(found),
        true => Err(Failure::argument(TERN_ERR_BAD_VALUE, name, "has a zero byte in it")),
    }
}

/// How a caller wants a machine to be read, but for whom to tell.
///
/// # Safety
/// The caller's contract.
unsafe fn read_options<'a>(options: &tern_machine_options_t) -> Result<ReadOptions<'a>, Failure> {
    const KNOWN: u64 = TERN_MACHINE_NO_BENCHMARKS
        | TERN_MACHINE_NO_NETWORK
        | TERN_MACHINE_KEEP
        | TERN_MACHINE_REFRESH;
    let has = |flag| options.flags & flag != 0;
    let wrong = |problem| Failure::argument(TERN_ERR_BAD_VALUE, "options.flags", problem);
    if options.flags & !KNOWN != 0 {
        return Err(wrong("has unknown bits"));
    }
    if has(TERN_MACHINE_KEEP) && has(TERN_MACHINE_REFRESH) {
        return Err(wrong("asks to keep and not to; keep with a max_age_us of 1 measures anew"));
    }
    let mut made = ReadOptions::new();
    // SAFETY: as required.
    let file = unsafe { path(options.cache_file, options.cache_file_len, "options.cache_file") }?;
    if !file.is_empty() {
        made = made.cache_file(file);
    }
    if let Some(budget) = given(options.budget_us)? {
        made = made.budget(budget);
    }
    if let Some(budget) = given(options.disk_budget_us)? {
        made = made.with_disk(budget);
    }
    if let Some(age) = given(options.max_age_us)? {
        made = made.max_age(age);
    }
    if has(TERN_MACHINE_NO_BENCHMARKS) {
        made = made.without_benchmarks();
    }
    if has(TERN_MACHINE_NO_NETWORK) {
        made = made.without_network();
    }
    if has(TERN_MACHINE_KEEP) {
        made = made.keep();
    }
    if has(TERN_MACHINE_REFRESH) {
        made = made.refresh();
    }
    Ok(made)
}

/// A length of time, if there is one.
fn given(micros: u64) -> Result<Option<Duration>, Failure> {
    match micros {
        0 => Ok(None),
        u64::MAX => Ok(Some(Duration::MAX)),
        micros => time(micros, Duration::ZERO).map(Some),
    }
}

/// Reads this machine, and measures it as the options say; they may be NULL. `store` is the directory where results are kept, of whose disk the
/// room counts; TERN_ERR_SYSTEM if it cannot be used. Blocks the thread while it measures, on threads that end before it returns. Writes nothing
/// unless it is told to. Close it with tern_machine_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_read(
    store: *const c_char,
    store_len: usize,
    options: *const tern_machine_options_t,
    machine: *mut *mut tern_machine_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        without(err, || {
            required(machine, "machine")?;
            let store = path(store, store_len, "store")?;
            let read = match options.is_null() {
                true => MachCap::read(store)?,
                false => sized::with(options, "options", |options| {
                    let mut tell = |progress: Progress| tell(options, progress);
                    Ok(MachCap::read_with(store, read_options(options)?.progress(&mut tell))?)
                })?,
            };
            machine.write_unaligned(Handle::open(Machine(RwLock::new(read))));
            Ok(TERN_OK)
        })
    }
}

/// Calls the caller's function, if the struct is long enough to have all of it.
///
/// # Safety
/// The caller's contract.
unsafe fn tell(options: &tern_machine_options_t, progress: Progress) {
    const END: usize = offset_of!(tern_machine_options_t, user) + size_of::<*mut c_void>();
    if let (Some(told), END..) = (options.progress, options.struct_size) {
        let step: [c_char; 64] = inline_text(progress.step);
        // SAFETY: the caller gave this function for this pointer.
        unsafe { told(options.user, step.as_ptr(), progress.done, progress.of) }
    }
}

/// Closes a machine. The handle must not be used again. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_close(machine: *mut tern_machine_t) {
    // SAFETY: the caller's contract.
    unsafe { close::<Machine>(machine) }
}
