//! The machine in words: a heading, its figures, and what it says about six tasks.

use std::path::Path;

use ternlease::MachCap;
use ternlease::cost::{Answer, DiskRates, Network, Source};

use super::tasks;
use super::units::{bytes, score, si};
use crate::text::colour::{Mood, paint, wanted};
use crate::text::line::clean;
use crate::text::table::{Column, Table, cut};
use crate::text::units::duration;
use crate::text::width;

/// All of it.
pub fn text(machine: &MachCap) -> String {
    let heading = format!("{}: {}", machine.device_class().name(), clean(&machine.processor));
    let mut text = paint(&cut(&heading, width()), Mood::Strong, wanted()) + "\n";
    for (name, value) in facts(machine) {
        text.push_str(&cut(&format!("  {name:<11} {value}"), width()));
        text.push('\n');
    }
    format!("{text}\n{}\n{}", rates(machine).render(), tasks_table(machine).render())
}

fn facts(machine: &MachCap) -> Vec<(&'static str, String)> {
    let MachCap { cores_physical, cores_logical, cores_usable, rates, .. } = machine;
    let room = |left: Option<u64>, total: Option<u64>| match (left, total) {
        (Some(left), Some(total)) => {
            format!("{} of {} free", bytes(left as f64), bytes(total as f64))
        }
        _ => "unknown".to_owned(),
    };
    let verdict = machine.verdict(tasks()[0].1);
    vec![
        ("cores", format!("{cores_physical}p / {cores_logical}l, {cores_usable} usable")),
        (
            "frequency",
            match machine.freq_mhz {
                0 => "unknown".to_owned(),
                mhz => format!("{:.2} GHz", f64::from(mhz) / 1000.0),
            },
        ),
        ("one core", format!("{}FLOP/s", spaced(si(rates.flop64.per_second as f64)))),
        ("all cores", format!("{}FLOP/s", spaced(si(rates.flop64_all.per_second as f64)))),
        ("scaling", format!("{:.2} of what the cores add up to", machine.core_scaling())),
        ("memory bus", per_second(rates.triad_all.per_second)),
        ("ridge", format!("{:.1} operations per byte", machine.ridge_point())),
        ("memory", room(Some(machine.mem_available), Some(machine.mem_total))),
        ("disk", format!("{}, {}", room(machine.disk_free, machine.disk_total), disk(machine))),
        ("results in", clean(&show(&machine.store))),
        ("nic", network(machine.network)),
        ("battery", battery(machine)),
        ("bias", format!("{:.1} against computing here", f64::from(verdict.bias_permille) / 1e3)),
        ("figures", age(machine)),
    ]
}

/// With a blank behind it, so that a unit without a prefix stands apart.
fn spaced(number: String) -> String {
    if number.ends_with(|c: char| c.is_ascii_digit()) { number + " " } else { number }
}

fn per_second(rate: u64) -> String {
    format!("{}/s", bytes(rate as f64))
}

fn show(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn disk(machine: &MachCap) -> String {
    let DiskRates { write, read } = machine.disk;
    match (write.source, read.source) {
        (Source::Estimated, _) | (_, Source::Estimated) => {
            format!("taken to do {}", per_second(machine.disk.both_ways()))
        }
        _ => format!(
            "writes {}, reads {}",
            per_second(write.per_second),
            per_second(read.per_second)
        ),
    }
}

fn network(network: Network) -> String {
    match network {
        Network::None => "none".to_owned(),
        Network::Unknown => "unknown".to_owned(),
        Network::Card(mbps) => format!("{mbps} Mbit/s"),
    }
}

fn battery(machine: &MachCap) -> String {
    let Some(battery) = machine.battery else { return "none".to_owned() };
    let percent = battery.percent.map_or("unknown".to_owned(), |percent| format!("{percent} %"));
    let use_now = if battery.discharging { "in use" } else { "not in use" };
    format!("{percent}, {use_now}")
}

fn age(machine: &MachCap) -> String {
    match machine.age() {
        None => "estimated, not measured".to_owned(),
        Some(age) if age.as_secs() == 0 => "measured just now".to_owned(),
        Some(age) => format!("measured {} ago", duration(age)),
    }
}

/// Every figure, with how far it can be trusted.
fn rates(machine: &MachCap) -> Table {
    let mut table = Table::new(vec![
        Column::left("figure"),
        Column::right("best"),
        Column::right("usual"),
        Column::right("spread"),
        Column::left("source"),
        Column::left("of what").flexible(12),
    ]);
    for (name, rate) in machine.rates.named() {
        let (is_bytes, what) = meaning(name);
        let amount = |value: u64| match is_bytes {
            true => per_second(value),
            false => format!("{}/s", si(value as f64)),
        };
        let spread = match rate.source {
            Source::Estimated => "-".to_owned(),
            _ => format!("{:.1} %", f64::from(rate.spread_permille) / 10.0),
        };
        let plain = |text: String| (text, Mood::Plain);
        let mood = if rate.source == Source::Measured { Mood::Plain } else { Mood::Warn };
        table.row(vec![
            plain(name.to_owned()),
            plain(amount(rate.per_second)),
            plain(amount(rate.usual)),
            plain(spread),
            (rate.source.name().to_owned(), mood),
            (what.to_owned(), Mood::Dim),
        ]);
    }
    table
}

/// Is it in bytes, and what is counted?
fn meaning(name: &str) -> (bool, &'static str) {
    match name {
        "flop64" => (false, "8-byte arithmetic, one core"),
        "flop64_all" => (false, "the same, all cores"),
        "flop32" => (false, "4-byte arithmetic, one core"),
        "read" => (true, "reading memory, one core"),
        "read_all" => (true, "the same, all cores"),
        "triad" => (true, "a = b + s * c, one core"),
        "triad_all" => (true, "the same, all cores"),
        "copy" => (true, "copying memory, one core"),
        "copy_all" => (true, "the same, all cores"),
        "scalar" => (false, "operations on whole numbers"),
        "parse" => (true, "text taken apart"),
        "hash" => (true, "SHA-256"),
        "compare" => (false, "operations of a sort"),
        "shift" => (true, "what a sort moves"),
        "bytes" => (true, "bytes looked at by a plain loop"),
        _ => (false, ""),
    }
}

fn tasks_table(machine: &MachCap) -> Table {
    let mut table = Table::new(vec![
        Column::left("task"),
        Column::right("W"),
        Column::right("Q"),
        Column::right("R"),
        Column::right("score"),
        Column::left("neck"),
        Column::left("action").flexible(10),
    ]);
    for (name, task) in tasks() {
        let verdict = machine.verdict(task);
        let plain = |text: String| (text, Mood::Plain);
        let mood = match verdict.answer {
            Answer::Compute => Mood::Good,
            Answer::Fetch | Answer::BreakEven => Mood::Plain,
            Answer::Impossible => Mood::Bad,
        };
        table.row(vec![
            plain(name.to_owned()),
            plain(si(task.cost.flops as f64)),
            plain(bytes(task.cost.mem_bytes as f64)),
            plain(bytes(task.cost.result_bytes as f64)),
            plain(score(verdict.score())),
            plain(verdict.bottleneck.name().to_owned()),
            (verdict.words(), mood),
        ]);
    }
    table
}
