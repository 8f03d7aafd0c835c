//! A machine is read within its limits: in the time and memory given, on the processors allowed, without leaving anything behind, also where
//! nothing may be written. Each case runs in a process of its own: this program again, for one of the parts below.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use ternlease::cost::{NEVER, ReadError, ReadOptions, Source};
use ternlease::{FnCost, Kind, MachCap};

const PART: &str = "TERN_PART";

/// This program again, for one test with this part to play.
fn child(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads", "1"]).env(PART, part);
    command
}

fn is_part(part: &str) -> bool {
    std::env::var(PART).is_ok_and(|own| own == part)
}

#[track_caller]
fn assert_success(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// An empty directory, gone afterwards.
struct Empty(PathBuf);

impl Empty {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ternlease-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Empty(path)
    }
    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What must hold wherever a machine was read.
fn assert_sensible(machine: &MachCap) {
    assert!(machine.rates.named().iter().all(|(_, rate)| rate.per_second > 0));
    assert!(machine.cores_usable >= 1 && machine.mem_available <= machine.mem_total);
    let task = FnCost::sort(1_000_000, 64, 1 << 20).kind(Kind::Sort);
    assert!((1..NEVER).contains(&machine.compute_time(task).mid));
}

#[test]
fn the_budget_is_kept() {
    for milliseconds in [0, 1, 20, 300] {
        let budget = Duration::from_millis(milliseconds);
        let mut steps = Vec::new();
        let mut told = |progress| steps.push(progress);
        let begun = Instant::now();
        let options = ReadOptions::new().refresh().budget(budget).progress(&mut told);
        let machine = MachCap::read_with(".", options).unwrap();
        let took = begun.elapsed();
        assert_sensible(&machine);
        assert_eq!(
            steps.last().map(|last| (last.step, last.done)),
            Some(("done", last_of(&steps)))
        );
        println!("a budget of {budget:?} took {took:?}");
    }
}

fn last_of(steps: &[ternlease::cost::Progress]) -> u32 {
    steps.len() as u32 - 1
}

#[test]
fn little_memory_is_enough() {
    if is_part("little memory") {
        let machine = MachCap::read_with(".", ReadOptions::new().refresh()).unwrap();
        return assert_sensible(&machine);
    }
    let mut command = child("little_memory_is_enough", "little memory");
    let limit = libc::rlimit { rlim_cur: 64 << 20, rlim_max: 64 << 20 };
    // SAFETY: a system call with a value of its own; nothing is allocated.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
    assert_success(&command.output().unwrap());
}

#[test]
fn one_processor_is_one() {
    if is_part("one processor") {
        let machine = MachCap::read_with(".", ReadOptions::new().refresh()).unwrap();
        assert_sensible(&machine);
        assert_eq!(machine.cores_usable, 1);
        assert!(machine.core_scaling() <= 1.0);
        return;
    }
    let mut command = child("one_processor_is_one", "one processor");
    // SAFETY: system calls with a value of their own; nothing is allocated.
    unsafe {
        command.pre_exec(|| {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of_val(&set);
            if libc::sched_getaffinity(0, size, &mut set) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let mut all = 0..libc::CPU_SETSIZE as usize;
            let first = all.find(|&cpu| libc::CPU_ISSET(cpu, &set)).unwrap_or(0);
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first, &mut set);
            match libc::sched_setaffinity(0, size, &set) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    assert_success(&command.output().unwrap());
}

#[test]
fn nothing_is_written_unless_asked() {
    let empty = Empty::new("nothing-written");
    if is_part("read") {
        assert_sensible(&MachCap::read(".").unwrap());
        return;
    }
    let run = |part| {
        let mut command = child("nothing_is_written_unless_asked", part);
        command.current_dir(&empty.0).env("HOME", &empty.0).env("TMPDIR", &empty.0);
        assert_success(&command.env_remove("XDG_CACHE_HOME").output().unwrap());
    };
    run("read");
    assert!(empty.files().is_empty(), "{:?}", empty.files());
}

#[test]
fn what_is_kept_is_used_until_it_is_to_be_measured_again() {
    let empty = Empty::new("kept");
    let file = empty.0.join("below/rates");
    let budget = Duration::from_millis(30);
    let options = || ReadOptions::new().budget(budget).cache_file(&file);
    let read = |options| MachCap::read_with(".", options).unwrap();
    let kept = read(options().keep());
    assert!(file.is_file());
    let again = read(options());
    assert_eq!(again.rates, kept.rates);
    assert!(again.age().unwrap() < Duration::from_secs(3600));
    // The clock of the file counts seconds, so that it is older than nothing at all.
    let fresh = read(options().refresh());
    assert!(fresh.measured_at > again.measured_at);
    fs::write(&file, "ternlease rates 1\nkey 0\n").unwrap();
    assert_sensible(&read(options()));
}

#[test]
fn what_cannot_be_kept_is_an_error_that_names_the_file() {
    let options = ReadOptions::new().budget(Duration::from_millis(1)).keep();
    let error = MachCap::read_with(".", options.cache_file("/proc/rates"));
    let Err(ReadError::Cache { path, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(path, Path::new("/proc/rates"));
}

#[test]
fn a_disk_is_measured_without_a_trace_and_only_where_one_may_write() {
    let empty = Empty::new("disk");
    let budget = Duration::from_millis(100);
    let options = || ReadOptions::new().without_benchmarks().with_disk(budget);
    match MachCap::read_with(&empty.0, options()) {
        Ok(machine) => assert_ne!(machine.disk.write.source, Source::Estimated),
        // Some file systems have no files without names, or no way past the cache.
        Err(ReadError::Store { cause, .. }) => println!("not measured here: {cause}"),
        Err(error) => panic!("{error}"),
    }
    assert!(empty.files().is_empty());
    let Err(error) = MachCap::read_with("/proc", options()) else { panic!("nobody writes there") };
    assert!(error.to_string().contains("/proc"), "{error}");
}

#[test]
fn many_at_once_do_no_harm() {
    let reads = (0..8).map(|_| {
        std::thread::spawn(|| {
            let options = ReadOptions::new().refresh().budget(Duration::from_millis(50));
            assert_sensible(&MachCap::read_with(".", options).unwrap());
        })
    });
    let reads: Vec<_> = reads.collect();
    reads.into_iter().for_each(|read| read.join().unwrap());
}
