//! The devices: which there are, which are hidden, which are sick, and who uses them in what way.

use std::collections::BTreeMap;
use std::time::Duration;

use ternlease::inventory::{Absence, Why};
use ternlease::{GpuPool, Health};

use super::finding::Finding;
use crate::text::units::duration;
use crate::view::View;
use crate::view::notes::squatter;
use crate::view::words::{count, names};

/// What was seen longer ago than this should have been seen again: somebody looks every second.
const STALE: Duration = Duration::from_secs(15);
/// A lease that has not used its device for so long is worth a word.
const IDLE: Duration = Duration::from_secs(60);

const KERNEL_LOG: &str = "look for the driver in the kernel's log (`dmesg`); a device may have to be reset, or the machine started again";

/// No device was found, and a driver does not answer as it should.
pub fn silent(absence: &Absence) -> Finding {
    Finding::bad("devices", absence.to_string(), KERNEL_LOG)
}

/// The devices that somebody named cannot be had.
pub fn undeclared(words: &str) -> Finding {
    let next = "see `--devices` and TERNLEASE_DEVICES: host, fake:N, file:PATH or none";
    Finding::bad("devices", words, next)
}

/// All about the devices of a pool.
pub fn examine(pool: &GpuPool, view: &View) -> Vec<Finding> {
    let mut findings = vec![found(view)];
    let none = view.devices.is_empty();
    findings.extend(pool.found().absences.iter().map(|absence| absent(absence, none)));
    findings.extend(masks(view));
    findings.extend(
        view.warnings.iter().map(|warning| {
            Finding::warn("masks", warning.clone(), "name devices by UUID to be sure")
        }),
    );
    findings.extend(health(view));
    findings.extend(use_without_lease(view));
    findings.extend(lease_without_use(view));
    findings
}

fn found(view: &View) -> Finding {
    match view.devices.len() {
        0 => Finding::warn(
            "devices",
            "there are no GPUs here",
            "claims are answered at once with none; `--fake 4` shows how it works with some",
        ),
        all => {
            let every: Vec<String> =
                view.devices.iter().map(|device| device.name.clone()).collect();
            let first = &view.devices[0].status.device.name;
            let words = format!("{}: {} ({first})", count(all, "device"), names(&every));
            Finding::ok("devices", words)
        }
    }
}

/// A source without devices matters if there are none at all, or if it should have answered.
fn absent(absence: &Absence, none: bool) -> Finding {
    let words = absence.to_string();
    match (&absence.why, none) {
        (Why::Hung(_) | Why::Failed(_), _) => Finding::bad("sources", words, KERNEL_LOG),
        (Why::NoDriver, _) => {
            Finding::warn("sources", words, "`modprobe nvidia`, or start the machine again")
        }
        (Why::AllHidden, _) => Finding::warn("sources", words, "see the masks below"),
        _ => Finding::ok("sources", words),
    }
}

/// The devices that each mask hides.
fn masks(view: &View) -> Vec<Finding> {
    let mut by_mask: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for hidden in &view.hidden {
        by_mask.entry(&hidden.mask).or_default().push(hidden.device.clone());
    }
    let finding = |(mask, devices): (&str, Vec<String>)| {
        let words = format!("{mask} hides {}: {}", count(devices.len(), "device"), names(&devices));
        let variable = mask.split('=').next().unwrap_or(mask);
        let next = format!(
            "unset {variable} if they are to be used; a scheduler or a container may have set it on purpose"
        );
        match mask.contains('=') {
            true => Finding::warn("masks", words, next),
            // Hidden for what they are, as graphics that are part of the processor.
            false => Finding::ok("masks", words),
        }
    };
    match by_mask.is_empty() {
        true => vec![Finding::ok("masks", "no device is hidden")],
        false => by_mask.into_iter().map(finding).collect(),
    }
}

fn health(view: &View) -> Vec<Finding> {
    let mut findings = Vec::new();
    for device in &view.devices {
        let (name, status) = (&device.name, &device.status);
        let why = status.trouble.clone().unwrap_or("an operator or another process said so".into());
        match status.health {
            Health::Failed => findings.push(Finding::bad(
                "health",
                format!("{name} has failed: {why}"),
                "nobody gets it until it is well; `nvidia-smi -r` resets a device of NVIDIA's",
            )),
            Health::Draining => findings.push(Finding::warn(
                "health",
                format!("{name} is not handed out now: {why}"),
                "it is as soon as that is over, or whoever said so takes it back",
            )),
            Health::Healthy => {}
        }
        if let Some(seen) = status.seen.filter(|seen| *seen > STALE) {
            let words = format!("{name} was last seen {} ago: its driver may hang", duration(seen));
            findings.push(Finding::bad("health", words, KERNEL_LOG));
        }
    }
    if findings.is_empty() && !view.devices.is_empty() {
        let watched = view.devices.iter().filter(|device| device.status.seen.is_some()).count();
        let words = match watched {
            0 => "all devices are healthy, as declared: nobody can look at them".to_owned(),
            watched => format!("all devices are healthy; {watched} of them can be looked at"),
        };
        findings.push(Finding::ok("health", words));
    }
    findings
}

fn use_without_lease(view: &View) -> Vec<Finding> {
    let squatters = view.devices.iter().flat_map(|device| {
        device.status.squatters.iter().map(|process| {
            let words = format!("{} is used without a lease by {}", device.name, squatter(process));
            let next = format!("`ternlease adopt {}` gives it one; or have it end", process.pid);
            Finding::warn("use", words, next)
        })
    });
    squatters.collect()
}

fn lease_without_use(view: &View) -> Vec<Finding> {
    let mut findings = Vec::new();
    for device in &view.devices {
        let Some(idle) = device.status.idle_for.filter(|idle| *idle >= IDLE) else { continue };
        for lease in view.leases_on(device) {
            let (id, holder) = (lease.info.id, &lease.info.holder);
            let words =
                format!("{holder} has {} and has not used it for {}", device.name, duration(idle));
            let next = format!("ask, or `ternlease revoke {id} --reason NO_PROGRESS --notice 5m`");
            findings.push(Finding::warn("use", words, next));
        }
    }
    findings
}
