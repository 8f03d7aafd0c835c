//! `ternlease revoke`: takes a lease away.

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use ternlease::{Error, LeaseId, LeaseInfo, LeaseManager, Reason, Revoked};

use crate::exit::Failure;
use crate::leases;
use crate::people;
use crate::place::Place;
use crate::text::line::clean;
use crate::text::put_line;
use crate::text::units::{duration, parse_duration, remaining as remaining_time};
use crate::view::json;

/// Which, why, and how soon.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lease id, its last four or more digits, or the holder name
    #[arg(value_name = "LEASE")]
    lease: String,
    /// Why: the holder is told, and can act on it
    #[arg(
        long,
        value_name = "NAME",
        default_value = "OPERATOR",
        ignore_case = true,
        value_parser = reasons()
    )]
    reason: Reason,
    /// How long the holder has to save its work, as in 30s or 5m; at once if not said
    #[arg(long, value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = parse_duration)]
    notice: Duration,
    /// Who does it; you, if not said
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The reasons for which a lease can be revoked, by their names.
fn reasons() -> impl TypedValueParser<Value = Reason> {
    let all = Reason::ALL.iter().filter(|reason| reason.is_revocation());
    let names = all.map(|reason| PossibleValue::new(reason.name()));
    PossibleValuesParser::new(names).try_map(|name| {
        let named = |reason: &&Reason| reason.name().eq_ignore_ascii_case(&name);
        Reason::ALL.iter().find(named).copied().ok_or("there is no such reason")
    })
}

/// Revokes it, and says what happened.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let manager = place.manager()?;
    let lease = leases::find(&manager, &args.lease)?;
    let by = args.by.clone().or_else(|| people::of(std::process::id()).user).unwrap_or_default();
    let before = manager.lease(lease);
    let answer = manager
        .revoke_with(lease, args.reason, &by, args.notice)
        .map_err(|error| refused(&manager, lease, error))?;
    // The names of what it held are no longer known once it has ended.
    let after = manager.lease(lease);
    let outcome = match answer {
        Revoked::AtOnce => "revoked",
        Revoked::Notified(_) => "notified",
        Revoked::AlreadyNotified(_) => "already_notified",
    };
    let ends = remaining(&manager, answer);
    let info = after.or(before);
    if args.json {
        let reason = info.as_ref().and_then(|info| info.reason).unwrap_or(args.reason);
        let answer = json!({
            "lease": lease.to_string(),
            "outcome": outcome,
            "ends_in_seconds": ends.map(|ends| ends.as_secs_f64()),
            "holder": info.as_ref().map(|info| info.holder.clone()),
            "reason": reason.name(),
            "reason_code": reason.code(),
            "revoker": info.as_ref().and_then(|info| info.revoker.clone()),
            "ended_by": people::actor_value(
                info.as_ref().and_then(|info| info.ended_by),
                manager.session_left().is_some(),
            ),
        });
        put_line(json::text(&answer))?;
    } else {
        put_line(words(answer, lease, info.as_ref(), args.reason, ends))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How long its holder still has.
pub fn remaining(manager: &LeaseManager, answer: Revoked) -> Option<Duration> {
    match answer {
        Revoked::AtOnce => None,
        Revoked::Notified(end) | Revoked::AlreadyNotified(end) => {
            Some(Duration::from_micros(end.saturating_sub(manager.tick_count())))
        }
    }
}

/// What happened, in one sentence.
pub fn words(
    answer: Revoked,
    lease: LeaseId,
    info: Option<&LeaseInfo>,
    reason: Reason,
    ends: Option<Duration>,
) -> String {
    let holder = info.map_or(String::new(), |info| format!(" of {}", clean(&info.holder)));
    let ends = ends.map_or_else(|| "now".to_owned(), |ends| format!("in {}", remaining_time(ends)));
    match answer {
        Revoked::AtOnce => format!("lease {lease}{holder} is revoked ({reason})"),
        Revoked::Notified(_) => {
            format!("lease {lease}{holder} ends {ends} ({reason}); its holder has been told")
        }
        Revoked::AlreadyNotified(_) => {
            let before = info.and_then(|info| info.reason).unwrap_or(reason);
            format!(
                "lease {lease}{holder} had been told before and ends {ends} ({before}); nothing changed"
            )
        }
    }
}

/// Why it could not be revoked, to whom that happened, and what to do next.
pub fn refused(manager: &LeaseManager, lease: LeaseId, error: Error) -> Failure {
    match error {
        Error::UnknownLease => Failure::new(format!(
            "no lease {lease} is known; `ternlease status` shows the leases that are held"
        )),
        Error::NotHeld(_, reason) => {
            let info = manager.lease(lease);
            let holder =
                info.as_ref().map_or(String::new(), |info| format!(" of {}", clean(&info.holder)));
            let ago = info.map_or(String::new(), |info| {
                let since = manager.tick_count().saturating_sub(info.end);
                format!(" {} ago", duration(Duration::from_micros(since)))
            });
            Failure::new(format!(
                "lease {lease}{holder} has ended{ago} ({reason}); there is nothing to revoke"
            ))
        }
        error => Failure::new(format!("lease {lease} was not revoked: {error}")),
    }
}
