//! Injects faults into a run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::machine::{Process, Sim};
use super::server::{self, Faults, Shared};
use super::workload::Workload;

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
    /// Machines are cut off from the engine, or their connections are refused.
    pub cuts: bool,
    /// Clocks are too fast or too slow, and wall clocks are wrong.
    pub clocks: bool,
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
    };

    /// Does the engine always answer a machine that runs, and in time?
    pub fn is_engine_reliable(self) -> bool {
        !(self.network || self.leaders || self.pauses || self.cuts)
    }

    /// Each kind, with its letter in a plan.
    pub fn each(&mut self) -> [(char, &mut bool); 7] {
        [
            ('n', &mut self.network),
            ('w', &mut self.news),
            ('l', &mut self.leaders),
            ('p', &mut self.pauses),
            ('d', &mut self.deaths),
            ('c', &mut self.cuts),
            ('t', &mut self.clocks),
        ]
    }
}

/// The longest true time between two faults, in microseconds.
const MAX_INTERVAL_US: u64 = 3_000_000;

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
        // The engine's clock is at most one in a hundred faster than theirs: see
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
    }
}
