//! Saying which devices there are: all of a pool's at once, because in a table that many machines share each command is a journey.

use std::collections::HashMap;

use super::LeaseManager;
use crate::home::{look, run};
use crate::table::{Error, Health, Memory, ResourceId, ResourceInfo, Traits};

/// A device, as the table is to know it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub key: String,
    /// `None`: as others who share the table have said, else one.
    pub slots: Option<u32>,
    pub memory: u32,
    /// Those of one group have fast links to each other.
    pub group: Option<(&'static str, u32)>,
    pub checked: bool,
    /// What was seen of it; `None` if whoever watches it will say.
    pub evidence: Option<Health>,
}

impl LeaseManager {
    /// Makes resources of these devices, all of this node; their ids.
    pub(crate) fn list(
        &self,
        devices: &[Listed],
        node: Option<ResourceId>,
    ) -> Result<Vec<ResourceId>, Error> {
        run!(self.home(), |table, now| {
            // Those that are declared already.
            let known = |device: &Listed| table.resource(&device.key).filter(|info| info.declared);
            let known: Vec<Option<ResourceInfo>> = devices.iter().map(known).collect();
            let mut ids = Vec::with_capacity(devices.len());
            for (device, known) in devices.iter().zip(&known) {
                // Who does not say into how many parts a device is divided, such as one who only looks, changes nothing about it.
                let said = known.as_ref().map_or(1, |info| info.slots);
                let slots = device.slots.unwrap_or(said);
                ids.push(table.declare(now, &device.key, slots, device.memory)?);
                table.memory().checkpoint();
            }
            let islands = number_islands(devices, &known, &ids);
            for (place, (device, known)) in devices.iter().zip(&known).enumerate() {
                let was_checked = known.as_ref().is_some_and(|info| info.traits.checked);
                let checked = device.checked || was_checked;
                let island = islands[place];
                table.set_traits(now, ids[place], Traits { island, node, checked })?;
                if let Some(health) = device.evidence {
                    table.set_evidence(now, ids[place], health, false)?;
                }
                table.memory().checkpoint();
            }
            Ok(ids)
        })
    }

    /// The ids of those of these names that are declared.
    pub(crate) fn ids_of(&self, keys: &[String]) -> Vec<Option<ResourceId>> {
        look!(self.home(), |table| keys.iter().map(|key| table.resource_id(key)).collect())
    }
}

/// The islands of devices as the table numbers them: by the first of their devices, 0 for none. Those of different vendors differ.
/// A process that sees only some of the devices goes by what others who share the table have said.
fn number_islands(
    devices: &[Listed],
    known: &[Option<ResourceInfo>],
    ids: &[ResourceId],
) -> Vec<u32> {
    let mut numbers = HashMap::new();
    for ((device, known), id) in devices.iter().zip(known).zip(ids) {
        if let Some(group) = device.group {
            let said = known.as_ref().map_or(0, |info| info.traits.island);
            let number = numbers.entry(group).or_insert(id.0);
            if said != 0 {
                *number = said;
            }
        }
    }
    let number =
        |device: &Listed| device.group.map_or(0, |group| numbers.get(&group).copied().unwrap_or(0));
    devices.iter().map(number).collect()
}
