//! A driver that runs.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Nothing in a scenario takes so long: a driver that says nothing hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A language, and its driver.
pub struct Language {
    pub name: String,
    program: PathBuf,
}

impl Language {
    /// Rust, and all others that are there.
    pub fn all() -> Vec<Language> {
        let rust = PathBuf::from(env!("CARGO_BIN_EXE_conformance-driver"));
        let mut found = vec![Language { name: "rust".to_owned(), program: rust }];
        let Some(folder) = env::var_os("TERN_DRIVERS").map(PathBuf::from) else { return found };
        for name in env::var("TERN_LANGUAGES").unwrap_or_default().split_whitespace() {
            let program = folder.join(name);
            assert!(program.exists(), "there is no driver for {name}: {}", program.display());
            found.push(Language { name: name.to_owned(), program });
        }
        found
    }

    pub fn start(&self) -> Driver {
        let mut child = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|cause| panic!("{}: {cause}", self.program.display()));
        let output = BufReader::new(child.stdout.take().unwrap());
        let (told, answers) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Driver { steps: child.stdin.take(), child, answers }
    }
}

pub struct Driver {
    child: Child,
    steps: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Driver {
    pub fn begin(&mut self, step: &str) -> Result<(), String> {
        let steps = self.steps.as_mut().ok_or("the driver was killed")?;
        writeln!(steps, "{step}").and_then(|()| steps.flush()).map_err(|cause| format!("{cause}"))
    }

    pub fn finish(&mut self) -> Result<String, String> {
        self.answers.recv_timeout(PATIENCE).map_err(|cause| match cause {
            RecvTimeoutError::Timeout => "it does not answer".to_owned(),
            RecvTimeoutError::Disconnected => "it has ended".to_owned(),
        })
    }

    pub fn ask(&mut self, step: &str) -> Result<String, String> {
        self.begin(step)?;
        self.finish()
    }

    /// SIGKILL: nothing is given back by the process itself.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Not before: the end of its input would let it end well.
        self.steps = None;
    }

    /// The input ends: the driver must end well, and without another word.
    pub fn end(mut self) -> Result<(), String> {
        if self.steps.take().is_none() {
            return Ok(());
        }
        match self.answers.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => return Err("it does not end".to_owned()),
            Ok(line) => return Err(format!("it says more than it was asked: {line:?}")),
        }
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("it ended with {other:?}")),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}
