//! What the cluster home is compared with: bare transactions on the same server by the same client.
//! etcd's own client, which is written in Go, shows whether that client is a slow one.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::etcd_bare::{Bare, connect};
use crate::host_place::Problem;
use crate::measure::{Unit, median, wall_now};
use crate::report::{Bench, figure, target_directory};

/// So many transactions are one turn.
const TURN: usize = 20;

pub struct Peers {
    bare: Bare,
    turns: Vec<f64>,
}

impl Peers {
    pub fn start(endpoint: &str) -> Result<Peers, Problem> {
        let mut peers = Peers { bare: Bare::new(&connect(endpoint)?, "peer"), turns: Vec::new() };
        // The first transactions find caches and files of etcd cold.
        peers.turn()?;
        peers.turns.clear();
        Ok(peers)
    }

    /// One transaction: nanoseconds.
    pub fn once(&mut self) -> Result<f64, Problem> {
        let start = wall_now();
        self.bare.txn()?;
        Ok((wall_now() - start) as f64)
    }

    /// The middle of a few transactions, one after the other, is kept.
    pub fn turn(&mut self) -> Result<(), Problem> {
        let times: Result<Vec<f64>, Problem> = (0..TURN).map(|_| self.once()).collect();
        self.turns.push(median(times?));
        Ok(())
    }

    /// The turns since this was asked last.
    pub fn take_turns(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.turns)
    }

    /// Says what one transaction takes, and what it takes by etcd's own client: in turns, and with
    /// many at once.
    pub fn show(
        &mut self,
        bench: &Bench,
        name: &str,
        endpoint: &str,
        clients: usize,
    ) -> Result<(), Problem> {
        let mut go = GoClient::start(endpoint);
        if let Err(problem) = &go {
            bench.note(name, &format!("without etcd's own client: {problem}"));
        }
        let mut by_go = Vec::new();
        for _ in 0..10 {
            self.turn()?;
            if let Ok(go) = &mut go {
                by_go.push(go.ask(&format!("each {TURN}"))?);
            }
        }
        let shown = |times: Vec<f64>| figure(median(times), Unit::Nanoseconds);
        let mut text = format!("one bare Txn takes {}", shown(self.take_turns()));
        if let Ok(go) = &mut go {
            let rate = go.ask(&format!("rate {clients} 500"))?;
            let rate = figure(rate, Unit::PerSecond);
            let one = shown(by_go);
            text += &format!("; by etcd's own client in Go {one}, {clients} at once {rate}");
        }
        bench.note(name, &text);
        Ok(())
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
