//! GPUs of several machines in one table: jobs that need theirs on one machine, jobs that do not care, and a machine that
//! dies and takes its GPUs along. On `etcd://` a `GpuPool` says all this about its machine by itself; here one process plays them all.
//!
//! Run it: `cargo run --release --example gpu_nodes`

use ternlease::{Error, Health, LeaseId, LeaseManager, Options, Reason, Take};

const GPUS: [&str; 6] = ["ada/gpu0", "ada/gpu1", "bob/gpu0", "bob/gpu1", "bob/gpu2", "bob/gpu3"];

/// The part of a GPU's name that says where it is.
fn machine(gpu: &str) -> &str {
    gpu.split('/').next().unwrap_or(gpu)
}

/// Somebody is on the machine for as long as this lease is held.
fn come(cluster: &LeaseManager, node: &str) -> Result<LeaseId, Error> {
    cluster.claim("agent").of(&[node]).take(Take::Shared).try_now()
}

fn show(cluster: &LeaseManager, job: &str) {
    for id in cluster.held_by(job) {
        let info = cluster.lease(id).expect("it is held");
        let gpus: Vec<&str> = info.takes.iter().map(|taken| taken.resource.as_str()).collect();
        println!("{job:<8} has {}", gpus.join(" "));
    }
}

fn main() -> Result<(), Error> {
    let cluster = LeaseManager::with(Options::ticks());
    for gpu in GPUS {
        cluster.declare(gpu, 1, 0)?;
        cluster.set_node(gpu, Some(machine(gpu)))?;
    }
    let (_ada, bob) = (come(&cluster, "ada")?, come(&cluster, "bob")?);
    let claim = |job, gpus| cluster.claim(job).of(&GPUS).count(gpus);

    // Two on one machine: on the one with the least to spare, so that bob stays whole for those who need more.
    claim("pair", 2).on_one_node().try_now()?;
    let quad = claim("quad", 4).on_one_node().try_now()?;
    show(&cluster, "pair");
    show(&cluster, "quad");
    assert_eq!(claim("large", 5).on_one_node().try_now(), Err(Error::Impossible));
    println!("large    can never be served: no machine has five");

    // A job that waits for two on one machine, and bob dies.
    let waits = claim("next", 2).on_one_node().enqueue()?;
    cluster.release(bob)?;
    let reason = cluster.lease(quad).and_then(|lease| lease.reason);
    assert_eq!(reason, Some(Reason::NodeDrain));
    println!("quad     lost its GPUs: {}", Reason::NodeDrain);
    assert_eq!(cluster.resource("bob/gpu0").map(|gpu| gpu.health), Some(Health::Failed));
    assert!(cluster.held_by("next").is_empty(), "what is in a dead machine serves nobody");

    // The pair is done; bob's GPUs are not needed for that.
    cluster.release(cluster.held_by("pair")[0])?;
    assert_eq!(cluster.held_by("next"), [waits.wait()?]);
    show(&cluster, "next");
    Ok(())
}
