//! A pool of many machines: the names of nodes, and the devices that each has published.

use super::PoolError;
use super::naming::distinct_keys;
use crate::home::Home;
use crate::inventory::{Declared, GpuDevice, Inventory};
use crate::manager::LeaseManager;
use crate::table::query::ResourceIds;
use crate::table::{Error, ResourceId};

/// The longest name of a node, in bytes: the names of its devices begin with it.
const NODE_NAME_MAX: usize = 100;

/// The resource of a node.
pub(super) fn key(node: &str) -> String {
    format!("node:{node}")
}

/// The name of this machine in a pool of many: the given one, or else its host name. `None` in a
/// pool of one.
pub(super) fn name(
    manager: &LeaseManager,
    given: Option<String>,
) -> Result<Option<String>, PoolError> {
    if !manager.is_clustered() {
        return Ok(None);
    }
    let name = given.or_else(sysinfo::System::host_name).unwrap_or_default();
    match name.len() {
        0 => Err(Error::EmptyName.into()),
        1..=NODE_NAME_MAX => Ok(Some(name)),
        _ => Err(Error::NameTooLong.into()),
    }
}

/// Publishes these devices of a node. Processes of one machine may see different devices, so those
/// that other processes have published stay.
pub(super) fn publish(
    manager: &LeaseManager,
    node: &str,
    devices: &[GpuDevice],
) -> Result<(), Error> {
    manager.publish(node, &|before| {
        let published = before.and_then(|text| Declared::parse(text).ok());
        let mut all = published.map_or_else(Vec::new, |published| published.find().devices);
        for device in devices {
            match all.iter_mut().find(|other| other.key() == device.key()) {
                Some(same) => *same = device.clone(),
                None => all.push(device.clone()),
            }
        }
        Declared::new(all).to_string()
    })
}

/// The devices of other machines that are listed in the table.
#[derive(Debug, Default)]
pub(super) struct RemoteNodes {
    pub devices: Vec<GpuDevice>,
    pub keys: Vec<String>,
    pub ids: Vec<ResourceId>,
    /// One for each node whose text cannot be read.
    pub warnings: Vec<String>,
}

impl RemoteNodes {
    pub fn find(manager: &LeaseManager, local: Option<&str>) -> Result<Self, Error> {
        let mut found = RemoteNodes::default();
        for (node, text) in manager.published()? {
            if local == Some(&node) {
                continue;
            }
            let devices = match Declared::parse(&text) {
                Ok(published) => published.find().devices,
                Err(error) => {
                    let problem = format!("what {node} has published is malformed: {error}");
                    found.warnings.push(problem);
                    continue;
                }
            };
            found.keys.extend(distinct_keys(&devices, Some(&node)));
            let in_node = |device| GpuDevice { node: Some(node.clone()), ..device };
            found.devices.extend(devices.into_iter().map(in_node));
        }
        if found.keys.is_empty() {
            return Ok(found);
        }
        // A device that is published but not listed yet cannot be claimed.
        let ids = manager.home().query(&ResourceIds { names: &found.keys });
        let mut listed = ids.iter().map(Option::is_some);
        found.devices.retain(|_| listed.next() == Some(true));
        let mut listed = ids.iter().map(Option::is_some);
        found.keys.retain(|_| listed.next() == Some(true));
        found.ids = ids.into_iter().flatten().collect();
        Ok(found)
    }
}
