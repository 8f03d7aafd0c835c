//! Which pool the command is about.

use clap::Args;
use ternlease::{Error, GpuPool, LeaseManager, PoolError, PoolOptions};

use crate::exit::{Failure, NO_DEVICES};
use crate::sharing;
use crate::text::line::clean;

/// Which pool: the same for all commands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Which pool")]
pub struct Place {
    /// The pool: host:, host:NAME or host:/PATH for all processes of this machine; etcd://HOST:PORT,…/NAME for many machines [env: TERNLEASE_POOL]
    #[arg(long, global = true, value_name = "URL")]
    pool: Option<String>,
    /// Pretend that there are so many devices, in a pool of their own; wins over TERNLEASE_DEVICES and TERNLEASE_POOL
    #[arg(long, global = true, value_name = "N", conflicts_with = "devices")]
    fake: Option<u32>,
    /// The devices: host, fake:N, file:PATH or none [env: TERNLEASE_DEVICES]
    #[arg(long, global = true, value_name = "SPEC")]
    devices: Option<String>,
    /// How many may share a device by slots: the same for all who use the pool [env: TERNLEASE_SLOTS]
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    slots_per_device: Option<u32>,
}

/// A setting of the environment. It is read here and not by the parser of the command line, which would treat it as an option
/// that the user has written: in conflicts with other options and in messages.
fn setting(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

impl Place {
    /// Devices that do not exist have a pool of their own: nobody who claims one of them shall keep a real one from somebody.
    pub fn url(&self) -> String {
        match (&self.pool, self.fake) {
            (Some(url), _) => url.clone(),
            (None, Some(count)) => format!("host:fake-{count}"),
            (None, None) => setting("TERNLEASE_POOL").unwrap_or_else(|| "host:".to_owned()),
        }
    }

    /// How its devices are found.
    pub fn options(&self) -> Result<PoolOptions, Failure> {
        let options = PoolOptions::from_spec(&self.device_spec())?;
        Ok(self.slots()?.into_iter().fold(options, PoolOptions::slots))
    }

    /// How its devices are found, as it is written. An option wins over the environment.
    fn device_spec(&self) -> String {
        match (&self.devices, self.fake) {
            (_, Some(count)) => format!("fake:{count}"),
            (Some(spec), None) => spec.clone(),
            (None, None) => setting("TERNLEASE_DEVICES").unwrap_or_else(|| "host".to_owned()),
        }
    }

    fn slots(&self) -> Result<Option<u32>, Failure> {
        let Some(text) = setting("TERNLEASE_SLOTS").filter(|_| self.slots_per_device.is_none())
        else {
            return Ok(self.slots_per_device);
        };
        match text.parse() {
            Ok(slots @ 1..) => Ok(Some(slots)),
            _ => Err(Failure::with(
                2,
                format!("TERNLEASE_SLOTS is {text:?}; set it to a number from 1 on, or unset it"),
            )),
        }
    }

    /// The pool, whether or not it has devices.
    pub fn open(&self) -> Result<GpuPool, Failure> {
        let slots = self.slots()?;
        GpuPool::open_with(&self.url(), self.options()?).map_err(|error| match error {
            PoolError::Lease(Error::InUse) => Failure::new(format!(
                "the devices of {} are in use with another number of slots than {}; give all who \
                 use the pool the same TERNLEASE_SLOTS",
                self.url(),
                slots.unwrap_or(1)
            )),
            error => error.into(),
        })
    }

    /// The pool, which must have devices; if not, why it has none and what to do.
    pub fn open_with_devices(&self) -> Result<GpuPool, Failure> {
        let pool = self.open()?;
        match pool.capacity() {
            0 => Err(Failure::of_lines(NO_DEVICES, why_none(&pool))),
            _ => Ok(pool),
        }
    }

    /// Prints one line on standard error if the pool is private to a user. Devices that do not exist
    /// are nothing to share.
    pub fn warn_if_private(&self, pool: &GpuPool) {
        if !self.device_spec().starts_with("fake:") {
            sharing::warn_if_private(&self.url(), pool);
        }
    }

    /// A lease that goes on without the process that claimed it: is there such a thing in this pool?
    pub fn check_inheritable(&self) -> Result<(), Failure> {
        match self.url().starts_with("etcd:") {
            true => Err(Failure::new(
                "a lease of a pool that machines share ends with the process that claims it; use \
                 `ternlease run`",
            )),
            false => Ok(()),
        }
    }

    /// Its table alone, for what has to do with leases and not with devices.
    pub fn manager(&self) -> Result<LeaseManager, Failure> {
        Ok(LeaseManager::open(&self.url())?)
    }
}

/// Why there are no devices, in words.
pub fn why_none(pool: &GpuPool) -> String {
    let mut words = "there are no GPUs here".to_owned();
    for absence in &pool.found().absences {
        words.push_str(&format!("\n  {}", clean(&absence.to_string())));
    }
    words.push_str("\ntry `--fake 4` to see how it works without, or `ternlease doctor` for more");
    words
}
