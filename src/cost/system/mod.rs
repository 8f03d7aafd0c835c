//! What the operating system says about the machine: nothing here measures.

mod battery;
mod disk;
mod memory;
mod network;
mod processor;

pub use battery::Battery;
pub use network::Network;

pub(super) use disk::{space, speed};
pub(super) use memory::Memory;
pub(super) use processor::Processor;

use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel's files are. Tests have their own.
#[derive(Debug, Clone)]
pub(super) struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { proc: "/proc".into(), sys: "/sys".into() }
    }
}

impl Roots {
    pub fn battery(&self) -> Option<Battery> {
        battery::find(&self.sys)
    }

    pub fn network(&self) -> Network {
        network::find(&self.proc, &self.sys)
    }

    pub fn memory(&self) -> Memory {
        memory::read(self)
    }

    pub fn processor(&self) -> Processor {
        processor::read(self)
    }
}

/// A file of one line, without its end.
fn line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    line(path)?.parse().ok()
}
