//! What the documentation shows in C and C++ works: whole programs are compiled and run, examples in the header are compiled.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}:\n{told}", output.status);
    text(&output.stdout)
}

/// The blocks of code in this language, each with the line where it begins.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut block {
            None if line == format!("```{language}") => block = Some((number + 2, String::new())),
            None => {}
            Some(_) if line == "```" => found.extend(block.take()),
            Some((_, code)) => writeln!(code, "{line}").unwrap(),
        }
    }
    found
}

/// Compiles with warnings as errors; where it put what it made.
fn compile(name: &str, code: &str, options: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = directory.join(name);
    std::fs::write(&source, code).unwrap();
    let made = directory.join(format!("{name}.out"));
    let cpp = name.ends_with(".cpp");
    let mut compiler = Command::new(if cpp { "c++" } else { "cc" });
    compiler.arg(if cpp { "-std=c++17" } else { "-std=c99" });
    compiler.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(root().join("include"));
    run(compiler.arg(&source).args(options).arg("-o").arg(&made));
    made
}

fn programs_run(language: &str, least: usize) {
    let library = library();
    let mut pages = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    let mut count = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        for (line, code) in blocks(&text, language) {
            let stem = page.file_stem().unwrap().to_string_lossy().into_owned();
            let options = [library.to_str().unwrap(), "-lpthread", "-ldl", "-lm"];
            let program = compile(&format!("{stem}-{line}.{language}"), &code, &options);
            run(&mut Command::new(program));
            count += 1;
        }
    }
    assert!(count >= least, "only {count} programs in {language} found");
}

#[test]
fn programs_in_c_run() {
    programs_run("c", 1);
}

#[test]
fn programs_in_cpp_run() {
    programs_run("cpp", 1);
}

/// What the examples of the header use and a program would have.
const SURROUNDINGS: &str = "\
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include \"ternlease.h\"
void die(const char *text);
void use(tern_manager_t *manager);
void come_back_later(void);
int work_to_do(void);
void work_for_ten_seconds(void);
void bill(tern_lease_t lease, uint64_t duration);
void save_work_until(void *job, uint64_t time);
void stop_using_the_gpu(void *job);
void compute_on_the_cpu(void);
void compute_on_the_gpu(tern_pool_t *pool, tern_lease_t lease);
extern tern_manager_t *manager;
extern tern_pool_t *pool;
extern tern_error_t err;
extern tern_lease_t lease;
extern tern_claim_t claim;
extern tern_machine_t *machine;
extern tern_task_t task;
";

#[test]
fn examples_in_the_header_compile() {
    let header = std::fs::read_to_string(root().join("include/ternlease.h")).unwrap();
    let mut code = String::from(SURROUNDINGS);
    let mut count = 0;
    let mut example = String::new();
    for line in header.lines().chain([""]) {
        match line.strip_prefix(" *     ") {
            Some(line) => writeln!(example, "{line}").unwrap(),
            None if line == " *" && !example.is_empty() => example.push('\n'),
            None if !example.is_empty() => {
                count += 1;
                match example.starts_with("static") {
                    true => writeln!(code, "{example}").unwrap(),
                    false => writeln!(
                        code,
                        "void example{count}(void);\nvoid example{count}(void)\n{{\n{example}}}\n"
                    )
                    .unwrap(),
                }
                example.clear();
            }
            None => {}
        }
    }
    assert!(count >= 9, "only {count} examples found");
    compile("header-examples.c", &code, &["-c", "-Wno-unused"]);
}
