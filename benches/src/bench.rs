//! Benchmarks of ternlease beside its peers: the `ternary-lease` crate, a pool on `tokio::sync::Semaphore`,
//! lock files, the `coren` crate, and bare calls of etcd.
//!
//! Both sides are measured in the same run, in turns, so that whatever else the machine does hits both;
//! the ratio is taken per turn, and the median of the ratios is what counts. Nothing here asserts a time.

mod allocations;
mod capi;
mod cli;
mod cost;
mod cost_coren;
mod cost_decide;
mod cost_kernels;
mod cost_predict;
mod cost_probe;
mod cost_reference;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod etcd_bare;
#[cfg(feature = "etcd")]
mod etcd_claim;
#[cfg(feature = "etcd")]
mod etcd_client;
#[cfg(feature = "etcd")]
mod etcd_crowd;
#[cfg(feature = "etcd")]
mod etcd_fanout;
#[cfg(feature = "etcd")]
mod etcd_handover;
#[cfg(feature = "etcd")]
mod etcd_large;
#[cfg(feature = "etcd")]
mod etcd_peers;
#[cfg(feature = "etcd")]
mod etcd_renew;
#[cfg(feature = "etcd")]
mod etcd_table;
mod handover;
mod host;
mod host_claim;
mod host_crowd;
mod host_death;
mod host_filelock;
mod host_handover;
mod host_locks;
mod host_order;
mod host_place;
mod host_state;
mod instructions;
mod lease;
mod lease_change;
mod lease_deadlock;
mod lease_memory;
mod lease_read;
mod lease_threads;
mod lease_time;
mod measure;
mod pool;
mod pool_peer;
mod pool_waiters;
mod report;
mod world;

use std::process::ExitCode;

// Where the client of the library looks for what it uses.
#[cfg(feature = "etcd")]
use etcd_client::{home, rt, table};
use report::Bench;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

const HELP: &str = "\
Benchmarks of ternlease beside its peers.

usage: ternlease-bench [--quick] [FILTER...]
       ternlease-bench instructions [--check | --record]

FILTER       a name, or the beginning of one: lease, pool, host, capi, cost, cli, lease.state, lease.tick.100;
             etcd, if it was built with the feature of that name
--quick      fewer rounds: under a minute instead of a few; less exact
--help       this text

Each line reads `bench NAME ours=... peer=... ratio=...`; a ratio above 1 means that ternlease is faster, or smaller.
The same goes to bench.json in the target directory.

instructions            counts instructions per call (needs valgrind) beside the recorded budget
instructions --check    fails if a call needs over 10 % more than recorded
instructions --record   makes what is counted now the budget
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        // What the program runs itself again for.
        ["__repeat", operation, times] => instructions::repeat(operation, times),
        ["__resident", side, what] => lease_memory::child(side, what),
        ["__host", role, place, line, argument] => host::child(role, place, line, argument),
        ["__cost", "probe"] => cost_probe::child(),
        [cli::TELL_TIME] => cli::tell_time(),
        ["instructions"] => instructions::run(instructions::Mode::Show),
        ["instructions", "--check"] => instructions::run(instructions::Mode::Check),
        ["instructions", "--record"] => instructions::run(instructions::Mode::Record),
        words => benchmarks(words),
    }
}

fn benchmarks(words: &[&str]) -> ExitCode {
    let (options, filters): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with('-'));
    let mut quick = false;
    for option in options {
        match option {
            "--quick" => quick = true,
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            unknown => {
                eprintln!("unknown option {unknown}; --help tells what there is");
                return ExitCode::from(2);
            }
        }
    }
    let mut bench = Bench::new(quick, filters.iter().map(|&filter| filter.to_owned()).collect());
    lease::run(&mut bench);
    lease_memory::run(&mut bench);
    pool::run(&mut bench);
    handover::run(&mut bench);
    pool_waiters::run(&mut bench);
    host::run(&mut bench);
    capi::run(&mut bench);
    cost::run(&mut bench);
    cli::run(&mut bench);
    #[cfg(feature = "etcd")]
    etcd::run(&mut bench);
    bench.finish()
}
