//! Finds out what can become of a pool by trying everything that can happen to it.
//!
//! Nothing here knows of reduction, of priorities or of the table: a state is who is done
//! and which resources each granted claim picked; a move is one worker finishing or one
//! claim taking any of the choices that fit. Every reachable state is visited.

mod scene;

use std::cmp::Ordering;
use std::collections::HashSet;

use ternlease::table::Take;

pub use scene::{Rng, Scene};

/// Six workers and six resources at most: a state is one word.
const MOST: usize = 6;

/// A lease: `take` of each resource in `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub worker: usize,
    pub mask: u32,
    pub take: Take,
}

/// A claim: `take` of any `count` resources in `mask`, preferring low numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    pub worker: usize,
    pub mask: u32,
    pub count: u32,
    pub take: Take,
    /// All of one node.
    pub together: bool,
}

impl Want {
    fn conflicts(&self, other: &Want) -> bool {
        let both_shared = self.take == Take::Shared && other.take == Take::Shared;
        self.mask & other.mask != 0 && !both_shared
    }
}

/// Who holds what, and who waits for what: at most one claim of each worker, in line order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Slots and memory of each resource.
    pub sizes: Vec<(u32, u32)>,
    /// The node of each resource; none is said of those that are missing.
    pub nodes: Vec<usize>,
    pub workers: usize,
    pub held: Vec<Held>,
    pub wants: Vec<Want>,
}

impl Pool {
    /// The resources of each node, as masks; all of them at once for a claim that does not care.
    fn places(&self, want: &Want) -> Vec<u32> {
        if !want.together {
            return vec![u32::MAX];
        }
        let node = |r: usize| self.nodes.get(r).copied().unwrap_or(0);
        let of = |n| (0..MOST).filter(|&r| node(r) == n).fold(0, |mask, r| mask | 1 << r);
        (0..MOST).map(of).filter(|mask| *mask != 0).collect()
    }

    /// Are there enough of these for the claim?
    pub fn suffices(&self, want: &Want, fitting: u32) -> bool {
        self.places(want).iter().any(|place| (fitting & place).count_ones() >= want.count)
    }

    /// The claim with only those candidates that can ever serve it.
    pub fn counting(&self, want: &Want) -> Want {
        let able = self.fitting(want, 0);
        let serves = |place: &&u32| (able & **place).count_ones() >= want.count;
        let mask = self.places(want).iter().filter(serves).fold(0, |all, place| all | place);
        Want { mask: if want.together { want.mask & mask } else { want.mask }, ..*want }
    }

    /// The candidates of `want` that fit when only these workers hold what they hold.
    pub fn fitting(&self, want: &Want, holders: u32) -> u32 {
        let held = self.held.iter().filter(|h| holders >> h.worker & 1 == 1);
        fitting(&self.sizes, held.map(|h| (h.mask, h.take)), want)
    }

    /// What a wait-for graph says: is there a cycle of workers each of which waits for
    /// something the next one holds?
    pub fn has_cycle(&self) -> bool {
        let mut reaches = [0u32; MOST];
        for want in &self.wants {
            let blocked = want.mask & !self.fitting(want, u32::MAX);
            for held in self.held.iter().filter(|h| h.mask & blocked != 0) {
                reaches[want.worker] |= 1 << held.worker;
            }
        }
        for _ in 0..self.workers {
            for w in 0..self.workers {
                let next = (0..self.workers).filter(|&n| reaches[w] >> n & 1 == 1);
                reaches[w] |= next.fold(0, |all, n| all | reaches[n]);
            }
        }
        (0..self.workers).any(|w| reaches[w] >> w & 1 == 1)
    }
}

fn fitting(sizes: &[(u32, u32)], held: impl Iterator<Item = (u32, Take)>, want: &Want) -> u32 {
    // Slots and memory taken of each resource, and who is on it.
    let (mut taken, mut shared, mut other) = ([(0, 0); MOST], 0, 0);
    for (mask, take) in held {
        *(if take == Take::Shared { &mut shared } else { &mut other }) |= mask;
        for r in (0..sizes.len()).filter(|r| mask >> r & 1 == 1) {
            match take {
                Take::Exclusive => taken[r] = sizes[r],
                Take::Shared => {}
                Take::Amount { slots, memory } => {
                    taken[r] = (taken[r].0 + slots, taken[r].1 + memory);
                }
            }
        }
    }
    match want.take {
        Take::Exclusive => want.mask & !shared & !other,
        Take::Shared => want.mask & !other,
        Take::Amount { slots, memory } => {
            let room =
                |&r: &usize| taken[r].0 + slots <= sizes[r].0 && taken[r].1 + memory <= sizes[r].1;
            want.mask & !shared & (0..sizes.len()).filter(room).fold(0, |mask, r| mask | 1 << r)
        }
    }
}

// A state: six bits of picks for each worker, then one bit for each that is done.
// No picks and not done: the worker's claim, if it has one, still waits.
fn picks(state: u64, worker: usize) -> u32 {
    (state >> (MOST * worker)) as u32 & 0x3f
}

fn done(state: u64, worker: usize) -> bool {
    state >> (MOST * MOST + worker) & 1 == 1
}

/// All that is held in a state: what was held from the start, and what was picked since.
fn held_in(pool: &Pool, state: u64) -> impl Iterator<Item = (u32, Take)> {
    let first = pool.held.iter().filter(move |h| !done(state, h.worker));
    let since = pool.wants.iter().map(move |w| (picks(state, w.worker), w.take));
    first.map(|h| (h.mask, h.take)).chain(since)
}

/// Visits all reachable states of a pool.
#[derive(Default)]
pub struct Explorer {
    seen: HashSet<u64>,
    open: Vec<u64>,
}

impl Explorer {
    /// The workers whose claim is granted in no reachable state.
    pub fn dead(&mut self, pool: &Pool) -> u32 {
        self.dead_in_line(pool, u32::MAX)
    }

    /// The same if a claim can be granted only when no earlier conflicting one waits,
    /// unless its worker may overtake.
    pub fn dead_in_line(&mut self, pool: &Pool, overtake: u32) -> u32 {
        let waiting = pool.wants.iter().fold(0u32, |all, w| all | 1 << w.worker);
        let mut granted = 0u32;
        self.seen.clear();
        self.open.clear();
        self.visit(0);
        while let Some(state) = self.open.pop() {
            // All that can be found out has been found out.
            if granted == waiting {
                break;
            }
            let waits = |w: usize| waiting >> w & 1 == 1 && picks(state, w) == 0 && !done(state, w);
            for (place, want) in pool.wants.iter().enumerate() {
                let ahead = |e: &Want| waits(e.worker) && e.conflicts(want);
                let free_to_go =
                    overtake >> want.worker & 1 == 1 || !pool.wants[..place].iter().any(ahead);
                if !waits(want.worker) || !free_to_go {
                    continue;
                }
                let fits = fitting(&pool.sizes, held_in(pool, state), want);
                for fits in pool.places(want).iter().map(|place| fits & place) {
                    let mut choice = fits;
                    while choice != 0 {
                        if choice.count_ones() == want.count {
                            granted |= 1 << want.worker;
                            self.visit(state | u64::from(choice) << (MOST * want.worker));
                        }
                        choice = (choice - 1) & fits;
                    }
                }
            }
            for w in (0..pool.workers).filter(|&w| !done(state, w) && !waits(w)) {
                let without = state & !(0x3f << (MOST * w));
                self.visit(without | 1 << (MOST * MOST + w));
            }
        }
        waiting & !granted
    }

    fn visit(&mut self, state: u64) {
        if self.seen.insert(state) {
            self.open.push(state);
        }
    }
}

/// The line as the rules describe it, for claims of equal priority: who is granted when, and
/// who may overtake. What is dead is asked of the explorer.
#[derive(Default)]
pub struct Line {
    pub pool: Pool,
    pub explorer: Explorer,
    /// Who may overtake, and how often that right was given.
    pub overtake: u32,
    pub cures: u32,
}

impl Line {
    /// Serves the line and cures soft deadlocks, until nothing changes.
    pub fn settle(&mut self) {
        loop {
            while self.grant_first() {}
            let hard = self.explorer.dead(&self.pool);
            let in_line = self.explorer.dead_in_line(&self.pool, self.overtake);
            if in_line == hard {
                return;
            }
            let dead = self.pool.wants.iter().filter(|w| in_line >> w.worker & 1 == 1);
            let fits = |w: &&Want| self.pool.suffices(w, self.pool.fitting(w, in_line));
            let first = dead.clone().find(fits).expect("a soft deadlock can be cured").worker;
            assert_eq!(self.overtake >> first & 1, 0, "{first} may overtake already");
            self.overtake |= 1 << first;
            self.cures += 1;
        }
    }

    fn grant_first(&mut self) -> bool {
        let wants = &self.pool.wants;
        let grantable = |&place: &usize| {
            let want = &wants[place];
            let behind = wants[..place].iter().any(|e| e.conflicts(want));
            (!behind || self.overtake >> want.worker & 1 == 1)
                && self.pool.suffices(want, self.pool.fitting(want, u32::MAX))
        };
        let Some(place) = (0..wants.len()).find(grantable) else { return false };
        let want = self.pool.wants.remove(place);
        let fits = self.pool.fitting(&want, u32::MAX);
        // The tightest node, of equals that of the first candidate.
        let places = self.pool.places(&want).into_iter().map(|place| fits & place);
        let large = places.filter(|mask| mask.count_ones() >= want.count);
        let tightest = large.min_by_key(|mask| (mask.count_ones(), mask.trailing_zeros()));
        let mut mask = tightest.expect("it is grantable");
        while mask.count_ones() > want.count {
            mask &= !(1 << mask.ilog2());
        }
        self.pool.held.push(Held { worker: want.worker, mask, take: want.take });
        self.overtake &= !(1 << want.worker);
        true
    }
}

/// Calls with every ownership of single-slot resources (0: free, else 1 + its worker) and every
/// choice of one claim, `(mask, count)`, for each worker (count 0: none). Only one of all pools
/// that differ in names; the names of workers count with `any_arrival`. `part`: 0 or 1.
pub fn every_pool(
    (workers, resources): (usize, usize),
    any_arrival: bool,
    part: usize,
    mut each: impl FnMut(&[usize], &[(u32, u32)]),
) {
    let mut claims = vec![(0, 0)];
    for mask in 1u32..1 << resources {
        claims.extend((1..=mask.count_ones()).map(|count| (mask, count)));
    }
    let (mut people, things) = (permutations(workers), permutations(resources));
    if any_arrival {
        people.retain(|to| to.is_sorted());
    }
    let rename = |&(mask, count): &(u32, u32), to: &[usize]| {
        let bits = (0..resources).filter(|r| mask >> r & 1 == 1);
        (bits.fold(0, |all, r| all | 1 << to[r]), count)
    };
    let place = |claim| claims.iter().position(|c| *c == claim).unwrap();
    let renamed = |to: &Vec<usize>| claims.iter().map(|c| place(rename(c, to))).collect();
    let images: Vec<Vec<usize>> = things.iter().map(renamed).collect();
    'owners: for code in 0..(workers + 1).pow(resources as u32) {
        let digit = |r| code / (workers + 1).pow(r as u32) % (workers + 1);
        let owner: Vec<usize> = (0..resources).map(digit).collect();
        // The renamings that keep the ownership; none may lead to a smaller one.
        let mut same = vec![];
        for to in &people {
            for (thing, image) in things.iter().zip(&images) {
                let mut other = vec![0; resources];
                for r in 0..resources {
                    other[thing[r]] = if owner[r] == 0 { 0 } else { 1 + to[owner[r] - 1] };
                }
                match other.cmp(&owner) {
                    Ordering::Less => continue 'owners,
                    Ordering::Equal => same.push((&to[..], &image[..])),
                    Ordering::Greater => {}
                }
            }
        }
        // Claims of the first workers, and then of more, as long as no renaming makes them smaller.
        let mut open = vec![vec![]];
        while let Some(first) = open.pop() {
            if first.len() == 2 && (first[0] + first[1]) % 2 != part {
                continue;
            }
            if first.len() == workers {
                let chosen: Vec<(u32, u32)> = first.iter().map(|&c| claims[c]).collect();
                each(&owner, &chosen);
                continue;
            }
            for claim in 0..claims.len() {
                let longer = [&first[..], &[claim]].concat();
                if same.iter().all(|(to, image)| !is_smaller(&longer, to, image)) {
                    open.push(longer);
                }
            }
        }
    }
}

/// Whether renaming makes these claims of the first workers smaller, and keeps them the first.
fn is_smaller(claims: &[usize], to: &[usize], image: &[usize]) -> bool {
    let mut other = [0; MOST];
    for (worker, &claim) in claims.iter().enumerate() {
        if to[worker] >= claims.len() {
            return false;
        }
        other[to[worker]] = image[claim];
    }
    other[..claims.len()] < *claims
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let insert = |p: &Vec<usize>, at: usize| [&p[..at], &[n - 1], &p[at..]].concat();
    permutations(n - 1).iter().flat_map(|p| (0..n).map(move |at| insert(p, at))).collect()
}
