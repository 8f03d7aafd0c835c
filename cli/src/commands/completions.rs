//! `ternlease completions`: for shells.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Failure;
use crate::place::Place;
use crate::text::put_verbatim;

/// For which shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For the current shell:
    source <(ternlease completions bash)
    ternlease completions fish | source

For good:
    ternlease completions bash > /etc/bash_completion.d/ternlease
    ternlease completions zsh > /usr/local/share/zsh/site-functions/_ternlease
    ternlease completions fish > ~/.config/fish/completions/ternlease.fish")]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
pub fn run(_place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    // Not to standard output directly: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ternlease", &mut script);
    put_verbatim(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
