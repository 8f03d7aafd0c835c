//! `ternlease run`, without a terminal: what the program sees, how it ends, what is said if it gets nothing.
#![allow(missing_docs)]

mod common;

use std::io::Write;

use common::{Pool, errors, lives, text, wait_until};
use ternlease::{Reason, What};

fn status(output: &std::process::Output) -> (Option<i32>, Option<i32>) {
    use std::os::unix::process::ExitStatusExt;
    (output.status.code(), output.status.signal())
}

#[test]
fn codes_and_signals_are_passed_on() {
    let pool = Pool::new(1);
    for code in [0, 1, 7, 121, 255] {
        let output = pool.run(&["run", "--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!(status(&output), (Some(code), None));
        assert_eq!(errors(&output), "", "nothing is said that nobody asked for");
    }
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV, libc::SIGINT, libc::SIGUSR1] {
        let output = pool.run(&["run", "--", "sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!(status(&output), (None, Some(signal)));
    }
    let manager = pool.manager();
    assert_eq!(manager.active_count(), 0);
    assert_eq!(manager.count(Reason::HolderDied), 0, "each lease was given back");
    assert_eq!(manager.count(Reason::Released), 10);
}

#[test]
fn signals_to_the_command_are_passed_on() {
    let pool = Pool::new(1);
    for name in ["HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "WINCH"] {
        // The shell tells of the signal before `wait` comes back from it.
        let script = format!(
            "trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 1 & wait; done"
        );
        let mut run = pool.start(&["run", "--", "sh", "-c", &script]);
        assert_eq!(run.line(), "ready");
        let number = match name {
            "HUP" => libc::SIGHUP,
            "INT" => libc::SIGINT,
            "QUIT" => libc::SIGQUIT,
            "USR1" => libc::SIGUSR1,
            "USR2" => libc::SIGUSR2,
            "WINCH" => libc::SIGWINCH,
            _ => libc::SIGTERM,
        };
        run.send(number);
        assert_eq!(run.line(), format!("got {name}"));
        assert_eq!(run.end(), (Some(5), None));
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let pool = Pool::new(1);
    let binary = env!("CARGO_BIN_EXE_ternlease");
    let script = format!(
        "trap '' HUP; exec {binary} run -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo alive'"
    );
    let mut shell = std::process::Command::new("sh");
    let template = pool.command(&[]);
    for (name, value) in template.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.args(["-c", &script]).output().unwrap();
    assert_eq!((text(&output.stdout).as_str(), status(&output)), ("alive\n", (Some(0), None)));
}

#[test]
fn input_and_output_are_the_programs_own() {
    let pool = Pool::new(1);
    let mut run = pool.start(&["run", "--", "sh", "-c", "cat; echo problem >&2"]);
    let bytes = "0123456789abcdef\n".repeat(20_000);
    let mut input = run.child.stdin.take().unwrap();
    let copy = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(copy.as_bytes()).unwrap());
    for expected in bytes.lines() {
        assert_eq!(run.line(), expected);
    }
    writer.join().unwrap();
    assert_eq!(run.errors(), "problem\n");
    assert_eq!(run.end(), (Some(0), None));
}

#[test]
fn the_program_sees_its_devices_and_its_lease() {
    let pool = Pool::new(4);
    let show = "echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES; echo $TERNLEASE_LEASE; cat";
    let mut two = pool.start(&["run", "-n", "2", "--name", "me", "--", "sh", "-c", show]);
    assert_eq!(two.line(), "PCI_BUS_ID 0,1");
    let lease = two.line().parse().map(ternlease::LeaseId).unwrap();
    assert_eq!(pool.manager().held_by("me"), [lease]);
    let named = ["run", "--device", "3", "--device", "nvidia:2", "--", "sh", "-c", show];
    assert!(text(&pool.run(&named).stdout).starts_with("PCI_BUS_ID 3,2\n"));
    let by_uuid = text(&pool.run(&["run", "--uuid", "--", "sh", "-c", show]).stdout);
    assert!(by_uuid.starts_with("PCI_BUS_ID GPU-"), "{by_uuid}");
    two.end();
}

#[test]
fn devices_can_be_shared_by_memory_and_by_slots() {
    let pool = Pool::new(1);
    let mut first = pool.start(&["run", "--memory", "50G", "--", "sh", "-c", "echo in; cat"]);
    assert_eq!(first.line(), "in");
    let beside = pool.run(&["run", "--now", "--memory", "20G", "--", "true"]);
    assert_eq!(status(&beside), (Some(0), None), "{}", errors(&beside));
    assert_eq!(status(&pool.run(&["run", "--now", "--memory", "40G", "--", "true"])).0, Some(124));
    assert_eq!(status(&pool.run(&["run", "--memory", "200G", "--", "true"])).0, Some(122));
    first.end();

    let slots = Pool::new(1);
    let run = |words: &[&str]| {
        let mut command = slots.command(words);
        command.env("TERNLEASE_SLOTS", "2").output().unwrap()
    };
    let nested = format!(
        "{0} run --now --slots 1 -- true && ! {0} run --now --slots 2 -- true",
        env!("CARGO_BIN_EXE_ternlease")
    );
    let output = run(&["run", "--slots", "1", "--", "sh", "-c", &nested]);
    assert_eq!(status(&output), (Some(0), None), "{}", errors(&output));
    let three = run(&["run", "--slots", "3", "--", "true"]);
    assert_eq!(status(&three).0, Some(122));
    assert!(errors(&three).contains("devices here have 2; TERNLEASE_SLOTS"), "{}", errors(&three));
}

#[test]
fn what_cannot_be_started_is_said_before_anybody_waits() {
    let pool = Pool::new(1);
    let held = pool.open().claim().try_now().unwrap().unwrap();
    for (program, code) in
        [("no-such-program", 127), ("/no/such/program", 127), ("/etc/passwd", 126)]
    {
        let output = pool.run(&["run", "--", program]);
        assert_eq!(status(&output).0, Some(code), "{}", errors(&output));
        assert_eq!(errors(&output).lines().count(), 1);
    }
    drop(held);
    // Something that looks like a program, and is none.
    let directory = common::Directory::new("not-a-program");
    let path = directory.join("text");
    std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = pool.run(&["run", "--", path.to_str().unwrap()]);
    assert_eq!(status(&output).0, Some(126), "{}", errors(&output));
    assert_eq!(pool.manager().active_count(), 0, "nothing is held for it");
}

#[test]
fn who_gets_nothing_is_told_who_has_it() {
    let pool = Pool::new(2);
    let open = pool.open();
    let _held = open.claim().holder("alice\x1b[31m").devices(2).try_now().unwrap();
    for (words, begins) in [
        (&["run", "--now", "--", "true"][..], "ternlease: not free now: "),
        (&["run", "--timeout", "0", "--", "true"], "ternlease: not free now: "),
        (&["run", "-q", "--timeout", "50ms", "--", "true"], "ternlease: not granted within 50ms: "),
    ] {
        let output = pool.run(words);
        assert_eq!(status(&output).0, Some(124));
        let said = errors(&output);
        assert!(said.starts_with(begins), "{said}");
        assert!(said.contains("nvidia:0, nvidia:1 are held by alice\\u{1b}[31m ("), "{said}");
        assert!(!said.contains('\x1b') && said.lines().count() == 1, "{said}");
    }
    let impossible = pool.run(&["run", "-n", "3", "--", "true"]);
    assert_eq!(status(&impossible).0, Some(122));
}

#[test]
fn who_waits_is_told_its_place_and_leaves_the_line_when_told_to() {
    let pool = Pool::new(1);
    let open = pool.open();
    let held = open.claim().holder("alice").try_now().unwrap().unwrap();
    let mut first = pool.start(&["run", "--", "true"]);
    wait_until("the first waits", || open.pending_claimers() == 1);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut second = pool.start(&["run", "--", "true"]);
        wait_until("the second waits", || open.pending_claimers() == 2);
        second.send(signal);
        assert_eq!(second.end(), (None, Some(signal)));
        assert_eq!(open.pending_claimers(), 1, "it has left before it ended");
        let said = second.errors();
        assert!(said.starts_with("ternlease: waiting, place 2 in line"), "{said}");
    }
    drop(held);
    assert_eq!(first.end(), (Some(0), None));
    let said = first.errors();
    assert!(said.starts_with("ternlease: waiting, place 1 in line"), "{said}");
    assert!(said.contains("ternlease: got nvidia:0 after "), "{said}");
    let info = pool.manager().host().unwrap();
    assert_eq!((info.deaths, info.processes.len()), (0, 2), "all have left in good order");
}

#[test]
fn a_waiter_that_is_killed_leaves_nothing_behind() {
    let pool = Pool::new(1);
    let open = pool.open();
    let held = open.claim().try_now().unwrap().unwrap();
    let mut waiter = pool.start(&["run", "--quiet", "--", "true"]);
    wait_until("it waits", || open.pending_claimers() == 1);
    waiter.send(libc::SIGKILL);
    waiter.end();
    wait_until("it is gone from the line", || open.pending_claimers() == 0);
    drop(held);
    assert_eq!(status(&pool.run(&["run", "--now", "--", "true"])).0, Some(0));
}

#[test]
fn priorities_are_the_tables_business() {
    let pool = Pool::new(1);
    let open = pool.open();
    let held = open.claim().try_now().unwrap().unwrap();
    let start = |name: &str, more: &[&str], waiting: usize| {
        let words = ["run", "--name", name];
        let run = pool.start(&[&words[..], more, &["--", "true"]].concat());
        wait_until("it waits", || open.pending_claimers() == waiting);
        run
    };
    let mut runs = [
        start("late", &["--priority", "-5"], 1),
        start("early", &["--priority", "7"], 2),
        start("between", &[], 3),
    ];
    drop(held);
    runs.iter_mut().for_each(|run| assert_eq!(run.end(), (Some(0), None)));
    let manager = pool.manager();
    let holders: Vec<String> = manager
        .events_since(0)
        .0
        .iter()
        .filter_map(|event| match event.what {
            What::Granted { lease, ticket: Some(_) } => Some(manager.lease(lease).unwrap().holder),
            _ => None,
        })
        .collect();
    assert_eq!(holders, ["early", "between", "late"]);
}

#[test]
fn a_machine_without_devices_is_said_to_be_one() {
    let pool = Pool::new(1);
    let none = |words: &[&str]| {
        let mut command = pool.command(words);
        command.env("TERNLEASE_DEVICES", "none").env("HIP_VISIBLE_DEVICES", "0").output().unwrap()
    };
    let output = none(&["run", "--", "true"]);
    assert_eq!(status(&output).0, Some(123));
    assert!(errors(&output).contains("--cpu-ok"), "{}", errors(&output));
    let show =
        "echo $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES ${HIP_VISIBLE_DEVICES-unset}; exit 3";
    let output = none(&["run", "--cpu-ok", "--", "sh", "-c", show]);
    assert_eq!((status(&output).0, text(&output.stdout).as_str()), (Some(3), "-1 -1 unset\n"));
    let output = none(&["run", "--cpu-ok", "--max-time", "10ms", "--", "sleep", "1000"]);
    assert_eq!(status(&output).0, Some(124), "{}", errors(&output));
}

#[test]
fn what_outlives_the_program_keeps_the_device() {
    let pool = Pool::new(1);
    // The one in the background has none of the program's output, or the command would be waited for by its reader.
    let script = "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!";
    let mut run = pool.start(&["run", "--", "sh", "-c", script]);
    let left = run.number();
    assert_eq!(run.end(), (Some(0), None), "the command does not wait for it");
    assert!(lives(left));
    assert_eq!(status(&pool.run(&["run", "--now", "--", "true"])).0, Some(124));
    common::kill(left, libc::SIGKILL);
    assert_eq!(status(&pool.run(&["run", "--timeout", "60", "--", "true"])).0, Some(0));
}

#[test]
fn who_waits_for_itself_is_told() {
    let pool = Pool::new(1);
    let again = format!("{} run --timeout 50ms -- true", env!("CARGO_BIN_EXE_ternlease"));
    let output = pool.run(&["run", "--", "sh", "-c", &again]);
    assert_eq!(status(&output).0, Some(124));
    assert!(
        errors(&output).starts_with("ternlease: this runs within lease "),
        "{}",
        errors(&output)
    );
}
