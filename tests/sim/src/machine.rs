//! A deterministic scheduler: one thread runs at a time, until it blocks, and the next one is
//! chosen at random. Time advances only while all threads are blocked. The random numbers come from
//! a seed, so the same seed gives the same run.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ternlease::sim_api::rt::{self, Simulator};

use super::node::Node;
use super::rng::Rng;

pub(super) use rt::TaskId;
pub(super) type Process = usize;

/// Microseconds of true time.
pub(super) type TrueTime = u64;

/// Enough for the deepest call in a build that is not optimised.
const STACK_BYTES: usize = 256 << 10;

thread_local! {
    /// The simulation that this thread of the real machine runs.
    static HERE: RefCell<Option<Rc<Sim>>> = const { RefCell::new(None) };
}

/// The simulation that this real thread runs.
pub(super) fn here() -> Option<Rc<Sim>> {
    HERE.with(|here| here.borrow().clone())
}

/// The simulation and its running thread. Only a simulated thread can block.
pub(super) fn inside() -> Option<(Rc<Sim>, TaskId)> {
    let sim = here()?;
    let task = sim.inner.borrow().running?;
    Some((sim, task))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    Waiting,
    Done,
}

struct Task {
    process: Process,
    name: String,
    status: Status,
    /// The number of its waits: a timer of an earlier wait does not end a later one.
    waits: u64,
    /// As in `std::thread::park`.
    token: bool,
    coroutine: Option<Coroutine<(), (), ()>>,
    yielder: Option<*const Yielder<(), ()>>,
    joined_by: Vec<TaskId>,
}

type Action = Box<dyn FnOnce(&Rc<Sim>)>;

pub(super) struct Sim {
    inner: RefCell<Inner>,
    began: Instant,
}

struct Inner {
    now: TrueTime,
    rng: Rng,
    tasks: Vec<Task>,
    ready: Vec<TaskId>,
    running: Option<TaskId>,
    /// The machine that an event reaches now.
    reached: Option<Process>,
    nodes: Vec<Node>,
    /// In the order of time; with the process on whose machine it happens, if it is one.
    timers: BTreeMap<(TrueTime, u64), (Option<Process>, Action)>,
    timer_count: u64,
    stacks: Vec<DefaultStack>,
    steps: u64,
    digest: u64,
    trace: Option<VecDeque<String>>,
}

/// How many lines of a trace are kept.
const MAX_TRACE_LINES: usize = 20_000;

impl Sim {
    pub fn new(seed: u64, traced: bool) -> Rc<Sim> {
        let inner = Inner {
            now: 1_000_000,
            rng: Rng::new(seed),
            tasks: Vec::new(),
            ready: Vec::new(),
            running: None,
            reached: None,
            nodes: Vec::new(),
            timers: BTreeMap::new(),
            timer_count: 0,
            stacks: Vec::new(),
            steps: 0,
            digest: 0xcbf2_9ce4_8422_2325,
            trace: traced.then(VecDeque::new),
        };
        Rc::new(Sim { inner: RefCell::new(inner), began: Instant::now() })
    }

    pub fn now(&self) -> TrueTime {
        self.inner.borrow().now
    }

    pub fn steps(&self) -> u64 {
        self.inner.borrow().steps
    }

    /// A digest of all steps.
    pub fn digest(&self) -> u64 {
        self.inner.borrow().digest
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.inner.borrow_mut().rng.below(limit)
    }

    /// True in so many of a thousand cases.
    pub fn in_a_thousand(&self, cases: u64) -> bool {
        cases > 0 && self.below(1000) < cases
    }

    /// Adds a line to the trace.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let mut inner = self.inner.borrow_mut();
        if inner.trace.is_some() {
            let line = format!("{:>12.6}  {}", inner.now as f64 / 1e6, text());
            let trace = inner.trace.as_mut().expect("it was there");
            if trace.len() == MAX_TRACE_LINES {
                trace.pop_front();
            }
            trace.push_back(line);
        }
    }

    pub fn trace(&self) -> Vec<String> {
        self.inner.borrow().trace.iter().flatten().cloned().collect()
    }

    /// Adds a machine whose clock counts `rate` microseconds in a true second, and whose wall clock
    /// is ahead by `offset` microseconds.
    pub fn add_process(&self, rate: u64, offset: i64) -> Process {
        let mut inner = self.inner.borrow_mut();
        let boot = inner.rng.below(1 << 40);
        inner.nodes.push(Node::new(rate, boot, offset));
        inner.nodes.len() - 1
    }

    /// Stops all threads of a machine until then.
    pub fn pause(&self, process: Process, until: TrueTime) {
        let node = &mut self.inner.borrow_mut().nodes[process];
        node.paused_until = node.paused_until.max(until);
    }

    /// Ends a machine at once. No destructor runs.
    pub fn kill(&self, process: Process) {
        let mut inner = self.inner.borrow_mut();
        assert!(inner.running.is_none(), "a thread cannot kill a machine while it runs");
        inner.nodes[process].alive = false;
        let Inner { tasks, stacks, ready, .. } = &mut *inner;
        ready.retain(|&task| tasks[task].process != process);
        for task in tasks.iter_mut().filter(|task| task.process == process) {
            task.status = Status::Done;
            if let Some(mut coroutine) = task.coroutine.take() {
                // SAFETY: no reference to anything on its stack is left: what threads share is
                // counted or belongs to the simulation. What the stack owned is leaked, as the
                // memory of a machine is that loses its power.
                unsafe { coroutine.force_reset() };
                stacks.push(coroutine.into_stack());
            }
        }
    }

    /// Runs `work` after so much true time.
    pub fn after(
        &self,
        delay: u64,
        process: Option<Process>,
        work: impl FnOnce(&Rc<Sim>) + 'static,
    ) {
        let mut inner = self.inner.borrow_mut();
        inner.timer_count += 1;
        let at = (inner.now + delay, inner.timer_count);
        inner.timers.insert(at, (process, Box::new(work)));
    }

    /// Starts a thread on a machine.
    pub fn start(&self, process: Process, name: &str, work: impl FnOnce() + 'static) -> TaskId {
        let mut inner = self.inner.borrow_mut();
        let id = inner.tasks.len();
        let stack = inner.stacks.pop();
        let stack =
            stack.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a stack"));
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            let sim = here().expect("it runs in a simulation");
            sim.inner.borrow_mut().tasks[id].yielder = Some(yielder);
            drop(sim);
            work();
        });
        inner.tasks.push(Task {
            process,
            name: name.to_owned(),
            status: Status::Ready,
            waits: 0,
            token: false,
            coroutine: Some(coroutine),
            yielder: None,
            joined_by: Vec::new(),
        });
        inner.ready.push(id);
        id
    }

    pub fn process_of(&self, task: TaskId) -> Process {
        self.inner.borrow().tasks[task].process
    }

    /// Blocks the running thread until [`Self::wake`], or for so long by its own clock. It may
    /// return earlier.
    pub fn wait(&self, task: TaskId, timeout: Option<Duration>) {
        let mut inner = self.inner.borrow_mut();
        debug_assert_eq!(inner.running, Some(task));
        let wait = inner.tasks[task].waits + 1;
        inner.tasks[task].waits = wait;
        inner.tasks[task].status = Status::Waiting;
        let limit = timeout.and_then(|it| inner.nodes[inner.tasks[task].process].true_duration(it));
        let yielder = inner.tasks[task].yielder.expect("it runs");
        drop(inner);
        if let Some(limit) = limit {
            self.after(limit, None, move |sim| {
                if sim.inner.borrow().tasks[task].waits == wait {
                    sim.wake(task);
                }
            });
        }
        // SAFETY: the yielder belongs to the coroutine that runs now, and lives as long as that
        // does.
        unsafe { (*yielder).suspend(()) };
    }

    /// Lets other threads run until the condition is true, which is checked less and less often.
    pub fn yield_until(&self, task: TaskId, condition: impl Fn() -> bool) {
        let mut pause = 1;
        while !condition() {
            self.after(pause, None, move |sim| sim.wake(task));
            self.wait(task, None);
            pause = (pause * 2).min(1000);
        }
    }

    pub fn wake(&self, task: TaskId) {
        let mut inner = self.inner.borrow_mut();
        if inner.tasks[task].status == Status::Waiting {
            inner.tasks[task].status = Status::Ready;
            inner.ready.push(task);
        }
    }

    pub fn unpark(&self, task: TaskId) {
        self.inner.borrow_mut().tasks[task].token = true;
        self.wake(task);
    }

    pub fn park(&self, task: TaskId, timeout: Option<Duration>) {
        let take = || std::mem::take(&mut self.inner.borrow_mut().tasks[task].token);
        if !take() {
            self.wait(task, timeout);
            take();
        }
    }

    /// Waits until another thread has ended.
    pub fn join(&self, task: TaskId, other: TaskId) {
        loop {
            let mut inner = self.inner.borrow_mut();
            if inner.tasks[other].status == Status::Done {
                return;
            }
            inner.tasks[other].joined_by.push(task);
            drop(inner);
            self.wait(task, None);
        }
    }

    /// A machine's clock, in microseconds.
    pub fn clock_of(&self, process: Process) -> u64 {
        let inner = self.inner.borrow();
        inner.nodes[process].clock(inner.now)
    }

    /// A machine's wall clock, in microseconds.
    pub fn wall_clock_of(&self, process: Process) -> u64 {
        let inner = self.inner.borrow();
        inner.nodes[process].wall_clock(inner.now)
    }

    /// Sets a machine's wall clock forward, or back if `by` is negative, by so many microseconds.
    pub fn shift_wall_clock(&self, process: Process, by: i64) {
        self.inner.borrow_mut().nodes[process].shift_wall_clock(by);
    }

    pub fn instant_of(&self, process: Process) -> Instant {
        self.began + Duration::from_micros(self.clock_of(process))
    }

    /// The names of the threads that have not ended.
    pub fn unfinished(&self) -> Vec<String> {
        let inner = self.inner.borrow();
        let open = inner.tasks.iter().filter(|task| task.status != Status::Done);
        open.map(|task| format!("{} of process {}", task.name, task.process)).collect()
    }

    /// Runs until `over`, until no thread and no timer is left, or for so many steps. False: the
    /// steps were not enough.
    pub fn run(self: &Rc<Self>, steps: u64, over: impl Fn() -> bool) -> bool {
        let before = HERE.with(|here| here.replace(Some(self.clone())));
        rt::install(Some(self.clone()));
        assert!(before.is_none(), "one simulation at a time");
        // Also when a thread panics: the next simulation starts clean.
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                rt::install(None);
                HERE.with(|here| here.take());
            }
        }
        let _leave = Leave;
        let last = self.steps() + steps;
        while !over() {
            if self.steps() == last {
                return false;
            }
            if !self.step() {
                break;
            }
        }
        true
    }

    /// Ends all machines.
    pub fn end(&self) {
        let machines = self.inner.borrow().nodes.len();
        self.inner.borrow_mut().running = None;
        (0..machines).for_each(|process| self.kill(process));
        // What a killed machine owned is leaked, and may refer to this simulation: its stacks are
        // not.
        self.inner.borrow_mut().stacks.clear();
        let left = std::mem::take(&mut self.inner.borrow_mut().timers);
        drop(left);
    }

    /// The machine whose thread runs, or that an event reaches.
    fn acting(&self) -> Option<Process> {
        let inner = self.inner.borrow();
        inner.running.map(|task| inner.tasks[task].process).or(inner.reached)
    }

    /// The simulated thread that runs.
    fn running(&self) -> TaskId {
        self.inner.borrow().running.expect("a simulated thread runs")
    }

    fn step(self: &Rc<Self>) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.steps += 1;
        let now = inner.now;
        let due = inner.timers.first_key_value().is_some_and(|((at, _), _)| *at <= now);
        let choices = inner.ready.len() as u64 + u64::from(due);
        if choices == 0 {
            let Some((&(at, _), _)) = inner.timers.first_key_value() else { return false };
            inner.now = at;
            return true;
        }
        let choice = inner.rng.below(choices) as usize;
        let next = inner.ready.get(choice).copied();
        let word = next.map_or(u64::MAX, |task| task as u64) ^ now << 16;
        inner.digest = (inner.digest ^ word).wrapping_mul(0x100_0000_01b3);
        match next {
            Some(task) => {
                inner.ready.swap_remove(choice);
                let paused_until = inner.nodes[inner.tasks[task].process].paused_until;
                if paused_until > now {
                    inner.tasks[task].status = Status::Waiting;
                    drop(inner);
                    self.after(paused_until - now, None, move |sim| sim.wake(task));
                    return true;
                }
                drop(inner);
                self.resume(task);
            }
            None => {
                let ((_, timer_count), (process, work)) =
                    inner.timers.pop_first().expect("something is due");
                let node = process.map(|process| &inner.nodes[process]);
                match node.map(|node| (node.alive, node.paused_until)) {
                    Some((false, _)) => {}
                    // What a paused machine missed is delivered in order.
                    Some((true, until)) if until > now => {
                        inner.timers.insert((until, timer_count), (process, work));
                    }
                    _ => {
                        inner.reached = process;
                        drop(inner);
                        work(self);
                        self.inner.borrow_mut().reached = None;
                    }
                }
            }
        }
        true
    }

    fn resume(self: &Rc<Self>, task: TaskId) {
        let mut inner = self.inner.borrow_mut();
        inner.running = Some(task);
        let mut coroutine = inner.tasks[task].coroutine.take().expect("it has not ended");
        drop(inner);
        let result = coroutine.resume(());
        let mut inner = self.inner.borrow_mut();
        inner.running = None;
        match result {
            CoroutineResult::Yield(()) => inner.tasks[task].coroutine = Some(coroutine),
            CoroutineResult::Return(()) => {
                inner.stacks.push(coroutine.into_stack());
                inner.tasks[task].status = Status::Done;
                let joined_by = std::mem::take(&mut inner.tasks[task].joined_by);
                drop(inner);
                joined_by.into_iter().for_each(|task| self.wake(task));
            }
        }
    }
}

/// The runtime of the library on a simulated machine.
impl Simulator for Sim {
    fn current(&self) -> Option<TaskId> {
        self.inner.borrow().running
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce()>) -> TaskId {
        self.start(self.process_of(self.running()), name, work)
    }

    fn join(&self, other: TaskId) {
        Sim::join(self, self.running(), other);
    }

    fn park(&self, timeout: Option<Duration>) {
        Sim::park(self, self.running(), timeout);
    }

    fn unpark(&self, task: TaskId) {
        Sim::unpark(self, task);
    }

    fn wait(&self, timeout: Option<Duration>) {
        Sim::wait(self, self.running(), timeout);
    }

    fn wake(&self, task: TaskId) {
        Sim::wake(self, task);
    }

    fn yield_until(&self, condition: &dyn Fn() -> bool) {
        self.yield_until(self.running(), condition);
    }

    fn instant(&self) -> Instant {
        self.instant_of(self.process_of(self.running()))
    }

    fn since_boot(&self) -> Option<u64> {
        Some(self.clock_of(self.acting()?))
    }

    fn since_1970(&self) -> Option<Duration> {
        Some(Duration::from_micros(self.wall_clock_of(self.acting()?)))
    }

    fn below(&self, limit: u64) -> u64 {
        Sim::below(self, limit)
    }
}
