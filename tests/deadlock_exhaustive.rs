//! The table's deadlock detection, compared with an oracle that tries all executions.
//!
//! A scene is set up (workers take what they hold, then each claims something more), the table
//! is asked what is stuck, and the oracle finds out what is stuck in the state in which the table
//! really is: it grants claims and lets others overtake while the scene is being set up.
//!
//! Enumerated completely: pools of up to 3 workers and 3 single-slot resources, in every order of
//! arrival; pools of up to 4 and 4, one of each set that differ only in the names of workers
//! and resources. Pools of up to 6 and 6, with amounts and sharing, are random: `TERN_SEED=n`
//! repeats one of them.

mod oracle;

use std::cmp::Reverse;

use oracle::{Explorer, Held, Line, Pool, Rng, Scene, Want, every_pool};
use ternlease::home::process::{Heap, new_table};
use ternlease::table::DeadlockPolicy::{Break, Report};
use ternlease::table::*;

const WORKERS: [&str; 6] = ["w0", "w1", "w2", "w3", "w4", "w5"];
const NAMES: [&str; 6] = ["r0", "r1", "r2", "r3", "r4", "r5"];

fn number(name: &str) -> usize {
    usize::from(name.as_bytes()[1] - b'0')
}

struct Lease {
    id: LeaseId,
    held: Held,
    priority: i16,
    preemptible: bool,
}

/// A table and what was asked of it.
struct Stage {
    table: Table<Heap>,
    /// Sizes and workers; the rest is read from the table.
    base: Pool,
    grace: Time,
    leases: Vec<Lease>,
    tickets: Vec<(TicketId, Want)>,
}

impl Stage {
    /// A scene without its claims.
    fn before(scene: &Scene, deadlocks: DeadlockPolicy, grace: Time) -> Stage {
        let limits = Limits { leases: 32, tickets: 8, resources: 8, history: 64 };
        let table = new_table(Settings { limits, deadlocks, ..Settings::default() });
        let base = Pool { wants: vec![], ..scene.pool.clone() };
        // The last name first, so that the order of candidates is not that of their ids.
        for (name, &(slots, memory)) in NAMES.iter().zip(&base.sizes).rev() {
            table.declare(0, name, slots, memory).unwrap();
        }
        let mut stage = Stage { table, base, grace, leases: vec![], tickets: vec![] };
        for &(want, priority, preemptible) in &scene.holds {
            // What a random scene asks for may be taken already.
            let change = |c: &mut Claim| (c.priority, c.preemptible) = (priority, preemptible);
            let _ = stage.claim_with(want, 0, change);
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

    fn claim_with(
        &mut self,
        want: Want,
        wait: Time,
        change: impl FnOnce(&mut Claim),
    ) -> Result<Outcome, Error> {
        let wanted = (0..NAMES.len()).filter(|r| want.mask >> r & 1 == 1);
        let names: Vec<&str> = wanted.map(|r| NAMES[r]).collect();
        let Want { worker, count, take, .. } = want;
        let one = Claim::one(WORKERS[worker], &names);
        let mut claim = Claim { count, take, wait, grace: self.grace, ..one };
        change(&mut claim);
        let outcome = self.table.claim(self.table.now(), &claim)?;
        match outcome {
            Outcome::Granted(id) => self.note(id, want, claim.priority, claim.preemptible),
            Outcome::Waiting(id) => self.tickets.push((id, want)),
        }
        self.refresh();
        Ok(outcome)
    }

    fn claim(&mut self, want: Want) -> Outcome {
        self.claim_with(want, FOREVER, |_| ()).unwrap()
    }

    fn note(&mut self, id: LeaseId, want: Want, priority: i16, preemptible: bool) {
        let info = self.table.lease(id).unwrap();
        assert_eq!(info.holder, WORKERS[want.worker]);
        let mask = info.takes.iter().fold(0, |mask, t| mask | 1 << number(&t.resource));
        let held = Held { worker: want.worker, mask, take: want.take };
        self.leases.push(Lease { id, held, priority, preemptible });
    }

    /// Reads back what has been granted in the meantime.
    fn refresh(&mut self) {
        for (ticket, want) in std::mem::take(&mut self.tickets) {
            match self.table.ticket(ticket).unwrap() {
                TicketState::Waiting => self.tickets.push((ticket, want)),
                TicketState::Granted(id) => self.note(id, want, 0, false),
                TicketState::Refused(reason) => panic!("{ticket} refused: {reason:?}"),
            }
        }
    }

    fn leases(&self, state: LeaseState) -> impl Iterator<Item = &Lease> {
        let now = self.table.now();
        self.leases.iter().filter(move |l| self.table.state(l.id, now) == Some(state))
    }

    fn pool(&self) -> Pool {
        let held = self.leases(LeaseState::Held).map(|l| l.held).collect();
        let wants = self.tickets.iter().map(|t| t.1).collect();
        Pool { held, wants, ..self.base.clone() }
    }

    fn finish(&mut self, worker: usize) {
        let held = self.leases(LeaseState::Held).filter(|l| l.held.worker == worker);
        for id in held.map(|l| l.id).collect::<Vec<_>>() {
            self.table.release(self.table.now(), id).unwrap();
        }
        self.refresh();
    }

    /// Someone who holds something and waits for nothing.
    fn running(&self, rng: &mut Rng) -> Option<usize> {
        let pool = self.pool();
        let waits = |w: usize| pool.wants.iter().any(|want| want.worker == w);
        let running: Vec<_> = pool.held.iter().filter(|h| !waits(h.worker)).collect();
        (!running.is_empty()).then(|| running[rng.below(running.len())].worker)
    }

    /// Lets running workers finish, one after the other; all claims are granted in the end.
    fn run_dry(&mut self, rng: &mut Rng) {
        while let Some(worker) = self.running(rng) {
            self.finish(worker);
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
        // Which lease a dead worker waits for: on its first candidate that would not fit if
        // everyone who can finish had finished, the longest-held lease of a dead worker.
        let next = |worker: usize| {
            let (ticket, want) = self.tickets.iter().find(|t| t.1.worker == worker)?;
            let first = (want.mask & !pool.fitting(want, dead)).trailing_zeros();
            let held = self.leases(LeaseState::Held);
            let on_it = held.filter(|l| l.held.mask >> first & dead >> l.held.worker & 1 == 1);
            Some((*ticket, on_it.min_by_key(|l| l.id)?))
        };
        let mut stuck = 0u32;
        for Deadlock { stuck: names, cycle, victim } in &found {
            let around = cycle.iter().fold(0u32, |all, wait| all | 1 << number(&wait.worker));
            assert_eq!(around.count_ones() as usize, cycle.len(), "{}", context());
            assert!(names.is_sorted() && !cycle.is_empty(), "{}", context());
            let mut leases = vec![];
            for (wait, after) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                let waits_for = next(number(&wait.worker));
                let (ticket, lease) = waits_for.unwrap_or_else(|| panic!("{}", context()));
                assert_eq!((wait.ticket, wait.lease), (Some(ticket), lease.id), "{}", context());
                assert_eq!(lease.held.worker, number(&after.worker), "{}", context());
                leases.push(lease);
            }
            for worker in names.iter().map(|name| number(name)) {
                assert_eq!(stuck >> worker & 1, 0, "in two deadlocks: {}", context());
                stuck |= 1 << worker;
                let end = (0..6).fold(worker, |w, _| next(w).map_or(w, |n| n.1.held.worker));
                assert!(around >> end & 1 == 1, "{worker} is elsewhere: {}", context());
            }
            let size = |l: &Lease| l.held.mask.count_ones();
            let weakness = |l: &Lease| (l.priority, !l.preemptible, size(l), Reverse(l.id));
            let weakest = leases.into_iter().min_by_key(|l| weakness(l)).unwrap();
            assert_eq!(*victim, weakest.id, "victim: {}", context());
        }
        assert_eq!(stuck, dead, "{}", context());
    }
}

/// Calls with a generator for each seed, or for `TERN_SEED` alone.
fn seeds(count: u64, mut each: impl FnMut(&mut Rng)) {
    struct Tell(u64);
    impl Drop for Tell {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("repeat with TERN_SEED={}", self.0);
            }
        }
    }
    let chosen = std::env::var("TERN_SEED").ok().map(|s| s.parse().expect("TERN_SEED: a number"));
    for seed in chosen.map_or(1..=count, |seed| seed..=seed) {
        let _tell = Tell(seed);
        each(&mut Rng(seed << 20));
    }
}

/// One slot of each: `count` of the resources in `mask`.
fn want(worker: usize, mask: u32, count: u32) -> Want {
    Want { worker, mask, count, take: Take::ONE_SLOT }
}

/// Worker `n` holds single-slot resource `n`, as many as there are.
fn each_holds_one(n: usize) -> Stage {
    let owner: Vec<usize> = (1..=n).collect();
    Stage::set_up(&Scene::plain(&owner, &[(0, 0); 6], 0), Report, 0)
}

/// Pools compared, set up as intended (every claim waits), with a deadlock; false alarms that a
/// cycle detector raises, and deadlocks that it misses.
type Tally = [usize; 5];

fn compare(scene: &Scene, explorer: &mut Explorer, tally: &mut Tally) {
    let stage = Stage::set_up(scene, Report, 0);
    let pool = stage.pool();
    let Some(dead) = explorer.dead(&pool) else { return };
    stage.check(&pool, dead);
    let (intended, alarm) = (pool.wants.len() == scene.pool.wants.len(), pool.has_cycle());
    let facts = [true, intended, dead != 0, alarm && dead == 0, !alarm && dead != 0];
    for (sum, fact) in tally.iter_mut().zip(facts) {
        *sum += usize::from(fact);
    }
}

fn tell(what: &str, [pools, intended, dead, false_alarms, missed]: Tally) {
    println!(
        "{what}: {pools} pools compared, {intended} set up as intended, {dead} with a deadlock, \
         0 mismatches; a cycle detector: {false_alarms} false alarms, {missed} missed"
    );
    assert!(intended * 2 > pools && dead > 0 && false_alarms > 0 && missed == 0);
}

fn enumerate(size: (usize, usize), renaming: bool) -> Tally {
    let half = |part| {
        let (mut tally, mut explorer) = (Tally::default(), Explorer::default());
        every_pool(size, renaming, part, &mut |owner, claims| {
            let mut scene = Scene::plain(owner, claims, tally[0]);
            if renaming {
                // One order stands for all: the one in which most claims have to wait.
                let free =
                    |w: &Want| (0..size.1).filter(move |&r| w.mask >> r & 1 == 1 && owner[r] == 0);
                scene.pool.wants.sort_by_key(|w| free(w).count() >= w.count as usize);
            }
            compare(&scene, &mut explorer, &mut tally);
        });
        tally
    };
    let (one, other) = std::thread::scope(|s| {
        let other = s.spawn(|| half(1));
        (half(0), other.join().unwrap())
    });
    std::array::from_fn(|i| one[i] + other[i])
}

#[test]
fn every_pool_up_to_3_by_3_in_every_order_of_arrival() {
    let tally = enumerate((3, 3), false);
    assert_eq!(tally[0], 4usize.pow(3) * 13usize.pow(3));
    tell("all pools of 3 workers and 3 resources", tally);
}

#[test]
fn every_pool_up_to_4_by_4_but_for_renaming() {
    let tally = enumerate((4, 4), true);
    assert_eq!(tally[0], 1_459_987);
    tell("all pools of 4 workers and 4 resources, but for renaming", tally);
}

#[test]
fn random_pools_up_to_6_by_6_with_amounts_and_sharing() {
    let (mut tally, mut explorer) = (Tally::default(), Explorer::default());
    seeds(3000, |rng| compare(&Scene::random(rng), &mut explorer, &mut tally));
    if std::env::var("TERN_SEED").is_err() {
        tell("3000 random pools (those with too many states left out)", tally);
        assert!(tally[0] >= 2000);
    }
}

#[test]
fn a_cycle_need_not_be_a_deadlock_and_a_deadlock_need_not_be_a_knot() {
    let mut stage = each_holds_one(3);
    stage.claim(want(0, 0b110, 1));
    stage.claim(want(1, 0b001, 1));
    assert!(stage.pool().has_cycle(), "a cycle detector raises an alarm");
    assert_eq!(stage.deadlocks(), []);
    stage.finish(2);
    stage.run_dry(&mut Rng(0));

    let mut stage = each_holds_one(3);
    stage.claim(want(0, 0b110, 2));
    stage.claim(want(1, 0b001, 1));
    stage.check(&stage.pool(), 0b011);
    assert_eq!(stage.deadlocks()[0].stuck, ["w0", "w1"]);
}

/// That the line is in the way of worker 1 alone, and that it gets by without a revocation.
fn check_cure(mut stage: Stage, line: &[Want]) {
    let in_line = Pool { wants: line.to_vec(), ..stage.pool() };
    assert_ne!(Explorer::default().dead_in_line(&in_line, 0), Some(0), "order alone is no cure");
    assert_eq!(Explorer::default().dead(&in_line), Some(0));
    assert_eq!(stage.deadlocks(), []);
    stage.finish(2);
    assert!(stage.tickets.iter().all(|t| t.1.worker != 1), "worker 1 overtakes");
    let mut events = vec![];
    stage.table.events_since(0, &mut events);
    let lost = |e: &&Event| match e.what {
        What::Ended { reason, .. } => reason != Reason::Released,
        What::Revoking { .. } => true,
        _ => false,
    };
    assert_eq!(events.iter().find(lost), None);
    stage.run_dry(&mut Rng(0));
}

#[test]
fn an_earlier_claim_that_waits_for_the_later_one_is_overtaken() {
    let mut stage = each_holds_one(3);
    let line = [want(0, 0b110, 2), want(1, 0b100, 1)];
    line.map(|w| stage.claim(w));
    check_cure(stage, &line);
}

#[test]
fn a_late_claim_of_higher_standing_is_overtaken() {
    let mut stage = each_holds_one(3);
    // Spare claims stand behind all others, however early they come.
    let line = [want(3, 0b110, 2), want(1, 0b100, 1)];
    stage.claim_with(line[1], FOREVER, |c| c.spare = true).unwrap();
    stage.claim(line[0]);
    check_cure(stage, &line);
}

#[test]
fn a_late_claim_of_higher_priority_may_put_others_in_the_wrong_order() {
    let mut stage = each_holds_one(3);
    // Worker 1 goes first by priority, until worker 3 lends worker 0 more, and so to worker 1:
    // then age decides, and worker 0, which waits for worker 1, is older.
    let line = [want(0, 0b110, 2), want(1, 0b100, 1), want(3, 0b001, 1)];
    stage.claim(line[0]);
    stage.claim_with(line[1], FOREVER, |c| c.priority = 3).unwrap();
    stage.claim_with(line[2], FOREVER, |c| c.priority = 5).unwrap();
    check_cure(stage, &line);
}

#[test]
fn no_soft_deadlock_survives_whatever_the_order_of_finishing() {
    let (mut scenes, mut cured, mut grants) = (0, 0, 0);
    seeds(700, |rng| {
        let scene = Scene::random(rng);
        for _ in 0..3 {
            // The table and the oracle's own line go the same way, step by step.
            let mut stage = Stage::before(&scene, Report, 0);
            let mut line = Line { pool: stage.pool(), ..Line::default() };
            let mut claims = scene.pool.wants.iter();
            while let Some(step) = claims.next().map(Ok).or_else(|| stage.running(rng).map(Err)) {
                match step {
                    Ok(&want) => {
                        stage.claim(want);
                        line.pool.wants.push(want);
                    }
                    Err(worker) => {
                        stage.finish(worker);
                        line.pool.held.retain(|h| h.worker != worker);
                    }
                }
                if line.settle().is_none() {
                    return;
                }
                let sorted = |Pool { mut held, mut wants, .. }: Pool| {
                    held.sort_by_key(|h| (h.worker, h.mask, format!("{:?}", h.take)));
                    wants.sort_by_key(|w| w.worker);
                    (held, wants)
                };
                assert_eq!(sorted(stage.pool()), sorted(line.pool.clone()));
            }
            let dead = line.explorer.dead(&line.pool).unwrap();
            assert_eq!(stage.pool().wants.len(), dead.count_ones() as usize, "left waiting");
            grants += stage.leases.len();
            scenes += 1;
            cured += usize::from(line.cures > 0);
        }
    });
    println!("{scenes} runs, {grants} leases as the oracle's line grants them; cured: {cured}");
    assert!(cured > 0 || std::env::var("TERN_SEED").is_ok());
}

#[test]
fn every_reported_cycle_is_a_real_one() {
    let (mut lengths, mut several, mut outside) = ([0; 7], 0, 0);
    seeds(3000, |rng| {
        let stage = Stage::set_up(&Scene::random(rng), Report, 0);
        let found = stage.deadlocks();
        let stuck = found.iter().flat_map(|d| &d.stuck);
        // `check` follows every wait of every cycle.
        stage.check(&stage.pool(), stuck.fold(0, |all, name| all | 1 << number(name)));
        several += usize::from(found.len() > 1);
        for deadlock in found {
            lengths[deadlock.cycle.len()] += 1;
            outside += deadlock.stuck.len() - deadlock.cycle.len();
        }
    });
    println!(
        "cycles by length {lengths:?}; {outside} workers stuck outside of their cycle, {several} \
         pools with several deadlocks"
    );
}

#[test]
fn breaking_revokes_only_in_deadlocks_and_leaves_none() {
    let (mut explorer, mut deadlocks, mut revoked) = (Explorer::default(), 0, 0);
    let mut run = |scene: &Scene, rng: &mut Rng| {
        let Some(dead) = explorer.dead(&Stage::set_up(scene, Report, 0).pool()) else { return };
        for grace in [0, 10] {
            let mut stage = Stage::set_up(scene, Break, grace);
            assert_eq!(stage.deadlocks(), [], "a lease that is being revoked is no obstacle");
            stage.table.advance(grace).unwrap();
            stage.refresh();
            assert_eq!(explorer.dead(&stage.pool()).unwrap_or(0), 0, "{:?}", stage.pool());
            let lost = stage.leases(LeaseState::Revoked).count();
            assert_eq!(lost > 0, dead != 0, "revoked: {lost}, dead: {dead:06b}");
            stage.run_dry(rng);
            assert_eq!(stage.leases(LeaseState::Revoked).count(), lost, "revoked later");
            deadlocks += usize::from(dead != 0);
            revoked += lost;
        }
    };
    seeds(1500, |rng| run(&Scene::random(rng), rng));
    for part in 0..2 {
        every_pool((3, 3), true, part, &mut |owner, claims| {
            run(&Scene::plain(owner, claims, 0), &mut Rng(0));
        });
    }
    println!("policy break: {deadlocks} runs with a deadlock, {revoked} leases revoked");
}

#[test]
fn a_victim_keeps_its_age() {
    let mut stage = Stage::set_up(&Scene::plain(&[1, 2], &[(0, 0); 5], 0), Break, 0);
    let victim = stage.leases[1].id;
    stage.claim(want(0, 0b10, 1));
    stage.claim(want(2, 0b10, 1));
    assert_eq!(stage.leases(LeaseState::Revoked).count(), 0);
    stage.claim(want(1, 0b01, 1));
    assert_eq!(stage.table.state(victim, 0), Some(LeaseState::Revoked));
    // Worker 0 runs. The victim comes back, behind worker 2 by arrival, before it by age;
    // a bystander that comes now stands behind both.
    stage.claim(want(3, 0b10, 1));
    stage.claim(want(1, 0b10, 1));
    let mut served = vec![];
    stage.finish(0);
    while let Some(lease) = stage.leases(LeaseState::Held).find(|l| l.held.mask == 0b10) {
        served.push(lease.held.worker);
        stage.finish(lease.held.worker);
    }
    assert_eq!(served, [1, 2, 3]);
}
