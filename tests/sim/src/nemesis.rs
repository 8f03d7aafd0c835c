//! What goes wrong in a run, and for how long.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::machine::{Process, Sim};
use super::server::{self, Faults, Shared};
use super::workload::Workload;

/// Which things go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Woes {
    /// Requests are lost, repeated, late, or not answered.
    pub network: bool,
    /// News are missed, or stale.
    pub news: bool,
    /// The leader changes.
    pub leaders: bool,
    /// Machines stand still for a while.
    pub pauses: bool,
    /// Machines die, and others come.
    pub deaths: bool,
    /// Machines are cut off from the engine, or turned away.
    pub cuts: bool,
    /// Clocks go too fast or too slow, and calendars are wrong.
    pub clocks: bool,
}

impl Woes {
    pub const NONE: Woes = Woes {
        network: false,
        news: false,
        leaders: false,
        pauses: false,
        deaths: false,
        cuts: false,
        clocks: false,
    };

    /// Is the engine always there for those who live, and does it answer in time?
    pub fn spare_the_engine(self) -> bool {
        !(self.network || self.leaders || self.pauses || self.cuts)
    }

    /// Each of them, with a letter for it.
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

/// So much true time lies between two blows at most, in microseconds.
const BETWEEN: u64 = 3_000_000;

pub(super) struct Nemesis {
    workload: Rc<Workload>,
    server: Shared,
    woes: Woes,
    /// The machines that run.
    alive: RefCell<BTreeSet<Process>>,
    /// So many machines may still be started.
    spare: RefCell<u64>,
}

impl Nemesis {
    /// Starts the machines, and strikes until that time.
    pub fn begin(
        workload: Rc<Workload>,
        server: Shared,
        woes: Woes,
        machines: u64,
        until: u64,
    ) -> Rc<Self> {
        let mut faults = Faults::default();
        if woes.network {
            faults = Faults { lost: 8, unanswered: 8, repeated: 10, late: 4, ..faults };
        }
        if woes.news {
            (faults.missed, faults.stale) = (200, 200);
        }
        server.borrow_mut().faults = faults;
        let nemesis = Rc::new(Nemesis {
            workload,
            server,
            woes,
            alive: RefCell::default(),
            spare: RefCell::new(machines),
        });
        for _ in 0..machines {
            nemesis.workload.expect_one();
            nemesis.start_machine();
        }
        nemesis.strike_later(until);
        nemesis
    }

    fn sim(&self) -> &Rc<Sim> {
        &self.workload.sim
    }

    fn start_machine(&self) {
        let sim = self.sim();
        // The engine's clock may go faster than theirs by one in a hundred at most: see `cluster/etcd/session.rs`.
        let rate = if self.woes.clocks { 996_000 + sim.below(8_001) } else { 1_000_000 };
        let calendar = if self.woes.clocks { sim.below(6_000_000) as i64 - 3_000_000 } else { 0 };
        let process = sim.add_process(rate, calendar);
        self.alive.borrow_mut().insert(process);
        self.workload.begin(process);
    }

    fn strike_later(self: &Rc<Self>, until: u64) {
        let me = self.clone();
        self.sim().after(self.sim().below(BETWEEN), None, move |sim| {
            if sim.now() >= until {
                return me.rest();
            }
            me.strike();
            me.strike_later(until);
        });
    }

    /// Nothing goes wrong any more.
    fn rest(&self) {
        self.server.borrow_mut().faults = Faults::default();
        self.sim().note(|| "nothing goes wrong any more".to_owned());
        self.workload.calm.set(true);
    }

    fn strike(self: &Rc<Self>) {
        let sim = self.sim();
        let alive: Vec<Process> = self.alive.borrow().iter().copied().collect();
        if alive.is_empty() {
            return;
        }
        let victim = alive[sim.below(alive.len() as u64) as usize];
        // From a moment to several times as long as a session lasts.
        let time = 1000 << sim.below(14);
        match sim.below(4) {
            0 if self.woes.leaders => server::change_leader(&self.server, sim, time),
            1 if self.woes.pauses => {
                sim.note(|| format!("process {victim} stands still for {time} us"));
                sim.pause(victim, sim.now() + time);
            }
            2 if self.woes.deaths
                && *self.spare.borrow() > 0
                && self.workload.is_playing(victim) =>
            {
                sim.note(|| format!("process {victim} dies"));
                *self.spare.borrow_mut() -= 1;
                self.alive.borrow_mut().remove(&victim);
                sim.kill(victim);
                self.workload.was_killed(victim);
                // Perhaps only after the others have noticed, so that it takes the dead one's number.
                let me = self.clone();
                self.workload.expect_one();
                sim.after(sim.below(5_000_000), None, move |_| me.start_machine());
            }
            3 if self.woes.cuts && sim.below(3) == 0 => {
                sim.note(|| format!("process {victim} is turned away for {time} us"));
                self.server.borrow_mut().turn_away(victim, sim.now() + time);
            }
            3 if self.woes.cuts => {
                sim.note(|| format!("process {victim} is cut off for {time} us"));
                self.server.borrow_mut().cut_off(victim, sim.now() + time);
            }
            _ => {}
        }
    }
}
