//! `lease.bytes`, `lease.bytes_churn` and `lease.allocations`: what leases cost in memory.

use std::hint::black_box;
use std::process::{Command, ExitCode};

use crate::allocations::count;
use crate::measure::{Sample, Unit, keep};
use crate::report::Bench;
use crate::world::{LEASES_PER_NAME, Seed, Wish, World, empty_manager};

const LEASES: usize = 1_000_000;

pub fn run(bench: &mut Bench) {
    for (name, what, divisor) in [("bytes", "filled", LEASES), ("bytes_churn", "churned", 1)] {
        let name = format!("lease.{name}.{LEASES}");
        if bench.wants(&name) {
            match (resident("ours", what), resident("peer", what)) {
                (Ok(ours), Ok(peer)) => {
                    let each = |bytes: f64| bytes / divisor as f64;
                    bench.line(&name, Sample::once(each(ours), each(peer), Unit::Bytes));
                }
                (Err(error), _) | (_, Err(error)) => eprintln!("{name} not measured: {error}"),
            }
        }
    }
    allocations(bench);
}

/// What a process of its own says about one side. Resident memory, because ours asks for much that it never touches;
/// a process of its own, because what one side gave back would be there for the other.
fn resident(side: &str, what: &str) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).args(["__resident", side, what]).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("the child said {text:?}"))
}

/// That process.
pub fn child(side: &str, what: &str) -> ExitCode {
    let before = resident_now();
    match (side, what) {
        ("ours", "filled") => {
            let leases = empty_manager(LEASES);
            each_name(LEASES, |resource, holder| {
                leases.acquire(resource, holder, 1_000_000).expect("room for every lease");
            });
            println!("{}", resident_now() - before);
            black_box(leases);
        }
        ("peer", "filled") => {
            let mut leases = Seed::new();
            each_name(LEASES, |resource, holder| keep(leases.acquire(resource, holder, 1_000_000)));
            println!("{}", resident_now() - before);
            black_box(leases);
        }
        ("ours", "churned") => {
            let leases = empty_manager(LEASES_PER_NAME);
            each_name(LEASES, |resource, holder| {
                let id = leases.acquire(resource, holder, 1_000_000);
                leases.revoke(id.expect("room for one lease")).expect("it was just granted");
            });
            println!("{}", resident_now() - before);
            black_box(leases);
        }
        ("peer", "churned") => {
            let mut leases = Seed::new();
            each_name(LEASES, |resource, holder| {
                let id = leases.acquire(resource, holder, 1_000_000);
                leases.revoke(id);
            });
            println!("{}", resident_now() - before);
            black_box(leases);
        }
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// Calls `visit(resource, holder)` for `n` leases, with names that take no memory of their own.
fn each_name(n: usize, mut visit: impl FnMut(&str, &str)) {
    use std::fmt::Write as _;
    let (mut resource, mut holder) = (String::with_capacity(32), String::with_capacity(32));
    let names = n / LEASES_PER_NAME;
    for i in 0..n {
        resource.clear();
        holder.clear();
        let _ = write!(resource, "gpu{}", (i * 31 + i / names) % names);
        let _ = write!(holder, "worker{}", i % names);
        visit(&resource, &holder);
    }
}

/// Bytes of this process that are in memory now.
fn resident_now() -> u64 {
    // SAFETY: takes no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0u64) * page
}

/// Allocations per call.
fn allocations(bench: &mut Bench) {
    const CALLS: usize = 10_000;
    const OPERATIONS: [&str; 5] = ["acquire+revoke", "renew", "state", "tick", "tick_expiring"];
    let name = |operation: &str| format!("lease.allocations.{operation}");
    if !OPERATIONS.iter().any(|operation| bench.wants(&name(operation))) {
        return;
    }
    let mut world = World::new(10_000);
    let wishes = world.names.more(CALLS, false, &mut world.dice);
    let (ours, seed) = (&world.ours, &mut world.seed);
    for operation in OPERATIONS {
        if !bench.wants(&name(operation)) {
            continue;
        }
        let (our_count, seed_count) = match operation {
            "acquire+revoke" => (
                count(CALLS, || {
                    for wish in &wishes {
                        let id = wish.grant(ours);
                        let _ = id.map(|id| ours.revoke(id));
                    }
                }),
                count(CALLS, || {
                    for wish in &wishes {
                        let id = wish.grant_by_seed(seed);
                        seed.revoke(id);
                    }
                }),
            ),
            "renew" => (
                count(CALLS, || {
                    ours.tick();
                    world.our_ids.iter().for_each(|&id| keep(ours.renew(id)));
                }),
                count(CALLS, || {
                    world.seed_ids.iter().for_each(|&id| keep(seed.renew(id)));
                }),
            ),
            "state" => (
                count(CALLS, || {
                    world.our_ids.iter().for_each(|&id| keep(ours.state(id)));
                }),
                count(CALLS, || {
                    world.seed_ids.iter().for_each(|&id| keep(seed.state(id)));
                }),
            ),
            _ => {
                const TICKS: usize = 100;
                if operation == "tick_expiring" {
                    for (i, wish) in wishes.iter().take(1_000).enumerate() {
                        let ttl = (1 + i / 10) as u32;
                        Wish { ttl, ..*wish }.grant(ours).expect("room for some more");
                        Wish { ttl, ..*wish }.grant_by_seed(seed);
                    }
                }
                (
                    count(TICKS, || (0..TICKS).for_each(|_| ours.tick())),
                    count(TICKS, || (0..TICKS).for_each(|_| seed.tick())),
                )
            }
        };
        bench.line(&name(operation), Sample::once(our_count, seed_count, Unit::Allocations));
    }
}
