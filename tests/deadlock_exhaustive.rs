//! The table's deadlock detection, compared with an oracle that tries all executions.
//!
//! A scene is set up (workers take what they hold, then each claims more), the table is asked what
//! is stuck, and the oracle finds out what is stuck in the state in which the table really is:
//! it grants claims and lets others overtake while the scene is being set up.
//!
//! Pools that differ only in names count as one. Compared: all of 3 workers and 3 single-slot
//! resources, in every order of arrival; all of 3 and 4 and of 4 and 3; of 4 and 4, one in 29 (all
//! with `TERN_ALL`); random ones of up to 6 and 6 with amounts and sharing (`TERN_SEED` repeats one). And all of 3 and 4 with claims for several of
//! one node, and random ones with such claims.

mod oracle;

use oracle::{Explorer, Held, Line, Pool, Rng, Scene, Want, every_pool};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::DeadlockPolicy::{Break, Report};
use ternlease::table::*;

const WORKERS: [&str; 6] = ["w0", "w1", "w2", "w3", "w4", "w5"];
const NAMES: [&str; 6] = ["r0", "r1", "r2", "r3", "r4", "r5"];

fn number(name: &str) -> usize {
    usize::from(name.as_bytes()[1] - b'0')
}

/// A table and what was asked of it.
struct Stage {
    table: Table<Arrays>,
    /// Sizes and workers; the rest is read from the table.
    base: Pool,
    grace: Time,
    leases: Vec<(LeaseId, Held)>,
    tickets: Vec<(TicketId, Want)>,
}

impl Stage {
    /// A scene without its claims.
    fn before(scene: &Scene, deadlocks: DeadlockPolicy, grace: Time) -> Stage {
        let limits = Limits { leases: 32, tickets: 8, resources: 16, history: 64 };
        let table = new_table(Settings { limits, deadlocks, ..Settings::default() });
        let base = Pool { wants: vec![], ..scene.pool.clone() };
        // The last name first, so that the order of candidates is not that of their ids.
        for (name, &(slots, memory)) in NAMES.iter().zip(&base.sizes).rev() {
            table.declare(0, name, slots, memory).unwrap();
        }
        for (name, node) in NAMES.iter().zip(&base.nodes) {
            let node = table.declare(0, &format!("node {node}"), 1, 0).unwrap();
            let traits = Traits { node: Some(node), ..Traits::default() };
            table.set_traits(0, table.resource_id(name).unwrap(), traits).unwrap();
        }
        let mut stage = Stage { table, base, grace, leases: vec![], tickets: vec![] };
        for &(want, priority, preemptible) in &scene.holds {
            // What a random scene asks for may be taken already.
            let _ = stage.claim_with(want, |c| {
                (c.wait, c.priority, c.preemptible) = (0, priority, preemptible);
            });
        }
        stage
    }

    fn set_up(scene: &Scene, deadlocks: DeadlockPolicy, grace: Time) -> Stage {
        let mut stage = Stage::before(scene, deadlocks, grace);
        for &want in &scene.pool.wants {
            stage.claim(want);
        }
        stage
    }

    fn claim_with(&mut self, want: Want, change: impl Fn(&mut Claim)) -> Result<(), Error> {
        let wanted = (0..NAMES.len()).filter(|r| want.mask >> r & 1 == 1);
        let names: Vec<&str> = wanted.map(|r| NAMES[r]).collect();
        let Want { worker, count, take, together, .. } = want;
        let one = Claim::one(WORKERS[worker], &names);
        let mut claim = Claim { count, together, take, wait: FOREVER, grace: self.grace, ..one };
        change(&mut claim);
        match self.table.claim(self.table.now(), &claim)? {
            Outcome::Granted(id) => self.note(id, want),
            Outcome::Waiting(id) => self.tickets.push((id, want)),
        }
        self.refresh();
        Ok(())
    }

    fn claim(&mut self, want: Want) {
        self.claim_with(want, |_| ()).unwrap();
    }

    fn note(&mut self, id: LeaseId, Want { worker, take, .. }: Want) {
        let info = self.table.lease(id).unwrap();
        assert_eq!(info.holder, WORKERS[worker]);
        let mask = info.takes.iter().fold(0, |mask, t| mask | 1 << number(&t.resource));
        self.leases.push((id, Held { worker, mask, take }));
    }

    /// Reads back what has been granted in the meantime.
    fn refresh(&mut self) {
        for (ticket, want) in std::mem::take(&mut self.tickets) {
            match self.table.ticket(ticket).unwrap() {
                TicketState::Waiting => self.tickets.push((ticket, want)),
                TicketState::Granted(id) => self.note(id, want),
                TicketState::Refused(reason) => panic!("{ticket} refused: {reason:?}"),
            }
        }
    }

    fn held(&self) -> impl Iterator<Item = (LeaseId, Held)> {
        let is_held = |id| self.table.state(id, self.table.now()) == Some(LeaseState::Held);
        self.leases.iter().copied().filter(move |l| is_held(l.0))
    }

    fn pool(&self) -> Pool {
        let held = self.held().map(|l| l.1).collect();
        Pool { held, wants: self.tickets.iter().map(|t| t.1).collect(), ..self.base.clone() }
    }

    fn release(&mut self, lease: LeaseId) {
        self.table.release(self.table.now(), lease).unwrap();
        self.refresh();
    }

    /// Some lease of somebody who waits for nothing.
    fn unneeded(&self, rng: &mut Rng) -> Option<(LeaseId, Held)> {
        let waits = |worker: usize| self.tickets.iter().any(|t| t.1.worker == worker);
        let unneeded: Vec<_> = self.held().filter(|l| !waits(l.1.worker)).collect();
        (!unneeded.is_empty()).then(|| unneeded[rng.below(unneeded.len())])
    }

    /// Lets running workers give back all they have, bit by bit; all claims are granted in the end.
    fn run_dry(&mut self, rng: &mut Rng) {
        while let Some((lease, _)) = self.unneeded(rng) {
            self.release(lease);
        }
        assert!(self.tickets.is_empty(), "left waiting: {:?}", self.pool());
        self.table.verify().unwrap();
    }

    fn deadlocks(&self) -> Vec<Deadlock> {
        self.table.find_deadlocks(self.table.now()).unwrap()
    }

    /// That the table reports exactly these workers as dead, and in the way the rules say.
    fn check(&self, pool: &Pool, dead: u32) {
        let found = self.deadlocks();
        let context = || format!("dead {dead:06b}, {found:?}, {pool:?}");
        // Which lease a dead worker waits for: on its first candidate that would not fit if all
        // who can finish had finished (and not for being too small), the oldest of a dead worker.
        let next = |worker: usize| {
            let (ticket, want) = self.tickets.iter().find(|t| t.1.worker == worker)?;
            let blocked = want.mask & !pool.fitting(want, dead);
            let dead =
                self.held().filter(|(_, h)| dead >> h.worker & 1 == 1 && h.mask & blocked != 0);
            Some((*ticket, dead.min_by_key(|(id, h)| ((h.mask & blocked).trailing_zeros(), *id))?))
        };
        let mut stuck = 0u32;
        for Deadlock { stuck: names, cycle, victim } in &found {
            let around = cycle.iter().fold(0u32, |all, wait| all | 1 << number(&wait.worker));
            assert_eq!(around.count_ones() as usize, cycle.len(), "{}", context());
            assert!(names.is_sorted() && !cycle.is_empty(), "{}", context());
            let mut leases = vec![];
            for (wait, after) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                let waits_for = next(number(&wait.worker));
                let (ticket, (lease, held)) = waits_for.unwrap_or_else(|| panic!("{}", context()));
                assert_eq!((wait.ticket, wait.lease), (Some(ticket), lease), "{}", context());
                assert_eq!(held.worker, number(&after.worker), "{}", context());
                let info = self.table.lease(lease).unwrap();
                leases.push((info.priority, !info.preemptible, info.takes.len(), !lease.0));
            }
            for worker in names.iter().map(|name| number(name)) {
                assert_eq!(stuck >> worker & 1, 0, "in two deadlocks: {}", context());
                stuck |= 1 << worker;
                let end = (0..6).fold(worker, |w, _| next(w).map_or(w, |n| n.1.1.worker));
                assert!(around >> end & 1 == 1, "{worker} is elsewhere: {}", context());
            }
            let weakest = leases.iter().min().map(|key| !key.3);
            assert_eq!(Some(victim.0), weakest, "victim: {}", context());
        }
        assert_eq!(stuck, dead, "{}", context());
    }
}

/// Calls with a generator for each seed, or for `TERN_SEED` alone; whether for all of them.
fn seeds(count: u64, mut each: impl FnMut(&mut Rng)) -> bool {
    let chosen: Option<u64> = std::env::var("TERN_SEED").ok().map(|s| s.parse().unwrap());
    for seed in chosen.map_or(1..=count, |seed| seed..=seed) {
        each(&mut Rng(seed, 0));
    }
    chosen.is_none()
}

/// Half of them on nodes.
fn random(rng: &mut Rng) -> Scene {
    if rng.below(2) == 0 { Scene::random(rng) } else { Scene::random_on_nodes(rng) }
}

/// Pools compared, set up as intended (every claim waits), with a deadlock; false alarms that a
/// cycle detector raises, and deadlocks that it misses.
type Tally = [usize; 5];

fn compare(scene: &Scene, explorer: &mut Explorer, tally: &mut Tally) {
    let stage = Stage::set_up(scene, Report, 0);
    let pool = stage.pool();
    let dead = explorer.dead(&pool);
    stage.check(&pool, dead);
    let (intended, alarm) = (pool.wants.len() == scene.pool.wants.len(), pool.has_cycle());
    let facts = [true, intended, dead != 0, alarm && dead == 0, !alarm && dead != 0];
    *tally = std::array::from_fn(|i| tally[i] + usize::from(facts[i]));
}

fn tell(what: &str, [pools, intended, dead, false_alarms, missed]: Tally) {
    println!(
        "{what}: {pools} pools compared, {intended} set up as intended, {dead} with a deadlock, \
         0 mismatches; a cycle detector: {false_alarms} false alarms, {missed} missed"
    );
    assert!(pools > 2000 && intended * 3 > pools && dead > 0 && false_alarms > 0 && missed == 0);
}

/// Compares every pool, or every `step`th; how many there are.
fn enumerate(size: (usize, usize), any_arrival: bool, step: usize) -> usize {
    enumerate_on(&[], size, any_arrival, step)
}

/// The same with the resources on these nodes, if any: then every claim for several is one for several of one node if that can be.
fn enumerate_on(
    nodes: &'static [usize],
    size: (usize, usize),
    any_arrival: bool,
    step: usize,
) -> usize {
    let half = move |part| {
        let (mut tally, mut explorer, mut n) = (Tally::default(), Explorer::default(), 0);
        every_pool(size, any_arrival, part, |owner, claims| {
            n += 1;
            if n % step == 0 {
                let mut scene = Scene::plain(owner, claims, n, !any_arrival);
                scene.pool.nodes = nodes.to_vec();
                compare(&scene.on_nodes(|_| !nodes.is_empty()), &mut explorer, &mut tally);
            }
        });
        (tally, n)
    };
    let other = std::thread::spawn(move || half(1));
    let (one, other) = (half(0), other.join().unwrap());
    let pools = one.1 + other.1;
    let how = ["in one order each", "in every order of arrival"][usize::from(any_arrival)];
    let what = format!("{size:?} workers and resources {nodes:?}, {how}, 1 in {step} of {pools}");
    tell(&what, std::array::from_fn(|i| one.0[i] + other.0[i]));
    pools
}

#[test]
fn every_pool_of_3_by_3_in_every_order_of_arrival() {
    assert_eq!(enumerate((3, 3), true, 1), 26_264);
}

#[test]
fn every_pool_of_3_by_4_and_of_4_by_3() {
    assert_eq!(enumerate((3, 4), false, 1), 79_777);
    assert_eq!(enumerate((4, 3), false, 1), 29_939);
}

#[test]
fn pools_of_4_by_4() {
    let step = if std::env::var("TERN_ALL").is_ok() { 1 } else { 29 };
    assert_eq!(enumerate((4, 4), false, step), 1_459_987);
}

#[test]
fn random_pools_of_6_by_6_with_amounts_and_sharing() {
    let (mut tally, mut explorer) = (Tally::default(), Explorer::default());
    if seeds(3000, |rng| compare(&Scene::random(rng), &mut explorer, &mut tally)) {
        tell("3000 random ones of 6 workers and resources", tally);
    }
}

#[test]
fn every_pool_of_3_by_4_with_claims_for_several_of_one_node() {
    enumerate_on(&[0, 0, 1, 1], (3, 4), false, 1);
    enumerate_on(&[0, 1, 0, 0], (3, 4), false, 3);
}

#[test]
fn random_pools_of_6_by_6_on_nodes() {
    let (mut tally, mut explorer) = (Tally::default(), Explorer::default());
    if seeds(3000, |rng| compare(&Scene::random_on_nodes(rng), &mut explorer, &mut tally)) {
        tell("3000 random ones of 6 workers and resources on nodes", tally);
    }
}

/// One slot of each: `count` of the resources in `mask`.
fn want(worker: usize, mask: u32, count: u32) -> Want {
    Want { worker, mask, count, take: Take::ONE_SLOT, together: false }
}

/// Worker `n` holds single-slot resource `n`, as far as there are any.
fn each_holds_one(n: usize, policy: DeadlockPolicy) -> Stage {
    let owner: Vec<usize> = (1..=n).collect();
    Stage::before(&Scene::plain(&owner, &[(0, 0); 6], 0, false), policy, 0)
}

#[test]
fn a_cycle_need_not_be_a_deadlock_and_a_deadlock_need_not_be_a_knot() {
    for both in [false, true] {
        let mut stage = each_holds_one(3, Report);
        stage.claim(want(0, 0b110, 1 + u32::from(both)));
        stage.claim(want(1, 0b001, 1));
        assert!(stage.pool().has_cycle(), "a cycle detector raises an alarm");
        stage.check(&stage.pool(), if both { 0b011 } else { 0 });
        stage.release(stage.leases[2].0);
        if !both {
            stage.run_dry(&mut Rng(0, 0));
        }
    }
}

#[test]
fn soft_deadlocks_are_cured_without_revoking() {
    // Worker 1 stands behind worker 0, which waits for it: by age; or first by priority, until
    // worker 3 comes and lends more to worker 0, and so to worker 1: then age decides again.
    for (own, late) in [(0, None), (3, Some(5))] {
        let (mut stage, mut explorer) = (each_holds_one(3, Report), Explorer::default());
        stage.claim(want(0, 0b110, 2));
        stage.claim_with(want(1, 0b100, 1), |c| c.priority = own).unwrap();
        let place = |stage: &Stage| stage.table.waiting_ticket(stage.tickets[1].0).unwrap().place;
        if let Some(priority) = late {
            assert_eq!(place(&stage), 1);
            stage.claim_with(want(3, 0b001, 1), |c| c.priority = priority).unwrap();
        }
        assert_eq!(place(&stage), 2);
        assert_ne!(explorer.dead_in_line(&stage.pool(), 0), 0, "it takes a cure");
        stage.check(&stage.pool(), 0);
        let mut events = vec![];
        stage.table.events_since(0, &mut events);
        let taken = |e: &Event| matches!(e.what, What::Ended { .. } | What::Revoking { .. });
        assert!(!events.iter().any(taken), "{events:?}");
        stage.release(stage.leases[2].0);
        assert!(stage.tickets.iter().all(|t| t.1.worker != 1), "worker 1 overtakes");
        stage.run_dry(&mut Rng(0, 0));
        assert_eq!(stage.table.revocations(), 0);
    }
}

#[test]
fn no_soft_deadlock_survives_whatever_the_order_of_finishing() {
    let (mut runs, mut cured, mut granted) = (0, 0, 0);
    let scene_and_order = |rng: &mut Rng| {
        let scene = random(rng);
        for _ in 0..3 {
            // The table and the oracle's own line go the same way, step by step.
            let mut stage = Stage::before(&scene, Report, 0);
            let mut line = Line { pool: stage.pool(), ..Line::default() };
            let mut claims = scene.pool.wants.iter();
            while let Some(step) = claims.next().map(Ok).or_else(|| stage.unneeded(rng).map(Err)) {
                match step {
                    Ok(&want) => {
                        stage.claim(want);
                        line.pool.wants.push(want);
                    }
                    Err((lease, held)) => {
                        stage.release(lease);
                        let place = line.pool.held.iter().position(|h| *h == held).unwrap();
                        line.pool.held.remove(place);
                    }
                }
                line.settle();
                let (mut table, mut oracle) = (stage.pool(), line.pool.clone());
                table.held.sort_by_key(|h| format!("{h:?}"));
                oracle.held.sort_by_key(|h| format!("{h:?}"));
                assert_eq!(table, oracle);
            }
            let dead = line.explorer.dead(&line.pool);
            assert_eq!(stage.tickets.len(), dead.count_ones() as usize, "left waiting");
            runs += 1;
            cured += u32::from(line.cures > 0);
            granted += u32::from(dead == 0);
        }
    };
    if seeds(2000, scene_and_order) {
        println!(
            "{runs} runs as in the oracle's line; {cured} with cures, {granted} without deadlock"
        );
        assert!(cured > 100 && granted > 100);
    }
}

#[test]
fn every_reported_cycle_is_a_real_one() {
    let (mut lengths, mut outside) = ([0; 7], 0);
    seeds(3000, |rng| {
        let stage = Stage::set_up(&random(rng), Report, 0);
        let found = stage.deadlocks();
        let stuck = found.iter().flat_map(|d| &d.stuck);
        stage.check(&stage.pool(), stuck.fold(0, |all, name| all | 1 << number(name)));
        found.iter().for_each(|d| lengths[d.cycle.len()] += 1);
        outside += found.iter().map(|d| d.stuck.len() - d.cycle.len()).sum::<usize>();
    });
    println!("cycles by length: {lengths:?}; {outside} workers stuck outside of their cycle");
}

#[test]
fn breaking_revokes_only_in_deadlocks_and_leaves_none() {
    let (mut explorer, mut deadlocks, mut revoked) = (Explorer::default(), 0, 0);
    seeds(3000, |rng| {
        let scene = random(rng);
        let dead = explorer.dead(&Stage::set_up(&scene, Report, 0).pool());
        for grace in [0, 10] {
            let mut stage = Stage::set_up(&scene, Break, grace);
            assert_eq!(stage.deadlocks(), [], "a lease that is being revoked is no obstacle");
            stage.table.advance(grace).unwrap();
            stage.refresh();
            assert_eq!(explorer.dead(&stage.pool()), 0, "{:?}", stage.pool());
            let lost = stage.table.revocations();
            assert_eq!(lost > 0, dead != 0, "revoked: {lost}, dead: {dead:06b}");
            stage.run_dry(rng);
            assert_eq!(stage.table.revocations(), lost, "revoked later");
            deadlocks += usize::from(dead != 0);
            revoked += lost;
        }
    });
    println!("policy break: {deadlocks} runs with a deadlock, {revoked} leases revoked");
}

#[test]
fn a_victim_keeps_its_age() {
    let mut stage = each_holds_one(2, Break);
    stage.claim(want(0, 0b10, 1));
    stage.claim(want(2, 0b10, 1));
    assert_eq!(stage.table.revocations(), 0);
    stage.claim(want(1, 0b01, 1));
    assert_eq!(stage.table.revocations(), 1);
    // Worker 0 runs, and the victim comes back: the last by arrival, the first by age.
    stage.claim(want(3, 0b10, 1));
    stage.claim(want(1, 0b10, 1));
    stage.run_dry(&mut Rng(0, 0));
    let of_it = stage.leases.iter().filter(|l| l.1.mask == 0b10);
    assert_eq!(of_it.map(|l| l.1.worker).collect::<Vec<_>>(), [1, 0, 1, 2, 3]);
}
