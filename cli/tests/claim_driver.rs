//! `adopt` and `run` with a driver, which is a fake one: who computes where is what it says.
#![allow(missing_docs)]

mod common;
#[path = "../../tests/common/nvml.rs"]
mod nvml;

use std::process::{Command, Output, Stdio};

use common::{Pool, Started, errors, text};
use nvml::Fake;

const DEVICES: &str = "driver 535.1\ndevice\ndevice\ndevice\n";

fn run(pool: &Pool, fake: &Fake, words: &[&str]) -> Output {
    let mut command = pool.command(words);
    command
        .env("TERNLEASE_DEVICES", "host")
        .env("LD_LIBRARY_PATH", fake.library().parent().unwrap());
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_process_is_adopted_with_the_devices_that_it_and_its_children_use() {
    let pool = Pool::new(0);
    let fake = Fake::with(DEVICES);
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & echo $!; wait"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut owner = Started::new(command);
    let child = owner.number();
    let pid = owner.pid().to_string();
    let idle = run(&pool, &fake, &["adopt", &pid]);
    assert_eq!(idle.status.code(), Some(1), "{}", errors(&idle));
    fake.script(&format!("{DEVICES}process 0 pid={pid}\nprocess 2 pid={child}\n"));
    let adopted = run(&pool, &fake, &["adopt", &pid]);
    let told = text(&adopted.stdout);
    assert!(told.contains(": nvidia:0, nvidia:2 until process"), "{told}{}", errors(&adopted));
    let one = run(&pool, &fake, &["run", "--now", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]);
    assert_eq!(text(&one.stdout), "1\n", "{}", errors(&one));
    common::kill(child, libc::SIGKILL);
    owner.end();
    fake.script(DEVICES);
    let all = run(&pool, &fake, &["run", "-n", "3", "--timeout", "60", "--", "true"]);
    assert!(all.status.success(), "{}", errors(&all));
}

#[test]
fn the_driver_is_started_once() {
    let pool = Pool::new(0);
    let fake = Fake::with(DEVICES);
    let output = run(&pool, &fake, &["run", "--", "true"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(fake.count("Init"), 1);
}
