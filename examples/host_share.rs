//! Two processes share two GPUs through a file, and one of them is killed.
//!
//! The parent starts a child that takes both GPUs and hangs; then it waits in line. Nobody tells the parent that the child was killed
//! but the kernel.
//!
//! Run it: `cargo run --release --example host_share`

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use ternlease::{GpuPool, PoolOptions, Reason, What};

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1) {
        Some(url) => hold_everything(&url),
        None => share(),
    }
}

fn open(url: &str) -> Result<GpuPool, Box<dyn Error>> {
    Ok(GpuPool::open_with(url, PoolOptions::from_spec("fake:2")?)?)
}

/// The child: takes both GPUs, says so, and never gives them back.
fn hold_everything(url: &str) -> Result<(), Box<dyn Error>> {
    let pool = open(url)?;
    let lease = pool.claim().holder("hog").devices(2).wait_for(Duration::from_secs(60))?;
    println!("has {} GPUs", lease.as_ref().map_or(0, |lease| lease.devices().count()));
    loop {
        std::thread::park();
    }
}

fn share() -> Result<(), Box<dyn Error>> {
    let file = env::temp_dir().join(format!("ternlease-example-{}", std::process::id()));
    let url = format!("host:{}", file.display());
    let pool = open(&url)?;

    let mut child = Command::new(env::current_exe()?).arg(&url).stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    let stdout = child.stdout.take().ok_or("the child has an output")?;
    BufReader::new(stdout).read_line(&mut said)?;
    println!("the child {}", said.trim_end());
    assert!(pool.try_claim()?.is_none(), "both GPUs are the child's");
    println!("a GPU for the parent: none");

    child.kill()?;
    let lease = pool.claim().holder("parent").wait_for(Duration::from_secs(60))?;
    assert!(lease.is_some(), "the kernel has told of the death");
    println!("after the child was killed: one");
    child.wait()?;

    let (events, _) = pool.manager().events_since(0);
    let died = events.iter().any(|event| matches!(event.what, What::Died { .. }));
    println!("the history knows of the death: {died}");
    println!("leases that ended with their holder: {}", pool.manager().count(Reason::HolderDied));
    drop(pool);
    std::fs::remove_file(file)?;
    Ok(())
}
