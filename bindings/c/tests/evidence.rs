//! What is seen of devices reaches C: a C program opens a pool on the devices of its machine, which a fake driver library brings along.
#![cfg(target_os = "linux")]

#[path = "../../../tests/common/nvml.rs"]
mod fake;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}:\n{told}", output.status);
}

/// Where the library is that is being tested: in TERN_PREFIX, or built if need be.
fn library() -> PathBuf {
    if let Some(prefix) = std::env::var_os("TERN_PREFIX") {
        return Path::new(&prefix).join("lib/libternlease.a");
    }
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "ternlease-c", "--lib", "--target-dir"]);
    run(cargo.arg(built.parent().unwrap()).current_dir(root()));
    built.join("libternlease.a")
}

#[test]
fn a_c_program_sees_squatters_and_faults() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evidence");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"]).arg(root().join("include"));
    compiler.arg(root().join("tests/nvml/evidence.c")).arg(library());
    run(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));

    let fake = fake::Fake::with("");
    let library = fake.library();
    let directory = library.parent().unwrap();
    let mut child = Command::new(program);
    child.arg(directory.join("script")).env("LD_LIBRARY_PATH", directory);
    for mask in ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "SLURM_JOB_GPUS"] {
        child.env_remove(mask);
    }
    run(child.env_remove("SLURM_STEP_GPUS").env_remove("TERNLEASE_DEVICES"));
}
