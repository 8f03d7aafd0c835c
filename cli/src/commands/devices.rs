//! `ternlease devices`: what there is.

use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::{GpuDevice, GpuPool, Health};

use crate::exit::Failure;
use crate::place::{Place, why_none};
use crate::text::colour::{self, Mood};
use crate::text::line::clean;
use crate::text::table::{Column, Table};
use crate::text::units::mebibytes;
use crate::text::{put, put_line, width};
use crate::view::json;
use crate::view::words::{device_name, wrap};

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows the devices.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let pool = place.open()?;
    if args.json {
        put_line(json::text(&all(&pool)))?;
    } else if pool.capacity() == 0 {
        put_line(why_none(&pool))?;
    } else {
        put(text(&pool, width(), colour::wanted()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(pool: &GpuPool, width: usize, colours: bool) -> String {
    let mut text = places(pool.devices()).render_for(width, colours);
    text.push('\n');
    text.push_str(&speeds(pool.devices()).render_for(width, colours));
    let found = pool.found();
    let hidden = found.hidden.iter().map(|hidden| {
        let (name, key) = (&hidden.device.name, hidden.device.key());
        format!("hidden: {name} {key}, by {}", hidden.mask)
    });
    let warnings = found.warnings.iter().map(|warning| format!("note: {warning}"));
    for remark in hidden.chain(warnings) {
        text.push_str(&wrap(&clean(&remark), width, 2));
        text.push('\n');
    }
    text
}

fn plain(text: impl Into<String>) -> (String, Mood) {
    (clean(&text.into()), Mood::Plain)
}

/// What is not known is a dash.
fn number(number: Option<u32>, unit: &str) -> (String, Mood) {
    plain(number.map_or("-".to_owned(), |number| format!("{number}{unit}")))
}

/// What they are, where they sit, and how they are.
fn places(devices: &[GpuDevice]) -> Table {
    let mut table = Table::new(vec![
        Column::left("DEVICE"),
        Column::left("NAME").flexible(12),
        Column::right("MEMORY"),
        Column::left("PCI"),
        Column::right("NUMA"),
        Column::right("ISLAND"),
        Column::left("HEALTH").flexible(10),
    ]);
    for device in devices {
        let (words, mood) = health(device.health, device.trouble.as_deref());
        table.row(vec![
            plain(device_name(device)),
            plain(device.name.clone()),
            plain(device.memory.map_or("-".into(), mebibytes)),
            plain(device.pci.map_or("-".into(), |pci| pci.to_string())),
            number(device.numa, ""),
            number(device.island, ""),
            (clean(&words), mood),
        ]);
    }
    table
}

/// What their speed can be worked out from, and their names for ever.
fn speeds(devices: &[GpuDevice]) -> Table {
    let mut table = Table::new(vec![
        Column::left("DEVICE"),
        Column::left("COMPUTE"),
        Column::right("CORES"),
        Column::right("CLOCK"),
        Column::right("MEM CLOCK"),
        Column::right("BUS"),
        Column::left("PCIE"),
        Column::left("UUID").flexible(12),
    ]);
    for device in devices {
        let speed = device.speed;
        // A part of a device has multiprocessors instead.
        let cores = match (speed.cores, speed.multiprocessors) {
            (None, Some(parts)) => plain(format!("{parts} SM")),
            (cores, _) => number(cores, ""),
        };
        let compute = device.compute_capability;
        table.row(vec![
            plain(device_name(device)),
            plain(compute.map_or("-".into(), |(major, minor)| format!("{major}.{minor}"))),
            cores,
            number(speed.core_mhz, " MHz"),
            number(speed.memory_mhz, " MHz"),
            number(speed.memory_bits, " bit"),
            plain(pcie(speed.pcie_generation, speed.pcie_lanes)),
            (clean(device.uuid.as_deref().unwrap_or("-")), Mood::Dim),
        ]);
    }
    table
}

/// Generation and lanes: `4.0 x16`.
fn pcie(generation: Option<u32>, lanes: Option<u32>) -> String {
    let generation = generation.map(|generation| format!("{generation}.0"));
    let lanes = lanes.map(|lanes| format!("x{lanes}"));
    let known: Vec<String> = generation.into_iter().chain(lanes).collect();
    if known.is_empty() { "-".to_owned() } else { known.join(" ") }
}

/// Health in words, with its trouble.
pub fn health(health: Health, trouble: Option<&str>) -> (String, Mood) {
    let (word, mood) = match health {
        Health::Healthy => ("healthy", Mood::Good),
        Health::Draining => ("draining", Mood::Warn),
        Health::Failed => ("failed", Mood::Bad),
    };
    (trouble.map_or(word.to_owned(), |trouble| format!("{word}: {trouble}")), mood)
}

/// All of it for programs.
fn all(pool: &GpuPool) -> Value {
    let found = pool.found();
    let hidden = found.hidden.iter().map(|hidden| {
        json!({
            "device": device_name(&hidden.device),
            "name": hidden.device.name,
            "key": hidden.device.key(),
            "mask": hidden.mask,
        })
    });
    json!({
        "devices": pool.devices().iter().map(value).collect::<Vec<_>>(),
        "hidden": hidden.collect::<Vec<_>>(),
        "absences": found.absences.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "warnings": found.warnings,
    })
}

/// A device for programs. What is not known is null.
pub fn value(device: &GpuDevice) -> Value {
    json!({
        "vendor": device.vendor.name(),
        "index": device.index,
        "name": device.name,
        "uuid": device.uuid,
        "pci": device.pci.map(|pci| pci.to_string()),
        "memory_mib": device.memory,
        "compute_capability": device.compute_capability.map(|(a, b)| format!("{a}.{b}")),
        "cores": device.speed.cores,
        "multiprocessors": device.speed.multiprocessors,
        "core_mhz": device.speed.core_mhz,
        "memory_mhz": device.speed.memory_mhz,
        "memory_bits": device.speed.memory_bits,
        "pcie_generation": device.speed.pcie_generation,
        "pcie_lanes": device.speed.pcie_lanes,
        "numa": device.numa,
        "island": device.island,
        "mig": device.mig.as_ref().map(|mig| json!({ "parent": mig.parent, "profile": mig.profile })),
        "health": device.health as i8,
        "trouble": device.trouble,
    })
}
