//! `lease.OP.SIZE`: the operations of the seed, beside the seed.

use crate::measure::Sample;
use crate::report::Bench;
use crate::world::World;
use crate::{lease_change, lease_deadlock, lease_read, lease_threads, lease_time};

/// How many leases are held while an operation is measured.
pub const SIZES: [usize; 3] = [100, 10_000, 1_000_000];

type Operation = fn(&Bench, &mut World) -> Sample;

/// Those that leave the seed as it was come first: all others add to what it never forgets.
/// In `_random`, ids or names are spread over all there are; elsewhere they are a hundred, in the
/// cache. In `_locked`, each call of the seed takes a mutex.
const OPERATIONS: [(&str, Operation); 23] = [
    ("state", |b, w| lease_read::state(b, w, true)),
    ("state_random", |b, w| lease_read::state(b, w, false)),
    ("state_2threads", lease_threads::state),
    ("held_by", |b, w| lease_read::held_by(b, w, true)),
    ("held_by_random", |b, w| lease_read::held_by(b, w, false)),
    ("active_count", lease_read::active_count),
    ("renew", |b, w| lease_change::renew(b, w, true, false)),
    ("renew_random", |b, w| lease_change::renew(b, w, false, false)),
    ("renew_locked", |b, w| lease_change::renew(b, w, true, true)),
    ("renew_same_tick", lease_change::renew_same_tick),
    ("tick", lease_time::tick),
    ("acquire", |b, w| lease_change::acquire(b, w, true)),
    ("acquire_random", |b, w| lease_change::acquire(b, w, false)),
    ("acquire+revoke", |b, w| lease_change::acquire_revoke(b, w, true)),
    ("acquire+revoke_steady", lease_change::acquire_revoke_steady),
    ("acquire+revoke_random", |b, w| lease_change::acquire_revoke(b, w, false)),
    ("acquire+revoke_locked", |b, w| lease_change::acquire_revoke_locked(b, w, true)),
    ("acquire+revoke_locked_random", |b, w| lease_change::acquire_revoke_locked(b, w, false)),
    ("acquire+revoke_2threads", lease_threads::acquire_revoke),
    ("revoke", lease_change::revoke),
    ("revoke_random", lease_change::revoke_random),
    ("tick_expiring", lease_time::tick_expiring),
    ("find_deadlocks", lease_deadlock::different_lengths),
];

pub fn run(bench: &mut Bench) {
    for size in SIZES {
        let mut world = None;
        for (operation, measure) in OPERATIONS {
            let name = format!("lease.{operation}.{size}");
            if bench.wants(&name) {
                let world = world.get_or_insert_with(|| World::new(size));
                let sample = measure(bench, world);
                bench.line(&name, sample);
            }
        }
        let name = format!("lease.find_deadlocks_equal.{size}");
        if bench.wants(&name) {
            let sample = lease_deadlock::equal_lengths(bench, size);
            bench.line(&name, sample);
        }
    }
    growth(bench);
}

/// What ten thousand times as many leases do to our own figures.
fn growth(bench: &Bench) {
    let (small, large) = (SIZES[0], SIZES[SIZES.len() - 1]);
    for operation in ["acquire", "renew", "revoke", "state", "held_by"] {
        let Some(base) = bench.ours(&format!("lease.{operation}.{small}")) else { continue };
        let grown = |suffix: &str| {
            let ours = bench.ours(&format!("lease.{operation}{suffix}.{large}"));
            ours.map(|ours| format!("x{:.2} ({:+.1}ns)", ours / base, ours - base))
        };
        if let (Some(hot), Some(random)) = (grown(""), grown("_random")) {
            let text = format!("from {small} to {large}: in cache {hot}, random {random}");
            bench.note(&format!("lease.growth.{operation}"), &text);
        }
    }
}
