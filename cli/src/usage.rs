//! Errors of the command line, as they are shown.

use std::io::Write;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use crate::args::Cli;
use crate::text::line::{clean, clean_lines};

/// Reads the command line. Ends the process with the help, the version or an error if there is nothing to run.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| end(error))
}

fn end(mut error: clap::Error) -> ! {
    // Help and versions quote nothing.
    if !error.use_stderr() {
        error.exit();
    }
    // What is quoted must not look like a line of its own.
    let quoted: Vec<(ContextKind, ContextValue)> =
        error.context().filter_map(|(kind, value)| Some((kind, escaped(value)?))).collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    // If standard error is closed, the exit code still tells.
    let _ = write!(std::io::stderr(), "{}", clean_lines(&error.render().to_string()));
    std::process::exit(error.exit_code());
}

fn escaped(value: &ContextValue) -> Option<ContextValue> {
    match value {
        ContextValue::String(text) => Some(ContextValue::String(clean(text))),
        ContextValue::Strings(texts) => {
            Some(ContextValue::Strings(texts.iter().map(|text| clean(text)).collect()))
        }
        _ => None,
    }
}
