//! `ternlease devices`: what there is.

use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::GpuDevice;
use ternlease::Health;

use crate::exit::Failure;
use crate::place::{Place, why_none};
use crate::text::colour::Mood;
use crate::text::table::{Column, Table};
use crate::text::units::mebibytes;

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
    let found = pool.found();
    if args.json {
        let devices: Vec<Value> = pool.devices().iter().map(value).collect();
        let absences: Vec<String> = found.absences.iter().map(ToString::to_string).collect();
        println!(
            "{:#}",
            json!({ "devices": devices, "absences": absences, "warnings": found.warnings })
        );
        return Ok(ExitCode::SUCCESS);
    }
    if pool.capacity() == 0 {
        println!("{}", why_none(&pool));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(vec![
        Column::left("DEVICE"),
        Column::left("NAME").flexible(12),
        Column::right("MEMORY"),
        Column::left("COMPUTE"),
        Column::left("PCI"),
        Column::right("NUMA"),
        Column::right("ISLAND"),
        Column::left("HEALTH").flexible(10),
        Column::left("UUID").flexible(12),
    ]);
    for device in pool.devices() {
        let plain = |text: String| (text, Mood::Plain);
        let number = |number: Option<u32>| plain(number.map_or("-".into(), |n| n.to_string()));
        table.row(vec![
            plain(format!("{}:{}", device.vendor, device.index)),
            plain(device.name.clone()),
            plain(device.memory.map_or("-".into(), mebibytes)),
            plain(device.compute_capability.map_or("-".into(), |(a, b)| format!("{a}.{b}"))),
            plain(device.pci.map_or("-".into(), |pci| pci.to_string())),
            number(device.numa),
            number(device.island),
            health(device.health, device.trouble.as_deref()),
            (device.uuid.clone().unwrap_or_default(), Mood::Dim),
        ]);
    }
    print!("{}", table.render());
    for hidden in &found.hidden {
        println!("hidden: {} {}, by {}", hidden.device.name, hidden.device.key(), hidden.mask);
    }
    for warning in &found.warnings {
        println!("note: {warning}");
    }
    Ok(ExitCode::SUCCESS)
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
        "numa": device.numa,
        "island": device.island,
        "mig": device.mig.as_ref().map(|mig| json!({ "parent": mig.parent, "profile": mig.profile })),
        "health": device.health as i8,
        "trouble": device.trouble,
    })
}
