//! Injects faults into a run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::machine::{Process, Sim};
use super::plans::TABLE;
use super::server::{self, Faults, Shared};
use super::workload::Workload;
use ternlease::sim_api::entry::RULES;
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::store::{Compare, Op, Read, Txn, TxnReply};

/// Which kinds of faults a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FaultKinds {
    /// Requests are lost, repeated, late, or not answered.
    pub network: bool,
    /// Watch events are lost or late.
    pub news: bool,
    /// The leader changes.
    pub leaders: bool,
    /// Machines are paused.
    pub pauses: bool,
    /// Machines are killed, and new ones start.
    pub deaths: bool,
    /// Machines are cut off from the store, or their connections are refused.
    pub cuts: bool,
    /// Clocks are too fast or too slow, and wall clocks are wrong.
    pub clocks: bool,
    /// Requests are overtaken by later ones; requests and copies of them arrive long afterwards.
    pub reordered: bool,
    /// Wall clocks are set forward and back.
    pub jumps: bool,
    /// All watch events of a machine are late for a long time.
    pub slow: bool,
    /// A member with a defect appends entries that cannot be decoded.
    pub garbage: bool,
}

impl FaultKinds {
    pub const NONE: FaultKinds = FaultKinds {
        network: false,
        news: false,
        leaders: false,
        pauses: false,
        deaths: false,
        cuts: false,
        clocks: false,
        reordered: false,
        jumps: false,
        slow: false,
        garbage: false,
    };

    /// Does the store always answer a machine that runs, and in time?
    pub fn is_engine_reliable(self) -> bool {
        !(self.network || self.leaders || self.pauses || self.cuts || self.reordered)
    }

    /// Each kind, with its letter in a plan.
    pub fn each(&mut self) -> [(char, &mut bool); 11] {
        [
            ('n', &mut self.network),
            ('w', &mut self.news),
            ('l', &mut self.leaders),
            ('p', &mut self.pauses),
            ('d', &mut self.deaths),
            ('c', &mut self.cuts),
            ('t', &mut self.clocks),
            ('r', &mut self.reordered),
            ('j', &mut self.jumps),
            ('s', &mut self.slow),
            ('g', &mut self.garbage),
        ]
    }
}

/// The longest true time between two faults, in microseconds.
const MAX_INTERVAL_US: u64 = 3_000_000;

/// By how much a wall clock is set forward or back at most, in microseconds.
const MAX_JUMP_US: u64 = 10_000_000;

pub(super) struct Nemesis {
    workload: Rc<Workload>,
    server: Shared,
    kinds: FaultKinds,
    /// The machines that run.
    alive: RefCell<BTreeSet<Process>>,
    /// How many machines may still be started.
    unstarted: RefCell<u64>,
}

impl Nemesis {
    /// Starts the machines, and injects faults until that time.
    pub fn start(
        workload: Rc<Workload>,
        server: Shared,
        kinds: FaultKinds,
        machines: u64,
        until: u64,
    ) -> Rc<Self> {
        let mut faults = Faults::default();
        if kinds.network {
            faults = Faults { lost: 8, unanswered: 8, repeated: 10, late: 4, ..faults };
        }
        if kinds.news {
            (faults.missed, faults.stale) = (200, 200);
        }
        if kinds.reordered {
            (faults.overtaken, faults.delayed, faults.delayed_copy) = (50, 5, 10);
            faults.delayed_until = until;
        }
        server.borrow_mut().faults = faults;
        let nemesis = Rc::new(Nemesis {
            workload,
            server,
            kinds,
            alive: RefCell::default(),
            unstarted: RefCell::new(machines),
        });
        for _ in 0..machines {
            nemesis.workload.expect_machine();
            nemesis.start_machine();
        }
        nemesis.schedule_fault(until);
        nemesis
    }

    fn sim(&self) -> &Rc<Sim> {
        &self.workload.sim
    }

    fn start_machine(&self) {
        let sim = self.sim();
        // The store's clock is at most one in a hundred faster than theirs: see
        // `cluster/etcd/session.rs`.
        let rate = if self.kinds.clocks { 996_000 + sim.below(8_001) } else { 1_000_000 };
        let offset = if self.kinds.clocks { sim.below(6_000_000) as i64 - 3_000_000 } else { 0 };
        let process = sim.add_process(rate, offset);
        self.alive.borrow_mut().insert(process);
        self.workload.start(process);
    }

    fn schedule_fault(self: &Rc<Self>, until: u64) {
        let nemesis = self.clone();
        self.sim().after(self.sim().below(MAX_INTERVAL_US), None, move |sim| {
            if sim.now() >= until {
                return nemesis.stop();
            }
            nemesis.inject_fault();
            nemesis.schedule_fault(until);
        });
    }

    /// Ends all faults.
    fn stop(&self) {
        self.server.borrow_mut().faults = Faults::default();
        self.sim().note(|| "no more faults".to_owned());
        self.workload.faults_over.set(true);
    }

    fn inject_fault(self: &Rc<Self>) {
        let sim = self.sim();
        let alive: Vec<Process> = self.alive.borrow().iter().copied().collect();
        if alive.is_empty() {
            return;
        }
        let target = alive[sim.below(alive.len() as u64) as usize];
        // From a millisecond to several times the TTL of a session.
        let time = 1000 << sim.below(14);
        match sim.below(4) {
            0 if self.kinds.leaders => server::change_leader(&self.server, sim, time),
            1 if self.kinds.pauses => {
                sim.note(|| format!("process {target} is paused for {time} us"));
                sim.pause(target, sim.now() + time);
            }
            2 if self.kinds.deaths
                && *self.unstarted.borrow() > 0
                && self.workload.is_active(target) =>
            {
                sim.note(|| format!("process {target} is killed"));
                *self.unstarted.borrow_mut() -= 1;
                self.alive.borrow_mut().remove(&target);
                sim.kill(target);
                self.workload.record_kill(target);
                // Perhaps only after the others have noticed the death, so that the new one gets
                // the number of the dead one.
                let nemesis = self.clone();
                self.workload.expect_machine();
                sim.after(sim.below(5_000_000), None, move |_| nemesis.start_machine());
            }
            3 if self.kinds.cuts && sim.below(3) == 0 => {
                sim.note(|| format!("process {target} is refused for {time} us"));
                self.server.borrow_mut().refuse_connections(target, sim.now() + time);
            }
            3 if self.kinds.cuts => {
                sim.note(|| format!("process {target} is cut off for {time} us"));
                self.server.borrow_mut().cut_off(target, sim.now() + time);
            }
            _ => {}
        }
        if self.kinds.jumps && sim.below(4) == 0 {
            let by = sim.below(2 * MAX_JUMP_US + 1) as i64 - MAX_JUMP_US as i64;
            sim.note(|| format!("the wall clock of process {target} is set by {by} us"));
            sim.shift_wall_clock(target, by);
        }
        if self.kinds.slow && sim.below(4) == 0 {
            sim.note(|| format!("watch events of process {target} take {time} us longer"));
            self.server.borrow_mut().slow_down(target, sim.now() + time);
        }
        if self.kinds.garbage && sim.below(6) == 0 {
            self.append_random_garbage();
        }
    }

    /// Appends garbage in the name of a session that lasts or never existed, under a number that
    /// the session does not reach: otherwise an entry of the session would be a conflict for ever.
    fn append_random_garbage(&self) {
        let sim = self.sim();
        let sessions = self.server.borrow().sessions();
        let session = match sim.below(sessions.len() as u64 + 1) as usize {
            0 => i64::MAX - sim.below(1000) as i64,
            at => sessions[at - 1],
        };
        let number = (1 << 32) + sim.below(1 << 32);
        // The versions of an entry and of the rules, and bytes that end inside of a number.
        let mut bytes = vec![1, RULES as u8];
        bytes.extend((0..sim.below(12)).map(|_| sim.below(256) as u8));
        bytes.push(0xff);
        append_garbage(&self.server, sim, (session, number), bytes);
    }
}

/// Appends an entry to the log of a table that exists, as a member with a defect would. Was it
/// appended?
pub(super) fn append_garbage(
    server: &Shared,
    sim: &Rc<Sim>,
    (session, number): (i64, u64),
    bytes: Vec<u8>,
) -> bool {
    let keys = Keys::new(TABLE);
    let (key, head) = (keys.entry(session, number), keys.head());
    let found = server.borrow().keys.read(&Read::key(head.clone()));
    let Some(before) = found.first() else { return false };
    let txn = Txn {
        compare: vec![
            Compare::Created(key.clone(), 0),
            Compare::Modified(head.clone(), before.modified),
        ],
        then: vec![
            Op::Put { key: key.clone(), value: bytes.clone(), session: None },
            Op::Swap { key: head, value: bytes },
        ],
        otherwise: vec![],
    };
    let appended = matches!(server::run_txn(server, sim, &txn), Ok(TxnReply::Done { .. }));
    sim.note(|| format!("garbage at {key}: {appended}"));
    appended
}
