//! What README and docs say is true: commands run, shown output is real, tables are complete, links lead somewhere.
//! Their Rust code runs as documentation tests; here it is checked that none is left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ternlease::Reason;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every page for people, as a path from the root.
fn pages() -> Vec<String> {
    let mut found: Vec<String> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(String::from).into();
    for file in std::fs::read_dir(root().join("docs")).unwrap() {
        found.push(format!("docs/{}", file.unwrap().file_name().to_string_lossy()));
    }
    found.sort();
    found
}

/// The fenced blocks of a page in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in read(page).lines() {
        open = match (open, line.strip_prefix("```")) {
            (None, Some(name)) => Some((name.to_owned(), String::new())),
            (None, None) => None,
            (Some((name, text)), Some(_)) => {
                found.extend((name == language).then_some(text));
                None
            }
            (Some((name, text)), None) => Some((name, text + line + "\n")),
        };
    }
    assert!(open.is_none(), "{page}: a block does not end");
    found
}

/// Its output. What it builds is not optimised, whatever it says, as that would take longer than everything else here; most of it is there already.
fn run(command: &str) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &command.replace("cargo run --release", "cargo run")]).current_dir(root());
    // Users do not have what cargo tells a test of its package. Some build scripts look at it, and run again: what is there already would have to be built twice
    // more, here and by who comes next.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|part| name.starts_with(part)) {
            shell.env_remove(&*name);
        }
    }
    let output = shell.env("CARGO_TARGET_DIR", target).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{command}` failed:\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_commands_of_the_readme_work() {
    let commands = blocks("README.md", "sh").concat();
    let (first, rest) = commands.split_once('\n').unwrap();
    assert_eq!(rest, "make test\n");
    assert_eq!(run(first), "0,1\n");
    let printed = run("cargo run --release --example gpu_cluster");
    assert_eq!(blocks("README.md", "text"), [printed], "README shows another output");
    // `make test` runs this very test: here it can only be looked at.
    assert!(run("make --dry-run test").contains("scripts/test"));
}

#[test]
fn every_make_target_that_is_mentioned_exists() {
    let makefile = read("Makefile");
    for page in pages() {
        let text = read(&page);
        for (at, word) in text.match_indices("make ") {
            if !text[..at].ends_with(['`', '\n']) {
                continue; // the word, not the command
            }
            let rest = &text[at + word.len()..];
            if rest.starts_with('-') {
                continue; // somebody else's Makefile, in a recipe
            }
            let target: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            let rule = format!("\n{target}:");
            assert!(makefile.contains(&rule), "{page}: there is no `make {target}`");
        }
    }
}

#[test]
fn every_shell_block_is_run_somewhere() {
    for page in pages() {
        let commands = blocks(&page, "sh").concat();
        match page.as_str() {
            // By this file: see above.
            "README.md" => {}
            "CONTRIBUTING.md" => assert!(commands.lines().all(|line| line.starts_with("make "))),
            "docs/command.md" => {
                assert!(read("cli/tests/docs.rs").contains("../docs/command.md"), "{page}");
            }
            "docs/recipes.md" => {
                assert!(read("cli/tests/recipes.rs").contains("../docs/recipes.md"), "{page}");
            }
            "docs/cluster.md" => {
                let test = read("cli/tests/cluster_page.rs");
                assert!(test.contains("../docs/cluster.md"), "{page}");
            }
            // It changes the machine. `cli/tests/setup.rs` runs it in a mount namespace.
            "docs/homes.md" => assert_eq!(commands, "sudo ternlease setup --group gpu\n"),
            _ => assert_eq!(commands, "", "{page}: which test runs this?"),
        }
    }
}

#[test]
fn the_rust_version_is_the_required_one() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(read("README.md").contains(&format!("Rust {version} or newer")), "{version}");
}

#[test]
fn all_rust_code_runs_as_documentation_tests() {
    let library = read("src/lib.rs");
    for page in pages() {
        let included = library.contains(&format!("include_str!(\"../{page}\")"));
        let has_code = !blocks(&page, "rust").is_empty();
        assert!(included || !has_code, "{page} is not among the documentation tests of src/lib.rs");
        for word in ["rust,ignore", "rust,no_run", "rust,compile_fail", "ignore", "no_run"] {
            assert!(blocks(&page, word).is_empty(), "{page}: code that does not run");
        }
    }
}

#[test]
fn every_reason_is_explained() {
    let page = read("docs/revocation.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit())
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let expected: Vec<[String; 3]> = Reason::ALL
        .iter()
        .map(|reason| {
            [reason.code().to_string(), reason.to_string(), format!("{:?}", reason.class())]
        })
        .collect();
    let shown: Vec<[String; 3]> =
        rows.iter().map(|row| [row[0], row[1], row[2]].map(String::from)).collect();
    assert_eq!(shown, expected);
    for row in rows {
        assert!(row.len() == 5 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = read(&page);
        let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        // `[text][label]`, with a line `[label]: path`: so that src/lib.rs can let labels lead to modules.
        let defined = text.lines().filter(|line| line.starts_with('['));
        let defined = defined.filter_map(|line| line.split_once("]: ").map(|(_, path)| path));
        for link in inline.chain(defined) {
            assert!(!link.contains("://"), "{page}: {link} leads out of the repository");
            let folder = root().join(&page).parent().map(PathBuf::from).unwrap();
            let path = folder.join(link.split('#').next().unwrap());
            assert!(path.exists(), "{page}: {link} leads nowhere");
        }
    }
}

/// Paths that a page names in backquotes, like `tests/threads.rs`.
fn named_files(page: &str) -> BTreeSet<String> {
    let known = ["tests/", "examples/", "src/", "docs/", "scripts/", "benches/"];
    let text = read(page);
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|name| known.iter().any(|start| name.starts_with(start)))
        .map(String::from)
        .collect()
}

#[test]
fn named_files_exist() {
    for page in pages() {
        for name in named_files(&page) {
            assert!(root().join(&name).exists(), "{page}: there is no {name}");
        }
    }
}

/// Tests of which SECURITY.md says what is known by them are in files that it names.
#[test]
fn named_tests_exist() {
    let text = read("SECURITY.md");
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let files = quoted.iter().filter(|name| name.ends_with(".rs"));
    let code: String = files.map(|name| read(name)).collect();
    let tests =
        quoted.iter().filter(|name| name.split('_').filter(|it| !it.is_empty()).count() > 2);
    let tests: Vec<_> =
        tests.filter(|name| **name == name.to_lowercase() && !name.contains(['/', '.'])).collect();
    assert!(tests.len() > 5, "{tests:?}");
    for name in tests {
        assert!(code.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}

#[test]
fn every_test_file_keeps_a_promise() {
    let promised = named_files("docs/promises.md");
    for file in std::fs::read_dir(root().join("tests")).unwrap() {
        let name = format!("tests/{}", file.unwrap().file_name().to_string_lossy());
        let keeps = promised.contains(&name) || name == "tests/readme.rs" || !name.ends_with(".rs");
        assert!(keeps, "docs/promises.md does not say what {name} is there for");
    }
}
