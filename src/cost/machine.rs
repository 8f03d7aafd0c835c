//! [`MachCap`]: what this machine can do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::cache::{self, Key};
use super::class::DeviceClass;
use super::probe::{self, Progress};
use super::rates::{Rate, Rates};
use super::route::Route;
use super::system::{self, Battery, Network, Roots};
use super::time::Estimate;

/// What this machine can do, and has left. Measured where that can be done in a moment; where it cannot, each figure says so.
///
/// ```
/// use ternlease::{FnCost, Kind, MachCap};
/// use ternlease::cost::ReadOptions;
///
/// let machine = MachCap::read_with(".", ReadOptions::new().without_benchmarks())?;
/// let task = FnCost::sort(1_000_000, 64, 64_000_000).kind(Kind::Sort);
/// println!("{}", machine.verdict(task)); // "compute (saves 0.412s)"
/// # Ok::<(), ternlease::cost::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachCap {
    /// What the processor is called.
    pub processor: String,
    /// Its cores.
    pub cores_physical: u32,
    /// Threads that it runs at one time.
    pub cores_logical: u32,
    /// Threads that this process may run at one time; fewer, if it is bound to some or has only a share of them.
    pub cores_usable: u32,
    /// Its clock; 0 if nobody says.
    pub freq_mhz: u32,
    /// Memory that this process could have, in bytes: that of the machine, or less if a group that it is in has a limit.
    pub mem_total: u64,
    /// What is left of it.
    pub mem_available: u64,
    /// Where results are kept.
    pub store: PathBuf,
    /// Its size in bytes, if that is known.
    pub disk_total: Option<u64>,
    /// What is left of it.
    pub disk_free: Option<u64>,
    /// How fast it is.
    pub disk: DiskRates,
    /// The network, as the operating system knows it.
    pub network: Network,
    /// The way to where results can be fetched from; `None` if there is no network. Put in what you know, or teach it.
    pub route: Option<Route>,
    /// The battery, if it has one.
    pub battery: Option<Battery>,
    /// How fast it is at different sorts of work.
    pub rates: Rates,
    /// When that was measured; `None` if it was not.
    pub measured_at: Option<SystemTime>,
    /// How long a program takes to begin with a GPU. [`Estimate::ZERO`] in one that has begun.
    pub gpu_start: Estimate,
}

/// With a driver that is loaded, most likely; in the worst case it has to be.
const GPU_START: Estimate = Estimate { lo: 100_000_000, mid: 300_000_000, hi: 2_000_000_000 };

/// How fast results can be written and read, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiskRates {
    /// Written.
    pub write: Rate,
    /// Read.
    pub read: Rate,
}

impl DiskRates {
    /// What is taken for the speed of a disk that nobody has measured.
    const USUAL: u64 = 500_000_000;

    const ESTIMATED: DiskRates =
        DiskRates { write: Rate::estimated(Self::USUAL), read: Rate::estimated(Self::USUAL) };

    /// Both ways: of as many bytes that are written as read.
    pub fn both_ways(&self) -> u64 {
        super::time::mean_rate(self.write.per_second, self.read.per_second)
    }
}

/// What [`MachCap::read_with`] may do.
///
/// Unless told otherwise: measure for at most 300 ms, on all cores that the process may use, in at most 192 MiB of memory; ask the operating system
/// about the network; use what was kept of an earlier measurement, but write nothing.
#[must_use = "options do nothing by themselves"]
pub struct ReadOptions<'a> {
    benchmarks: bool,
    network: bool,
    disk: Option<Duration>,
    budget: Duration,
    keep: Keep,
    max_age: Duration,
    progress: Option<&'a mut dyn FnMut(Progress)>,
    cache: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Use what was kept.
    Use,
    /// Use what was kept; keep what is measured.
    Write,
    /// Measure whatever was kept.
    Ignore,
}

/// Nothing gets better by measuring longer, and a time without end would be one.
const LONGEST_BUDGET: Duration = Duration::from_secs(60);

/// Rates of a processor do not change, but kernels, firmware and neighbours do.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

impl<'a> ReadOptions<'a> {
    /// The usual ones.
    pub fn new() -> Self {
        ReadOptions {
            benchmarks: true,
            network: true,
            disk: None,
            budget: Duration::from_millis(300),
            keep: Keep::Use,
            max_age: MAX_AGE,
            progress: None,
            cache: None,
        }
    }

    /// Measures nothing: all rates are estimates. Takes no time.
    pub fn without_benchmarks(self) -> Self {
        ReadOptions { benchmarks: false, ..self }
    }

    /// Does not ask for the network: there is none.
    pub fn without_network(self) -> Self {
        ReadOptions { network: false, ..self }
    }

    /// Measures the disk, too, for at most so long: writes a file without a name and reads it again, past the cache of the system. 32 MiB and a
    /// minute at most.
    pub fn with_disk(self, budget: Duration) -> Self {
        ReadOptions { disk: Some(budget.min(LONGEST_BUDGET)), ..self }
    }

    /// Measures the processor and the memory for at most so long. In less than 300 ms figures are rougher, and in very little time they are estimates.
    /// A minute at most.
    pub fn budget(self, budget: Duration) -> Self {
        ReadOptions { budget: budget.min(LONGEST_BUDGET), ..self }
    }

    /// Keeps what is measured in the user's cache directory, for this processor, kernel and limits, so that next time nothing needs to be measured.
    pub fn keep(self) -> Self {
        ReadOptions { keep: Keep::Write, ..self }
    }

    /// Measures anew, whatever was kept.
    pub fn refresh(self) -> Self {
        ReadOptions { keep: Keep::Ignore, ..self }
    }

    /// Uses nothing that is older; seven days if not said.
    pub fn max_age(self, age: Duration) -> Self {
        ReadOptions { max_age: age, ..self }
    }

    /// Keeps in this file instead of one in the user's cache directory, and looks for what was kept there.
    pub fn cache_file(self, path: impl Into<PathBuf>) -> Self {
        ReadOptions { cache: Some(path.into()), ..self }
    }

    /// Is told what is being measured.
    pub fn progress(self, told: &'a mut dyn FnMut(Progress)) -> Self {
        ReadOptions { progress: Some(told), ..self }
    }
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { benchmarks, network, disk, budget, keep, max_age, .. } = self;
        let fields = (benchmarks, network, disk, budget, keep, max_age);
        f.debug_tuple("ReadOptions").field(&fields).finish()
    }
}

/// Why a machine could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The directory for results cannot be used.
    Store {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What was measured could not be kept.
    Cache {
        /// The file; empty if the user has no place for it.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Store { path, cause } => write!(
                f,
                "the directory {} cannot be used for results: {cause}; name one that exists",
                path.display()
            ),
            ReadError::Cache { path, cause } => write!(
                f,
                "what was measured cannot be kept in {}: {cause}; name another file, or do not keep it",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl MachCap {
    /// Reads and measures this machine; results are kept in `store`, of whose disk the room counts.
    pub fn read(store: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::read_with(store, ReadOptions::new())
    }

    /// As [`Self::read`], as the options say.
    pub fn read_with(
        store: impl AsRef<Path>,
        mut options: ReadOptions<'_>,
    ) -> Result<Self, ReadError> {
        let store = store.as_ref();
        let unusable = |cause| ReadError::Store { path: store.into(), cause };
        if !store.metadata().map_err(unusable)?.is_dir() {
            return Err(unusable(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        let roots = Roots::default();
        let space = system::space(store).ok();
        let disk = match options.disk {
            None => DiskRates::ESTIMATED,
            Some(budget) => measure_disk(store, budget).map_err(unusable)?,
        };
        // The disk has a time of its own.
        let begun = Instant::now();
        let processor = roots.processor();
        let memory = roots.memory();
        let network = if options.network { roots.network() } else { Network::None };
        let limits = probe::Limits {
            begun,
            // The last slice of a step may take a moment longer.
            budget: options.budget * 98 / 100,
            threads: processor.cores_usable,
            memory: memory.available / 8,
            cache: processor.cache,
            mhz: processor.mhz,
        };
        let key = Key::new(&processor.identity, limits.threads, memory.total);
        let (rates, measured_at) = options.rates(&key, &limits)?;
        Ok(MachCap {
            processor: processor.name,
            cores_physical: processor.cores_physical,
            cores_logical: processor.cores_logical,
            cores_usable: processor.cores_usable,
            freq_mhz: processor.mhz,
            mem_total: memory.total,
            mem_available: memory.available,
            store: store.into(),
            disk_total: space.map(|space| space.0),
            disk_free: space.map(|space| space.1),
            disk,
            network,
            route: Route::of(network),
            battery: roots.battery(),
            rates,
            measured_at,
            gpu_start: GPU_START,
        })
    }

    /// A machine that is nowhere: 8 cores of 3 GHz, 32 GiB, 500 GB, 1 Gbit/s. The same everywhere, for tests, and to plan for others.
    pub fn example() -> Self {
        const GIB: u64 = 1 << 30;
        let network = Network::Card(1000);
        MachCap {
            processor: "example".to_owned(),
            cores_physical: 8,
            cores_logical: 8,
            cores_usable: 8,
            freq_mhz: 3000,
            mem_total: 32 * GIB,
            mem_available: 24 * GIB,
            store: ".".into(),
            disk_total: Some(500_000_000_000),
            disk_free: Some(200_000_000_000),
            disk: DiskRates::ESTIMATED,
            network,
            route: Route::of(network),
            battery: None,
            rates: probe::example(),
            measured_at: None,
            gpu_start: GPU_START,
        }
    }

    /// What sort of machine it is.
    pub fn device_class(&self) -> DeviceClass {
        DeviceClass::of(self)
    }

    /// How old the rates are. `None`: they were not measured.
    pub fn age(&self) -> Option<Duration> {
        self.measured_at.map(|at| at.elapsed().unwrap_or_default())
    }

    /// How much arithmetic all cores do, beside what one does times their number: 1 is all that there could be.
    pub fn core_scaling(&self) -> f64 {
        let most = self.rates.flop64.per_second.saturating_mul(self.cores_usable.into());
        (self.rates.flop64_all.per_second as f64 / most.max(1) as f64).clamp(0.0, 1.0)
    }
}

impl ReadOptions<'_> {
    /// What was kept, what is measured now, or estimates.
    fn rates(
        &mut self,
        key: &Key,
        limits: &probe::Limits,
    ) -> Result<(Rates, Option<SystemTime>), ReadError> {
        if !self.benchmarks {
            return Ok((probe::estimated(limits.threads, limits.mhz), None));
        }
        let file = self.cache.clone().or_else(|| cache::usual_file(key));
        if self.keep != Keep::Ignore
            && let Some((rates, at)) =
                file.as_deref().and_then(|file| cache::load(file, key, self.max_age))
        {
            return Ok((rates, Some(at)));
        }
        let mut silent = |_| {};
        let progress = self.progress.take().unwrap_or(&mut silent);
        let rates = probe::measure(limits, progress);
        let now = SystemTime::now();
        if self.keep == Keep::Write {
            let Some(path) = file else {
                let cause = io::Error::other("there is neither XDG_CACHE_HOME nor HOME");
                return Err(ReadError::Cache { path: PathBuf::new(), cause });
            };
            cache::store(&path, key, &rates, now)
                .map_err(|cause| ReadError::Cache { path, cause })?;
        }
        Ok((rates, Some(now)))
    }
}

fn measure_disk(store: &Path, budget: Duration) -> io::Result<DiskRates> {
    let (write, read) = system::speed(store, Instant::now() + budget)?;
    let measured = |per_second| Rate {
        per_second,
        usual: per_second,
        spread_permille: 0,
        source: super::rates::Source::Rough,
    };
    Ok(DiskRates { write: measured(write), read: measured(read) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_without_end_ends() {
        let options = ReadOptions::new().budget(Duration::MAX).with_disk(Duration::MAX);
        assert_eq!((options.budget, options.disk), (LONGEST_BUDGET, Some(LONGEST_BUDGET)));
        // What is made of it does not overflow.
        let _ = Instant::now() + options.budget * 100;
    }
}
