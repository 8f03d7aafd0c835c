//! [`Advice`]: where to do a task, with the line in front of the GPUs taken into account.

use std::fmt;

use super::gpu::{GpuRates, REACHED, REACHED_OF_LINK, reached};
use super::json::object;
use super::rates::Rate;
use super::time::{Estimate, NEVER, nanoseconds};
use super::verdict::Obstacle;
use super::{Kind, MachCap, Task};
use crate::inventory::GpuDevice;
use crate::pool::{ExpectedWait, GpuClaim, PoolError};

/// Where to do a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// On the processor of this machine, now.
    Cpu,
    /// On a GPU, which is free.
    GpuNow,
    /// On a GPU, after waiting for it.
    GpuWait,
    /// Nowhere: fetch the result.
    Fetch,
    /// It can be done in no way that is known here.
    Infeasible,
}

impl Choice {
    /// The name in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Cpu => "cpu",
            Choice::GpuNow => "gpu now",
            Choice::GpuWait => "gpu after waiting",
            Choice::Fetch => "fetch",
            Choice::Infeasible => "infeasible",
        }
    }
}

/// How long a task takes in each way, the best of them, and why. A snapshot: nothing has been claimed.
///
/// ```
/// use ternlease::cost::{Choice, ReadOptions};
/// use ternlease::{FnCost, GpuPool, Kind, MachCap, PoolOptions};
///
/// let machine = MachCap::read_with(".", ReadOptions::new().without_benchmarks())?;
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
/// let large = FnCost::matmul(20_000, 20_000, 20_000, 3_200_000_000).kind(Kind::Dense64);
/// let advice = machine.advise(large, &pool.claim())?;
/// assert_eq!(advice.choice, Choice::GpuNow);
/// println!("{advice}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Advice {
    /// The best way.
    pub choice: Choice,
    /// It is the best even if it goes badly and the next one well. Otherwise begin with the second while the first is under way.
    pub decisive: bool,
    /// On the processor, or why not.
    pub cpu: Result<Estimate, Obstacle>,
    /// On the devices of the claim once it has them, or why not: starting, carrying the input there, computing, carrying the result back.
    pub gpu: Result<Estimate, Obstacle>,
    /// How long the claim would wait.
    pub wait: ExpectedWait,
    /// Fetching the result, or why not.
    pub fetch: Result<Estimate, Obstacle>,
}

impl Advice {
    /// On a GPU that is free now; `None` if none is.
    pub fn gpu_now(&self) -> Option<Estimate> {
        self.gpu.ok().filter(|_| self.wait == ExpectedWait::None)
    }

    /// On a GPU that is not free yet, the waiting included; `None` if that cannot be told, or is not needed.
    pub fn gpu_wait(&self) -> Option<Estimate> {
        let ExpectedWait::About(wait) = self.wait else { return None };
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(NEVER);
        Some(Estimate::around(wait, WAIT_SPREAD).then(self.gpu.ok()?))
    }

    /// All ways there are, the best first. Those that cannot be taken are left out.
    ///
    /// ```
    /// use ternlease::cost::Choice;
    /// use ternlease::{FnCost, GpuPool, Kind, MachCap, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let large = FnCost::matmul(20_000, 20_000, 20_000, 3_200_000_000).kind(Kind::Dense64);
    /// let advice = MachCap::example().advise(large, &pool.claim())?;
    /// let ways: Vec<Choice> = advice.ways().into_iter().map(|(choice, _)| choice).collect();
    /// assert_eq!(ways, [Choice::GpuNow, Choice::Fetch, Choice::Cpu]);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn ways(&self) -> Vec<(Choice, Estimate)> {
        let mut ways: Vec<(Choice, Estimate)> = [
            (Choice::Cpu, self.cpu.ok()),
            (Choice::GpuNow, self.gpu_now()),
            (Choice::GpuWait, self.gpu_wait()),
            (Choice::Fetch, self.fetch.ok()),
        ]
        .into_iter()
        .filter_map(|(choice, time)| Some((choice, time?)))
        .collect();
        ways.sort_by_key(|(_, time)| time.mid);
        ways
    }

    /// Why a GPU is of no use, in words; empty if it is.
    fn gpu_trouble(&self) -> &'static str {
        match (self.wait, self.gpu) {
            (ExpectedWait::NoDevices, _) => "there is none",
            (_, Err(obstacle)) => obstacle.words(),
            (ExpectedWait::Unknown, _) => "nobody can tell how long its holders go on",
            _ => "",
        }
    }

    /// As JSON. What cannot be done has no time, and a reason beside it.
    pub fn to_json(&self) -> String {
        object(|o| {
            o.text("choice", self.choice.name());
            o.boolean("decisive", self.decisive);
            let mut way = |name: &str, time: Option<Estimate>, why_not: &str| {
                o.object(name, |o| {
                    for (name, value) in [
                        ("seconds", time.map(|time| time.mid)),
                        ("lo", time.map(|time| time.lo)),
                        ("hi", time.map(|time| time.hi)),
                    ] {
                        o.float(name, value.map_or(f64::INFINITY, super::time::seconds));
                    }
                    if time.is_none() {
                        o.text("why_not", why_not);
                    }
                });
            };
            let words = |time: Result<Estimate, Obstacle>| time.err().map_or("", Obstacle::words);
            way("cpu", self.cpu.ok(), words(self.cpu));
            let trouble = self.gpu_trouble();
            let not_free = if trouble.is_empty() { "none is free" } else { trouble };
            let is_free = if trouble.is_empty() { "one is free" } else { trouble };
            way("gpu_now", self.gpu_now(), not_free);
            way("gpu_wait", self.gpu_wait(), is_free);
            way("fetch", self.fetch.ok(), words(self.fetch));
            match self.wait {
                ExpectedWait::About(wait) => o.float("wait_seconds", wait.as_secs_f64()),
                ExpectedWait::None => o.float("wait_seconds", 0.0),
                _ => o.optional("wait_seconds", None::<u64>),
            }
        })
    }
}

/// One line for each way, the best first, and one for what cannot be done.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let close = if self.decisive { "" } else { " (a close call)" };
        write!(f, "{}{close}", self.choice.name())?;
        for (choice, time) in self.ways() {
            let [lo, mid, hi] = [time.lo, time.mid, time.hi].map(super::time::seconds);
            write!(f, "\n  {:<18} {mid:>10.3} s  ({lo:.3} to {hi:.3})", choice.name())?;
        }
        let trouble = self.gpu_trouble();
        for (name, why_not) in [
            ("cpu", self.cpu.err().map(Obstacle::words)),
            ("gpu", Some(trouble).filter(|words| !words.is_empty())),
            ("fetch", self.fetch.err().map(Obstacle::words)),
        ] {
            if let Some(words) = why_not {
                write!(f, "\n  {name:<18} not possible: {words}")?;
            }
        }
        Ok(())
    }
}

/// Holders go on for as long as they like.
const WAIT_SPREAD: u32 = 2000;
/// What is worked out from the figures of a device may be wrong by as much.
const GPU_SPREAD: u32 = 2000;

impl MachCap {
    /// Where to do a task: here, on a device that the claim would get now or later, or nowhere because its result can be fetched? Claims nothing.
    ///
    /// # Errors
    ///
    /// As [`GpuClaim::expected_wait`]: a claim that could never be granted is one here, too. A pool without devices is none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::cost::Choice;
    /// use ternlease::{FnCost, GpuPool, Kind, MachCap, PoolOptions};
    ///
    /// let machine = MachCap::example();
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let task = FnCost::matmul(20_000, 20_000, 20_000, 3_200_000_000).kind(Kind::Dense64);
    /// assert_eq!(machine.advise(task, &pool.claim())?.choice, Choice::GpuNow);
    ///
    /// let busy = pool.claim().ttl(Duration::from_secs(10)).wait()?;
    /// assert_eq!(machine.advise(task, &pool.claim())?.choice, Choice::GpuWait); // still the fastest
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn advise(&self, task: impl Into<Task>, claim: &GpuClaim<'_>) -> Result<Advice, PoolError> {
        let task = task.into();
        let verdict = self.verdict(task);
        let wait = claim.expected_wait()?;
        let gpu = match wait {
            ExpectedWait::NoDevices => Err(Obstacle::NoDevice),
            _ => self.on_devices(&task, &claim.fitting_devices()?, claim),
        };
        let mut advice = Advice {
            choice: Choice::Infeasible,
            decisive: false,
            cpu: verdict.t_compute,
            gpu,
            wait,
            fetch: verdict.t_fetch,
        };
        let ways = advice.ways();
        if let Some((best, time)) = ways.first() {
            advice.choice = *best;
            advice.decisive = ways.get(1).is_none_or(|(_, next)| time.hi < next.lo);
        }
        Ok(advice)
    }

    /// How long a task takes on the slowest of the devices that the claim may get. Of several, each does its share.
    fn on_devices(
        &self,
        task: &Task,
        devices: &[&GpuDevice],
        claim: &GpuClaim<'_>,
    ) -> Result<Estimate, Obstacle> {
        let share = u64::from(claim.device_count().max(1));
        let times = devices.iter().map(|device| {
            let memory = claim.memory_on(device).ok_or(Obstacle::DeviceSpeed)?;
            if task.cost.peak_mem.div_ceil(share) > memory {
                return Err(Obstacle::DeviceMemory);
            }
            self.on_device(task, device, share).ok_or(Obstacle::DeviceSpeed)
        });
        // The claim may get any of them: the slowest that can do it.
        let mut longest: Result<Estimate, Obstacle> = Err(Obstacle::DeviceMemory);
        for time in times {
            longest = match (longest, time) {
                (Ok(a), Ok(b)) => Ok(if a.mid >= b.mid { a } else { b }),
                (Ok(a), Err(_)) => Ok(a),
                (Err(_), time) => time,
            };
        }
        longest.and_then(|time| match time.mid {
            NEVER => Err(Obstacle::Endless),
            _ => Ok(time),
        })
    }

    /// `None` if the device does not say enough about itself.
    fn on_device(&self, task: &Task, device: &GpuDevice, share: u64) -> Option<Estimate> {
        let rates = GpuRates::of(device);
        let flops = match task.kind {
            Kind::Dense64 | Kind::Roofline => rates.flop64,
            _ => rates.flop32,
        };
        let per_second = |rate: Rate| rate.per_second.saturating_mul(share);
        let flops = per_second(reached(flops, REACHED)?);
        let memory = per_second(reached(rates.memory, REACHED)?);
        let link = per_second(reached(rates.link, REACHED_OF_LINK)?);
        let carried = task.input_bytes().saturating_add(task.cost.result_bytes);
        let computing =
            nanoseconds(task.cost.flops, flops).max(nanoseconds(task.cost.mem_bytes, memory));
        let time = computing.saturating_add(nanoseconds(carried, link));
        Some(self.gpu_start.then(Estimate::around(time, GPU_SPREAD)))
    }
}
