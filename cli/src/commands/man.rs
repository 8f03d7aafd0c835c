//! `ternlease man`: the manual.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::Failure;
use crate::place::Place;
use crate::text::put_verbatim;

/// What to print.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To read it at once:
    ternlease man | man -l -")]
pub struct Args {
    /// Write one page for each command into this directory, which is made if need be
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints it.
pub fn run(_place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    match &args.dir {
        Some(dir) => write_all(dir).map_err(|error| {
            let dir = dir.display();
            Failure::new(format!("{dir} cannot be written to: {error}; name another directory"))
        })?,
        None => {
            let mut page = Vec::new();
            Man::new(Cli::command()).render(&mut page)?;
            put_verbatim(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Cli::command(), dir)
}
