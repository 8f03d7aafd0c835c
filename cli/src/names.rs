//! What people call the devices of a table, whose own names for them are PCI addresses and UUIDs.

use std::collections::HashMap;

use ternlease::{GpuPool, LeaseManager};

use crate::exit::Failure;
use crate::place::Place;

/// A table, and the names of its devices as far as they can be seen from here.
#[derive(Debug)]
pub struct Named {
    /// The table.
    pub manager: LeaseManager,
    /// Name in the table and name for people, in the pool's order.
    pub devices: Vec<(String, String)>,
    by_key: HashMap<String, usize>,
    /// Why there are no devices, if there are none.
    pub why_none: Option<String>,
}

impl Named {
    /// Opens the table, and looks at the devices once. What happened is there to be read even if no driver answers.
    pub fn open(place: &Place) -> Result<Self, Failure> {
        // What makes no sense is no reason to go on without devices.
        place.options()?;
        match place.open() {
            Ok(pool) => Ok(Self::of(&pool)),
            Err(failure) => {
                let manager = place.manager()?;
                let why_none = Some(failure.to_string());
                Ok(Named { manager, devices: Vec::new(), by_key: HashMap::new(), why_none })
            }
        }
    }

    fn of(pool: &GpuPool) -> Self {
        let named = |(at, device): (usize, &ternlease::GpuDevice)| {
            Some((pool.key(at)?.to_owned(), format!("{}:{}", device.vendor, device.index)))
        };
        let devices: Vec<_> = pool.devices().iter().enumerate().filter_map(named).collect();
        let by_key = devices.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        let why_none = (pool.capacity() == 0).then(|| crate::place::why_none(pool));
        Named { manager: pool.manager().clone(), devices, by_key, why_none }
    }

    /// Do machines share the table? Then actors are no users of this machine.
    pub fn is_in_cluster(&self) -> bool {
        self.manager.session_left().is_some()
    }

    /// What people call what the table calls so.
    pub fn name<'a>(&'a self, key: &'a str) -> &'a str {
        self.by_key.get(key).map_or(key, |&at| &self.devices[at].1)
    }
}
