//! Reading the machine, with a line about what is being measured if somebody looks.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use ternlease::MachCap;
use ternlease::cost::{Progress, ReadOptions};

use crate::exit::Failure;

/// What may be done to find out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Measure nothing.
    pub no_bench: bool,
    /// Measure whatever was kept.
    pub refresh: bool,
    /// Keep what is measured.
    pub keep: bool,
    /// Measure the disk.
    pub disk: bool,
}

/// How long a disk is measured.
const DISK_BUDGET: Duration = Duration::from_millis(500);

impl Wishes {
    fn options<'a>(self) -> ReadOptions<'a> {
        let mut options = ReadOptions::new();
        if self.no_bench {
            options = options.without_benchmarks();
        }
        if self.refresh {
            options = options.refresh();
        }
        if self.keep {
            options = options.keep();
        }
        if self.disk {
            options = options.with_disk(DISK_BUDGET);
        }
        options
    }
}

/// Reads and measures it.
pub fn read(dir: &Path, wishes: Wishes) -> Result<MachCap, Failure> {
    let mut error = std::io::stderr();
    if !error.is_terminal() {
        return MachCap::read_with(dir, wishes.options()).map_err(failed);
    }
    let mut shown = false;
    let mut show = |Progress { step, done, of }: Progress| {
        shown = true;
        // Who cannot be told what is measured gets the figures all the same.
        let _ = write!(std::io::stderr(), "\r\x1b[Kmeasuring ({done} of {of}): {step}");
    };
    let machine = MachCap::read_with(dir, wishes.options().progress(&mut show)).map_err(failed);
    if shown {
        let _ = write!(error, "\r\x1b[K");
    }
    machine
}

fn failed(error: ternlease::cost::ReadError) -> Failure {
    Failure::new(error.to_string())
}
