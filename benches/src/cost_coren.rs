//! The peer of `cost.…`: coren 0.1.5, in a program of its own that is built as its documentation says. What it cannot say is left out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cost::Scratch;
use crate::cost_kernels::Case;
use crate::host_place::Problem;
use crate::report::target_directory;

/// What it says of a case with a network of some speed.
#[derive(Debug, Clone, Copy)]
pub struct Said {
    /// How long computing takes, in seconds.
    pub seconds: f64,
    /// Seconds that fetching saves, with its bias and without it.
    pub score: f64,
    pub unbiased: f64,
}

/// The program, and what it said of reading the machine.
pub struct Coren {
    program: PathBuf,
}

/// What reading the machine took it.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub nanoseconds: f64,
    pub peak_bytes: f64,
}

impl Coren {
    pub fn build() -> Result<Coren, Problem> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("coren/Cargo.toml");
        // Not into the target directory of this workspace: it would have to be built anew each time the other one was.
        let target = target_directory().join("coren");
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
        command.arg(&manifest).arg("--target-dir").arg(&target);
        // What this program was built with is no part of a default build.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        let output = command.output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason");
            return Err(format!("coren cannot be built: {last}").into());
        }
        Ok(Coren { program: std::path::absolute(target.join("release/coren-says"))? })
    }

    /// Reads the machine, and answers for each case and network, in megabits per second.
    pub fn ask(&self, questions: &[(Case, u64)]) -> Result<(Reading, Vec<Said>), Problem> {
        // It writes a file into the directory where it is.
        let scratch = Scratch::new("coren")?;
        let mut child = Command::new(&self.program)
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut text = String::new();
        for (case, mbps) in questions {
            let (constructor, words) = case.cost_words();
            let words: Vec<String> = words.iter().map(usize::to_string).collect();
            text.push_str(&format!("{mbps} {constructor} {}\n", words.join(" ")));
        }
        // All of it fits into a pipe, and then there is no more to come.
        child.stdin.take().ok_or("no way to ask coren")?.write_all(text.as_bytes())?;
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(numbers);
        let first = lines.next().unwrap_or_default();
        let [nanoseconds, kilobytes] = first[..] else {
            return Err(format!("coren said {text:?}").into());
        };
        let said = |numbers: Vec<f64>| -> Option<Said> {
            let [seconds, score, unbiased] = numbers[..].try_into().ok()?;
            Some(Said { seconds, score, unbiased })
        };
        let said: Option<Vec<Said>> = lines.map(said).collect();
        match said {
            Some(said) if said.len() == questions.len() => {
                Ok((Reading { nanoseconds, peak_bytes: kilobytes * 1024.0 }, said))
            }
            _ => Err(format!("coren said {text:?}").into()),
        }
    }
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}
