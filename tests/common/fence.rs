//! A resource that many processes write to, with a fence: it takes a write only from a lease that is not older than all it has seen.
#![allow(dead_code)] // Not every test needs all of it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What it has seen, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub resource: String,
    pub lease: u64,
    pub accepted: bool,
}

/// The resource. Writers come to it by a socket.
pub struct Fenced {
    path: PathBuf,
    writes: Arc<Mutex<Vec<Attempt>>>,
}

impl Fenced {
    /// Without a fence it takes whatever comes.
    pub fn new(path: &Path, fence: bool) -> Fenced {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let writes: Arc<Mutex<Vec<Attempt>>> = Arc::default();
        let own = writes.clone();
        let largest: Arc<Mutex<HashMap<String, u64>>> = Arc::default();
        // It ends with the process.
        std::thread::spawn(move || {
            for writer in listener.incoming().flatten() {
                let (writes, largest) = (own.clone(), largest.clone());
                std::thread::spawn(move || serve(writer, fence, &writes, &largest));
            }
        });
        Fenced { path: path.to_owned(), writes }
    }

    pub fn writes(&self) -> Vec<Attempt> {
        self.writes.lock().unwrap().clone()
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(
    writer: UnixStream,
    fence: bool,
    writes: &Mutex<Vec<Attempt>>,
    largest: &Mutex<HashMap<String, u64>>,
) {
    let lines = BufReader::new(writer.try_clone().unwrap()).lines();
    let mut writer = writer;
    for line in lines.map_while(Result::ok) {
        let (resource, lease) = line.split_once(' ').unwrap();
        let lease: u64 = lease.parse().unwrap();
        // Judged and written at one instant.
        let mut largest = largest.lock().unwrap();
        let seen = largest.entry(resource.to_owned()).or_default();
        let accepted = !fence || lease >= *seen;
        *seen = lease.max(*seen);
        let resource = resource.to_owned();
        writes.lock().unwrap().push(Attempt { resource, lease, accepted });
        drop(largest);
        if writeln!(writer, "{}", if accepted { "accepted" } else { "refused" }).is_err() {
            return;
        }
    }
}

/// No write was accepted after one of a younger lease.
pub fn check_fence(writes: &[Attempt]) -> Result<(), String> {
    let mut largest: HashMap<&str, u64> = HashMap::new();
    for write in writes.iter().filter(|write| write.accepted) {
        let seen = largest.entry(&write.resource).or_default();
        if write.lease < *seen {
            return Err(format!("{write:?} was accepted after one of lease {seen}"));
        }
        *seen = write.lease;
    }
    Ok(())
}

/// One who writes.
pub struct Writer(BufReader<UnixStream>);

impl Writer {
    pub fn new(path: &Path) -> Writer {
        Writer(BufReader::new(UnixStream::connect(path).unwrap()))
    }

    /// Was it accepted?
    pub fn write(&mut self, resource: &str, lease: u64) -> bool {
        writeln!(self.0.get_mut(), "{resource} {lease}").unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        match answer.trim() {
            "accepted" => true,
            "refused" => false,
            other => panic!("not an answer: {other:?}"),
        }
    }
}
