//! `ternlease deadlocks`: who can never go on, why, and what to do about it.

use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::{Deadlock, GpuPool, LeaseId, Reason};

use crate::exit::Failure;
use crate::people;
use crate::place::Place;
use crate::text::colour::{self, Mood, paint};
use crate::text::{put, put_line, width};
use crate::view::words::{count, in_short, wrap};
use crate::view::{Lease, View, json, words};

/// What to do about them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Revoke the proposed leases, one after the other, until nobody is stuck
    #[arg(long = "break")]
    break_them: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows them, and breaks them if that is wanted.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let pool = place.open()?;
    let view = View::of(&pool, &place.url(), 0);
    let found = pool.manager().find_deadlocks()?;
    let broken = if args.break_them { break_all(&pool)? } else { Vec::new() };
    if args.json {
        let found: Vec<Value> = found.iter().map(|deadlock| value(&view, deadlock)).collect();
        let broken: Vec<String> = broken.iter().map(|lease| lease.to_string()).collect();
        let answer = json!({ "pool": view.url, "deadlocks": found, "revoked": broken });
        put_line(json::text(&answer))?;
    } else {
        put(text(&view, &found, width(), colour::wanted()))?;
        for lease in &broken {
            put_line(format_args!("{} was revoked (DEADLOCK_VICTIM)", name(&view, *lease)))?;
        }
        match (args.break_them, found.is_empty()) {
            (_, true) => {}
            (true, false) => put_line("nobody is stuck any more")?,
            (false, false) => put_line("`ternlease deadlocks --break` revokes what is proposed")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Revokes the proposed leases until there is no deadlock left; which.
fn break_all(pool: &GpuPool) -> Result<Vec<LeaseId>, Failure> {
    let manager = pool.manager();
    let by = people::of(std::process::id()).user.unwrap_or_default();
    let mut revoked = Vec::new();
    // Each of them may uncover the next. If the table proposes one again that was revoked, going on would never end.
    while let Some(deadlock) = manager.find_deadlocks()?.first() {
        let victim = deadlock.victim;
        if revoked.contains(&victim) {
            return Err(Failure::new(format!(
                "lease {victim} was revoked and is still in the way; `ternlease doctor` looks for what is wrong"
            )));
        }
        match manager.revoke_with(victim, Reason::DeadlockVictim, &by, ternlease::Span::Zero) {
            Ok(_) => revoked.push(victim),
            // It ended by itself in between, which is as good.
            Err(ternlease::Error::NotHeld(..) | ternlease::Error::UnknownLease) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(revoked)
}

fn text(view: &View, found: &[Deadlock], width: usize, colours: bool) -> String {
    if found.is_empty() {
        return "there is no deadlock\n".to_owned();
    }
    let mut text = String::new();
    for deadlock in found {
        let stuck: Vec<String> = deadlock.stuck.iter().map(|name| in_short(name)).collect();
        let verb = if stuck.len() == 1 { "is" } else { "are" };
        let head = format!("{} {verb} stuck: {}", count(stuck.len(), "holder"), stuck.join(", "));
        for part in wrap(&head, width, 2).lines() {
            text.push_str(&paint(part, Mood::Bad, colours));
            text.push('\n');
        }
        for wait in &deadlock.cycle {
            let by = match wait.ticket {
                Some(ticket) => format!(" (ticket {ticket})"),
                None => " (as it has declared)".to_owned(),
            };
            let step =
                format!("  {}{by} waits for {}", in_short(&wait.worker), name(view, wait.lease));
            text.push_str(&wrap(&step, width, 4));
            text.push('\n');
        }
        let proposal =
            format!("  to break it at the least cost, revoke {}", name(view, deadlock.victim));
        text.push_str(&wrap(&proposal, width, 4));
        text.push('\n');
    }
    text
}

/// `lease 7 of trainer on nvidia:0-1`.
fn name(view: &View, id: LeaseId) -> String {
    match view.lease(id) {
        Some(lease) => format!(
            "lease {id} of {} on {}",
            in_short(&lease.info.holder),
            words::names(&lease.devices)
        ),
        None => format!("lease {id}"),
    }
}

fn value(view: &View, deadlock: &Deadlock) -> Value {
    let holder = |lease: Option<&Lease>| lease.map(|lease| lease.info.holder.clone());
    let devices = |lease: Option<&Lease>| lease.map(|lease| lease.devices.clone());
    let cycle = deadlock.cycle.iter().map(|wait| {
        let lease = view.lease(wait.lease);
        json!({
            "worker": wait.worker,
            "ticket": wait.ticket.map(|ticket| ticket.to_string()),
            "lease": wait.lease.to_string(),
            "holder": holder(lease),
            "devices": devices(lease),
        })
    });
    let victim = view.lease(deadlock.victim);
    json!({
        "stuck": deadlock.stuck,
        "cycle": cycle.collect::<Vec<_>>(),
        "victim": deadlock.victim.to_string(),
        "victim_holder": holder(victim),
        "victim_devices": devices(victim),
    })
}
