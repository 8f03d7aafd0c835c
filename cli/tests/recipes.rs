//! What docs/recipes.md says works: its code is taken from the page and run, with devices that do not exist and with the tools it is about.
//! A tool that is missing is named, and with CI=true it is a failure.
#![allow(missing_docs)]

mod report_support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use report_support::{Pool, path_of_the_command};
use ternlease::LeaseState;

/// A block of code of the page.
struct Block {
    section: String,
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recipes.md");
    let page = fs::read_to_string(page).unwrap();
    let mut found: Vec<Block> = Vec::new();
    let (mut section, mut open) = (String::new(), false);
    for line in page.lines() {
        match (open, line.strip_prefix("```"), line.strip_prefix("## ")) {
            (false, Some(language), _) => {
                let (section, language) = (section.clone(), language.to_owned());
                found.push(Block { section, language, text: String::new() });
                open = true;
            }
            (true, Some(_), _) => open = false,
            (true, None, _) => {
                let block = found.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            (false, None, Some(title)) => section = title.to_owned(),
            (false, None, None) => {}
        }
    }
    assert!(!open, "a block does not end");
    found
}

/// The blocks of a section in a language: scripts apart from commands.
fn code(section: &str, language: &str) -> Vec<String> {
    let of = |block: &Block| block.section == section && block.language == language;
    blocks().into_iter().filter(of).map(|block| block.text).collect()
}

fn the_only(section: &str, language: &str) -> String {
    let mut found = code(section, language);
    assert_eq!(found.len(), 1, "{section}: blocks of {language}");
    found.remove(0)
}

/// Uses its devices alone, or fails: two that have one at the same time cannot both make the directory.
const JOB: &str = r#"#!/bin/sh
set -e
for device in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do mkdir "$BENCH/using-$device"; done
echo "${1##*/} $CUDA_VISIBLE_DEVICES" >> "$BENCH/log"
echo "result of $1"
for device in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do rmdir "$BENCH/using-$device"; done
"#;

/// A directory with a job in it, and a pool.
struct Bench {
    pool: Pool,
    dir: PathBuf,
}

impl Bench {
    fn new(name: &str, devices: u32) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("recipe-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let bench = Bench { pool: Pool::new(devices), dir };
        bench.script("job", JOB);
        bench
    }

    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.pool.put_into(&mut command);
        // The command itself, and what a recipe has put beside its job.
        let path = format!("{}:{}", self.dir.display(), path_of_the_command());
        command.current_dir(&self.dir).env("BENCH", &self.dir).env("PATH", path);
        command
    }

    fn shell(&self, text: &str) -> Output {
        self.command("bash").args(["-e", "-c", text]).output().unwrap()
    }

    /// Runs the commands of a recipe; they must not fail.
    fn follow(&self, text: &str) {
        let output = self.shell(text);
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "{text}\nended with {}\n{out}\n{err}", output.status);
    }

    /// What jobs ran, and on what, by the name of the job.
    fn log(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        let entry = |line: &str| {
            let (job, devices) = line.split_once(' ').expect("a job has devices");
            (job.to_owned(), devices.to_owned())
        };
        let mut log: Vec<_> = text.lines().map(entry).collect();
        log.sort();
        log
    }

    /// All these ran, each on one device of four, and nothing is leased any more.
    fn check(&self, jobs: &[&str]) {
        let log = self.log();
        assert_eq!(log.iter().map(|(job, _)| job.as_str()).collect::<Vec<_>>(), jobs);
        for (job, device) in log {
            assert!(["0", "1", "2", "3"].contains(&device.as_str()), "{job} ran on {device:?}");
        }
        self.wait_until_all_is_free();
    }

    /// Tools may end a little before what they have started.
    fn wait_until_all_is_free(&self) {
        let manager = self.pool.manager();
        let mut events = manager.events(u64::MAX);
        while manager.active_count() > 0 {
            let told = events.wait(Some(PATIENCE)).unwrap();
            assert!(told, "still held: {:?}", manager.leases());
            events.by_ref().for_each(drop);
        }
    }
}

/// Nothing takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Is there such a program? If not, that is said, and in CI it is a failure.
fn there_is(tool: &str, probe: &mut Command) -> bool {
    let works = probe.output().is_ok_and(|output| output.status.success());
    if !works {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "{tool} is missing, and the recipe for it cannot be tried");
        eprintln!("skipped: the recipe for {tool}, which is missing");
    }
    works
}

#[test]
fn every_recipe_is_tried() {
    let sections: BTreeSet<String> = blocks().into_iter().map(|block| block.section).collect();
    let tried = ["CTest", "GNU parallel", "Slurm", "make -j", "pytest-xdist"];
    assert_eq!(sections.iter().map(String::as_str).collect::<Vec<_>>(), tried);
    let languages: BTreeSet<String> = blocks().into_iter().map(|block| block.language).collect();
    assert_eq!(languages.iter().map(String::as_str).collect::<Vec<_>>(), ["cmake", "make", "sh"]);
}

#[test]
fn gnu_parallel() {
    if !there_is("parallel", Command::new("parallel").arg("--version")) {
        return;
    }
    let bench = Bench::new("parallel", 4);
    // Its notice about citations waits for nobody.
    bench.follow(&format!("export HOME=$BENCH\n{}", the_only("GNU parallel", "sh")));
    bench.check(&["a", "b", "c", "d", "e", "f", "g", "h"]);
}

#[test]
fn make() {
    if !there_is("make", Command::new("make").arg("--version")) {
        return;
    }
    let bench = Bench::new("make", 4);
    fs::write(bench.dir.join("Makefile"), the_only("make -j", "make")).unwrap();
    fs::create_dir(bench.dir.join("inputs")).unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        fs::write(bench.dir.join("inputs").join(name), "").unwrap();
    }
    bench.follow(&the_only("make -j", "sh"));
    bench.check(&["a", "b", "c", "d", "e"]);
    let result = fs::read_to_string(bench.dir.join("results/c")).unwrap();
    assert_eq!(result, "result of inputs/c\n");
}

#[test]
fn ctest() {
    if !there_is("ctest", Command::new("ctest").arg("--version")) {
        return;
    }
    let bench = Bench::new("ctest", 4);
    fs::write(bench.dir.join("CMakeLists.txt"), the_only("CTest", "cmake")).unwrap();
    bench.follow(&the_only("CTest", "sh"));
    bench.check(&["a", "b", "c", "d", "e", "f"]);
}

/// A Python that has pytest-xdist: that of the system, or one of our own.
fn python_with_xdist() -> Option<PathBuf> {
    let probe = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", "import pytest, xdist"]);
        command
    };
    let system = PathBuf::from("python3");
    if probe(&system).output().is_ok_and(|output| output.status.success()) {
        return Some(system);
    }
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pytest-xdist");
    let own = venv.join("bin/python");
    if !probe(&own).output().is_ok_and(|output| output.status.success()) {
        let _ = Command::new("python3").args(["-m", "venv"]).arg(&venv).output();
        let install = ["-m", "pip", "install", "--quiet", "pytest", "pytest-xdist"];
        let _ = Command::new(&own).args(install).output();
    }
    there_is("pytest-xdist", &mut probe(&own)).then_some(own)
}

const PYTHON_TESTS: &str = "\
import os, pytest

@pytest.mark.parametrize('number', range(40))
def test_that_uses_a_device(number):
    with open(os.environ['BENCH'] + '/log', 'a') as log:
        log.write(os.environ['PYTEST_XDIST_WORKER'] + ' ' + os.environ['CUDA_VISIBLE_DEVICES'] + '\\n')
";

#[test]
fn pytest_xdist() {
    let Some(python) = python_with_xdist() else { return };
    let bench = Bench::new("xdist", 4);
    fs::create_dir(bench.dir.join("tests")).unwrap();
    fs::write(bench.dir.join("tests/test_device.py"), PYTHON_TESTS).unwrap();
    // What the page calls pytest and python is this one.
    let python = python.display();
    bench.script("python", &format!("#!/bin/sh\nexec {python} \"$@\"\n"));
    bench.script(
        "pytest",
        &format!("#!/bin/sh\nexec {python} -m pytest -p no:cacheprovider \"$@\"\n"),
    );
    bench.follow(&the_only("pytest-xdist", "sh"));
    let log = bench.log();
    assert_eq!(log.len(), 40);
    let pairs: BTreeSet<_> = log.into_iter().collect();
    let workers: BTreeSet<_> = pairs.iter().map(|(worker, _)| worker).collect();
    let devices: BTreeSet<_> = pairs.iter().map(|(_, device)| device).collect();
    // Each worker has one device, and no device has two workers.
    assert_eq!((pairs.len(), devices.len()), (workers.len(), workers.len()), "{pairs:?}");
    bench.wait_until_all_is_free();
}

/// Runs a script of Slurm's as slurmd does: as a child, in a group of its own, of which nothing is left afterwards.
fn as_slurmd(bench: &Bench, script: &str, gpus: Option<&str>) -> Output {
    let mut command = bench.command(bench.dir.join(script).to_str().unwrap());
    command.env("SLURM_JOB_ID", "42").env("TERNLEASE_STATE", &bench.dir);
    if let Some(gpus) = gpus {
        command.env("SLURM_JOB_GPUS", gpus);
    }
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.process_group(0).spawn().unwrap();
    let group = child.id().cast_signed();
    let output = child.wait_with_output().unwrap();
    // SAFETY: a signal to the group that was just made, if anything of it is left.
    unsafe { libc::killpg(group, libc::SIGKILL) };
    output
}

/// Prolog, epilog, and the command in a job.
fn slurm_code() -> [String; 3] {
    code("Slurm", "sh").try_into().expect("three blocks for Slurm")
}

#[test]
fn slurm_prolog_and_epilog() {
    let bench = Bench::new("slurm", 4);
    let [prolog, epilog, _] = slurm_code();
    bench.script("prolog", &prolog);
    bench.script("epilog", &epilog);
    let manager = bench.pool.manager();

    let began = as_slurmd(&bench, "prolog", Some("0,2"));
    assert!(began.status.success(), "{}", String::from_utf8_lossy(&began.stderr));
    let leases = manager.leases();
    assert_eq!(leases.len(), 1, "the lease outlives the prolog");
    assert_eq!(leases[0].holder, "slurm-42");
    let devices: Vec<_> = leases[0].takes.iter().map(|taken| taken.resource.clone()).collect();
    assert_eq!(devices, [bench.pool.key(0), bench.pool.key(2)]);
    // Those beside Slurm get what is left.
    assert_eq!(bench.shell("ternlease run --now -n 3 -- true").status.code(), Some(124));
    bench.follow("ternlease run --now -n 2 -- ./job beside");
    assert_eq!(bench.log(), [("beside".to_owned(), "1,3".to_owned())]);

    let ended = as_slurmd(&bench, "epilog", Some("0,2"));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(manager.state(leases[0].id), Some(LeaseState::Expired));
    assert_eq!(manager.active_count(), 0);
    // Again, and for jobs without devices: nothing to do.
    assert!(as_slurmd(&bench, "epilog", None).status.success());
    assert!(as_slurmd(&bench, "prolog", None).status.success());
    assert_eq!(manager.active_count(), 0);
}

#[test]
fn slurm_prolog_that_fails_leaves_no_file_and_its_epilog_is_silent() {
    let bench = Bench::new("slurm-fails", 1);
    let [prolog, epilog, _] = slurm_code();
    // A minute is too long for a test.
    let prolog = prolog.replace("--timeout 60s", "--timeout 50ms");
    bench.script("prolog", &prolog);
    bench.script("epilog", &epilog);
    let other = bench.pool.lease("other", 1);
    let before = fs::read_dir(&bench.dir).unwrap().count();
    assert!(!as_slurmd(&bench, "prolog", Some("0")).status.success());
    assert_eq!(fs::read_dir(&bench.dir).unwrap().count(), before, "no file is left");
    // What earlier versions of the recipe left.
    for left in [None, Some("")] {
        if let Some(text) = left {
            fs::write(bench.dir.join("ternlease-job-42"), text).unwrap();
        }
        let ended = as_slurmd(&bench, "epilog", Some("0"));
        assert!(ended.status.success(), "{left:?}: {ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{left:?}");
        assert_eq!(fs::read_dir(&bench.dir).unwrap().count(), before, "{left:?}");
    }
    assert_eq!(bench.pool.manager().state(other), Some(LeaseState::Held));
}

#[test]
fn slurm_lease_survives_the_end_of_slurmd() {
    let bench = Bench::new("slurm-restart", 1);
    let [prolog, epilog, _] = slurm_code();
    bench.script("prolog", &prolog);
    bench.script("epilog", &epilog);
    // The shell is slurmd: it starts the prolog, and ends.
    bench.script("slurmd", "#!/bin/sh\n\"$BENCH/prolog\"\nexit 0\n");
    assert!(as_slurmd(&bench, "slurmd", Some("0")).status.success());
    let manager = bench.pool.manager();
    let lease = manager.leases()[0].id;
    // The keeper of the lease would have to notice the end first: it uses the table, and a claim after it shows what it did.
    let keeper_opened = || {
        manager
            .host()
            .unwrap()
            .processes
            .iter()
            .any(|one| one.leases == 0 && one.process != std::process::id())
    };
    let until = std::time::Instant::now() + PATIENCE;
    while !keeper_opened() {
        assert!(std::time::Instant::now() < until, "no process keeps the lease");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(bench.shell("ternlease run --timeout 300ms -q -- true").status.code(), Some(124));
    assert_eq!(manager.state(lease), Some(LeaseState::Held));
    assert!(as_slurmd(&bench, "epilog", Some("0")).status.success());
    assert_eq!(manager.state(lease), Some(LeaseState::Expired));
}

/// What srun does to the environment of a step on a node with four devices, where there is no Slurm.
const SRUN: &str = "\
#!/bin/sh
shift
SLURM_STEP_GPUS=0,1 CUDA_VISIBLE_DEVICES=0,1 exec \"$@\"
";

#[test]
fn slurm_step() {
    let bench = Bench::new("srun", 4);
    let [_, _, step] = slurm_code();
    bench.script("srun", SRUN);
    bench.follow(&step);
    assert_eq!(bench.log(), [("a".to_owned(), "0,1".to_owned())]);
    bench.wait_until_all_is_free();
}
