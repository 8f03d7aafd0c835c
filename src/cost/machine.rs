//! [`MachCap`]: what this machine can do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::cache::Key;
use super::class::DeviceClass;
use super::probe;
use super::rates::{Rate, Rates};
use super::read::{ReadError, ReadOptions};
use super::route::Route;
use super::system::{self, Battery, Network, Roots};
use super::time::Estimate;

/// What this machine can do, and has left. Measured where that can be done in a moment; where it cannot, each figure says so.
///
/// All fields can be changed: put in what you know better, or describe another machine. What a machine decides about a task is said by
/// [`verdict`](Self::verdict) and, with GPUs, by [`advise`](Self::advise).
///
/// # Examples
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

impl MachCap {
    /// Reads and measures this machine; results are kept in `store`, of whose disk the room counts. Takes 0.3 s, unless an earlier measurement
    /// was [kept](ReadOptions::keep).
    ///
    /// # Errors
    ///
    /// [`ReadError::Store`] if `store` is no directory that can be used. What cannot be found out about the machine is no error.
    ///
    /// ```no_run
    /// let machine = ternlease::MachCap::read("/var/cache/results")?;
    /// println!("{}", machine.to_json());
    /// # Ok::<(), ternlease::cost::ReadError>(())
    /// ```
    pub fn read(store: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::read_with(store, ReadOptions::new())
    }

    /// As [`Self::read`], as the options say.
    ///
    /// # Errors
    ///
    /// As [`Self::read`]; [`ReadError::Cache`] if what was measured is to be [kept](ReadOptions::keep) and cannot be.
    ///
    /// ```
    /// use ternlease::MachCap;
    /// use ternlease::cost::{ReadError, ReadOptions};
    ///
    /// let machine = MachCap::read_with(".", ReadOptions::new().without_benchmarks())?;
    /// assert!(machine.measured_at.is_none() && machine.cores_usable > 0);
    /// let error = MachCap::read_with("/no/such/directory", ReadOptions::new()).unwrap_err();
    /// assert!(matches!(error, ReadError::Store { .. }));
    /// # Ok::<(), ReadError>(())
    /// ```
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
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let larger = MachCap { mem_available: 200 << 30, ..MachCap::example() };
    /// assert!(larger.compute_budget() > MachCap::example().compute_budget());
    /// ```
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

    /// What sort of machine it is, by its memory, its cores and whether it has a battery. How much of it one computation may take follows from
    /// that.
    ///
    /// ```
    /// use ternlease::MachCap;
    /// use ternlease::cost::DeviceClass;
    ///
    /// assert_eq!(MachCap::example().device_class(), DeviceClass::Desktop);
    /// ```
    pub fn device_class(&self) -> DeviceClass {
        DeviceClass::of(self)
    }

    /// How old the rates are. `None`: they were not measured. Rates that were kept may be seven days old, or as [`ReadOptions::max_age`] says.
    pub fn age(&self) -> Option<Duration> {
        self.measured_at.map(|at| at.elapsed().unwrap_or_default())
    }

    /// How much arithmetic all cores do, beside what one does times their number: 1 is all that there could be. Less if they share units, heat or
    /// a quota.
    pub fn core_scaling(&self) -> f64 {
        let most = self.rates.flop64.per_second.saturating_mul(self.cores_usable.into());
        (self.rates.flop64_all.per_second as f64 / most.max(1) as f64).clamp(0.0, 1.0)
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
