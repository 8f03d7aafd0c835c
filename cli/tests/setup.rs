//! `ternlease setup`, and what users of one machine see before and after it. The tests have their own `/run`, `/dev/shm` and `/etc`, in a mount namespace, and
//! start the command as users who are not the superuser.
#![allow(missing_docs)]

#[path = "../../tests/common/mounts.rs"]
mod mounts;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Ann and Bob are in the group `gpu`, Eve is not.
const ANN: u32 = 61_001;
const BOB: u32 = 61_002;
const EVE: u32 = 61_003;
const GPU: u32 = 61_000;
const SHARED: &str = "/run/ternlease";
const TMPFILES: &str = "/etc/tmpfiles.d/ternlease.conf";
const REMEDY: &str = "sudo ternlease setup --group";

/// A machine on which ternlease was never used, with a declared device and three users.
fn is_fresh() -> bool {
    let possible = mounts::are_possible();
    if possible {
        mounts::memory(Path::new("/dev/shm"), "mode=1777,size=256m");
        mounts::memory(Path::new("/run"), "mode=755,size=256m");
        mounts::memory(Path::new("/etc"), "mode=755,size=16m");
        let users = [("root", 0), ("ann", ANN), ("bob", BOB), ("eve", EVE)];
        let passwd = users.map(|(name, id)| format!("{name}:x:{id}:{id}::/:/bin/sh\n")).concat();
        fs::write("/etc/passwd", passwd).unwrap();
        fs::write(
            "/etc/group",
            format!("root:x:0:\ngpu:x:{GPU}:ann,bob\nother:x:61009:\ndomain users:x:61010:\n"),
        )
        .unwrap();
        fs::write("/etc/gpus", "device vendor=nvidia index=0 name=A100\n").unwrap();
    }
    possible
}

/// The command, started by a user, with no environment that names a pool.
fn command(user: u32, words: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_ternlease");
    let mut command = Command::new("setpriv");
    let groups = match user {
        EVE => "--clear-groups".to_owned(),
        _ => format!("--groups={GPU}"),
    };
    if user != 0 {
        command.args([format!("--reuid={user}"), format!("--regid={user}"), groups]);
    }
    command
        .arg(program)
        .args(words)
        .env_remove("TERNLEASE_POOL")
        .env_remove("TERNLEASE_LEASE")
        .env_remove("TERNLEASE_SLOTS")
        .env("TERNLEASE_DEVICES", "file:/etc/gpus")
        .stdin(Stdio::null());
    command
}

fn run(user: u32, words: &[&str]) -> Output {
    command(user, words).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a successful command prints.
fn done(user: u32, words: &[&str]) -> String {
    let output = run(user, words);
    assert!(output.status.success(), "{words:?}: {}", errors(&output));
    says(&output)
}

fn setup() -> String {
    done(0, &["setup", "--group", "gpu"])
}

/// A user's program that has the device from when this returns until `finish`.
fn start_holder(user: u32) -> Child {
    let script = "echo started; exec cat";
    let words = ["run", "--quiet", "--name", "holder", "--", "sh", "-c", script];
    let mut child = command(user, &words);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    child
}

fn finish(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn mode(path: &str) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn setup_makes_directory_and_tmpfiles_line_and_is_idempotent() {
    if !is_fresh() {
        return;
    }
    let told = done(0, &["setup", "--group", "gpu", "--dry-run"]);
    assert!(told.contains("would") && told.contains("3770") && told.contains(TMPFILES), "{told}");
    assert!(!Path::new(SHARED).exists() && !Path::new(TMPFILES).exists());

    let told = setup();
    let made = fs::metadata(SHARED).unwrap();
    assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (0, GPU, 0o3770));
    let line = fs::read_to_string(TMPFILES).unwrap();
    assert!(line.contains("group gpu "), "{line}");
    assert!(line.lines().any(|line| line == "d /run/ternlease 3770 root 61000 -"), "{line}");
    assert_eq!(mode(TMPFILES), 0o644);
    assert!(told.contains("log in again") && told.contains("usermod -aG gpu"), "{told}");

    let told = setup();
    assert_eq!(told.matches("already exists").count(), 2, "{told}");
    // The directory that older versions of the documentation describe is not sticky.
    fs::set_permissions(SHARED, fs::Permissions::from_mode(0o2770)).unwrap();
    let told = setup();
    assert!(told.contains("from 2770 to 3770"), "{told}");
    assert_eq!(mode(SHARED), 0o3770);
}

#[test]
fn setup_quotes_a_group_name_with_a_blank() {
    if !is_fresh() {
        return;
    }
    let told = done(0, &["setup", "--group", "domain users"]);
    assert!(told.contains("`sudo usermod -aG 'domain users' USER`"), "{told}");
    let line = fs::read_to_string(TMPFILES).unwrap();
    assert!(line.ends_with("\nd /run/ternlease 3770 root 61010 -\n"), "{line}");
    let output = run(ANN, &["setup", "--group", "no 'group"]);
    assert!(errors(&output).contains(r"groupadd --system 'no '\''group'"), "{}", errors(&output));
}

#[test]
fn setup_refuses_what_it_cannot_do() {
    if !is_fresh() {
        return;
    }
    let output = run(0, &["setup", "--group", "nogroup"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("sudo groupadd"), "{}", errors(&output));
    let output = run(ANN, &["setup", "--group", "gpu"]);
    assert_eq!(output.status.code(), Some(1));
    let error = errors(&output);
    assert!(error.contains("sudo ternlease setup --group gpu"), "{error}");

    // What is there already belongs to another group, or is not a directory of the superuser's.
    setup();
    let output = run(0, &["setup", "--group", "other"]);
    assert!(errors(&output).contains("belongs to the group gpu"), "{}", errors(&output));
    fs::remove_dir_all(SHARED).unwrap();
    symlink("/dev/shm", SHARED).unwrap();
    let output = run(0, &["setup", "--group", "gpu"]);
    assert!(errors(&output).contains("not a directory owned by root"), "{}", errors(&output));
    assert_eq!(mode("/dev/shm"), 0o1777);
}

#[test]
fn users_of_the_group_share_one_pool_after_setup() {
    if !is_fresh() {
        return;
    }
    setup();
    let ann = start_holder(ANN);
    let output = run(BOB, &["run", "--now", "--", "true"]);
    assert_eq!(output.status.code(), Some(124), "Ann has the device: {}", errors(&output));
    assert!(!errors(&output).contains("private"), "{}", errors(&output));

    // Bob waits for it, and gets it when Ann's program has ended.
    let mut bob = command(BOB, &["run", "--quiet", "--name", "bob", "--", "true"]).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !done(BOB, &["queue"]).contains("bob") {
        assert!(Instant::now() < until && bob.try_wait().unwrap().is_none(), "Bob does not wait");
        std::thread::sleep(Duration::from_millis(10));
    }
    finish(ann);
    assert!(bob.wait().unwrap().success());
}

/// Two users may choose the same name: it means the leases of the caller.
#[test]
fn lease_of_another_user_is_released_by_its_full_id_only() {
    if !is_fresh() {
        return;
    }
    setup();
    let mut ann = start_holder(ANN);
    for user in [BOB, 0] {
        for word in ["release", "revoke", "renew"] {
            let output = run(user, &[word, "holder"]);
            assert_eq!(output.status.code(), Some(1));
            let error = errors(&output);
            assert!(error.contains("belongs to another user; give the full lease id"), "{error}");
        }
    }
    let told = done(ANN, &["release", "holder"]);
    assert!(told.starts_with("released lease ") && told.ends_with(" of holder holder\n"), "{told}");
    assert!(!ann.wait().unwrap().success());
    // A lease of `claim` is that of who claimed it.
    let id = done(ANN, &["claim", "--quiet", "--name", "kept", "--for", "1"]);
    let error = errors(&run(BOB, &["release", "kept"]));
    assert!(error.contains(&format!("lease {} belongs", id.trim())), "{error}");
    assert!(done(ANN, &["release", "kept"]).starts_with("released lease "));
}

#[test]
fn group_member_cannot_delete_or_replace_the_file_of_another_user() {
    if !is_fresh() {
        return;
    }
    setup();
    done(ANN, &["status"]);
    let file = format!("{SHARED}/default");
    let before = fs::metadata(&file).unwrap();
    assert_eq!((before.uid(), before.gid(), before.mode() & 0o7777), (ANN, GPU, 0o660));
    let shell = |line: &str| {
        let mut command = Command::new("setpriv");
        let ids = [format!("--reuid={BOB}"), format!("--regid={BOB}"), format!("--groups={GPU}")];
        command.args(ids).args(["sh", "-c", line]).output().unwrap()
    };
    for line in [
        format!("rm -f {file}"),
        format!("touch {SHARED}/mine && mv -f {SHARED}/mine {file}"),
        format!("mv {file} {SHARED}/gone"),
    ] {
        let output = shell(&line);
        assert!(!output.status.success(), "{line}");
        assert!(errors(&output).contains("not permitted"), "{line}: {}", errors(&output));
    }
    assert_eq!(fs::metadata(&file).unwrap().ino(), before.ino());
    done(BOB, &["status"]);
}

#[test]
fn user_outside_the_group_is_refused_with_the_name_of_the_group() {
    if !is_fresh() {
        return;
    }
    setup();
    let output = run(EVE, &["run", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    let error = errors(&output);
    assert!(error.contains("group gpu") && error.contains("log in again"), "{error}");
    let output = run(EVE, &["doctor"]);
    let told = says(&output);
    assert!(told.contains("group gpu") && told.contains("usermod -aG gpu eve"), "{told}");
}

/// Programs that opened a private pool before keep it until they end: the same device could be granted twice.
#[test]
fn setup_warns_of_private_pools_in_use() {
    if !is_fresh() {
        return;
    }
    let ann = start_holder(ANN);
    let told = setup();
    assert!(told.contains("warning: user ann still has programs on"), "{told}");
    assert!(told.contains("/dev/shm/ternlease-61001/default"), "{told}");
    finish(ann);
    let told = setup();
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn private_pool_is_announced_in_one_line_with_the_remedy() {
    if !is_fresh() {
        return;
    }
    let line = "ternlease: this pool is private to user ann; to share GPUs with other users run: \
        sudo ternlease setup --group gpu\n";
    for words in [
        &["run", "--", "true"][..],
        &["claim", "--timeout", "60s"],
        &["status"],
        &["--pool", "host:team", "run", "--", "true"],
    ] {
        let output = run(ANN, words);
        assert!(output.status.success(), "{words:?}: {}", errors(&output));
        assert_eq!(errors(&output).matches(line).count(), 1, "{words:?}: {}", errors(&output));
        if words[0] == "claim" {
            done(ANN, &["release", says(&output).trim()]);
        }
    }
    for words in [
        &["run", "--quiet", "--", "true"][..],
        &["status", "--json"],
        &["--devices", "fake:2", "status"],
        &["--devices", "none", "status"],
        &["--pool", "host:/dev/shm/ann", "run", "--", "true"],
        &["queue"],
    ] {
        let output = run(ANN, words);
        assert!(output.status.success(), "{words:?}: {}", errors(&output));
        assert!(!errors(&output).contains("private"), "{words:?}: {}", errors(&output));
    }
    let mut fake = command(ANN, &["--fake", "2", "run", "--", "true"]);
    assert_eq!(errors(&fake.env_remove("TERNLEASE_DEVICES").output().unwrap()), "");
    for pool in [None, Some("host:team")] {
        let mut fake = command(ANN, &["status"]);
        fake.env("TERNLEASE_DEVICES", "fake:2").envs(pool.map(|pool| ("TERNLEASE_POOL", pool)));
        assert_eq!(errors(&fake.output().unwrap()), "");
    }
    setup();
    assert_eq!(errors(&run(ANN, &["status"])), "");
}

#[test]
fn doctor_reports_the_private_pool_and_the_remedy() {
    if !is_fresh() {
        return;
    }
    let told = done(ANN, &["doctor"]);
    assert!(told.contains("warn  sharing"), "{told}");
    assert!(told.contains("private to user ann") && told.contains(REMEDY), "{told}");
    setup();
    let told = done(ANN, &["doctor"]);
    assert!(told.contains("ok    sharing") && told.contains("group gpu"), "{told}");
    assert!(!told.contains(REMEDY), "{told}");
    // A directory that an older version made is not sticky.
    fs::set_permissions(SHARED, fs::Permissions::from_mode(0o2770)).unwrap();
    let told = done(ANN, &["doctor"]);
    assert!(told.contains("warn  sharing") && told.contains("2770"), "{told}");
    assert!(told.contains("sudo ternlease setup --group gpu"), "{told}");
    setup();
    // A file named by its path is shared by all that may open it: its rights are reported as before.
    let told = done(ANN, &["--pool", "host:/dev/shm/ann", "doctor"]);
    assert!(!told.contains("sharing"), "{told}");
}
