//! The working memory of commands: private to one table, not in the journal, allocated once.

use std::cell::Cell;

use super::layout::Sizes;
use crate::zeroed::ZeroedArray;

/// What a pass notes about a resource. Valid only while `pass` is the current pass.
#[derive(Debug, Default)]
pub(crate) struct ResourceNotes {
    pub pass: Cell<u64>,
    pub used_slots: Cell<u32>,
    pub used_memory: Cell<u32>,
    pub shared: Cell<u32>,
    /// The round in which an unsatisfied earlier ticket had it as a candidate: a shared ticket, and
    /// one that is not shared.
    pub awaited_shared: Cell<u64>,
    pub awaited: Cell<u64>,
}

/// What a pass notes about a worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerNotes {
    pub pass: Cell<u64>,
    /// Tickets and wants that are not satisfiable (yet).
    pub unsatisfied: Cell<u32>,
    /// It can continue, and has released what it holds.
    pub finished: Cell<bool>,
    /// Its implied want is satisfiable.
    pub implied_satisfied: Cell<bool>,
    /// The highest priority that it inherits from the workers that wait for it.
    pub inherited: Cell<i32>,
    /// The ticket that blocks it (0: a want), and the lease that it waits for.
    pub stuck_by: Cell<u32>,
    pub waits_for: Cell<u32>,
    /// The worker it waits for.
    pub next: Cell<u32>,
    /// 0 new, 1 on the current path, 2 done.
    pub visit: Cell<u8>,
    /// The first worker of the cycle that its path reaches.
    pub cycle: Cell<u32>,
}

/// What a pass notes about an island. The first half of the array is for islands, the second for
/// resources without an island.
#[derive(Debug, Default)]
pub(crate) struct IslandNotes {
    pub pass: Cell<u64>,
    /// How many of its resources could serve the claim.
    pub free: Cell<u32>,
    /// How many of them the claim gets.
    pub taken: Cell<u32>,
}

/// What a pass notes about a node; the first is for resources without one.
#[derive(Debug, Default)]
pub(crate) struct NodeNotes {
    pub pass: Cell<u64>,
    /// How many of its resources count.
    pub count: Cell<u32>,
    /// The index of the first of them among the candidates of a claim.
    pub first: Cell<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct TicketNotes {
    pub pass: Cell<u64>,
    pub satisfied: Cell<bool>,
}

#[derive(Debug, Default)]
pub(crate) struct WantNotes {
    pub pass: Cell<u64>,
    pub satisfied: Cell<bool>,
}

#[derive(Debug, Default)]
pub(crate) struct LeaseNotes {
    /// The pass in whose simulation the lease has ended.
    pub gone: Cell<u64>,
}

/// A stack of indices that is emptied by its user.
#[derive(Default)]
pub(crate) struct Stack(Cell<Vec<u32>>);

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stack")
    }
}

impl Stack {
    fn with_capacity(n: usize) -> Option<Self> {
        let mut items = Vec::new();
        items.try_reserve_exact(n).ok()?;
        Some(Stack(Cell::new(items)))
    }

    /// Works on the vector. Nested use of the same stack sees an empty one, so do not nest.
    #[inline(always)]
    pub fn with<T>(&self, work: impl FnOnce(&mut Vec<u32>) -> T) -> T {
        let mut items = self.0.take();
        let result = work(&mut items);
        self.0.set(items);
        result
    }

    /// Takes the vector; give it back with `replace`.
    #[inline(always)]
    pub fn take(&self) -> Vec<u32> {
        self.0.take()
    }

    #[inline(always)]
    pub fn replace(&self, items: Vec<u32>) {
        self.0.set(items);
    }

    #[inline(always)]
    pub fn push(&self, item: u32) {
        self.with(|items| items.push(item));
    }
}

#[derive(Debug)]
pub(crate) struct Scratch {
    pass: Cell<u64>,
    round: Cell<u64>,
    pub resources: ZeroedArray<ResourceNotes>,
    pub islands: ZeroedArray<IslandNotes>,
    pub nodes: ZeroedArray<NodeNotes>,
    pub workers: ZeroedArray<WorkerNotes>,
    pub tickets: ZeroedArray<TicketNotes>,
    pub leases: ZeroedArray<LeaseNotes>,
    pub wants: ZeroedArray<WantNotes>,
    pub dirty_line: ZeroedArray<Cell<bool>>,
    pub candidates: Stack,
    pub able: Stack,
    pub by_fit: Stack,
    pub picks: Stack,
    pub dirty: Stack,
    pub removed: Stack,
    pub gone: Stack,
    pub finished: Stack,
    pub reaped: Stack,
    /// The tickets that were resolved since the home last took them.
    pub decided: Stack,
    pub any_decided: Cell<bool>,
}

impl Scratch {
    pub fn try_new(sizes: &Sizes) -> Option<Self> {
        Some(Scratch {
            pass: Cell::new(0),
            round: Cell::new(0),
            resources: ZeroedArray::try_new(sizes.resources)?,
            islands: ZeroedArray::try_new(sizes.resources * 2)?,
            nodes: ZeroedArray::try_new(sizes.resources)?,
            workers: ZeroedArray::try_new(sizes.holders)?,
            tickets: ZeroedArray::try_new(sizes.tickets)?,
            leases: ZeroedArray::try_new(sizes.leases)?,
            wants: ZeroedArray::try_new(sizes.wants)?,
            dirty_line: ZeroedArray::try_new(sizes.lines)?,
            candidates: Stack::with_capacity(sizes.resources)?,
            able: Stack::with_capacity(sizes.resources)?,
            by_fit: Stack::with_capacity(sizes.resources)?,
            picks: Stack::with_capacity(sizes.resources)?,
            dirty: Stack::with_capacity(sizes.lines)?,
            removed: Stack::with_capacity(sizes.leases)?,
            gone: Stack::with_capacity(sizes.leases)?,
            finished: Stack::with_capacity(sizes.holders)?,
            reaped: Stack::with_capacity(sizes.leases.max(sizes.tickets))?,
            decided: Stack::with_capacity(sizes.tickets)?,
            any_decided: Cell::new(false),
        })
    }

    /// A new pass: all notes of earlier ones are void.
    pub fn begin_pass(&self) -> u64 {
        let pass = self.pass.get() + 1;
        self.pass.set(pass);
        pass
    }

    /// A new round within a pass.
    pub fn begin_round(&self) -> u64 {
        let round = self.round.get() + 1;
        self.round.set(round);
        round
    }
}
