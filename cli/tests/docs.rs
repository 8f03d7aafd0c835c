//! `docs/command.md` tells the truth: its commands work, and it leaves no command and no exit code out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command.md");
const PROGRAM: &str = env!("CARGO_BIN_EXE_ternlease");

/// A directory with the program that the page runs, and a pool of its own; both gone afterwards.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let directory = PathBuf::from(format!("/dev/shm/tern-docs-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let job = directory.join("train.sh");
        fs::write(&job, "#!/bin/sh\necho \"trained on $CUDA_VISIBLE_DEVICES\"\n").unwrap();
        fs::set_permissions(&job, fs::Permissions::from_mode(0o755)).unwrap();
        Place(directory)
    }

    fn shell(&self, line: &str) -> Output {
        let programs = Path::new(PROGRAM).parent().unwrap().display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.0)
            .env("PATH", path)
            .env("TERNLEASE_POOL", format!("host:{}", self.0.join("pool").display()))
            .env("TERNLEASE_DEVICES", "fake:4")
            .output()
            .unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_commands_of_the_page_work() {
    let page = fs::read_to_string(PAGE).unwrap();
    let block = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(page.matches("```sh").count(), 1, "a block that is not run");
    let place = Place::new();
    for line in block.lines() {
        let output = place.shell(line);
        let [told, errors] =
            [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
        assert!(output.status.success(), "`{line}`: {errors}");
        assert!(!told.is_empty() || line.ends_with("queue"), "`{line}` says nothing");
        if line.contains("train.sh") {
            assert!(told.starts_with("trained on "), "`{line}`: {told}{errors}");
        }
    }
}

#[test]
fn every_command_and_every_exit_code_is_on_the_page() {
    let page = fs::read_to_string(PAGE).unwrap();
    let help = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let commands = rest.lines().take_while(|line| !line.is_empty());
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        assert!(command == "help" || page.contains(&format!("`{command}`")), "{command}");
    }
    let (_, codes) = help.split_once("Exit codes:\n").unwrap();
    let code = |line: &str| line.split_whitespace().next()?.parse::<u8>().ok();
    let codes: Vec<u8> = codes.lines().filter_map(code).collect();
    assert!(codes.len() > 8, "{codes:?}");
    for code in codes {
        let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let found = cells.flat_map(|cell| cell.split(", ")).any(|word| word == code.to_string());
        assert!(found, "{code} is not on the page");
    }
}
