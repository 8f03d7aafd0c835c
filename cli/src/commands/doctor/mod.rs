//! `ternlease doctor`: why something does not work.

mod cluster;
mod devices;
mod file;
mod finding;
mod table;

use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::{Error, GpuPool, LeaseManager, PoolError};

use crate::exit::Failure;
use crate::place::Place;
use crate::text::{colour, put, put_line, width};
use crate::view::{View, json};
use finding::{Finding, Level};

/// What to examine: everything, always.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Looks at everything, says what it finds, and fails if something is bad.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let findings = examine(place);
    let bad = count(&findings, Level::Bad);
    if args.json {
        let values: Vec<Value> = findings.iter().map(Finding::value).collect();
        let answer = json!({
            "pool": place.url(),
            "findings": values,
            "bad": bad,
            "warn": count(&findings, Level::Warn),
        });
        put_line(json::text(&answer))?;
    } else {
        for finding in &findings {
            put(finding.text(width(), colour::wanted()))?;
        }
        put_line(verdict(&findings))?;
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn count(findings: &[Finding], level: Level) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

fn verdict(findings: &[Finding]) -> String {
    match (count(findings, Level::Bad), count(findings, Level::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (0, 1) => "nothing is wrong; 1 thing to be aware of".to_owned(),
        (0, warn) => format!("nothing is wrong; {warn} things to be aware of"),
        (1, _) => "1 thing is wrong".to_owned(),
        (bad, _) => format!("{bad} things are wrong"),
    }
}

/// What cannot be opened is a finding, too: the examination goes on with the rest.
fn examine(place: &Place) -> Vec<Finding> {
    let manager = match LeaseManager::open(&place.url()) {
        Ok(manager) => manager,
        Err(error) => {
            let mut findings = vec![file::unopened(&place.url(), &error)];
            // The devices can be looked at all the same, beside a table of our own.
            if let Ok(manager) = LeaseManager::open("process:") {
                findings.splice(0..0, about_devices(place, &manager).0);
            }
            return findings;
        }
    };
    let (mut findings, view) = about_devices(place, &manager);
    match manager.cluster_info() {
        Err(Error::NotShared) => findings.extend(file::examine(&place.url(), &manager)),
        info => findings.extend(cluster::examine(info)),
    }
    findings.extend(table::examine(&manager, view.as_ref()));
    findings
}

fn about_devices(place: &Place, manager: &LeaseManager) -> (Vec<Finding>, Option<View>) {
    let options = match place.options() {
        Ok(options) => options,
        Err(failure) => return (vec![devices::undeclared(&failure.to_string())], None),
    };
    match GpuPool::on_with(manager, options) {
        Ok(pool) => {
            let view = View::of(&pool, &place.url(), 0);
            (devices::examine(&pool, &view), Some(view))
        }
        Err(PoolError::NoAnswer(absence)) => (vec![devices::silent(&absence)], None),
        Err(error) => (vec![devices::undeclared(&error.to_string())], None),
    }
}
