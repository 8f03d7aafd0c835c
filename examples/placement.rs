//! Where to do a task: on this processor, on a GPU that is free, on one that will be, or nowhere because somebody has the result.
//!
//! Run it: `cargo run --release --example placement`

use std::time::Duration;

use ternlease::cost::Choice;
use ternlease::{FnCost, GpuPool, Kind, MachCap, PoolOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = MachCap { route: None, ..MachCap::example() };
    let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    let product = |n: u64| FnCost::matmul(n, n, n, 8 * n * n).kind(Kind::Dense64);

    let small = machine.advise(product(500), &pool.claim())?;
    println!("a product of 500 x 500: {small}\n");
    assert_eq!(small.choice, Choice::Cpu);

    let large = machine.advise(product(20_000), &pool.claim())?;
    println!("a product of 20,000 x 20,000: {large}\n");
    assert_eq!(large.choice, Choice::GpuNow);

    // Somebody takes the device, for a minute at most. Waiting is still better.
    let lease = pool.claim().holder("somebody").ttl(Duration::from_secs(60)).try_now()?;
    let wait = machine.advise(product(20_000), &pool.claim())?;
    println!("while somebody has it: {}", wait.choice.name());
    assert_eq!(wait.choice, Choice::GpuWait);

    // For less work it is not.
    let middle = machine.advise(product(6_000), &pool.claim())?;
    println!("and for 6,000 x 6,000: {}", middle.choice.name());
    assert_eq!(middle.choice, Choice::Cpu);

    // Advice claims nothing: there is one lease, and nobody waits.
    assert_eq!((pool.manager().active_count(), pool.pending_claimers()), (1, 0));
    drop(lease);
    Ok(())
}
