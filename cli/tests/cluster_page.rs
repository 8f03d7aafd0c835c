//! The commands of `docs/cluster.md` work: they run as they are on the page, in one shell, with three
//! etcd servers with TLS and roles. Only the addresses are those of this process. The output that the
//! page shows appears, in its order.
#![cfg(all(target_os = "linux", feature = "cluster"))]
#![allow(missing_docs)]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cluster.md");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");

/// A run that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The fenced blocks of the page with this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let starts = page.match_indices(&start).map(|(at, _)| at + start.len());
    starts.map(|at| page[at..].split("```").next().unwrap().to_owned()).collect()
}

/// The program that a script builds. `None`, after a message, if its compiler is missing.
fn built_by(script: &str) -> Option<PathBuf> {
    let output = Command::new(Path::new(SCRIPTS).join(script)).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(127) {
        return missing(errors.trim());
    }
    assert!(output.status.success(), "{script} failed: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(PathBuf::from(text.lines().last().unwrap()))
}

fn has_openssl() -> Option<()> {
    match Command::new("openssl").arg("version").output() {
        Ok(_) => Some(()),
        Err(_) => missing("openssl, which makes certificates, is missing"),
    }
}

/// Without CI=true a test is skipped if something is missing.
fn missing<T>(what: &str) -> Option<T> {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{what}");
    println!("skipped: {what}");
    None
}

/// Three addresses of loopback that no other process uses: the numbers of processes have 22 bits.
fn addresses() -> [String; 3] {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    [64, 128, 192].map(|first| format!("127.{}.{middle}.{low}", first + (high & 63)))
}

/// A directory with the programs of the page in `bin`. It is deleted at the end.
struct Workspace(PathBuf);

impl Workspace {
    fn new(etcd: &Path, etcdctl: &Path) -> Self {
        let path = std::env::temp_dir().join(format!("tern-cluster-page-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let bin = path.join("bin");
        fs::create_dir_all(&bin).unwrap();
        symlink(etcdctl, bin.join("etcdctl")).unwrap();
        symlink(env!("CARGO_BIN_EXE_ternlease"), bin.join("ternlease")).unwrap();
        // A server ends with the shell. A killed server loses nothing that it has written.
        let text = format!(
            "#!/bin/sh\nexec setpriv --pdeathsig KILL '{}' --unsafe-no-fsync \"$@\"\n",
            etcd.display()
        );
        fs::write(bin.join("etcd"), text).unwrap();
        fs::set_permissions(bin.join("etcd"), fs::Permissions::from_mode(0o755)).unwrap();
        Workspace(path)
    }

    fn start(&self, script: &str) -> Shell {
        let output = File::create(self.0.join("output")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command
            .args(["-e", "-o", "pipefail", "-c", script])
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", self.0.join("bin").display()))
            .env("HOME", &self.0)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("TERNLEASE_") || name.starts_with("ETCD") {
                command.env_remove(&*name);
            }
        }
        // SAFETY: the child makes one system call.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        Shell(command.spawn().unwrap())
    }

    /// The output so far. After a failure, also the ends of the servers' logs.
    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.0.join("output")).unwrap()).into_owned()
    }

    fn logs(&self) -> String {
        let logs = (1..=3).map(|number| {
            let path = self.0.join(format!("ternlease-cluster/etcd{number}.log"));
            let text = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("etcd{number}:\n{}\n", lines[lines.len().saturating_sub(10)..].join("\n"))
        });
        logs.collect()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A shell in a process group of its own, which ends with it.
struct Shell(Child);

impl Shell {
    /// `None` after the timeout.
    fn wait(&mut self) -> Option<ExitStatus> {
        let begin = Instant::now();
        loop {
            match self.0.try_wait().unwrap() {
                None if begin.elapsed() > TIMEOUT => return None,
                None => std::thread::sleep(Duration::from_millis(20)),
                ended => return ended,
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // SAFETY: a signal to the process group of a child of this process.
        unsafe { libc::killpg(self.0.id().cast_signed(), libc::SIGKILL) };
        let _ = self.0.wait();
    }
}

#[test]
fn commands_of_the_page_set_up_a_cluster() {
    let Some(()) = has_openssl() else { return };
    let Some(etcd) = built_by("get-etcd") else { return };
    let Some(etcdctl) = built_by("get-etcdctl") else { return };
    let page = fs::read_to_string(PAGE).unwrap();
    let mut script = blocks(&page, "sh").concat();
    for (number, address) in (1..).zip(addresses()) {
        let shown = format!("127.0.0.1{number}");
        assert_eq!(script.matches(&shown).count(), 1, "{shown} is not only in the first block");
        script = script.replace(&shown, &address);
    }

    let workspace = Workspace::new(&etcd, &etcdctl);
    let status = workspace.start(&script).wait();
    let output = workspace.output();
    let context = format!("{output}\n{}", workspace.logs());
    assert!(status.is_some_and(|status| status.success()), "{status:?}\n{context}");
    let mut lines = output.lines();
    for shown in blocks(&page, "text") {
        for line in shown.lines() {
            assert!(lines.any(|found| found == line), "the output lacks `{line}`:\n{context}");
        }
    }
}
