//! The faces of the library are described: each has an example, and each of their methods more than a repetition of its name.
//! Found by looking at the source, which has one shape everywhere: `cargo fmt` sees to that.

use std::path::{Path, PathBuf};

/// The types that people begin with.
const FACES: [&str; 6] =
    ["LeaseManager", "GpuPool", "GpuClaim", "ClaimBuilder", "MachCap", "FnCost"];

/// Beginnings of lines by which a public method of a type is told.
const METHODS: [&str; 2] = ["    pub fn ", "    pub const fn "];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What is said before an item, without what is said to the compiler.
fn documentation(lines: &[&str]) -> Vec<String> {
    let before = lines.iter().rev().map(|line| line.trim_start());
    let before = before.take_while(|line| line.starts_with("///") || line.starts_with("#["));
    let mut text: Vec<String> = before
        .filter_map(|line| line.strip_prefix("///"))
        .map(|line| line.trim_start().to_owned())
        .collect();
    text.reverse();
    text
}

fn has_example(text: &[String]) -> bool {
    text.iter().any(|line| line.starts_with("```"))
}

/// How many sentences there are before the first section or example.
fn sentences(text: &[String]) -> usize {
    let prose = text.iter().take_while(|line| !line.starts_with("```") && !line.starts_with("# "));
    let prose = prose.map(String::as_str).collect::<Vec<_>>().join(" ");
    prose.split_whitespace().filter(|word| word.trim_end_matches(')').ends_with(['.', '?'])).count()
}

/// The type that an `impl` block of its own methods is for.
fn subject(line: &str) -> Option<&'static str> {
    let rest = line.strip_prefix("impl")?;
    let name = rest.split_whitespace().find(|word| word.starts_with(char::is_uppercase))?;
    let name = name.split('<').next()?;
    FACES.into_iter().find(|face| *face == name && !rest.contains(" for "))
}

#[test]
fn every_face_has_an_example_and_every_method_of_it_is_described() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let (mut examples, mut methods, mut poor) = (0, [0; FACES.len()], Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut face = None;
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("impl") {
                face = subject(line);
            } else if *line == "}" {
                face = None;
            }
            let is_face =
                |rest: &str| FACES.iter().any(|face| rest.split(['<', ' ']).next() == Some(face));
            if line.strip_prefix("pub struct ").is_some_and(is_face) {
                examples += usize::from(has_example(&documentation(&lines[..at])));
            }
            let Some(face) = face else { continue };
            if !METHODS.iter().any(|start| line.starts_with(start)) {
                continue;
            }
            methods[FACES.iter().position(|name| *name == face).unwrap()] += 1;
            let text = documentation(&lines[..at]);
            if sentences(&text) < 2 && !has_example(&text) {
                let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display();
                poor.push(format!("{name}:{}: {face}: {}", at + 1, line.trim()));
            }
        }
    }
    assert_eq!(examples, FACES.len(), "a face has no example: one of {FACES:?}");
    // Nobody is found where nobody looks.
    assert!(methods.iter().all(|count| *count > 5), "{FACES:?} have {methods:?} methods?");
    assert!(poor.is_empty(), "say more about these, or show it:\n{}", poor.join("\n"));
}
