//! How a machine is read.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

#[cfg(doc)]
use super::MachCap;
use super::cache::{self, Key};
use super::probe::{self, Progress};
use super::rates::Rates;

/// What [`MachCap::read_with`] may do.
///
/// Unless told otherwise: measure for at most 300 ms, on all cores that the process may use, in at most 192 MiB of memory; ask the operating system
/// about the network; use what was kept of an earlier measurement, but write nothing.
///
/// ```
/// use std::time::Duration;
/// use ternlease::MachCap;
/// use ternlease::cost::ReadOptions;
///
/// let mut steps = Vec::new();
/// let mut note = |progress: ternlease::cost::Progress| steps.push(progress.step);
/// let options = ReadOptions::new()
///     .budget(Duration::from_millis(20)) // rougher figures, which say so
///     .without_network()
///     .refresh() // whatever was kept
///     .progress(&mut note);
/// let machine = MachCap::read_with(".", options)?;
/// assert!(machine.route.is_none() && !steps.is_empty());
/// # Ok::<(), ternlease::cost::ReadError>(())
/// ```
#[must_use = "options do nothing by themselves"]
pub struct ReadOptions<'a> {
    benchmarks: bool,
    pub(super) network: bool,
    pub(super) disk: Option<Duration>,
    pub(super) budget: Duration,
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

    /// Measures nothing: all rates are estimates, by what the processor says of itself. Takes no time.
    pub fn without_benchmarks(self) -> Self {
        ReadOptions { benchmarks: false, ..self }
    }

    /// Does not ask for the network: there is none. [`MachCap::route`] is empty then, until somebody puts one in.
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
    ///
    /// ```
    /// # let file = std::env::temp_dir().join(format!("ternlease-doc-keep-{}", std::process::id()));
    /// use std::time::Duration;
    /// use ternlease::MachCap;
    /// use ternlease::cost::ReadOptions;
    ///
    /// let options = || ReadOptions::new().budget(Duration::from_millis(20)).cache_file(&file).keep();
    /// let first = MachCap::read_with(".", options())?; // measures
    /// let second = MachCap::read_with(".", options())?; // does not
    /// assert_eq!(first.rates, second.rates);
    /// # std::fs::remove_file(file).unwrap();
    /// # Ok::<(), ternlease::cost::ReadError>(())
    /// ```
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

    /// Is told what is being measured. Not called if nothing is, because it was kept.
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

/// Why a machine could not be read. As text each says what to do instead.
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

impl ReadOptions<'_> {
    /// What was kept, what is measured now, or estimates.
    pub(super) fn rates(
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_budget_without_end_ends() {
        let options = ReadOptions::new().budget(Duration::MAX).with_disk(Duration::MAX);
        assert_eq!((options.budget, options.disk), (LONGEST_BUDGET, Some(LONGEST_BUDGET)));
        // What is made of it does not overflow.
        let _ = Instant::now() + options.budget * 100;
    }
}
