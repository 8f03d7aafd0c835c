//! `ternlease cap`: what this machine can do.

mod measure;
mod report;
mod roofline;
pub mod units;

use std::path::PathBuf;
use std::process::ExitCode;

use ternlease::{FnCost, Kind, Task};

use crate::exit::Failure;
use crate::place::Place;
use crate::text::line::clean_json;
use crate::text::{put, put_line};
pub use measure::{Wishes, read};

/// What to measure, and what to show.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The table at the end says what six tasks cost: W operations, Q bytes to and from
memory, R bytes of result. Its score is how many seconds fetching the result
would save (negative: computing is faster), its neck what computing would wait
for, and its action what to do about it.")]
pub struct Args {
    /// Where results would be kept: of its disk the room and the speed count
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Measure anew, whatever was kept
    #[arg(long, conflicts_with = "no_bench")]
    refresh: bool,
    /// Measure nothing: estimates, at once
    #[arg(long)]
    no_bench: bool,
    /// Measure the disk as well: writes and reads up to 32 MiB
    #[arg(long)]
    disk: bool,
    /// Keep what is measured, so that next time nothing needs to be
    #[arg(long, conflicts_with_all = ["no_bench", "refresh"])]
    keep: bool,
    /// Draw the roofline with the six tasks (SVG) into this file, `-` for standard
    /// output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Shows it.
pub fn run(_place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let Args { no_bench, refresh, keep, disk, .. } = *args;
    let machine = read(&args.dir, Wishes { no_bench, refresh, keep, disk })?;
    if let Some(path) = &args.svg {
        crate::svg::save(path, &roofline::draw(&machine))?;
    }
    match (args.json, &args.svg) {
        (true, _) => put_line(clean_json(&machine.to_json()))?,
        // Who asked for a picture has got it.
        (false, Some(_)) => {}
        (false, None) => put(report::text(&machine))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The results of tasks, except where the task itself says how large it is.
const RESULT: u64 = 10 << 20;
const GB: u64 = 1_000_000_000;

/// Six tasks that everybody knows.
pub fn tasks() -> [(&'static str, Task); 6] {
    [
        ("sort 1M x 64 B", FnCost::sort(1_000_000, 64, RESULT).kind(Kind::Sort)),
        ("scan 1 GB", FnCost::scan(GB, RESULT).kind(Kind::Stream)),
        ("hash 1 GB", FnCost::hash(GB).kind(Kind::Hash)),
        ("matmul 1k^3", FnCost::matmul(1000, 1000, 1000, RESULT).kind(Kind::Dense64)),
        ("etl 1M rows", FnCost::etl(1_000_000, 256, 100, RESULT).kind(Kind::Rows)),
        ("copy 1 GB", FnCost::copy(GB).kind(Kind::Copy)),
    ]
}
