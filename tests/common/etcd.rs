//! Real etcd servers for tests: one or several on loopback, which can be killed, stopped and started again, and which never outlive their test.
#![allow(dead_code)] // Not every test needs all of it.

#[path = "gateway.rs"]
pub mod gateway;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nothing that should come takes so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The files of a server that speaks TLS.
#[derive(Debug, Clone)]
pub struct Certificates {
    pub ca: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How servers are to be, if not as usual.
#[derive(Default)]
pub struct Setup<'a> {
    pub certificates: Option<Certificates>,
    /// What a server must not lose goes through to its disk before it goes on.
    pub to_disk: bool,
    /// An address of this machine at which clients find the server as well, at the port that they use on loopback.
    pub also_at: Option<Ipv4Addr>,
    /// Where the other servers find one, given where it really is.
    pub peer_door: Option<&'a mut dyn FnMut(SocketAddrV4) -> SocketAddrV4>,
}

/// A cluster of etcd servers. Its processes end and its files go with it; what its servers said stays if the test fails.
pub struct Etcd {
    directory: PathBuf,
    nodes: Vec<Node>,
    certificates: Option<Certificates>,
    to_disk: bool,
    also_at: Option<Ipv4Addr>,
    /// Clusters of the same servers with different tokens have different ids.
    token: &'static str,
}

struct Node {
    name: String,
    client: SocketAddrV4,
    peer: SocketAddrV4,
    /// Where the others find it.
    door: SocketAddrV4,
    /// Here it tells how it is, whatever it speaks with its clients.
    health: SocketAddrV4,
    child: Option<Child>,
}

impl Etcd {
    /// One server. `None`, and a line that says why, if there is none to be had here.
    pub fn start() -> Option<Etcd> {
        Self::cluster(1)
    }

    /// So many servers that know each other.
    pub fn cluster(size: usize) -> Option<Etcd> {
        Self::start_with(size, Setup::default())
    }

    /// One server that speaks TLS, and only with those who have a certificate of the same authority.
    pub fn start_with_tls(certificates: Certificates) -> Option<Etcd> {
        Self::start_with(1, Setup { certificates: Some(certificates), ..Setup::default() })
    }

    /// So many servers that know each other, not quite as usual.
    pub fn start_with(size: usize, setup: Setup<'_>) -> Option<Etcd> {
        server()?;
        let directory = own_directory();
        // An earlier process of the same number may have been killed.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let mut nodes: Vec<Node> = (0..size).map(Node::new).collect();
        if let Some(peer_door) = setup.peer_door {
            nodes.iter_mut().for_each(|node| node.door = peer_door(node.peer));
        }
        let Setup { certificates, to_disk, also_at, .. } = setup;
        let mut etcd = Etcd { directory, nodes, certificates, to_disk, also_at, token: "first" };
        for index in 0..size {
            etcd.launch(index);
        }
        for index in 0..size {
            etcd.await_health(index);
        }
        Some(etcd)
    }

    /// Where the servers write what they have to say, and keep their data.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// `address:port` of every server.
    pub fn endpoints(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.client.to_string()).collect()
    }

    /// What follows `etcd://` in a URL that names all servers.
    pub fn authority(&self) -> String {
        self.endpoints().join(",")
    }

    /// Which server leads the others; waits until one does. Servers that are stopped or killed are not asked.
    pub fn leader(&self) -> usize {
        until("a server leads", || (0..self.nodes.len()).find(|&index| self.leads(index)))
    }

    /// Does this server say that it leads?
    pub fn leads(&self, index: usize) -> bool {
        let said = self.nodes[index].get("/metrics");
        said.is_some_and(|text| text.lines().any(|line| line == "etcd_server_is_leader 1"))
    }

    /// The process of a server that runs.
    pub fn pid(&self, index: usize) -> u32 {
        self.nodes[index].child.as_ref().expect("the server runs").id()
    }

    /// Where a server listens to its clients.
    pub fn client(&self, index: usize) -> SocketAddrV4 {
        self.nodes[index].client
    }

    /// What a server counts under this name, if it does and says so.
    pub fn count(&self, index: usize, name: &str) -> Option<f64> {
        let said = self.nodes[index].get("/metrics")?;
        let line = said.lines().find(|line| line.split(' ').next() == Some(name))?;
        line.split(' ').nth(1)?.parse().ok()
    }

    /// A number that a server tells of itself.
    pub fn metric(&self, index: usize, name: &str) -> f64 {
        let said = self.nodes[index].get("/metrics").expect("the server tells");
        let number = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
        said.lines().find_map(number).expect("it tells this number")
    }

    /// How often the data of the first server have changed.
    pub fn revision(&self) -> i64 {
        self.count(0, "etcd_debugging_mvcc_current_revision").expect("it counts") as i64
    }

    /// The number of members that share a table: each has the key of its session.
    #[track_caller]
    pub fn assert_sessions(&self, table: &str, expected: usize) {
        let bound = |end| gateway::base64(&format!("/ternlease/{table}/s{end}"));
        let (from, to) = (bound('/'), bound('0'));
        let body = format!(r#"{{"key":"{from}","range_end":"{to}","keys_only":true}}"#);
        let found = gateway::call(self.client(0), "kv/range", &body);
        assert_eq!(found.matches(r#""key":"#).count(), expected, "sessions of {table}: {found}");
    }

    /// Kills a server, and comes back when it is gone.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.nodes[index].child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops a server, and comes back when it has stopped.
    pub fn stop(&self, index: usize) {
        let pid = self.nodes[index].signal(libc::SIGSTOP);
        let mut status = 0;
        // SAFETY: waits for a child of ours, and the place is valid.
        let found = unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) };
        assert!(found == pid && libc::WIFSTOPPED(status), "it ended: {status}");
    }

    /// Lets a stopped server go on.
    pub fn cont(&self, index: usize) {
        self.nodes[index].signal(libc::SIGCONT);
    }

    /// Kills a server if it runs, and starts it with what it had written; comes back when it serves.
    pub fn restart(&mut self, index: usize) {
        self.kill(index);
        self.launch(index);
        self.await_health(index);
    }

    /// Servers without data that start from now on form another cluster than before.
    pub fn become_another(&mut self) {
        self.token = "another";
    }

    /// Copies all data of a server that does not run.
    pub fn back_up(&self, index: usize) {
        copy(&self.data(index), &self.backup(index));
    }

    /// Replaces all data of a server that does not run by the last copy.
    pub fn restore(&self, index: usize) {
        self.wipe(index);
        copy(&self.backup(index), &self.data(index));
    }

    fn backup(&self, index: usize) -> PathBuf {
        self.directory.join(format!("{}.backup", self.nodes[index].name))
    }

    /// Removes all data of a server that does not run.
    pub fn wipe(&self, index: usize) {
        fs::remove_dir_all(self.data(index)).unwrap();
    }

    /// Starts a server, and does not wait.
    pub fn launch(&mut self, index: usize) {
        let child = self.command(index).spawn().unwrap();
        self.nodes[index].child = Some(child);
    }

    /// Until a server serves, which needs most of the others.
    pub fn await_health(&mut self, index: usize) {
        until("the server serves", || {
            let node = &mut self.nodes[index];
            let ended = node.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "the server ended: {ended:?}");
            node.get("/health").filter(|text| text.contains(r#""health":"true""#))
        });
    }

    fn command(&self, index: usize) -> Command {
        let node = &self.nodes[index];
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        let mut client = format!("{scheme}://{}", node.client);
        if let Some(address) = self.also_at {
            client += &format!(",{scheme}://{address}:{}", node.client.port());
        }
        let peer = format!("http://{}", node.peer);
        let health = format!("http://{}", node.health);
        let door = format!("http://{}", node.door);
        let members: Vec<_> =
            self.nodes.iter().map(|node| format!("{}=http://{}", node.name, node.door)).collect();
        let log = File::options().create(true).append(true).open(self.log(index)).unwrap();
        let mut command = Command::new(server().expect("it was there when the cluster began"));
        command
            .args(["--name", &node.name])
            .arg("--data-dir")
            .arg(self.data(index))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &door])
            .args(["--listen-metrics-urls", &health])
            .args(["--initial-cluster", &members.join(",")])
            .args(["--initial-cluster-token", self.token])
            .args(["--log-level", "warn"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        if !self.to_disk {
            // A killed process loses nothing that it has written; only a machine that loses its power would.
            command.arg("--unsafe-no-fsync");
        }
        if let Some(files) = &self.certificates {
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(&files.ca);
            command.arg("--cert-file").arg(&files.certificate).arg("--key-file").arg(&files.key);
        }
        let parent = std::process::id();
        // SAFETY: the child makes two system calls, which a child of many threads may.
        unsafe {
            command.pre_exec(move || {
                // It ends with the thread that started it, even if that is killed.
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
                // The thread may be gone already.
                match libc::getppid() as u32 == parent {
                    true => Ok(()),
                    false => Err(std::io::ErrorKind::Other.into()),
                }
            });
        }
        command
    }

    fn data(&self, index: usize) -> PathBuf {
        self.directory.join(&self.nodes[index].name)
    }

    fn log(&self, index: usize) -> PathBuf {
        self.directory.join(format!("{}.log", self.nodes[index].name))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        for index in 0..self.nodes.len() {
            self.kill(index);
            let _ = fs::remove_dir_all(self.data(index));
            if failed {
                let said = fs::read_to_string(self.log(index)).unwrap_or_default();
                // Not that it was not well yet when it was asked.
                let lines: Vec<_> = said.lines().filter(|line| !line.contains("/health")).collect();
                let end = &lines[lines.len().saturating_sub(20)..];
                eprintln!("the end of {}:\n{}", self.log(index).display(), end.join("\n"));
            }
        }
        if !failed {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

impl Node {
    fn new(index: usize) -> Node {
        let name = format!("n{index}");
        let peer = own_address();
        Node { name, client: own_address(), peer, door: peer, health: own_address(), child: None }
    }

    fn signal(&self, signal: i32) -> i32 {
        let child = self.child.as_ref().expect("the server runs");
        // SAFETY: a signal for a child of ours, which nobody has waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        child.id() as i32
    }

    /// What it says about itself, if it says anything soon.
    fn get(&self, path: &str) -> Option<String> {
        let moment = Duration::from_secs(2);
        let mut stream = TcpStream::connect_timeout(&self.health.into(), moment).ok()?;
        stream.set_read_timeout(Some(moment)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

/// The server's program; `None`, and a line that says so, if it cannot be built here because its compiler is missing.
fn server() -> Option<&'static Path> {
    static SERVER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        // Of the checkout, in which the package that uses this may be a folder.
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let mut scripts = above.map(|folder| folder.join("scripts/get-etcd"));
        let script = scripts.find(|script| script.exists()).expect("a checkout has its scripts");
        let output = Command::new(script).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {
                let said = String::from_utf8(output.stdout).unwrap();
                Some(PathBuf::from(said.lines().last().expect("it says where the server is")))
            }
            Some(127) if std::env::var("CI").as_deref() != Ok("true") => None,
            _ => panic!("there is no etcd to test with: {why}"),
        }
    });
    if server.is_none() {
        println!("skipped: go, which builds etcd, is missing");
    }
    server.as_deref()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn own_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tern-etcd-{}-{count}", std::process::id()))
}

/// An address that nobody else uses, now or while its server is down: the host is this process's own (all of 127/8 is
/// loopback), and its port is below those that the system chooses from.
fn own_address() -> SocketAddrV4 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let port = 20_000 + COUNT.fetch_add(1, Ordering::Relaxed) as u16;
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(127, 64 + high, middle, low), port)
}

/// Until there is an answer.
pub fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
