//! What a machine decides about a task.

use std::time::Duration;

use super::rates::Source;
use super::time::{Estimate, NEVER, nanoseconds, narrow, scaled};
use super::verdict::{Answer, Obstacle, Verdict, difference, finite};
use super::{FnCost, MachCap, Task};

/// A ttl is at most so many times the base, and at least this part of it, in thousandths.
const LONGEST_TTL: u64 = 1_000_000;
const SHORTEST_TTL: u64 = 100;

impl MachCap {
    /// Compute the result of a task here, or fetch it from where [`Self::route`] leads? The answer comes with all that it rests on.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let machine = MachCap::example();
    /// let verdict = machine.verdict(FnCost::hash(10_000_000_000).kind(Kind::Hash));
    /// assert_eq!(verdict.to_string(), "fetch (saves 6.663s)");
    /// ```
    pub fn verdict(&self, task: impl Into<Task>) -> Verdict {
        let task = task.into();
        let result = task.cost.result_bytes;
        let prediction = self.rates.predict(&task, self.cores_usable);
        let t_compute = self.possible_compute(&task);
        let t_store = self.store_time(result);
        let can_store = self.can_store(result);
        let t_fetch = self.possible_fetch(result, can_store, t_compute);
        let answer = match (t_compute, t_fetch) {
            (Err(_), Err(_)) => Answer::Impossible,
            (Err(_), Ok(_)) => Answer::Fetch,
            (Ok(_), Err(_)) => Answer::Compute,
            (Ok(compute), Ok(fetch)) => match difference(compute.mid, fetch.mid) {
                1.. => Answer::Fetch,
                0 => Answer::BreakEven,
                _ => Answer::Compute,
            },
        };
        let decisive = match (t_compute, t_fetch) {
            (Ok(compute), Ok(fetch)) => compute.hi < fetch.lo || fetch.hi < compute.lo,
            (Err(_), Err(_)) => false,
            _ => true,
        };
        let discharging = self.battery.is_some_and(|battery| battery.discharging);
        Verdict {
            answer,
            t_compute,
            t_fetch,
            t_store,
            can_store,
            bottleneck: prediction.bottleneck,
            decisive,
            bias_permille: self.device_class().bias_permille(discharging),
        }
    }

    /// Is computing at least as good as fetching? False if neither can be done; [`verdict`](Self::verdict) tells that apart.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let machine = MachCap::example();
    /// assert!(machine.should_compute(FnCost::scan(1_000_000, 1_000_000).kind(Kind::Stream)));
    /// assert!(!machine.should_compute(FnCost::hash(10_000_000_000).kind(Kind::Hash)));
    /// ```
    pub fn should_compute(&self, task: impl Into<Task>) -> bool {
        self.verdict(task).should_compute()
    }

    /// How long a task takes here, whether or not its memory is there. What earlier runs taught ([`Task::learned`]) counts.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let task = FnCost::sort(1_000_000, 64, 64_000_000).kind(Kind::Sort);
    /// let time = MachCap::example().compute_time(task);
    /// assert_eq!(time.mid, 335_726_497); // nanoseconds
    /// assert!(time.lo < time.mid && time.mid < time.hi);
    /// ```
    pub fn compute_time(&self, task: impl Into<Task>) -> Estimate {
        let task = task.into();
        let prediction = self.rates.predict(&task, self.cores_usable);
        task.learned.apply(prediction.nanoseconds, prediction.spread)
    }

    /// How long a task takes here by the rates alone: what a measured run is to be compared with, in
    /// [`Learned::record`](super::Learned::record). In nanoseconds; [`NEVER`] if it does not end.
    pub fn untaught_time(&self, task: impl Into<Task>) -> u64 {
        self.rates.predict(&task.into(), self.cores_usable).nanoseconds
    }

    fn possible_compute(&self, task: &Task) -> Result<Estimate, Obstacle> {
        if !self.can_execute(*task) {
            return Err(Obstacle::Memory);
        }
        match self.compute_time(*task) {
            Estimate { mid: NEVER, .. } => Err(Obstacle::Endless),
            time => Ok(time),
        }
    }

    /// How long fetching takes, what has to be asked first included. If nothing is found, it has to be computed after all.
    fn possible_fetch(
        &self,
        bytes: u64,
        can_store: bool,
        compute: Result<Estimate, Obstacle>,
    ) -> Result<Estimate, Obstacle> {
        let route = self.route.ok_or(Obstacle::Network)?;
        if !can_store {
            return Err(Obstacle::Disk);
        }
        let found = route.fetch(bytes).then(self.store_time(bytes));
        if found.mid == NEVER {
            return Err(Obstacle::Network);
        }
        let hits = u64::from(route.hits_permille.min(1000));
        let part =
            |found, otherwise| scaled(found, hits).saturating_add(scaled(otherwise, 1000 - hits));
        let expected = match compute {
            _ if hits == 1000 => found,
            // What is not found cannot be had in another way.
            Err(_) => found,
            Ok(compute) => Estimate {
                lo: part(found.lo, compute.lo),
                mid: part(found.mid, compute.mid),
                hi: part(found.hi, compute.hi),
            },
        };
        Ok(Estimate::exactly(route.query).then(expected))
    }

    /// How long fetching so many bytes takes, once it is known that they are there; `None` without a network. Two round trips and the bytes.
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let machine = MachCap::example(); // 1 Gbit/s, 2 ms there and back
    /// assert_eq!(machine.fetch_time(1_000_000).unwrap().mid, 12_000_000);
    /// ```
    pub fn fetch_time(&self, bytes: u64) -> Option<Estimate> {
        self.route.map(|route| route.fetch(bytes))
    }

    /// How long keeping so many bytes takes. By the [disk](Self::disk) as it was measured, if it was ([`with_disk`](super::ReadOptions::with_disk)).
    pub fn store_time(&self, bytes: u64) -> Estimate {
        let rate = self.disk.write;
        let spread = if rate.source == Source::Estimated { 4000 } else { 1700 };
        Estimate::around(nanoseconds(bytes, rate.per_second), spread)
    }

    /// Does its memory fit into what one computation may take here? That is [`compute_budget`](Self::compute_budget).
    ///
    /// ```
    /// use ternlease::{FnCost, MachCap};
    ///
    /// let machine = MachCap::example(); // 24 GiB are free
    /// assert!(machine.can_execute(FnCost::scan(10 << 30, 8)));
    /// assert!(!machine.can_execute(FnCost::scan(20 << 30, 8)));
    /// ```
    pub fn can_execute(&self, task: impl Into<Task>) -> bool {
        let needed = task.into().cost.peak_mem;
        needed != u64::MAX && needed <= self.compute_budget()
    }

    /// Is there room for so many bytes, and some to spare? Where nobody knows, one may try.
    pub fn can_store(&self, bytes: u64) -> bool {
        let reserve = self.device_class().disk_reserve();
        let needed = bytes.saturating_add(reserve);
        match self.disk_free {
            _ if bytes == 0 => true,
            Some(free) => needed != u64::MAX && free > needed,
            None => bytes != u64::MAX,
        }
    }

    /// How much memory one computation may take, in bytes. A part of what is free, which depends on the [sort](Self::device_class) of machine: a
    /// half on a desktop.
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let machine = MachCap::example();
    /// assert_eq!(machine.compute_budget(), machine.mem_available / 2);
    /// ```
    pub fn compute_budget(&self) -> u64 {
        let percent = self.device_class().memory_percent();
        narrow(u128::from(self.mem_available) * u128::from(percent) / 100)
    }

    /// What a cached result saves each time it is fetched instead of computed, in seconds; negative if it costs some. Counted as
    /// [`Verdict::score`] is, but without the query and the disk, so that of close calls the two may differ. Infinite if it is the only way, or none.
    ///
    /// ```
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let hash = FnCost::hash(10_000_000_000).kind(Kind::Hash);
    /// assert!(MachCap::example().cache_value(hash) > 6.0); // worth keeping
    /// ```
    pub fn cache_value(&self, task: impl Into<Task>) -> f64 {
        match self.saved(task.into()) {
            Err(infinite) => f64::INFINITY.copysign(f64::from(infinite)),
            Ok(nanoseconds) => nanoseconds as f64 / 1e9,
        }
    }

    /// As [`Self::cache_value`], in whole nanoseconds. `i64::MAX` and `i64::MIN` stand for what is infinite, and for nothing else.
    pub fn cache_value_ns(&self, task: impl Into<Task>) -> i64 {
        match self.saved(task.into()) {
            Err(1..) => i64::MAX,
            Err(_) => i64::MIN,
            Ok(nanoseconds) => finite(nanoseconds),
        }
    }

    /// What fetching saves; if that is infinite, on which side.
    fn saved(&self, task: Task) -> Result<i128, i8> {
        match (self.compute_time(task).mid, self.fetch_time(task.cost.result_bytes)) {
            (_, None) => Err(-1),
            (NEVER, Some(_)) => Err(1),
            (compute, Some(fetch)) if fetch.mid != NEVER => Ok(difference(compute, fetch.mid)),
            _ => Err(-1),
        }
    }

    /// For how long a result is worth keeping: the longer, the more computing it again costs beside fetching it. From a tenth of `base` to a
    /// thousand times as long; the longest if it cannot be fetched again, or that takes no time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{FnCost, Kind, MachCap};
    ///
    /// let machine = MachCap::example();
    /// let hour = Duration::from_secs(3600);
    /// let dear = machine.suggest_ttl(FnCost::hash(10_000_000_000).kind(Kind::Hash), hour);
    /// let cheap = machine.suggest_ttl(FnCost::copy(1_000_000).kind(Kind::Copy), hour);
    /// assert!(dear > hour && cheap < hour);
    /// ```
    pub fn suggest_ttl(&self, task: impl Into<Task>, base: Duration) -> Duration {
        let task = task.into();
        let compute = self.compute_time(task).mid;
        let fetch = self.fetch_time(task.cost.result_bytes).map_or(0, |time| time.mid);
        let permille = match (compute, fetch) {
            (_, 0 | NEVER) | (NEVER, _) => LONGEST_TTL,
            (compute, fetch) => narrow(u128::from(compute) * 1000 / u128::from(fetch)),
        };
        let permille = u128::from(permille.clamp(SHORTEST_TTL, LONGEST_TTL));
        let nanoseconds = base.as_nanos().saturating_mul(permille) / 1000;
        Duration::from_nanos(narrow(nanoseconds))
    }

    /// How large a buffer for rows may be: half of what a computation may take, in whole rows. `None` if not even one fits.
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let machine = MachCap::example();
    /// assert_eq!(machine.etl_buffer_bytes(1000), Some(6_442_450_000));
    /// assert_eq!(machine.etl_buffer_bytes(1 << 40), None);
    /// ```
    pub fn etl_buffer_bytes(&self, row_bytes: u64) -> Option<u64> {
        let row = row_bytes.max(1);
        let rows = self.compute_budget() / 2 / row;
        (rows > 0).then_some(rows * row)
    }

    /// A cost for something that took so long here: at most so much work, by the rates of this machine. To be compared with other costs, and not the way
    /// back to the same time elsewhere: see [`Learned`](super::Learned) for that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::MachCap;
    ///
    /// let cost = MachCap::example().normalize(Duration::from_secs(1), 0, 8);
    /// assert_eq!(cost.flops, 48_000_000_000); // what one core does in a second
    /// ```
    pub fn normalize(&self, took: Duration, peak_mem: u64, result_bytes: u64) -> FnCost {
        let nanoseconds = took.as_nanos();
        let work = |rate: u64| narrow(nanoseconds.saturating_mul(rate.into()) / 1_000_000_000);
        let Self { rates, .. } = self;
        let (flops, bytes) = (rates.flop64.per_second, rates.triad.per_second);
        FnCost::new(work(flops), work(bytes), peak_mem, result_bytes)
    }

    /// How much of the memory is taken: from 0 to 1, a half if nobody knows. As it was when the machine was read.
    pub fn mem_pressure(&self) -> f64 {
        pressure(self.mem_total, self.mem_available)
    }

    /// How much of the disk is taken: from 0 to 1, a half if nobody knows. As it was when the machine was read.
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let machine = MachCap::example();
    /// assert_eq!((machine.mem_pressure(), machine.disk_pressure()), (0.25, 0.6));
    /// ```
    pub fn disk_pressure(&self) -> f64 {
        pressure(self.disk_total.unwrap_or(0), self.disk_free.unwrap_or(0))
    }

    /// Operations per byte at which neither arithmetic nor memory waits for the other, all cores together. To be compared with
    /// [`FnCost::intensity`].
    ///
    /// ```
    /// use ternlease::{FnCost, MachCap};
    ///
    /// let machine = MachCap::example();
    /// assert!(FnCost::matmul(2000, 2000, 2000, 8).intensity() > machine.ridge_point()); // arithmetic
    /// assert!(FnCost::scan(1000, 8).intensity() < machine.ridge_point()); // memory
    /// ```
    pub fn ridge_point(&self) -> f64 {
        let Self { rates, .. } = self;
        rates.flop64_all.per_second as f64 / rates.triad_all.per_second.max(1) as f64
    }
}

fn pressure(total: u64, left: u64) -> f64 {
    match total {
        0 => 0.5,
        total => 1.0 - left.min(total) as f64 / total as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{ReadOptions, Route};

    #[test]
    fn whole_nanoseconds_tell_the_same_as_seconds() {
        let options = ReadOptions::new().without_benchmarks().without_network();
        let mut machine = MachCap::read_with("/", options).unwrap();
        machine.disk_free = None;
        let (small, endless) = (FnCost::copy(1000), FnCost::new(u64::MAX, 0, 0, 0));
        let both =
            |machine: &MachCap, cost| (machine.cache_value(cost), machine.cache_value_ns(cost));
        assert_eq!(both(&machine, small), (f64::NEG_INFINITY, i64::MIN));
        assert_eq!(machine.verdict(small).score_ns(), Some(i64::MIN));
        assert_eq!(machine.verdict(endless).score_ns(), None, "neither can be done");

        machine.route = Some(Route::new(1_000_000, 1_000_000));
        assert_eq!(both(&machine, endless), (f64::INFINITY, i64::MAX));
        assert_eq!(machine.verdict(endless).score_ns(), Some(i64::MAX));
        let (seconds, nanoseconds) = both(&machine, small);
        assert_eq!(seconds, nanoseconds as f64 / 1e9);
        assert!(seconds < 0.0, "fetching takes longer");

        // What is longer than can be said is not taken for infinite.
        machine.route = Some(Route::new(u64::MAX / 4, 1));
        assert_eq!(machine.cache_value_ns(small), i64::MIN + 1);
        assert_eq!(machine.verdict(small).score_ns(), Some(i64::MIN + 1));
    }
}
