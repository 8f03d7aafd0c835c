//! The workload: clients on simulated machines that claim, wait, renew, look, release and revoke, and tell the checker their answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::checker::{Asked, Checker, Told};
use super::machine::{Process, Sim};
use super::reader::{self, Annals};
use ternlease::sim_api::rt;
use ternlease::table::{Error, LeaseId, LeaseState, Limits, Reason};
use ternlease::{LeaseManager, Options};

/// Longer than any run.
const HOUR: Duration = Duration::from_secs(3600);

/// How long it takes at most, once nothing goes wrong any more, until everything is as it should be.
const CALM: Duration = Duration::from_secs(20);

/// What all clients of a run have in common.
pub(super) struct Workload {
    pub sim: Rc<Sim>,
    pub checker: Checker,
    pub url: &'static str,
    pub resources: u64,
    pub moves: u64,
    pub clients: u64,
    /// The engine is always there, and answers in time.
    pub reliable: bool,
    /// Nothing goes wrong any more.
    pub calm: Cell<bool>,
    /// Machines that have begun or will, and have not ended.
    pub present: Cell<u64>,
    /// Those that have not begun.
    coming: Cell<u64>,
    /// Those whose clients are still at it.
    playing: RefCell<BTreeSet<Process>>,
    numbers: Cell<u64>,
    /// Leases of which somebody was told, and their resources: for those who revoke.
    known: RefCell<Vec<(LeaseId, String)>>,
    annals: Annals,
}

impl Workload {
    pub fn new(sim: Rc<Sim>, url: &'static str, sizes: [u64; 3], reliable: bool) -> Rc<Workload> {
        let [clients, moves, resources] = sizes;
        Rc::new(Workload {
            sim,
            checker: Checker::default(),
            url,
            resources,
            moves,
            clients,
            reliable,
            calm: Cell::new(false),
            present: Cell::new(0),
            coming: Cell::new(0),
            playing: RefCell::default(),
            numbers: Cell::new(0),
            known: RefCell::default(),
            annals: Annals::default(),
        })
    }

    fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// One more machine will come.
    pub fn expect_one(&self) {
        count(&self.present, 1);
        count(&self.coming, 1);
    }

    /// Begins a process on its machine.
    pub fn begin(self: &Rc<Self>, process: Process) {
        let workload = self.clone();
        count(&self.coming, -1);
        self.playing.borrow_mut().insert(process);
        self.sim.start(process, "the main thread", move || live(&workload, process));
    }

    /// Is anybody at it, or will be?
    fn is_played(&self) -> bool {
        !self.playing.borrow().is_empty() || self.coming.get() > 0
    }

    pub fn is_playing(&self, process: Process) -> bool {
        self.playing.borrow().contains(&process)
    }

    /// A process that was playing is no more.
    pub fn was_killed(&self, process: Process) {
        self.checker.is_gone(process);
        count(&self.present, -1);
        self.playing.borrow_mut().remove(&process);
    }
}

fn count(cell: &Cell<u64>, change: i64) {
    cell.set(cell.get().strict_add_signed(change));
}

/// A process from its beginning to its end.
fn live(workload: &Rc<Workload>, process: Process) {
    let sim = &workload.sim;
    let limits = Limits { leases: 64, tickets: 64, resources: 16, history: 256 };
    let manager = loop {
        match crate::open(workload.url, Options::real().limits(limits)) {
            Ok(manager) => break manager,
            Err(error) => {
                sim.note(|| format!("process {process}: {error}"));
                rt::sleep(Duration::from_millis(300));
            }
        }
    };
    sim.note(|| format!("process {process}: open"));
    if sim.below(2) == 0 {
        // It must not keep the table open.
        let (events, workload) = (manager.events(0), workload.clone());
        sim.start(process, "a reader", move || {
            reader::read(events, process, &workload.annals, &workload.checker);
        });
    }
    let clients: Vec<usize> = (0..workload.clients)
        .map(|_| {
            let (workload, manager, number) =
                (workload.clone(), manager.clone(), workload.number());
            let play = move || Client { workload, manager, process, number }.play();
            sim.start(process, "a client", play)
        })
        .collect();
    let (_, this) = super::machine::inside().expect("a simulated thread");
    clients.into_iter().for_each(|client| sim.join(this, client));
    workload.playing.borrow_mut().remove(&process);
    sim.note(|| format!("process {process}: its clients are done"));
    while !workload.calm.get() || workload.is_played() {
        rt::sleep(Duration::from_millis(200));
    }
    rt::sleep(CALM);
    look_around(workload, process, &manager);
    workload.checker.is_gone(process);
    drop(manager);
    count(&workload.present, -1);
    sim.note(|| format!("process {process}: closed"));
}

/// When everybody has rested: nothing may be left.
fn look_around(workload: &Workload, process: Process, manager: &LeaseManager) {
    let (leases, tickets) = (manager.leases(), manager.tickets());
    if !leases.is_empty() || !tickets.is_empty() {
        workload.checker.is_wrong(format!(
            "long after everybody was done, process {process} sees {leases:?}, {tickets:?}"
        ));
    }
    if let Err(why) = manager.verify() {
        workload.checker.is_wrong(format!("process {process}: {why}"));
    }
}

struct Client {
    workload: Rc<Workload>,
    manager: LeaseManager,
    process: Process,
    number: u64,
}

impl Client {
    fn play(&self) {
        for _ in 0..self.workload.moves {
            self.turn();
            rt::sleep(Duration::from_micros(self.below(300_000)));
        }
    }

    fn below(&self, limit: u64) -> u64 {
        self.workload.sim.below(limit)
    }

    fn call<T>(&self, resource: &str, asked: Asked, make: impl FnOnce() -> (Told, T)) -> T {
        let who = (self.process, self.number);
        self.workload.checker.call(&self.workload.sim, who, resource, asked, make)
    }

    /// Claims one resource in one of three ways, uses it and gives it back; or revokes what somebody has.
    fn turn(&self) {
        let resource = format!("r{}", self.below(self.workload.resources));
        let ttl = if self.below(3) == 0 {
            Duration::from_micros(200_000 + self.below(3_000_000))
        } else {
            HOUR
        };
        let lease = match self.below(12) {
            0..4 => self.claim(&resource, Asked::Try, ttl),
            4..7 => self.claim(&resource, Asked::Wait, ttl),
            7..11 => self.stand_in_line(&resource, ttl),
            _ => return self.revoke(),
        };
        if let Some(lease) = lease {
            self.workload.known.borrow_mut().push((lease, resource.clone()));
            self.hold(&resource, lease, ttl);
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_micros(1 + self.below(2_000_000))
    }

    fn claim(&self, resource: &str, asked: Asked, ttl: Duration) -> Option<LeaseId> {
        let holder = format!("client {}", self.number);
        let patience = self.patience();
        self.call(resource, asked, || {
            let names = [resource];
            let claim = self.manager.claim(&holder).of(&names).ttl(ttl);
            self.answer(
                ttl,
                match asked {
                    Asked::Try => claim.try_now(),
                    _ => claim.wait_for(patience),
                },
            )
        })
    }

    fn stand_in_line(&self, resource: &str, ttl: Duration) -> Option<LeaseId> {
        let (holder, number) = (format!("client {}", self.number), self.workload.number());
        let patience = self.patience();
        let ticket = self.call(resource, Asked::Join(number), || {
            let names = [resource];
            match self.manager.claim(&holder).of(&names).ttl(ttl).patience(patience).enqueue() {
                Ok(ticket) => (Told::Joined, Some(ticket)),
                Err(error) => (self.failed(error), None),
            }
        })?;
        if self.below(6) == 0 {
            rt::sleep(Duration::from_micros(self.below(1_000_000)));
            // Leaves the line, or gives back what it has just been given.
            drop(ticket);
            return None;
        }
        self.call(resource, Asked::Collect(number), || self.answer(ttl, ticket.wait()))
    }

    fn hold(&self, resource: &str, lease: LeaseId, ttl: Duration) {
        for _ in 0..self.below(4) {
            let holds = match self.below(3) {
                0 => self.renew(resource, lease),
                _ => self.look(resource, lease),
            };
            if !holds {
                return;
            }
            rt::sleep(Duration::from_micros(self.below(400_000)));
        }
        if ttl != HOUR && self.below(3) == 0 {
            // Its time will run out.
            return;
        }
        // One that fails happens later: else it would last for an hour.
        self.release(resource, lease);
    }

    fn look(&self, resource: &str, lease: LeaseId) -> bool {
        self.call(resource, Asked::Look(lease.0), || match self.manager.state(lease) {
            Some(LeaseState::Held) => (Told::Held, true),
            Some(LeaseState::Revoked) => (Told::NotHeld, false),
            _ => (Told::Lost, false),
        })
    }

    fn renew(&self, resource: &str, lease: LeaseId) -> bool {
        self.call(resource, Asked::Renew(lease.0), || {
            let told = self.done(self.manager.renew(lease).map(|_| ()));
            (told, matches!(told, Told::Done | Told::Unknown))
        })
    }

    fn release(&self, resource: &str, lease: LeaseId) {
        self.call(resource, Asked::Release(lease.0), || {
            (self.done(self.manager.release(lease)), ())
        });
    }

    fn revoke(&self) {
        let known = self.workload.known.borrow();
        if known.is_empty() {
            return;
        }
        let recent = known.len() - 1 - self.below(known.len().min(4) as u64) as usize;
        let (lease, resource) = known[recent].clone();
        drop(known);
        let by = format!("client {}", self.number);
        self.call(&resource, Asked::Revoke(lease.0), || {
            let told = self.manager.revoke_with(lease, Reason::Operator, &by, Duration::ZERO);
            (self.done(told.map(|_| ())), ())
        });
    }

    fn answer(&self, ttl: Duration, claimed: Result<LeaseId, Error>) -> (Told, Option<LeaseId>) {
        match claimed {
            Ok(lease) => {
                if ttl != HOUR {
                    self.workload.checker.fades(lease);
                }
                (Told::Lease(lease.0), Some(lease))
            }
            Err(Error::Busy) => (Told::Busy, None),
            Err(Error::Refused(Reason::WaitTimedOut)) => (Told::Refused, None),
            Err(error) => (self.failed(error), None),
        }
    }

    /// The engine is away, or was; nothing else is expected.
    fn failed(&self, error: Error) -> Told {
        match error {
            Error::Unavailable | Error::Refused(Reason::EngineLost) if !self.workload.reliable => {}
            other => self.workload.checker.is_wrong(format!("client {}: {other:?}", self.number)),
        }
        Told::Unknown
    }

    fn done(&self, answer: Result<(), Error>) -> Told {
        match answer {
            Ok(()) => Told::Done,
            Err(Error::NotHeld(_, Reason::Operator | Reason::Released)) => Told::NotHeld,
            Err(Error::NotHeld(..)) => Told::Lost,
            Err(error) => self.failed(error),
        }
    }
}
