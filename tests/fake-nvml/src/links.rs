//! How devices reach each other.

use std::ffi::c_uint;

use crate::answer::{Answer, Code, Error, Out, put};
use crate::call::{Call, Target, answer, on_place};
use crate::device::PciInfo;
use crate::script::{Pci, Script};
use crate::state::Handle;

const MOST_LANES: c_uint = 18;

/// What is at the other end of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Gpu(usize),
    Switch,
}

/// No device sits there.
const SWITCH: Pci = Pci { domain: 0, bus: 0xfe, device: 0 };

/// The lanes of a device, in the order in which the script has them.
fn lanes(script: &Script, gpu: usize) -> Vec<End> {
    let mut lanes = Vec::new();
    for link in &script.links {
        let end = match link.to {
            None if link.from == gpu => End::Switch,
            Some(to) if link.from == gpu => End::Gpu(to),
            Some(to) if to == gpu => End::Gpu(link.from),
            _ => continue,
        };
        lanes.extend(std::iter::repeat_n(end, link.lanes as usize));
    }
    lanes
}

fn linked(script: &Script, first: usize, second: usize) -> bool {
    let (ours, theirs) = (lanes(script, first), lanes(script, second));
    ours.contains(&End::Gpu(second))
        || (ours.contains(&End::Switch) && theirs.contains(&End::Switch))
}

/// Answers a call about one lane of a device, which it may not have.
fn on_lane(
    function: &str,
    device: Handle,
    lane: c_uint,
    body: impl FnOnce(&Script, Option<End>) -> Answer,
) -> Code {
    on_place(function, device, |call, place| {
        let lanes = lanes(&call.script, place.gpu);
        if lane >= MOST_LANES {
            return Err(Error::INVALID_ARGUMENT);
        }
        if place.part.is_some() || lanes.is_empty() {
            return Err(Error::NOT_SUPPORTED);
        }
        body(&call.script, lanes.get(lane as usize).copied())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkState(device: Handle, lane: c_uint, active: Out<c_uint>) -> Code {
    on_lane("nvmlDeviceGetNvLinkState", device, lane, |_, end| put(active, end.is_some().into()))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    device: Handle,
    lane: c_uint,
    info: Out<PciInfo>,
) -> Code {
    on_lane("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, lane, |script, end| {
        let pci = match end.ok_or(Error::NOT_SUPPORTED)? {
            End::Gpu(gpu) => script.gpus[gpu].pci,
            End::Switch => SWITCH,
        };
        put(info, pci.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    device: Handle,
    lane: c_uint,
    kind: Out<c_uint>,
) -> Code {
    on_lane("nvmlDeviceGetNvLinkRemoteDeviceType", device, lane, |_, end| {
        let number = match end.ok_or(Error::NOT_SUPPORTED)? {
            End::Gpu(_) => 0,
            End::Switch => 2,
        };
        put(kind, number)
    })
}

/// Answers a call about two devices.
fn on_pair(
    function: &str,
    first: Handle,
    second: Handle,
    body: impl FnOnce(&Script, usize, usize) -> Answer,
) -> Code {
    answer(function, Target::Handles(first, second), |call: &Call| {
        let [first, second] = [call.places[0], call.places[1]];
        if first.part.is_some() || second.part.is_some() {
            return Err(Error::NOT_SUPPORTED);
        }
        body(&call.script, first.gpu, second.gpu)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetP2PStatus(
    first: Handle,
    second: Handle,
    capability: c_uint,
    status: Out<c_uint>,
) -> Code {
    on_pair("nvmlDeviceGetP2PStatus", first, second, |script, first, second| {
        if first == second {
            return Err(Error::INVALID_ARGUMENT);
        }
        let possible = match capability {
            // Reading and writing, also over PCI.
            0 | 1 | 4 => true,
            // NVLink, and what needs it.
            2 | 3 => linked(script, first, second),
            _ => return Err(Error::INVALID_ARGUMENT),
        };
        put(status, if possible { 0 } else { 5 })
    })
}

/// Those at the same NUMA node are at the same one of the system's nodes, and nothing nearer.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    first: Handle,
    second: Handle,
    level: Out<c_uint>,
) -> Code {
    on_pair("nvmlDeviceGetTopologyCommonAncestor", first, second, |script, first, second| {
        let near = script.gpus[first].numa == script.gpus[second].numa;
        put(
            level,
            match (first == second, near) {
                (true, _) => 0,
                (false, true) => 40,
                (false, false) => 50,
            },
        )
    })
}
