//! What the cluster home is compared with: bare transactions on the same server, from Rust and by etcd's own client, which is written in Go.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::etcd_bare::Bare;
use crate::host_place::Problem;
use crate::measure::{Unit, median, wall_now};
use crate::report::{Bench, figure, target_directory};

/// So many transactions are one turn of a peer.
const TURN: usize = 20;

pub struct Peers {
    bare: Bare,
    go: Option<GoClient>,
    turns: Vec<Turn>,
}

/// What a transaction took in one turn, in nanoseconds.
#[derive(Clone, Copy)]
struct Turn {
    rust: f64,
    go: Option<f64>,
}

impl Peers {
    pub fn start(bench: &Bench, name: &str, endpoint: &str) -> Result<Peers, Problem> {
        let go = GoClient::start(endpoint);
        if let Err(problem) = &go {
            bench.note(name, &format!("without etcd's own client: {problem}"));
        }
        Ok(Peers { bare: Bare::connect(endpoint)?, go: go.ok(), turns: Vec::new() })
    }

    /// A turn of each: nanoseconds of a transaction, in the middle of them.
    pub fn turn(&mut self) -> Result<(), Problem> {
        let mut times = Vec::new();
        for _ in 0..TURN {
            let start = wall_now();
            self.bare.txn()?;
            times.push((wall_now() - start) as f64);
        }
        let go = self.go.as_mut().map(|go| go.ask(&format!("each {TURN}"))).transpose()?;
        self.turns.push(Turn { rust: median(times), go });
        Ok(())
    }

    /// How many transactions in a second so many clients of Go's make.
    pub fn rate(&mut self, clients: usize, milliseconds: u64) -> Result<Option<f64>, Problem> {
        self.go.as_mut().map(|go| go.ask(&format!("rate {clients} {milliseconds}"))).transpose()
    }

    /// The turns since this was asked last, of the peer that is faster; a note says which it is.
    pub fn take_turns(&mut self, bench: &Bench, name: &str) -> Vec<f64> {
        let turns = std::mem::take(&mut self.turns);
        let rust: Vec<f64> = turns.iter().map(|turn| turn.rust).collect();
        let go: Vec<f64> = turns.iter().filter_map(|turn| turn.go).collect();
        let middle = |times: &[f64]| median(times.iter().copied());
        let shown = |times: &[f64]| figure(middle(times), Unit::Nanoseconds);
        if go.is_empty() {
            return rust;
        }
        let faster = if middle(&rust) <= middle(&go) { "Rust" } else { "Go" };
        let both = format!("{} from Rust, {} by Go's client", shown(&rust), shown(&go));
        bench.note(name, &format!("one bare Txn takes {both}; the peer is {faster}"));
        if faster == "Rust" { rust } else { go }
    }
}

/// etcd's own client, in a program that measures itself.
struct GoClient {
    program: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl GoClient {
    fn start(endpoint: &str) -> Result<GoClient, Problem> {
        let mut program = Command::new(build()?)
            .arg(endpoint)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = program.stdin.take();
        let answers = program.stdout.take().ok_or("it has no output")?;
        let mut client = GoClient { program, orders, answers: BufReader::new(answers) };
        match client.answer().as_str() {
            "ready" => Ok(client),
            _ => Err("it does not connect".into()),
        }
    }

    fn ask(&mut self, order: &str) -> Result<f64, Problem> {
        writeln!(self.orders.as_mut().ok_or("it has no input")?, "{order}")?;
        Ok(self.answer().parse()?)
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        // What cannot be read is no answer.
        let _ = self.answers.read_line(&mut line);
        line.trim().to_owned()
    }
}

impl Drop for GoClient {
    fn drop(&mut self) {
        // It ends when it has nothing more to read.
        self.orders = None;
        let _ = self.program.wait();
    }
}

fn build() -> Result<PathBuf, Problem> {
    let program = std::path::absolute(target_directory().join("etcd/txn"))?;
    // Where its own installer puts it, which not every PATH has.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/local/go/bin";
    let go = path.split(':').map(|folder| Path::new(folder).join("go")).find(|go| go.exists());
    let output = Command::new(go.ok_or("go is missing")?)
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg("./txn")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/etcd"))
        .output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(text.lines().last().unwrap_or("go does not build it").into());
    }
    Ok(program)
}
