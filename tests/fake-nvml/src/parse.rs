//! Reading a script.

use std::str::FromStr;
use std::time::Duration;

use crate::answer::Error;
use crate::script::{
    ComputeMode, Effect, Event, Gpu, Kind, Link, Memory, MigMode, Part, Pci, Place, Process, Rule,
    Script, Speed,
};
use crate::words::{Why, Words};

/// The script, or the first line that makes no sense.
pub fn parse(text: &str) -> Result<Script, String> {
    let mut script = Script { driver: "550.54.15".into(), ..Script::default() };
    // Other lines refer to the devices, wherever they stand.
    for devices in [true, false] {
        for (number, line) in text.lines().enumerate() {
            read(&mut script, line, devices)
                .map_err(|why| format!("bad line {} ({why}): {}", number + 1, line.trim()))?;
        }
    }
    Ok(script)
}

fn read(script: &mut Script, line: &str, devices: bool) -> Result<(), Why> {
    let mut words = Words::of(line)?;
    if words.plain_left() == 0 {
        return words.end();
    }
    let item: String = words.next()?;
    if devices != (item == "device") {
        return Ok(());
    }
    match item.as_str() {
        "device" => {
            let gpu = gpu(&mut words, script.gpus.len() as u32)?;
            if script.gpus.iter().any(|other| other.pci == gpu.pci) {
                return Err("another device has this PCI address");
            }
            script.gpus.push(gpu);
        }
        "driver" => script.driver = words.next()?,
        "mig" => {
            let part = part(script, &mut words)?;
            if script.parts.iter().any(|other| other.place == part.place) {
                return Err("another part is there");
            }
            script.parts.push(part);
        }
        "link" => script.links.push(link(script, &mut words)?),
        "process" => script.processes.push(process(script, &mut words)?),
        "process_garbage" => {
            let place = whole(script, &mut words)?;
            script.gpus[place.gpu].garbage = true;
        }
        "lost" => {
            let place = whole(script, &mut words)?;
            script.gpus[place.gpu].lost = true;
        }
        "fail" | "delay" | "hang" => {
            let rule = rule(script, &item, &mut words, line)?;
            script.rules.push(rule);
        }
        "event" => script.events.push(event(script, &mut words)?),
        _ => return Err("nothing has this name"),
    }
    words.end()
}

fn gpu(words: &mut Words, position: u32) -> Result<Gpu, Why> {
    let numa = match words.value::<String>("numa")?.as_deref() {
        Some("none") => None,
        Some(node) => Some(node.parse().map_err(|_| "a value makes no sense")?),
        None => Some(position / 4),
    };
    let bus = position + 1;
    let pci = Pci { domain: bus >> 8, bus: bus & 0xff, device: 0 };
    let name = words.value("name")?.unwrap_or_else(|| "NVIDIA A100-SXM4-80GB".into());
    let modes = [
        ("default", ComputeMode::Default),
        ("prohibited", ComputeMode::Prohibited),
        ("exclusive", ComputeMode::ExclusiveProcess),
    ];
    let migs = [("none", MigMode::None), ("off", MigMode::Off), ("on", MigMode::On)];
    Ok(Gpu {
        uuid: words
            .value("uuid")?
            .unwrap_or_else(|| format!("GPU-00000000-0000-0000-0000-{position:012x}")),
        pci: words.value("pci")?.unwrap_or(pci),
        minor: words.value("minor")?.unwrap_or(position),
        numa,
        name,
        memory: Memory {
            total: words.value("memory")?.unwrap_or(81_920),
            used: words.value("used")?.unwrap_or(0),
            reserved: words.value("reserved")?.unwrap_or(0),
        },
        compute_capability: words.value("cc")?.map_or((8, 0), |Version(version)| version),
        speed: Speed {
            cores: words.value("cores")?,
            core_mhz: words.value("core_mhz")?,
            memory_mhz: words.value("memory_mhz")?,
            memory_bits: words.value("memory_bits")?,
            pcie_generation: words.value("pcie_generation")?,
            pcie_lanes: words.value("pcie_lanes")?,
        },
        busy: words.value("busy")?.unwrap_or(0),
        mig: words.choice("mig", &migs)?.unwrap_or(MigMode::None),
        mig_slots: words.value("mig_slots")?.unwrap_or(7),
        uncorrected_errors: words.value("ecc")?.unwrap_or(0),
        mode: words.choice("mode", &modes)?.unwrap_or(ComputeMode::Default),
        garbage: false,
        lost: false,
    })
}

fn part(script: &Script, words: &mut Words) -> Result<Part, Why> {
    let parent = whole(script, words)?;
    let at = words.next()?;
    let gpu = &script.gpus[parent.gpu];
    if gpu.mig == MigMode::None {
        return Err("the device has no MIG: it needs mig=on or mig=off");
    }
    if at >= gpu.mig_slots {
        return Err("the device has not so many MIG slots");
    }
    Ok(Part {
        place: Place { part: Some(at), ..parent },
        uuid: words.value("uuid")?.ok_or("a part needs a UUID")?,
        profile: words.value("profile")?.unwrap_or_else(|| "1g.10gb".into()),
        gpu_instance: words.value("gi")?.unwrap_or(at + 1),
        compute_instance: words.value("ci")?.unwrap_or(0),
        memory: Memory {
            total: words.value("memory")?.unwrap_or(gpu.memory.total / u64::from(gpu.mig_slots)),
            used: words.value("used")?.unwrap_or(0),
            reserved: 0,
        },
    })
}

fn link(script: &Script, words: &mut Words) -> Result<Link, Why> {
    let from = whole(script, words)?.gpu;
    let other: String = words.next()?;
    let to = match other.as_str() {
        "switch" => None,
        _ => Some(existing(script, &other)?.gpu),
    };
    let lanes = if words.plain_left() > 0 { words.next()? } else { 1 };
    if to == Some(from) {
        return Err("a link needs two ends");
    }
    Ok(Link { from, to, lanes })
}

fn process(script: &Script, words: &mut Words) -> Result<Process, Why> {
    let kinds = [("compute", Kind::Compute), ("graphics", Kind::Graphics), ("mps", Kind::Mps)];
    let place = place(script, words)?;
    let memory = match words.value::<String>("memory")?.as_deref() {
        Some("unknown") => None,
        Some(amount) => Some(amount.parse().map_err(|_| "a value makes no sense")?),
        None => Some(0),
    };
    Ok(Process {
        place,
        pid: words.value("pid")?.ok_or("a process needs a pid")?,
        kind: words.choice("kind", &kinds)?.unwrap_or(Kind::Compute),
        memory,
    })
}

fn rule(script: &Script, item: &str, words: &mut Words, line: &str) -> Result<Rule, Why> {
    let call: String = words.next()?;
    if !crate::call::exists(&call) {
        return Err("no function has this name");
    }
    let needed = if item == "hang" { 0 } else { 1 };
    let place = match words.plain_left() {
        left if left > needed => Some(place(script, words)?),
        _ => None,
    };
    let effect = match item {
        "fail" => Effect::Fail {
            error: Error::named(&words.next::<String>()?).ok_or("no error has this name")?,
            times: words.value("times")?,
        },
        "delay" => Effect::Delay(Duration::from_millis(words.next()?)),
        _ => Effect::Hang,
    };
    Ok(Rule { line: line.trim().to_owned(), call, place, effect })
}

fn event(script: &Script, words: &mut Words) -> Result<Event, Why> {
    let serial = words.next()?;
    let place = place(script, words)?;
    let ecc = words.choice("ecc", &[("single", 1), ("double", 2)])?;
    let (kind, data) = match (ecc, words.value("xid")?) {
        (Some(kind), None) => (kind, 0),
        (None, Some(xid)) => (8, xid),
        _ => return Err("an event is either xid= or ecc="),
    };
    Ok(Event { serial, place, kind, data })
}

fn place(script: &Script, words: &mut Words) -> Result<Place, Why> {
    existing(script, &words.next::<String>()?)
}

fn whole(script: &Script, words: &mut Words) -> Result<Place, Why> {
    let place = place(script, words)?;
    if place.part.is_some() { Err("this is for whole devices") } else { Ok(place) }
}

fn existing(script: &Script, word: &str) -> Result<Place, Why> {
    let (gpu, part) = match word.split_once('/') {
        Some((gpu, part)) => (gpu, Some(part.parse().map_err(|_| "a device is a number")?)),
        None => (word, None),
    };
    let place = Place { gpu: gpu.parse().map_err(|_| "a device is a number")?, part };
    match script.gpus.get(place.gpu) {
        Some(gpu) if part.is_none_or(|at| at < gpu.mig_slots) => Ok(place),
        _ => Err("there is no such device"),
    }
}

struct Version((i32, i32));

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        Ok(Version((major.parse().map_err(drop)?, minor.parse().map_err(drop)?)))
    }
}

impl FromStr for Pci {
    type Err = ();

    /// With a domain of any length, or without one.
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |digits: &str| u32::from_str_radix(digits, 16).map_err(drop);
        let (rest, device) = text.rsplit_once(':').ok_or(())?;
        let device = device.split_once('.').map_or(device, |(device, _)| device);
        let (domain, bus) = rest.split_once(':').unwrap_or(("0", rest));
        Ok(Pci { domain: number(domain)?, bus: number(bus)?, device: number(device)? })
    }
}
