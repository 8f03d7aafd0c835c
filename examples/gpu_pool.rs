//! Sharing the GPUs of a machine: linked devices for a training, what is left over for single jobs, spare capacity for a helper that
//! steps back, and what a child process needs to see its devices and no others.
//!
//! Run it: `cargo run --release --example gpu_pool`
//!
//! It declares eight devices of its own. `GpuPool::open("host:")` has the devices of the machine, shared with all other programs.

use std::process::Command;
use std::time::Duration;

use ternlease::inventory::Declared;
use ternlease::{GpuLease, GpuPool, LeaseState, PoolOptions, Reason};

fn show(pool: &GpuPool, what: &str) {
    let state = |leased| if leased { '#' } else { '.' };
    let devices: String = pool.snapshot_leases().iter().map(|gpu| state(gpu.leased)).collect();
    println!("{devices}  {what}");
}

fn indices(lease: &GpuLease) -> String {
    let indices: Vec<String> = lease.devices().map(|gpu| gpu.index.to_string()).collect();
    indices.join(" ")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = GpuPool::open_with("process:", PoolOptions::of(Declared::fake(8)))?;
    show(&pool, "8 GPUs, 0 to 3 and 4 to 7 linked among each other");

    // A job for one GPU breaks one island, and the next single job does not break the other.
    let first = pool.claim().holder("notebook").wait()?.ok_or("no GPU")?;
    let second = pool.claim().holder("eval").wait()?.ok_or("no GPU")?;
    show(&pool, &format!("two single jobs on {} and {}", indices(&first), indices(&second)));

    // All four or none, and linked, since there is still a whole island.
    let training = pool.claim().holder("training").devices(4).min_memory(40_000);
    let training = training.wait()?.ok_or("no GPU")?;
    show(&pool, &format!("a training on {}", indices(&training)));
    assert_eq!(indices(&training), "4 5 6 7");

    // A helper may have what nobody waits for.
    let helper = pool.claim().holder("helper").spare(Duration::ZERO).devices(2);
    let helper = helper.try_now()?.ok_or("no GPU")?;
    show(&pool, &format!("a helper on {}", indices(&helper)));

    // Somebody needs one of them: the helper has to go, at once here, or with a notice to save its work.
    let urgent = pool.claim().holder("urgent").wait()?.ok_or("no GPU")?;
    assert_eq!(helper.state(), Some(LeaseState::Revoked));
    assert_eq!(helper.info().and_then(|info| info.reason), Some(Reason::SpareReclaimed));
    show(&pool, &format!("the helper made room for {}", indices(&urgent)));

    // The child sees its GPUs as 0, 1, 2, 3 and cannot touch the others by accident.
    let mut child = Command::new("sh");
    child.args(["-c", "echo \"  the child: CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES\""]);
    training.env()?.apply(&mut child);
    let output = child.output()?;
    print!("{}", String::from_utf8_lossy(&output.stdout));

    drop((first, second, training, urgent));
    show(&pool, "all given back");
    assert_eq!(pool.manager().active_count(), 0);
    Ok(())
}
