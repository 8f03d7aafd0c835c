//! How many jobs a build should run at once: as many as there are processors this process may use, fewer if their memory would not fit.
//!
//! Run it: `cargo run --release --example build_parallelism`

use ternlease::{FnCost, Kind, MachCap};

const MIB: u64 = 1 << 20;

/// As many as fit into the processors and into the memory that one computation may take, and at least one.
fn jobs(machine: &MachCap, job: FnCost) -> u32 {
    let mut beside = job;
    let mut count = 1;
    // `par` is what jobs cost beside each other, each on a processor of its own: their memory adds up.
    while count < machine.cores_usable && machine.can_execute(beside.par(job)) {
        beside = beside.par(job);
        count += 1;
    }
    count
}

fn main() {
    // A compiler, and a linker with link-time optimisation.
    let compile = FnCost::new(20_000_000_000, 2_000 * MIB, 300 * MIB, MIB);
    let link = FnCost::new(60_000_000_000, 9_000 * MIB, 4_000 * MIB, 50 * MIB);
    println!("{:<32} {:>6} {:>10} {:>6}", "machine", "cores", "memory", "jobs");
    let mut found = Vec::new();
    for (name, cores_usable, mebibytes) in [
        ("example", 8, 24_576),
        ("bound to two processors", 2, 24_576),
        ("in a container of 2 GiB", 8, 2_048),
        ("tiny", 1, 512),
    ] {
        let machine =
            MachCap { cores_usable, mem_available: mebibytes * MIB, ..MachCap::example() };
        let [compiling, linking] = [compile, link].map(|job| jobs(&machine, job));
        println!("{name:<32} {cores_usable:>6} {mebibytes:>6} MiB {compiling:>6} compiling");
        println!("{:<32} {:>6} {:>10} {linking:>6} linking", "", "", "");
        found.push((compiling, linking));
    }
    assert_eq!(found, [(8, 3), (2, 2), (3, 1), (1, 1)]);

    // One file that is as long as all others together does not get faster by more jobs.
    let machine = MachCap::example();
    let all_others = machine.compute_time(compile.repeat(8).kind(Kind::Rows).threads(8));
    let the_long_one = machine.compute_time(compile.repeat(8).kind(Kind::Rows));
    assert!(the_long_one.mid > all_others.mid * 7);
    println!("\none job of 8 files takes {:.1} times as long as 8 of one", {
        the_long_one.mid as f64 / all_others.mid as f64
    });
}
