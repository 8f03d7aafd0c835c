//! Every example runs, holds its own assertions, prints the same each time, and stays short.

use std::path::Path;
use std::process::Command;

/// Runs it: from TERN_EXAMPLES, if whoever calls has built all of them there, or by cargo.
fn command(example: &str) -> Command {
    if let Some(built) = std::env::var_os("TERN_EXAMPLES") {
        return Command::new(Path::new(&built).join(example));
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--example", example]).env("CARGO_TARGET_DIR", target);
    cargo
}

/// The output of one run; panics if it fails.
fn run(example: &str) -> String {
    let mut command = command(example);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} failed:\n{errors}");
    String::from_utf8(output.stdout).expect("it prints text")
}

fn check(example: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{example}.rs"));
    let source = std::fs::read_to_string(path).expect("it is there");
    assert!(source.starts_with("//! "), "{example} does not say what it shows");
    let command = format!("//! Run it: `cargo run --release --example {example}`\n");
    assert!(source.contains(&command), "{example} does not say how to run it");
    assert!(source.contains("assert"), "{example} does not check what it shows");
    assert!(source.lines().count() < 120, "{example} is too long to be read as an example");

    let first = run(example);
    assert!(!first.is_empty(), "{example} prints nothing");
    assert!(first.lines().all(|line| line == line.trim_end()), "{example} prints stray blanks");
    assert_eq!(first, run(example), "{example} prints something else each time");
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn all_of_them_are_here() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            let files = std::fs::read_dir(folder).expect("it is there");
            let mut found: Vec<String> = files
                .map(|file| file.expect("it can be read").path())
                .filter(|path| path.extension().is_some_and(|end| end == "rs"))
                .map(|path| path.file_stem().expect("it has a name").to_string_lossy().into())
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

examples! { billing build_parallelism cache_ttl claim_async dag_deadlock etl_buffer gpu_cluster gpu_nodes gpu_pool host_share hot_swap lock_service memoise placement planner }
