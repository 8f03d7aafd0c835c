//! What is wanted of a pool: the options that `run` and `claim` have in common.

use std::time::Duration;

use ternlease::{Error, GpuClaim, GpuPool, PoolError, Span};

use super::words;
use crate::exit::{Failure, IMPOSSIBLE, TIMEOUT};
use crate::text::units::{duration, parse_duration, parse_mebibytes};

/// What is wanted, and how patiently.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to claim")]
pub struct Wish {
    /// How many devices: all of them or none, linked ones if possible [default: 1, or as many as --device names]
    #[arg(short = 'n', long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Only these devices, the preferred first: nvidia:0, 0, a PCI address or a UUID (or how it begins)
    #[arg(long = "device", value_name = "NAME")]
    named: Vec<String>,
    /// Only devices with at least so much memory in all, as in 20G
    #[arg(long, value_name = "SIZE", value_parser = parse_mebibytes)]
    min_memory: Option<u32>,
    /// The whole of each device, alone: what is done if nothing else is said
    #[arg(long, group = "part")]
    exclusive: bool,
    /// So much memory of each device, beside others who do the same; only counted, not enforced
    #[arg(long, value_name = "SIZE", group = "part", value_parser = parse_mebibytes)]
    memory: Option<u32>,
    /// So many slots of each device, beside others who do the same (see --slots-per-device)
    #[arg(long, value_name = "N", group = "part", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,
    /// Higher goes first in line
    #[arg(long, value_name = "P", default_value_t = 0, allow_negative_numbers = true)]
    priority: i16,
    /// Take preemptible leases of lower priority rather than wait for their end
    #[arg(long)]
    preempt: bool,
    /// Others of higher priority may take the devices, after this notice [default: 30s]
    #[arg(long, value_name = "NOTICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "30s", value_parser = parse_duration)]
    preemptible: Option<Duration>,
    /// Only what nobody else waits for; given back after this notice once somebody does [default: 30s]
    #[arg(long, value_name = "NOTICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "30s", value_parser = parse_duration,
          conflicts_with = "preemptible")]
    spare: Option<Duration>,
    /// Wait in the queue for at most TIME (5s, 10m, 2h; a number alone is in seconds), then exit 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Do not wait in the queue: exit 124 if the devices cannot be had now
    #[arg(long, conflicts_with = "timeout")]
    now: bool,
    /// The name under which others see it [default: USER:PROGRAM:PID]
    #[arg(long, value_name = "HOLDER")]
    pub name: Option<String>,
    /// Name devices to the program by UUID instead of by number
    #[arg(long)]
    pub uuid: bool,
    /// Do not say where in line it stands
    #[arg(short, long)]
    pub quiet: bool,
}

impl Wish {
    /// The names of the devices, as a claim wants them.
    pub fn names(&self) -> Vec<&str> {
        self.named.iter().map(String::as_str).collect()
    }

    /// How many devices are wanted: those that are named, unless a number is given.
    pub fn count(&self) -> u32 {
        let named = u32::try_from(self.named.len()).unwrap_or(u32::MAX);
        self.count.unwrap_or(named.max(1))
    }

    /// The claim. `names` are [`Self::names`], which it borrows.
    pub fn claim<'a>(
        &self,
        pool: &'a GpuPool,
        holder: &'a str,
        names: &'a [&'a str],
        ttl: Option<Duration>,
    ) -> GpuClaim<'a> {
        let mut claim = pool.claim().holder(holder).devices(self.count()).priority(self.priority);
        if !names.is_empty() {
            claim = claim.named(names);
        }
        if let Some(size) = self.min_memory {
            claim = claim.min_memory(size);
        }
        if let Some(size) = self.memory {
            claim = claim.memory(size);
        }
        if let Some(slots) = self.slots {
            claim = claim.slots(slots);
        }
        if self.preempt {
            claim = claim.preempt();
        }
        if let Some(notice) = self.preemptible {
            claim = claim.preemptible(notice);
        }
        if let Some(notice) = self.spare {
            claim = claim.spare(notice);
        }
        if let Some(ttl) = ttl {
            claim = claim.ttl(ttl);
        }
        claim.patience(self.patience())
    }

    fn patience(&self) -> Span {
        match (self.now, self.timeout) {
            (true, _) | (_, Some(Duration::ZERO)) => Span::Zero,
            (false, Some(time)) => Span::Real(time),
            (false, None) => Span::Forever,
        }
    }

    /// Why the claim was not granted, in one sentence.
    pub fn explain(&self, pool: &GpuPool, error: PoolError) -> Failure {
        match error {
            PoolError::Lease(Error::Busy) => Failure::with(
                TIMEOUT,
                format!(
                    "not free now: {}; leave out --now to wait in the queue",
                    words::who_has_what(pool)
                ),
            ),
            PoolError::Lease(Error::Refused(_)) => {
                let time = self
                    .timeout
                    .map_or_else(String::new, |time| format!(" within {}", duration(time)));
                Failure::with(TIMEOUT, format!("not granted{time}: {}", words::who_has_what(pool)))
            }
            PoolError::Lease(Error::Impossible) => Failure::with(IMPOSSIBLE, self.too_much(pool)),
            error => error.into(),
        }
    }

    /// More of each device is wanted than it has.
    fn too_much(&self, pool: &GpuPool) -> String {
        let most = |of: fn(&ternlease::DeviceStatus) -> u32| {
            pool.status().iter().map(of).max().unwrap_or(0)
        };
        match (self.slots, self.memory) {
            (Some(slots), _) => format!(
                "{slots} slots of a device are wanted, but devices here have {}; \
                 TERNLEASE_SLOTS, the same for all who use the pool, gives them more",
                most(|one| one.slots.0)
            ),
            (None, Some(memory)) => format!(
                "{memory} MiB of a device are wanted, but the largest here has {} MiB; \
                 claim more devices or less memory",
                most(|one| one.device.memory.unwrap_or(0))
            ),
            (None, None) => Error::Impossible.to_string(),
        }
    }
}
