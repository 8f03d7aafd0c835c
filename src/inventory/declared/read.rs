//! Reads a declaration of devices.

use std::collections::HashMap;
use std::str::FromStr;

use super::ParseError;
use crate::inventory::{GpuDevice, Mig, Vendor};
use crate::table::Health;

/// The text of a file.
pub(super) fn text(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ParseError::new(line, column, "this is not UTF-8 text")
    })
}

pub(super) fn devices(text: &str) -> Result<Vec<GpuDevice>, ParseError> {
    let mut devices = Vec::new();
    let mut taken = HashMap::new();
    for (line, number) in text.split('\n').zip(1..) {
        let fail = |column, problem| ParseError::new(number, column, problem);
        let words = words(line).map_err(|(column, problem)| fail(column, problem))?;
        let Some(first) = words.first() else { continue };
        let device = device(&words).map_err(|(column, problem)| fail(column, problem))?;
        for name in names(&device) {
            if let Some(before) = taken.get(&name) {
                let problem = format!("{name} is declared in line {before} already");
                return Err(fail(first.column, problem));
            }
            taken.insert(name, number);
        }
        devices.push(device);
    }
    Ok(devices)
}

/// What no two devices may have in common. Parts of a device have its number.
fn names(device: &GpuDevice) -> Vec<String> {
    let number = device.mig.is_none().then(|| format!("{}:{}", device.vendor, device.index));
    let mut names: Vec<String> = number.into_iter().chain(device.uuid.clone()).collect();
    names.push(device.key());
    names.sort_unstable();
    names.dedup();
    names
}

type Problem = (usize, String);

/// `key=value`, or a single word.
struct Word {
    column: usize,
    key: String,
    value: Option<String>,
}

/// The words of a line, up to a comment.
fn words(line: &str) -> Result<Vec<Word>, Problem> {
    let mut words = Vec::new();
    let mut rest = line.chars().zip(1..).peekable();
    loop {
        while rest.next_if(|(c, _)| c.is_whitespace()).is_some() {}
        let Some(&(_, column)) = rest.peek().filter(|(c, _)| *c != '#') else { return Ok(words) };
        let mut word = Word { column, key: String::new(), value: None };
        while let Some((c, at)) = rest.next_if(|(c, _)| !c.is_whitespace()) {
            match (c, &mut word.value) {
                ('=', None) => word.value = Some(String::new()),
                ('"', Some(value)) if value.is_empty() => {
                    *value = quoted(&mut rest, at)?;
                    if let Some((_, at)) = rest.next_if(|(c, _)| !c.is_whitespace()) {
                        return Err((at, "expected a blank after the closing quote".to_owned()));
                    }
                    break;
                }
                ('"', _) => {
                    return Err((at, "a quote belongs right after the equals sign".to_owned()));
                }
                (c, Some(value)) => value.push(c),
                (c, None) => word.key.push(c),
            }
        }
        words.push(word);
    }
}

/// What stands between quotes, of which the first was at `start`.
fn quoted(rest: &mut impl Iterator<Item = (char, usize)>, start: usize) -> Result<String, Problem> {
    let mut value = String::new();
    while let Some((c, at)) = rest.next() {
        match c {
            '"' => return Ok(value),
            '\\' => value.push(match rest.next() {
                Some(('n', _)) => '\n',
                Some(('r', _)) => '\r',
                Some((c @ ('"' | '\\'), _)) => c,
                _ => return Err((at, r#"expected `\"`, `\\`, `\n` or `\r`"#.to_owned())),
            }),
            c => value.push(c),
        }
    }
    Err((start, "this quote is not closed in its line".to_owned()))
}

const KNOWN: &str = "vendor, index, name, memory, uuid, pci, cc, cores, multiprocessors, core_mhz, memory_mhz, memory_bits, pcie, \
                     numa, island, health, trouble or mig";

fn device(words: &[Word]) -> Result<GpuDevice, Problem> {
    let first = &words[0];
    if first.key != "device" || first.value.is_some() {
        let problem = format!("expected `device`, found {:?}", first.key);
        return Err((first.column, problem));
    }
    let (mut vendor, mut index) = (None, None);
    let mut device = GpuDevice::new(Vendor::Other, 0, "");
    for (at, word) in words.iter().enumerate().skip(1) {
        if words[1..at].iter().any(|before| before.key == word.key) {
            return Err((word.column, format!("{:?} is given twice", word.key)));
        }
        match word.key.as_str() {
            "vendor" => vendor = Some(word.read("`nvidia`, `amd`, `intel` or `other`", parsed)?),
            "index" => index = Some(word.read("a whole number", parsed)?),
            "name" => device.name = word.read("a name", parsed)?,
            "memory" => device.memory = Some(word.read("a whole number of MiB", parsed)?),
            "uuid" => {
                device.uuid =
                    Some(word.read(
                        "a UUID: letters, digits and signs, without blanks and commas",
                        uuid,
                    )?)
            }
            "pci" => {
                device.pci = Some(word.read("a PCI address, as in `0000:07:00.0`", parsed)?);
            }
            "cc" => {
                let capability = word.read("two whole numbers, as in `8.0`", capability)?;
                device.compute_capability = Some(capability);
            }
            "cores" => device.speed.cores = Some(word.read(FROM_ONE, from_one)?),
            "multiprocessors" => {
                device.speed.multiprocessors = Some(word.read(FROM_ONE, from_one)?);
            }
            "core_mhz" => device.speed.core_mhz = Some(word.read(FROM_ONE, from_one)?),
            "memory_mhz" => device.speed.memory_mhz = Some(word.read(FROM_ONE, from_one)?),
            "memory_bits" => device.speed.memory_bits = Some(word.read(FROM_ONE, from_one)?),
            "pcie" => {
                let link = word.read("a generation and lanes, as in `4x16`", pcie)?;
                (device.speed.pcie_generation, device.speed.pcie_lanes) = link;
            }
            "numa" => device.numa = Some(word.read("a whole number", parsed)?),
            "island" => device.island = Some(word.read("a whole number", parsed)?),
            "health" => device.health = word.read("`healthy`, `draining` or `failed`", health)?,
            "trouble" => device.trouble = Some(word.read("a text", parsed)?),
            "mig" => {
                let shape = "`PARENT:PROFILE:GPU_INSTANCE:COMPUTE_INSTANCE`";
                device.mig = Some(word.read(shape, mig)?);
            }
            key => {
                return Err((word.column, format!("{key:?} is not known; expected {KNOWN}")));
            }
        }
    }
    let missing = |key| (first.column, format!("expected `{key}=` in this line"));
    device.vendor = vendor.ok_or_else(|| missing("vendor"))?;
    device.index = index.ok_or_else(|| missing("index"))?;
    Ok(device)
}

impl Word {
    fn read<T>(&self, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, Problem> {
        let value = self.value.as_deref();
        value.and_then(read).ok_or_else(|| {
            let found = value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
            (self.column, format!("{} is {found}; expected {expected}", self.key))
        })
    }
}

fn parsed<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

/// It goes into lists, and into the environment of children.
fn uuid(value: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    (!value.is_empty() && value.bytes().all(fits)).then(|| value.to_owned())
}

fn capability(value: &str) -> Option<(u32, u32)> {
    let (major, minor) = value.split_once('.')?;
    Some((parsed(major)?, parsed(minor)?))
}

const FROM_ONE: &str = "a whole number from 1 on";

/// No device has none of what makes it fast: who does not know leaves it out.
fn from_one(value: &str) -> Option<u32> {
    parsed(value).filter(|number| *number > 0)
}

/// One of the two may be left out, as some drivers tell only the other: `4x`, `x16`.
fn pcie(value: &str) -> Option<(Option<u32>, Option<u32>)> {
    let told = |part: &str| match part {
        "" => Some(None),
        part => from_one(part).map(Some),
    };
    let (generation, lanes) = value.split_once('x')?;
    let link = (told(generation)?, told(lanes)?);
    (link != (None, None)).then_some(link)
}

const HEALTH: [Health; 3] = [Health::Healthy, Health::Draining, Health::Failed];

pub(super) fn health_name(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Draining => "draining",
        Health::Failed => "failed",
    }
}

fn health(value: &str) -> Option<Health> {
    HEALTH.into_iter().find(|health| health_name(*health) == value)
}

fn mig(value: &str) -> Option<Mig> {
    let mut parts = value.rsplitn(4, ':');
    let (compute, gpu) = (parts.next()?, parts.next()?);
    let (profile, parent) = (parts.next()?, parts.next()?);
    Some(Mig {
        parent: parent.to_owned(),
        profile: profile.to_owned(),
        gpu_instance: parsed(gpu)?,
        compute_instance: parsed(compute)?,
    })
}
