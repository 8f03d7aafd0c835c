//! What there is to see of a pool: gathered here, once, for all commands that show it.

pub mod crowd;
pub mod ending;
pub mod happenings;
pub mod json;
pub mod notes;
pub mod words;

use std::time::Duration;

use ternlease::{DeviceStatus, ExpectedWait, GpuPool, LeaseId, LeaseInfo, Taken, TicketInfo, Time};

use crowd::{Crowd, Who};

/// How many of those who wait are told how long that will take: each answer plays the whole table forward.
pub const FORECASTS: usize = 32;

/// A pool at one moment.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Which pool it is.
    pub url: String,
    /// When this was, by the pool's clock.
    pub now: Time,
    /// Its devices, in the pool's order.
    pub devices: Vec<Device>,
    /// All leases that are held, oldest first, without those by which a process in a cluster is
    /// present on its node.
    pub leases: Vec<Lease>,
    /// All claims that wait, in order.
    pub line: Vec<Waiting>,
    /// What a mask hides from this process.
    pub hidden: Vec<Hidden>,
    /// Why each source has no devices.
    pub absences: Vec<String>,
    /// What could be understood in two ways.
    pub warnings: Vec<String>,
}

/// A device, and who has it.
#[derive(Debug, Clone)]
pub struct Device {
    /// What people call it.
    pub name: String,
    /// What the table calls it.
    pub key: String,
    /// How it is.
    pub status: DeviceStatus,
    /// How many wait for it, and perhaps for others.
    pub waiting: usize,
}

/// A lease, and whose it is.
#[derive(Debug, Clone)]
pub struct Lease {
    /// As the table has it.
    pub info: LeaseInfo,
    /// The process that holds it.
    pub who: Who,
    /// What people call its devices, and whatever else it takes.
    pub devices: Vec<String>,
    /// It takes something that is no device of this pool.
    pub elsewhere: bool,
}

/// A claim that waits, and whose it is.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// As the table has it.
    pub info: TicketInfo,
    /// The process that waits.
    pub who: Who,
    /// What people call what would serve it.
    pub candidates: Vec<String>,
    /// How much longer, if that was asked for.
    pub expected: Option<ExpectedWait>,
}

/// A device that is there and must not be used.
#[derive(Debug, Clone)]
pub struct Hidden {
    /// Which.
    pub device: String,
    /// What hides it.
    pub mask: String,
}

impl View {
    /// Do machines share the table? Then actors are no users of this machine.
    pub fn is_in_cluster(&self) -> bool {
        self.url.starts_with("etcd:")
    }

    /// Looks at the pool. The first in line, so many of them, are told how long they will wait.
    pub fn of(pool: &GpuPool, url: &str, forecasts: usize) -> Self {
        let manager = pool.manager();
        let tickets = manager.tickets();
        let crowd = Crowd::of(manager.host().as_ref());
        let statuses = pool.status().into_iter().enumerate();
        let devices: Vec<Device> = statuses
            .map(|(place, status)| {
                let key = pool.key(place).unwrap_or_default().to_owned();
                let wants_it = |ticket: &&TicketInfo| ticket.candidates.contains(&key);
                let waiting = tickets.iter().filter(wants_it).count();
                Device { name: words::device_name(&status.device), key, status, waiting }
            })
            .collect();
        let name_of = |key: &String| {
            let device = devices.iter().find(|device| device.key == *key);
            device.map_or_else(|| key.clone(), |device| device.name.clone())
        };
        let is_presence = |info: &LeaseInfo| {
            let is_node = |taken: &Taken| taken.resource.starts_with("node:");
            manager.session_left().is_some() && info.takes.iter().all(is_node)
        };
        let leases = manager.leases().into_iter().filter(|info| !is_presence(info));
        let leases = leases.map(|info| Lease {
            who: crowd.who_has(info.owner, info.id),
            devices: info.takes.iter().map(|taken| name_of(&taken.resource)).collect(),
            elsewhere: info
                .takes
                .iter()
                .any(|taken| devices.iter().all(|device| device.key != taken.resource)),
            info,
        });
        let leases = leases.collect();
        let line = tickets.into_iter().enumerate().map(|(place, info)| Waiting {
            who: crowd.who(info.owner),
            candidates: info.candidates.iter().map(name_of).collect(),
            expected: (place < forecasts).then(|| pool.expected_wait_of(info.id)),
            info,
        });
        let line = line.collect();
        let found = pool.found();
        let hidden = found.hidden.iter().map(|hidden| Hidden {
            device: words::device_name(&hidden.device),
            mask: hidden.mask.clone(),
        });
        View {
            url: url.to_owned(),
            // After the table was looked at, so that nothing in it lies in the future.
            now: manager.tick_count(),
            leases,
            line,
            hidden: hidden.collect(),
            absences: found.absences.iter().map(ToString::to_string).collect(),
            warnings: found.warnings.clone(),
            devices,
        }
    }

    /// The lease of this id, if it is held.
    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.info.id == id)
    }

    /// The leases on a device, oldest first.
    pub fn leases_on<'a>(&'a self, device: &'a Device) -> impl Iterator<Item = &'a Lease> {
        device.status.leases.iter().filter_map(|info| self.lease(info.id))
    }

    /// How long ago that was.
    pub fn since(&self, time: Time) -> Duration {
        Duration::from_micros(self.now.saturating_sub(time))
    }

    /// How long until then; `None` if that never comes.
    pub fn until(&self, time: Time) -> Option<Duration> {
        (time < ternlease::FOREVER).then(|| Duration::from_micros(time.saturating_sub(self.now)))
    }
}
