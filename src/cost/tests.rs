//! What tests of this module need.

use std::fs;
use std::path::{Path, PathBuf};

use super::system::Roots;

/// A directory that imitates the kernel's, and is gone afterwards.
pub(in crate::cost) struct Files(PathBuf);

impl Files {
    pub fn new(name: &str) -> Self {
        let name = format!("ternlease-cost-{name}-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        Files(root)
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn roots(&self) -> Roots {
        Roots { proc: self.0.join("proc"), sys: self.0.join("sys") }
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
