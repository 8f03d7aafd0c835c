//! `ternlease timeline`: who had which device when.

mod axis;
mod chart;
mod history;
mod picture;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::exit::Failure;
use crate::names::Named;
use crate::place::Place;
use crate::svg::save;
use crate::text::units::parse_duration;
use crate::text::{colour, put, put_line, width};
use history::History;

/// What to draw.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Draw a picture (SVG) into this file, `-` for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a trace for Perfetto (ui.perfetto.dev) or chrome://tracing into this
    /// file, `-` for standard output
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Only the last so long, as in 90s, 20m or 1.5h; all that is remembered if not
    /// said
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    since: Option<Duration>,
}

/// Draws it.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let named = Named::open(place)?;
    let history = History::read(&named, args.since);
    if let Some(path) = &args.svg {
        save(path, &picture::draw(&history, &place.url()))?;
    }
    if let Some(path) = &args.trace {
        save(path, &trace::write(&history, &place.url()))?;
    }
    if args.svg.is_none() && args.trace.is_none() {
        match (&named.why_none, history.rows.is_empty()) {
            (Some(why), true) => put_line(why)?,
            _ => put(chart::draw(&history, width(), colour::wanted()))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
