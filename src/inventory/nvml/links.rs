//! Which devices have fast links among each other, each to each.

use nvml_wrapper::Device;

use super::raw;
use super::scan::address;
use crate::inventory::PciAddress;

/// No device has more.
const LINKS: u32 = 18;

/// What a device's active links lead to.
#[derive(Debug, Default, Clone)]
pub(super) struct Links {
    pub devices: Vec<PciAddress>,
    /// A switch, behind which are all others that have one, too.
    pub switch: bool,
}

/// Reads them. `known` are the devices there are: a link to anything else leads to a switch, unless the driver says what else.
pub(super) fn read(device: &Device, known: &[PciAddress]) -> Links {
    let mut links = Links::default();
    for number in 0..LINKS {
        let link = device.link_wrapper_for(number);
        if !matches!(link.is_active(), Ok(true)) {
            continue;
        }
        match link.remote_pci_info().ok().and_then(|info| address(&info)) {
            Some(remote) if known.contains(&remote) => links.devices.push(remote),
            Some(_) => links.switch |= raw::may_lead_to_a_switch(device, number),
            None => (),
        }
    }
    links
}

/// The island of each device, numbered from 0 by their first members. A device that is linked to none that is free has no island.
///
/// Islands are taken out of the graph largest first, each grown from its first member in the order of the devices. That finds whole
/// meshes, and where a machine is no whole mesh, the same islands every time.
pub(super) fn islands(devices: &[(PciAddress, Links)]) -> Vec<Option<u32>> {
    let linked = |a: usize, b: usize| {
        let ((first, ours), (second, theirs)) = (&devices[a], &devices[b]);
        ours.switch && theirs.switch
            || ours.devices.contains(second)
            || theirs.devices.contains(first)
    };
    let mut free: Vec<usize> = (0..devices.len()).collect();
    let mut found: Vec<Vec<usize>> = Vec::new();
    while let Some(island) = largest(&free, linked).filter(|island| island.len() > 1) {
        free.retain(|device| !island.contains(device));
        found.push(island);
    }
    found.sort();
    let mut numbers = vec![None; devices.len()];
    for (number, island) in found.iter().enumerate() {
        island.iter().for_each(|device| numbers[*device] = Some(number as u32));
    }
    numbers
}

/// The first of the largest.
fn largest(free: &[usize], linked: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    let grown = free.iter().map(|first| {
        let mut island = vec![*first];
        for device in free {
            if island.iter().all(|member| member != device && linked(*member, *device)) {
                island.push(*device);
            }
        }
        island.sort();
        island
    });
    grown.min_by_key(|island| (usize::MAX - island.len(), island.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pci(bus: usize) -> PciAddress {
        PciAddress { domain: 0, bus: bus as u8, device: 0, function: 0 }
    }

    fn islands_of(count: usize, pairs: &[(usize, usize)], switched: &[usize]) -> Vec<Option<u32>> {
        let devices: Vec<_> = (0..count)
            .map(|at| {
                let ends = pairs.iter().filter(|(from, _)| *from == at);
                let devices = ends.map(|(_, to)| pci(*to)).collect();
                (pci(at), Links { devices, switch: switched.contains(&at) })
            })
            .collect();
        islands(&devices)
    }

    #[test]
    fn none_without_links() {
        assert_eq!(islands_of(0, &[], &[]), []);
        assert_eq!(islands_of(3, &[], &[1]), [None; 3]);
    }

    #[test]
    fn pairs_are_islands_numbered_by_their_first_members() {
        assert_eq!(
            islands_of(5, &[(0, 3), (1, 2)], &[]),
            [Some(0), Some(1), Some(1), Some(0), None]
        );
    }

    #[test]
    fn two_meshes_with_bridges_are_two_islands() {
        let mut pairs = vec![(0, 4), (1, 5), (2, 6), (3, 7)];
        for first in [0, 4] {
            for a in first..first + 4 {
                pairs.extend((a + 1..first + 4).map(|b| (a, b)));
            }
        }
        let expected = [[Some(0); 4], [Some(1); 4]].concat();
        assert_eq!(islands_of(8, &pairs, &[]), expected);
    }

    #[test]
    fn a_ring_falls_into_pairs_and_a_chain_leaves_one_over() {
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        assert_eq!(islands_of(4, &ring, &[]), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(islands_of(3, &[(0, 1), (1, 2)], &[]), [Some(0), Some(0), None]);
    }

    #[test]
    fn the_largest_goes_first() {
        // 0 hangs on a mesh of three, which stays whole.
        let pairs = [(0, 1), (1, 2), (2, 3), (1, 3)];
        assert_eq!(islands_of(4, &pairs, &[]), [None, Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn all_behind_the_switch_are_one_island() {
        assert_eq!(islands_of(4, &[], &[0, 2, 3]), [Some(0), None, Some(0), Some(0)]);
    }
}
