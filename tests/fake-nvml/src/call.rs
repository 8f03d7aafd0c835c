//! What all calls have in common: they are noted, and they hang, take long or fail as the script says.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::answer::{Answer, Code, Error, SUCCESS};
use crate::name;
use crate::script::{Effect, Gpu, Pci, Place, Script};
use crate::state::{self, Handle};

/// How often a call that hangs or waits looks at the script.
pub const GLANCE: Duration = Duration::from_millis(2);

/// All there are, in a library from which no feature leaves any out.
const FUNCTIONS: &[&str] = &[
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetNVMLVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetNumaNodeId",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetNumGpuCores",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetMemoryBusWidth",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetMemoryErrorCounter",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
    "nvmlDeviceIsMigDeviceHandle",
    "nvmlDeviceGetAttributes_v2",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetTopologyCommonAncestor",
    "nvmlDeviceGetP2PStatus",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2",
    "nvmlDeviceGetNvLinkRemoteDeviceType",
    "nvmlEventSetCreate",
    "nvmlEventSetFree",
    "nvmlEventSetWait_v2",
    "nvmlDeviceRegisterEvents",
    "nvmlDeviceGetSupportedEventTypes",
];

pub fn exists(wanted: &str) -> bool {
    FUNCTIONS.iter().any(|function| name::means(wanted, function))
}

/// What a call is about.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    System,
    Handle(Handle),
    Handles(Handle, Handle),
    Index(usize),
    Uuid(&'a str),
    BusId(&'a str),
}

impl Target<'_> {
    /// The places it names: none for the system, and two at most.
    fn places(self, script: &Script) -> Answer<Vec<Place>> {
        let whole = |found: Option<usize>, missing| match found {
            Some(gpu) => Ok(vec![Place { gpu, part: None }]),
            None => Err(missing),
        };
        match self {
            Target::System => Ok(Vec::new()),
            Target::Handle(handle) => Ok(vec![state::lock().place(script, handle)?]),
            Target::Handles(first, second) => {
                let state = state::lock();
                Ok(vec![state.place(script, first)?, state.place(script, second)?])
            }
            Target::Index(index) => {
                let found = Some(index).filter(|index| *index < script.gpus.len());
                whole(found, Error::INVALID_ARGUMENT)
            }
            Target::Uuid(uuid) => {
                let parts = &mut script.parts.iter();
                match parts.find(|part| part.uuid == uuid && script.part(part.place).is_some()) {
                    Some(part) => Ok(vec![part.place]),
                    None => {
                        let found = script.gpus.iter().position(|gpu| gpu.uuid == uuid);
                        whole(found, Error::NOT_FOUND)
                    }
                }
            }
            Target::BusId(text) => {
                let pci: Pci = text.parse().map_err(|()| Error::INVALID_ARGUMENT)?;
                whole(script.gpus.iter().position(|gpu| gpu.pci == pci), Error::NOT_FOUND)
            }
        }
    }
}

/// A call that the script lets through.
pub struct Call {
    pub script: Arc<Script>,
    /// What it is about.
    pub places: Vec<Place>,
}

impl Call {
    pub fn handle(&self, place: Place) -> Handle {
        state::lock().handle(&self.script, place)
    }
}

/// Answers a call, by `body` if the script lets it through.
pub fn answer(function: &str, target: Target, body: impl FnOnce(&Call) -> Answer) -> Code {
    let answered =
        catch_unwind(AssertUnwindSafe(|| enter(function, target).and_then(|call| body(&call))));
    match answered {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(Error(code))) => code,
        Err(_) => Error::UNKNOWN.0,
    }
}

/// Answers a call about a device or a part of one.
pub fn on_place(function: &str, handle: Handle, body: impl FnOnce(&Call, Place) -> Answer) -> Code {
    answer(function, Target::Handle(handle), |call| body(call, call.places[0]))
}

/// Answers a call about a device. Its parts do not support it.
pub fn on_gpu(function: &str, handle: Handle, body: impl FnOnce(&Gpu) -> Answer) -> Code {
    on_place(function, handle, |call, place| match place.part {
        None => body(&call.script.gpus[place.gpu]),
        Some(_) => Err(Error::NOT_SUPPORTED),
    })
}

fn enter(function: &str, target: Target) -> Answer<Call> {
    debug_assert!(FUNCTIONS.contains(&function), "{function} is missing in the list");
    note(function, target);
    let initialises = name::means("Init", function);
    let call = loop {
        let (script, initialised) = {
            let mut state = state::lock();
            (state.script(), state.initialised > 0)
        };
        if !initialised && !initialises {
            return Err(Error::UNINITIALIZED);
        }
        let script = script?;
        let places = target.places(&script)?;
        let mut rules = script.rules(function, places.first().copied());
        if !rules.any(|rule| matches!(rule.effect, Effect::Hang)) {
            drop(rules);
            break Call { script, places };
        }
        sleep(GLANCE);
    };
    let rules: Vec<_> = call.script.rules(function, call.places.first().copied()).collect();
    for rule in &rules {
        if let Effect::Delay(time) = rule.effect {
            sleep(time);
        }
    }
    if call.places.iter().any(|place| call.script.gpus[place.gpu].lost) {
        return Err(Error::GPU_IS_LOST);
    }
    let failure = rules.iter().find_map(|rule| state::lock().failure(rule));
    drop(rules);
    failure.map_or(Ok(call), Err)
}

/// Writes down a call as it comes, before it hangs or fails.
fn note(function: &str, target: Target) {
    let script = state::lock().script();
    let places = script.and_then(|script| target.places(&script)).unwrap_or_default();
    let mut line = function.to_owned();
    for place in places {
        let _ = write!(line, " {place}");
    }
    state::lock().note(&line);
}
