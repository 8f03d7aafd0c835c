//! The table and a second implementation of its rules get the same random commands; every
//! answer, every event and all that can be seen must agree after each of them.
//!
//! `TERN_STEPS=1000000` makes it longer, `TERN_SEED=42` replays one episode. `TERN_SHRINK=no` leaves what fails as long as it is, for those who
//! only ask whether it fails.

mod model;

use std::env;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use model::compare::Pair;
use model::generate::{Rng, World};
use model::step::Step;
use model::tally::Tally;
use model::twins::Twins;
use ternlease::table::codec::{self, AnyCommand, AnyReply};
use ternlease::table::command::{
    Advance, ClearCheck, Collect, Command, Declare, DeviceListing, DeviceState, Fail, ListDevices,
    Place, ReapOwner, Release, Renew, Revoke, SetEvidence, SetHealth, SetNode, SetPrincipal,
    Transfer, Unwant, Want, Withdraw,
};
use ternlease::table::{
    Actor, Claim, DeadlockPolicy, Health, Issuer, LeaseId, Limits, Outcome, Picks, Placed, Reason,
    Settings, TicketId,
};

const STEPS: u64 = 100_000;
const THREADS: u64 = 2;

/// At least so often per 100,000 commands; fewer of them are too few to count.
const MINIMA: &[(&str, u64)] = &[
    ("granted at once", 5_000),
    ("granted from line", 1_000),
    ("granted by overtaking", 30),
    ("soft deadlock cured", 30),
    ("hard deadlock broken", 100),
    ("age taken over from a victim", 30),
    ("deadlock reported", 100),
    ("deadlock of several reported", 20),
    ("deadlock with a want reported", 12),
    ("child ended with its parent", 300),
    ("child granted under notice", 30),
    ("renewed late", 100),
    ("health changed", 200),
    ("chosen by island", 50),
    ("chosen by node", 30),
    ("taken back for one node", 10),
    ("node lost", 30),
    ("revoked with its node", 15),
    ("drained by its last lease", 200),
    ("revoked with its resource", 15),
    ("claim of a dead owner", 15),
    ("lease of a dead owner", 30),
    ("notice DEADLOCK_VICTIM", 50),
    ("notice PREEMPTED", 50),
    ("notice SPARE_RECLAIMED", 50),
    ("notice PARENT_REVOKED", 30),
    ("ended DEADLOCK_VICTIM", 100),
    ("ended PREEMPTED", 100),
    ("ended SPARE_RECLAIMED", 100),
    ("ended OPERATOR", 30),
    ("ended PARENT_REVOKED", 100),
    ("ended TIMED_OUT", 1_000),
    ("ended RELEASED", 1_000),
    ("ended HOLDER_DIED", 100),
    ("refused WAIT_TIMED_OUT", 300),
    ("refused CANCELLED", 300),
    ("refused PARENT_ENDED", 30),
    ("answer AtOnce", 300),
    ("answer Notified", 300),
    ("answer AlreadyNotified", 30),
    ("answer Left", 300),
    ("answer WasGranted", 30),
    ("answer WasRefused", 30),
    ("error Busy", 300),
    ("error Impossible", 300),
    ("error EmptyName", 30),
    ("error NameTooLong", 30),
    ("error ZeroTtl", 30),
    ("error ZeroAmount", 30),
    ("error TimeTooLarge", 100),
    ("error TimeBackwards", 100),
    ("error CountIsZero", 30),
    ("error CountExceedsCandidates", 30),
    ("error DuplicateCandidate", 30),
    ("error UnknownResource", 30),
    ("error UnknownLease", 30),
    ("error UnknownTicket", 30),
    ("error UnknownWant", 30),
    ("error NotHeld", 300),
    ("error NotARevocation", 30),
    ("error ParentNotHeld", 30),
    ("error TooDeep", 10),
    ("error InUse", 30),
    ("error OtherPrincipal", 5),
    ("released by another principal", 30),
    ("released during its notice", 100),
];

/// Run these steps, or as many as it takes to see a difference: (steps run, what differs).
/// Looking should change nothing. In case it does: look after every step, after the last, as in an episode.
fn replay(world: &World, steps: &[Step]) -> Result<(), (usize, String)> {
    let looks: [fn(bool) -> Option<bool>; 3] = [|_| Some(true), Some, |_| None];
    for look in looks {
        let mut pair = Pair::new(world.settings, &world.names, &world.holders, world.flat);
        for (nth, step) in steps.iter().enumerate() {
            pair.look = look(nth + 1 == steps.len());
            guarded(&mut pair, step).map_err(|text| (nth + 1, text))?;
        }
    }
    Ok(())
}

/// A panic in the table is a difference like any other.
fn guarded(pair: &mut Pair, step: &Step) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| pair.step(step))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!(
            "panic: {}",
            text.or(panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
        ))
    })
}

/// Leave out ever smaller parts as long as some difference remains.
fn shrink(world: &World, mut steps: Vec<Step>) -> (Vec<Step>, String) {
    let mut last = String::from("does not fail when replayed");
    if let Err((length, text)) = replay(world, &steps) {
        steps.truncate(length);
        last = text;
    }
    let mut part = steps.len().div_ceil(2);
    loop {
        let mut start = 0;
        let mut shorter = false;
        while start < steps.len() {
            let mut without = steps.clone();
            without.drain(start..(start + part).min(steps.len()));
            match replay(world, &without) {
                Err((length, text)) => {
                    without.truncate(length);
                    (steps, last, shorter) = (without, text, true);
                }
                Ok(()) => start += part,
            }
        }
        if part == 1 && !shorter {
            return (steps, last);
        }
        part = part.div_ceil(2);
    }
}

fn episode(seed: u64) -> Result<Tally, String> {
    let mut rng = Rng(seed);
    let world = World::new(&mut rng);
    let mut pair = Pair::new(world.settings, &world.names, &world.holders, world.flat);
    let mut steps = Vec::new();
    for nth in 0..world.length {
        let step = world.step(&mut rng, &pair.model, nth);
        steps.push(step.clone());
        if let Err(text) = guarded(&mut pair, &step) {
            let (steps, text) = match env::var("TERN_SHRINK").is_ok_and(|word| word == "no") {
                true => (steps, text),
                false => shrink(&world, steps),
            };
            let mut report = format!("TERN_SEED={seed}\n{:?}\n", world.settings);
            for step in &steps {
                writeln!(report, "  {step:?}").expect("a string takes it");
            }
            return Err(format!("{report}{text}"));
        }
    }
    let mut tally = pair.tally;
    tally.episode(&pair.model);
    Ok(tally)
}

fn number(name: &str) -> Option<u64> {
    env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

#[test]
fn the_table_does_what_the_rules_say() {
    if let Some(seed) = number("TERN_SEED") {
        println!("{}", episode(seed).unwrap_or_else(|report| panic!("{report}")));
        return;
    }
    let steps = number("TERN_STEPS").unwrap_or(STEPS);
    let share = move |thread: u64| {
        let mut tally = Tally::default();
        let mut seeds = Rng(thread);
        while tally.commands < steps / THREADS {
            tally.merge(episode(seeds.next())?);
        }
        Ok::<Tally, String>(tally)
    };
    let threads: Vec<_> = (0..THREADS).map(|thread| thread::spawn(move || share(thread))).collect();
    let mut total = Tally::default();
    for thread in threads {
        let share = thread.join().expect("differences are answers, not panics");
        total.merge(share.unwrap_or_else(|report| panic!("{report}")));
    }
    println!("{total}");
    for (what, minimum) in MINIMA.iter().filter(|_| steps >= STEPS) {
        let wanted = minimum * total.commands / 100_000;
        assert!(total.get(what) >= wanted, "{what}: {} times, expected {wanted}", total.get(what));
    }
}

/// What the model has no limits for: tables that are full, so that claims wait for room. Kept and
/// rebuilt tables agree about them, too.
#[test]
fn full_tables_keep_nothing_but_their_bytes() {
    let count = number("TERN_STEPS").unwrap_or(STEPS) / 500;
    let seeds = number("TERN_SEED").map_or(0..count, |seed| seed..seed + 1);
    for seed in seeds {
        let run = catch_unwind(|| full_table(seed));
        assert!(run.is_ok(), "TERN_SEED={seed}");
    }
}

fn decoded<C: Command>(command: &C) -> AnyCommand {
    let mut bytes = Vec::new();
    codec::encode(command, &mut bytes);
    AnyCommand::decode(&bytes).expect("it was encoded")
}

fn device<'a>(rng: &mut Rng, resource: &'a str) -> DeviceListing<&'a str> {
    let island = rng.percent(50).then_some(("links", rng.below(2) as u32));
    let checked = rng.percent(30);
    DeviceListing { resource, slots: None, memory: 0, island, checked, evidence: None }
}

fn full_table(seed: u64) {
    let rng = &mut Rng(seed);
    let limits = Limits { leases: 1 + (seed % 3) as u32, tickets: 6, resources: 5, history: 3 };
    let deadlocks = *rng.pick(&[DeadlockPolicy::Report, DeadlockPolicy::Break]);
    let twins = Twins::new(Settings { limits, deadlocks, ..Settings::default() });
    let (mut leases, mut tickets) = (vec![LeaseId(0)], vec![TicketId(0)]);
    let mut now = 0;
    for _ in 0..300 {
        now += rng.below(3);
        let (owner, principal) = (1 + rng.below(3) as u16, 7 + rng.below(2) as u32);
        let issuer = Issuer::new(owner, Actor { principal, process: owner.into() });
        let names = ["a", "b", "c", "d", "e", "f"];
        let [holder, resource, other] = [0; 3].map(|_| *rng.pick(&names));
        let (lease, ticket) = (*rng.pick(&leases), *rng.pick(&tickets));
        let command = match rng.below(24) {
            0 => decoded(&Declare { resource, slots: 1 + rng.below(3) as u32, memory: 0 }),
            1 => {
                let health = *rng.pick(&[Health::Healthy, Health::Healthy, Health::Draining]);
                decoded(&SetHealth { resource, health })
            }
            2 | 3 => decoded(&Release { lease }),
            4 => decoded(&Withdraw { ticket }),
            5 => decoded(&Collect::<Picks>::new(ticket)),
            6 => decoded(&Renew { lease, ttl: None }),
            7 => {
                let notice = rng.below(4);
                decoded(&Revoke { lease, reason: Reason::Operator, by: other, notice })
            }
            8 => decoded(&Want { holder, resource }),
            9 => decoded(&Unwant { holder, resource }),
            10 => decoded(&ReapOwner { owner, reason: Reason::HolderDied, limit: 2 }),
            11 => decoded(&Advance),
            12 => decoded(&SetPrincipal { owner }),
            13 => decoded(&SetNode { resource, node: rng.percent(70).then_some(other) }),
            14 => decoded(&ClearCheck { resource }),
            15 => decoded(&Transfer { lease, to: 1 + rng.below(3) as u16 }),
            16 if rng.percent(30) => {
                decoded(&Fail { resource, reason: Reason::DeviceFault, by: other })
            }
            17 => decoded(&ListDevices { devices: &[device(rng, resource)][..], node: None }),
            18 => {
                let (leased, cleaning) = (rng.percent(50), rng.percent(50));
                let before = DeviceState { evidence: Health::Healthy, leased, cleaning };
                let (health, unused) = (Health::Healthy, true);
                decoded(&SetEvidence { resource, before, health, unused })
            }
            _ => {
                let several = [resource, other];
                let claim = Claim {
                    count: if rng.percent(20) { 2 } else { 1 },
                    ttl: rng.between(1, 20),
                    wait: rng.below(20),
                    priority: rng.below(3) as i16,
                    spare: rng.percent(20),
                    preemptible: rng.percent(30),
                    preempt: rng.percent(30),
                    grace: rng.below(4),
                    parent: rng.percent(10).then_some(lease),
                    ..Claim::one(holder, &several)
                };
                decoded(&Place::<()>::new(&claim))
            }
        };
        match twins.apply(&command, issuer, now) {
            AnyReply::Placed(Placed { outcome: Outcome::Granted(lease), .. }) => leases.push(lease),
            AnyReply::Placed(Placed { outcome: Outcome::Waiting(id), .. }) => tickets.push(id),
            _ => {}
        }
        let keep = |len: usize| len.saturating_sub(6);
        leases.drain(..keep(leases.len()));
        tickets.drain(..keep(tickets.len()));
    }
}
