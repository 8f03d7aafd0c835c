//! `capi.OP`: the same calls from C, through the shared library, beside those from Rust. The goal: at most 3 ns more.

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ternlease::{LeaseId, LeaseManager};

use crate::measure::{cpu, keep};
use crate::pool::Devices;
use crate::report::{Bench, figure, target_directory};

const BATCH: usize = 2_000;

type Calls = extern "C" fn(u64) -> i64;

pub fn run(bench: &mut Bench) {
    if !["capi.state", "capi.renew", "capi.try_claim"].iter().any(|name| bench.wants(name)) {
        return;
    }
    match Driver::load() {
        Ok(driver) => measure(bench, &driver),
        Err(problem) => bench.note("capi", &format!("not measured: {problem}")),
    }
}

fn measure(bench: &mut Bench, driver: &Driver) {
    let manager = LeaseManager::open("process:").expect("this home always opens");
    let hour = Duration::from_secs(3600);
    let lease = manager.acquire("a", "b", hour).expect("nobody else is here");
    let devices = Devices::real(8);
    let state = |id: LeaseId| keep(black_box(&manager).state(black_box(id)));
    let renew = |id: LeaseId| keep(black_box(&manager).renew(black_box(id)));
    compare(bench, "capi.state", driver.state, || state(lease));
    compare(bench, "capi.renew", driver.renew, || renew(lease));
    compare(bench, "capi.try_claim", driver.try_claim, || {
        black_box(&devices).try_claim_and_release();
    });
    (driver.close)();
    bench.note("capi.size", &format!("stripped libternlease.so has {} bytes", driver.stripped));
}

fn compare(bench: &mut Bench, name: &str, calls: Calls, rust: impl Fn()) {
    if !bench.wants(name) {
        return;
    }
    let sample = bench.budget().compare(
        || cpu(BATCH, || keep(calls(BATCH as u64))),
        || {
            cpu(BATCH, || {
                for _ in 0..BATCH {
                    rust();
                }
            })
        },
    );
    bench.line(name, sample);
    let more = sample.peer.map_or(0.0, |rust| sample.ours - rust);
    let sign = if more < 0.0 { "less" } else { "more" };
    let more = figure(more.abs(), sample.unit);
    bench.note(name, &format!("a call from C takes {more} {sign} than one from Rust (goal: 3 ns)"));
}

/// The C side, compiled and loaded.
struct Driver {
    state: Calls,
    renew: Calls,
    try_claim: Calls,
    close: extern "C" fn(),
    stripped: u64,
}

impl Driver {
    fn load() -> Result<Driver, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = target_directory();
        let built = target.join("release");
        run_to_end(
            Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--release", "-p", "ternlease-c", "--lib"])
                // As packages have it, if what it is compared with has it, too.
                .args(if cfg!(feature = "etcd") { &["--features", "cluster"][..] } else { &[] })
                .arg("--target-dir")
                .arg(&target)
                .current_dir(&root),
        )?;
        // The driver asks for the library by the name that it gives itself.
        let link = built.join(format!("libternlease.so.0.{}", env!("CARGO_PKG_VERSION_MINOR")));
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("libternlease.so", &link).map_err(|error| error.to_string())?;
        let driver = built.join("libcapi-driver.so");
        run_to_end(
            Command::new("cc")
                .args(["-std=c99", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"])
                .arg("-I")
                .arg(root.join("include"))
                .arg(root.join("benches/c/capi.c"))
                .arg("-o")
                .arg(&driver)
                .arg("-L")
                .arg(&built)
                .args(["-lternlease", "-Wl,-rpath,$ORIGIN"]),
        )?;
        let small = built.join("libternlease-stripped.so");
        run_to_end(Command::new("strip").arg("-o").arg(&small).arg(built.join("libternlease.so")))?;
        let stripped = std::fs::metadata(&small).map_err(|error| error.to_string())?.len();
        open(&driver, stripped)
    }
}

fn run_to_end(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

fn open(driver: &Path, stripped: u64) -> Result<Driver, String> {
    let path = CString::new(driver.to_string_lossy().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the path is a terminated text; the driver is ours and has no constructors.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return Err(format!("cannot load {}", driver.display()));
    }
    let find = |name: &std::ffi::CStr| -> Result<*mut c_void, String> {
        // SAFETY: the library is loaded, and the name a terminated text.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        if found.is_null() { Err(format!("the driver has no {name:?}")) } else { Ok(found) }
    };
    // SAFETY: benches/c/capi.c defines these functions with these types, and the library stays loaded.
    let (open, driver) = unsafe {
        let calls = |found: *mut c_void| std::mem::transmute::<*mut c_void, Calls>(found);
        let driver = Driver {
            state: calls(find(c"capi_state")?),
            renew: calls(find(c"capi_renew")?),
            try_claim: calls(find(c"capi_try_claim")?),
            close: std::mem::transmute::<*mut c_void, extern "C" fn()>(find(c"capi_close")?),
            stripped,
        };
        let open = find(c"capi_open")?;
        (std::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(open), driver)
    };
    match open() {
        0 => Ok(driver),
        status => Err(format!("the driver could not open a manager: status {status}")),
    }
}
