//! What the kernel says about PCI devices, for a test of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory like `/sys`, gone at the end.
pub struct Places {
    root: PathBuf,
}

impl Places {
    pub fn new() -> Places {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("places-{}-{number}", std::process::id());
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // An earlier process of the same number may have been killed.
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("bus/pci/devices")).expect("a directory can be made");
        Places { root }
    }

    pub fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Says this about the device at this address, with the kernel's end of line.
    pub fn say(&self, pci: &str, file: &str, text: &str) {
        let path = self.root.join("bus/pci/devices").join(pci).join(file);
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
        fs::write(path, format!("{text}\n")).expect("it can be written");
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
