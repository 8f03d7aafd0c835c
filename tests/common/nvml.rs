//! A fake libnvidia-ml for a test of its own. `tests/fake-nvml/src/lib.rs` tells what its script can say.
//!
//! A test takes it in by `#[path = "common/nvml.rs"] mod nvml;`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[path = "../fake-nvml/src/name.rs"]
mod name;

/// Longer than anything takes that comes to an end.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A library in a directory of its own, so that no test shares its script or its state.
pub struct Fake {
    directory: PathBuf,
}

#[allow(dead_code)] // Not every test needs all of it.
impl Fake {
    /// One with all functions. It has no driver until it has a script.
    pub fn new() -> Fake {
        Self::variant("")
    }

    /// One that lacks what this feature of `tests/fake-nvml` leaves out.
    pub fn variant(feature: &str) -> Fake {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fake-nvml-{}-{number}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // An earlier process of the same number may have been killed.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory can be made");
        let fake = Fake { directory };
        // A copy, not a link: the loader would take a link for the same library.
        fs::copy(built(feature), fake.library()).expect("the library can be copied");
        fake
    }

    /// One with this script.
    pub fn with(script: &str) -> Fake {
        let fake = Self::new();
        fake.script(script);
        fake
    }

    /// What to load.
    pub fn library(&self) -> PathBuf {
        self.directory.join("libnvidia-ml.so.1")
    }

    /// From now on the library does as this says.
    pub fn script(&self, text: &str) {
        let draft = self.directory.join("script.new");
        fs::write(&draft, text).expect("the script can be written");
        fs::rename(draft, self.directory.join("script")).expect("the script can be replaced");
    }

    /// From now on there is no driver.
    pub fn unload_driver(&self) {
        fs::remove_file(self.directory.join("script")).expect("there is a script");
    }

    /// All calls so far: the full name of the function and, where there is one, the number of the device.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How many calls of this function there were. It is named as in a script.
    pub fn count(&self, function: &str) -> usize {
        let calls = self.calls();
        let called = calls.iter().filter_map(|call| call.split_whitespace().next());
        called.filter(|called| name::means(function, called)).count()
    }

    /// Returns when there were so many calls of this function.
    pub fn wait_for(&self, function: &str, count: usize) {
        let start = Instant::now();
        while self.count(function) < count {
            assert!(start.elapsed() < PATIENCE, "{function} was not called {count} times");
            sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // Shown only if the test fails, which then may well be the reason.
        for bad in self.calls().iter().filter(|call| call.starts_with("bad line")) {
            eprintln!("the script of the fake libnvidia-ml has a {bad}");
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Builds the library, once in a run of the tests.
fn built(feature: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    // After a panic in here, the next test is to say the same.
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    built.entry(feature.to_owned()).or_insert_with(|| build(feature)).clone()
}

fn build(feature: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target");
    let variant = if feature.is_empty() { "full" } else { feature };
    let target = target.join(format!("fake-nvml-{variant}"));
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "ternlease-fake-nvml",
            "--features",
            feature,
        ])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // Not as the tests themselves are built, which may be for a sanitizer; and small, as it is copied often.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_STRIP", "debuginfo")
        .stdin(Stdio::null())
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the fake libnvidia-ml does not build:\n{errors}");
    target.join("debug/libfake_nvml.so")
}
