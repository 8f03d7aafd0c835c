//! Connections that can be cut: a door of its own in front of each address, through which bytes pass or, for a time, do not.
//!
//! What is cut is silent, as a broken network is: nobody is told, and what was on its way arrives when it is mended.
#![allow(dead_code)] // Not every test needs all of it.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// A door to an address.
pub struct Wire {
    /// Where to knock.
    pub address: SocketAddrV4,
    gate: Arc<Gate>,
}

/// What does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nothing,
    Everything,
    /// Connections that this process has made.
    From(u32),
}

struct Gate {
    cut: Mutex<Cut>,
    mended: Condvar,
}

impl Wire {
    pub fn to(target: SocketAddrV4) -> Wire {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!() };
        let gate = Arc::new(Gate { cut: Mutex::new(Cut::Nothing), mended: Condvar::new() });
        let own = gate.clone();
        // It ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let gate = own.clone();
                std::thread::spawn(move || connect(client, target, &gate));
            }
        });
        Wire { address, gate }
    }

    /// From now on nothing passes.
    pub fn cut(&self) {
        self.set(Cut::Everything);
    }

    /// From now on nothing passes by connections that this process has made.
    pub fn cut_from(&self, process: u32) {
        self.set(Cut::From(process));
    }

    pub fn mend(&self) {
        self.set(Cut::Nothing);
    }

    fn set(&self, cut: Cut) {
        *self.gate.cut.lock().unwrap() = cut;
        self.gate.mended.notify_all();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.mend();
    }
}

impl Gate {
    /// Comes back when this connection may pass.
    fn pass(&self, client: &mut Client) {
        let mut cut = self.cut.lock().unwrap();
        while match *cut {
            Cut::Nothing => false,
            Cut::Everything => true,
            Cut::From(process) => client.is_of(process),
        } {
            cut = self.mended.wait(cut).unwrap();
        }
    }
}

/// Who has made a connection.
#[derive(Clone)]
struct Client {
    address: SocketAddr,
    /// Is it this process? Known since it was first asked.
    known: Option<(u32, bool)>,
}

impl Client {
    fn is_of(&mut self, process: u32) -> bool {
        match self.known {
            Some((asked, answer)) if asked == process => answer,
            _ => {
                let answer = connections_of(process).contains(&self.address);
                self.known = Some((process, answer));
                answer
            }
        }
    }
}

fn connect(client: TcpStream, target: SocketAddrV4, gate: &Arc<Gate>) {
    let Ok(address) = client.peer_addr() else { return };
    let mut source = Client { address, known: None };
    gate.pass(&mut source);
    let Ok(server) = TcpStream::connect(target) else { return };
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (own, same) = (gate.clone(), source.clone());
    std::thread::spawn(move || carry(from, to, same, &own));
    carry(server, client, source, gate);
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut source: Client, gate: &Gate) {
    // Small pieces would only wait for each other.
    let _ = to.set_nodelay(true);
    let mut bytes = [0; 16384];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        gate.pass(&mut source);
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// The own ends of the connections that a process has.
fn connections_of(process: u32) -> HashSet<SocketAddr> {
    let Ok(files) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return HashSet::new();
    };
    let sockets: HashSet<String> = files
        .flatten()
        .filter_map(|file| {
            let name = std::fs::read_link(file.path()).ok()?.to_str()?.to_owned();
            Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let address = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (host, port) = words.get(1)?.split_once(':')?;
        // The bytes are as they are on the wire, shown as a number of this machine.
        let host = u32::from_str_radix(host, 16).ok()?.to_ne_bytes();
        let port = u16::from_str_radix(port, 16).ok()?;
        sockets.contains(*words.get(9)?).then_some(SocketAddr::from((host, port)))
    };
    table.lines().filter_map(address).collect()
}
