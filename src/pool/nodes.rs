//! A pool of many machines: what they are called, and which devices they have published.

use super::PoolError;
use super::naming::distinct_keys;
use crate::home::Home;
use crate::inventory::{Declared, GpuDevice, Inventory};
use crate::manager::LeaseManager;
use crate::table::query::ResourceIds;
use crate::table::{Error, ResourceId};

/// Longer names would leave no room for those of devices.
const LONGEST: usize = 100;

/// What the machine is called as a resource.
pub(super) fn key(node: &str) -> String {
    format!("node:{node}")
}

/// The name of this machine in a pool of many: what was said, else its host name. `None` in a pool of one.
pub(super) fn name(
    manager: &LeaseManager,
    said: Option<String>,
) -> Result<Option<String>, PoolError> {
    if !manager.is_clustered() {
        return Ok(None);
    }
    let name = said.or_else(sysinfo::System::host_name).unwrap_or_default();
    match name.len() {
        0 => Err(Error::EmptyName.into()),
        1..=LONGEST => Ok(Some(name)),
        _ => Err(Error::NameTooLong.into()),
    }
}

/// Tells the others what they need to know of these devices. Processes of one machine may see different ones: those that others have told of stay.
pub(super) fn publish(
    manager: &LeaseManager,
    node: &str,
    devices: &[GpuDevice],
) -> Result<(), Error> {
    manager.publish(node, &|before| {
        let told = before.and_then(|text| Declared::parse(text).ok());
        let mut all = told.map_or_else(Vec::new, |told| told.find().devices);
        for device in devices {
            match all.iter_mut().find(|told| told.key() == device.key()) {
                Some(told) => *told = device.clone(),
                None => all.push(device.clone()),
            }
        }
        Declared::new(all).to_string()
    })
}

/// The devices of other machines, as far as the table knows them.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    pub devices: Vec<GpuDevice>,
    pub keys: Vec<String>,
    pub ids: Vec<ResourceId>,
    /// What could not be understood.
    pub warnings: Vec<String>,
}

impl Elsewhere {
    pub fn find(manager: &LeaseManager, here: Option<&str>) -> Result<Self, Error> {
        let mut found = Elsewhere::default();
        for (node, text) in manager.published()? {
            if here == Some(&node) {
                continue;
            }
            let told = match Declared::parse(&text) {
                Ok(told) => told.find().devices,
                Err(error) => {
                    let problem = format!("what {node} has published makes no sense: {error}");
                    found.warnings.push(problem);
                    continue;
                }
            };
            found.keys.extend(distinct_keys(&told, Some(&node)));
            let in_node = |device| GpuDevice { node: Some(node.clone()), ..device };
            found.devices.extend(told.into_iter().map(in_node));
        }
        if found.keys.is_empty() {
            return Ok(found);
        }
        // One that is published and not listed yet is not there yet.
        let ids = manager.home().query(&ResourceIds { names: &found.keys });
        let mut listed = ids.iter().map(Option::is_some);
        found.devices.retain(|_| listed.next() == Some(true));
        let mut listed = ids.iter().map(Option::is_some);
        found.keys.retain(|_| listed.next() == Some(true));
        found.ids = ids.into_iter().flatten().collect();
        Ok(found)
    }
}
