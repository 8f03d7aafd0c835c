//! The workload: clients on simulated machines that claim, wait, renew, look, release and revoke,
//! and report calls and answers to the checker.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::checker::{Asked, Checker, Told};
use super::machine::{Process, Sim};
use super::reader::{self, EventLog};
use ternlease::sim_api::rt;
use ternlease::table::{Error, LeaseId, LeaseState, Limits, Reason};
use ternlease::{LeaseManager, Options};

/// Longer than any run.
const HOUR: Duration = Duration::from_secs(3600);

/// How long it takes at most after the last fault until no lease and no ticket is left.
const SETTLE_TIME: Duration = Duration::from_secs(20);

/// What all clients of a run have in common.
pub(super) struct Workload {
    pub sim: Rc<Sim>,
    pub checker: Checker,
    pub url: &'static str,
    pub resources: u64,
    pub steps: u64,
    pub clients: u64,
    /// Does the engine always answer in time?
    pub reliable: bool,
    /// Has the last fault ended?
    pub faults_over: Cell<bool>,
    /// How many machines run or will be started.
    pub machines: Cell<u64>,
    /// How many of them are not started yet.
    unstarted: Cell<u64>,
    /// The machines whose clients are not done.
    active: RefCell<BTreeSet<Process>>,
    numbers: Cell<u64>,
    /// Leases that were granted, and their resources: clients revoke them.
    granted: RefCell<Vec<(LeaseId, String)>>,
    event_log: EventLog,
}

impl Workload {
    pub fn new(sim: Rc<Sim>, url: &'static str, sizes: [u64; 3], reliable: bool) -> Rc<Workload> {
        let [clients, steps, resources] = sizes;
        Rc::new(Workload {
            sim,
            checker: Checker::default(),
            url,
            resources,
            steps,
            clients,
            reliable,
            faults_over: Cell::new(false),
            machines: Cell::new(0),
            unstarted: Cell::new(0),
            active: RefCell::default(),
            numbers: Cell::new(0),
            granted: RefCell::default(),
            event_log: EventLog::default(),
        })
    }

    fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// Announces a machine that will be started.
    pub fn expect_machine(&self) {
        add(&self.machines, 1);
        add(&self.unstarted, 1);
    }

    /// Starts a process on its machine.
    pub fn start(self: &Rc<Self>, process: Process) {
        let workload = self.clone();
        add(&self.unstarted, -1);
        self.active.borrow_mut().insert(process);
        self.sim.start(process, "the main thread", move || run_process(&workload, process));
    }

    /// Is a client not done, or will one be started?
    fn has_active(&self) -> bool {
        !self.active.borrow().is_empty() || self.unstarted.get() > 0
    }

    pub fn is_active(&self, process: Process) -> bool {
        self.active.borrow().contains(&process)
    }

    /// Removes a process that was killed before its clients were done.
    pub fn record_kill(&self, process: Process) {
        self.checker.process_ended(process);
        add(&self.machines, -1);
        self.active.borrow_mut().remove(&process);
    }
}

fn add(cell: &Cell<u64>, change: i64) {
    cell.set(cell.get().strict_add_signed(change));
}

/// The life of a process.
fn run_process(workload: &Rc<Workload>, process: Process) {
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
        // The reader must not keep the table open.
        let (events, workload) = (manager.events(0), workload.clone());
        sim.start(process, "a reader", move || {
            reader::read(events, process, &workload.event_log, &workload.checker);
        });
    }
    let clients: Vec<usize> = (0..workload.clients)
        .map(|_| {
            let (workload, manager, number) =
                (workload.clone(), manager.clone(), workload.number());
            let run = move || Client { workload, manager, process, number }.run();
            sim.start(process, "a client", run)
        })
        .collect();
    let (_, this) = super::machine::inside().expect("a simulated thread");
    clients.into_iter().for_each(|client| sim.join(this, client));
    workload.active.borrow_mut().remove(&process);
    sim.note(|| format!("process {process}: all clients are done"));
    while !workload.faults_over.get() || workload.has_active() {
        rt::sleep(Duration::from_millis(200));
    }
    rt::sleep(SETTLE_TIME);
    check_final_state(workload, process, &manager);
    workload.checker.process_ended(process);
    drop(manager);
    add(&workload.machines, -1);
    sim.note(|| format!("process {process}: closed"));
}

/// After the last fault, and some time: nothing is left.
fn check_final_state(workload: &Workload, process: Process, manager: &LeaseManager) {
    let (leases, tickets) = (manager.leases(), manager.tickets());
    if !leases.is_empty() || !tickets.is_empty() {
        workload.checker.report(format!(
            "long after all clients were done, process {process} sees {leases:?}, {tickets:?}"
        ));
    }
    if let Err(why) = manager.verify() {
        workload.checker.report(format!("process {process}: {why}"));
    }
}

struct Client {
    workload: Rc<Workload>,
    manager: LeaseManager,
    process: Process,
    number: u64,
}

impl Client {
    fn run(&self) {
        for _ in 0..self.workload.steps {
            self.run_step();
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

    /// Claims one resource in one of three ways, uses it and releases it; or revokes a lease.
    fn run_step(&self) {
        let resource = format!("r{}", self.below(self.workload.resources));
        let ttl = if self.below(3) == 0 {
            Duration::from_micros(200_000 + self.below(3_000_000))
        } else {
            HOUR
        };
        let lease = match self.below(12) {
            0..4 => self.claim(&resource, Asked::Try, ttl),
            4..7 => self.claim(&resource, Asked::Wait, ttl),
            7..11 => self.enqueue_claim(&resource, ttl),
            _ => return self.revoke(),
        };
        if let Some(lease) = lease {
            self.workload.granted.borrow_mut().push((lease, resource.clone()));
            self.hold(&resource, lease, ttl);
        }
    }

    fn max_wait(&self) -> Duration {
        Duration::from_micros(1 + self.below(2_000_000))
    }

    fn claim(&self, resource: &str, asked: Asked, ttl: Duration) -> Option<LeaseId> {
        let holder = format!("client {}", self.number);
        let max_wait = self.max_wait();
        self.call(resource, asked, || {
            let names = [resource];
            let claim = self.manager.claim(&holder).of(&names).ttl(ttl);
            self.answer(
                ttl,
                match asked {
                    Asked::Try => claim.try_now(),
                    _ => claim.wait_for(max_wait),
                },
            )
        })
    }

    fn enqueue_claim(&self, resource: &str, ttl: Duration) -> Option<LeaseId> {
        let (holder, number) = (format!("client {}", self.number), self.workload.number());
        let max_wait = self.max_wait();
        let ticket = self.call(resource, Asked::Join(number), || {
            let names = [resource];
            match self.manager.claim(&holder).of(&names).ttl(ttl).patience(max_wait).enqueue() {
                Ok(ticket) => (Told::Joined, Some(ticket)),
                Err(error) => (self.failed(error), None),
            }
        })?;
        if self.below(6) == 0 {
            rt::sleep(Duration::from_micros(self.below(1_000_000)));
            // Withdraws the claim, or releases the lease that was just granted.
            drop(ticket);
            return None;
        }
        self.call(resource, Asked::Collect(number), || self.answer(ttl, ticket.wait()))
    }

    fn hold(&self, resource: &str, lease: LeaseId, ttl: Duration) {
        for _ in 0..self.below(4) {
            let holds = match self.below(3) {
                0 => self.renew(resource, lease),
                _ => self.check_state(resource, lease),
            };
            if !holds {
                return;
            }
            rt::sleep(Duration::from_micros(self.below(400_000)));
        }
        if ttl != HOUR && self.below(3) == 0 {
            // The lease expires.
            return;
        }
        // A release that fails happens later: the lease would last for an hour otherwise.
        self.release(resource, lease);
    }

    fn check_state(&self, resource: &str, lease: LeaseId) -> bool {
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
        let granted = self.workload.granted.borrow();
        if granted.is_empty() {
            return;
        }
        let recent = granted.len() - 1 - self.below(granted.len().min(4) as u64) as usize;
        let (lease, resource) = granted[recent].clone();
        drop(granted);
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
                    self.workload.checker.may_end_silently(lease);
                }
                (Told::Lease(lease.0), Some(lease))
            }
            Err(Error::Busy) => (Told::Busy, None),
            Err(Error::Refused(Reason::WaitTimedOut)) => (Told::Refused, None),
            Err(error) => (self.failed(error), None),
        }
    }

    /// Only a fault of the engine is expected.
    fn failed(&self, error: Error) -> Told {
        match error {
            Error::Unavailable | Error::Refused(Reason::EngineLost) if !self.workload.reliable => {}
            other => self.workload.checker.report(format!("client {}: {other:?}", self.number)),
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
