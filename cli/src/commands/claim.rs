//! `ternlease claim`: devices for a script. The lease is held by a small process of our own as long as the script lives.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use ternlease::{Env, GpuLease, GpuPool};

use super::devices;
use super::hold::{self, Owner};
use super::run::line::{self, Answer};
use super::run::signals::{self, Signals};
use super::run::wish::Wish;
use super::run::{name, words};
use crate::exit::Failure;
use crate::place::Place;
use crate::text::put;
use crate::text::units::parse_duration;
use crate::view::json;

const AFTER_HELP: &str = "\
The lease is held by a small process in the background until the shell that
called has ended, or somebody gives it back. Killing that process gives the
devices back, too.

Times are written as 30s, 5m, 1.5h, 2d or 250ms; a number alone is in seconds.

Examples:
  lease=$(ternlease claim -n 2)
  ternlease release $lease

  eval \"$(ternlease claim --env)\"   # CUDA_VISIBLE_DEVICES, TERNLEASE_LEASE
  ternlease release                 # the lease in TERNLEASE_LEASE";

/// What to claim, and for whom.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The lease ends after so long, unless `ternlease renew` comes first [default: no end]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    /// The lease ends with this process [default: the shell or program that called]
    #[arg(long = "for", value_name = "PID")]
    owner: Option<u32>,
    /// Send that process this signal if the lease is taken away [default: none]
    #[arg(long, value_name = "SIGNAL", value_parser = signals::parse)]
    notice_signal: Option<i32>,
    /// Print lines for `eval` that set the environment
    #[arg(long, conflicts_with = "json")]
    env: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    // Last: what comes after it would be listed under its heading.
    #[command(flatten)]
    wish: Wish,
}

/// Claims.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    place.check_inheritable()?;
    let owner = args.owner.map_or_else(Owner::caller, Owner::of)?;
    let pool = place.open_with_devices()?;
    if !args.wish.quiet && !args.json {
        place.warn_if_private(&pool);
    }
    let signals = Signals::of_the_end()?;
    let holder = args.wish.name.clone().unwrap_or_else(|| name_for(&owner));
    let names = args.wish.names();
    let claim = args.wish.claim(&pool, &holder, &names, args.ttl);
    let answer = line::stand(
        &pool,
        claim,
        &signals,
        Some(std::os::fd::AsFd::as_fd(&owner)),
        args.wish.quiet,
    );
    let id = match answer.map_err(|error| args.wish.explain(&pool, error))? {
        Answer::Granted(id) => id,
        Answer::Interrupted(signal) => {
            drop(pool);
            return Ok(signals::die_by(signal));
        }
        Answer::NobodyThere => {
            return Err(Failure::new(format!("process {} has ended meanwhile", owner.pid())));
        }
        // It had some a moment ago.
        Answer::NoDevices => return Err(Failure::new("the pool has no devices")),
    };
    let lease = pool.take_up(id)?;
    let keeper =
        hold::start(place, pool.manager().keep_for_children(id)?, &owner, args.notice_signal)?;
    tell(args, &lease, &holder, &owner, keeper)?;
    // Told: from here on it is the keeper's to give back.
    lease.into_id();
    Ok(ExitCode::SUCCESS)
}

/// Named after the one for whom it is: that is whom others know. All that it claims is one line of work.
fn name_for(owner: &Owner) -> String {
    let command = std::fs::read(format!("/proc/{}/cmdline", owner.pid())).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into()).collect();
    name::for_program(&words, owner.pid())
}

fn tell(
    args: &Args,
    lease: &GpuLease,
    holder: &str,
    owner: &Owner,
    keeper: u32,
) -> Result<(), Failure> {
    let env = if args.wish.uuid { lease.env_by_uuid() } else { lease.env() }?;
    let text = if args.json {
        let set: Map<String, Value> =
            env.set.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let devices: Vec<Value> = lease.devices().map(devices::value).collect();
        let told = json!({
            "lease": lease.id().to_string(),
            "holder": holder,
            "devices": devices,
            "env": set,
            "unset": env.remove,
            "for": owner.pid(),
            "keeper": keeper,
        });
        json::text(&told) + "\n"
    } else if args.env {
        shell_lines(&env, lease)
    } else {
        format!("{}\n", lease.id())
    };
    put(text)
}

/// For `eval`, in any shell that is like the Bourne shell.
fn shell_lines(env: &Env, lease: &GpuLease) -> String {
    let mut text = String::new();
    for name in &env.remove {
        text.push_str(&format!("unset {name}\n"));
    }
    for (name, value) in &env.set {
        text.push_str(&format!("export {name}={}\n", quoted(value)));
    }
    text + &format!("export TERNLEASE_LEASE={}\n", lease.id())
}

/// A word that a shell takes as it is.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// Devices that a lease on behalf of a process takes, at once.
pub fn take_for(
    place: &Place,
    pool: &GpuPool,
    names: &[&str],
    owner: &Owner,
    notice_signal: Option<i32>,
) -> Result<(GpuLease, u32), Failure> {
    let holder = name_for(owner);
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let claim = pool.claim().holder(&holder).named(names).devices(count);
    let lease = claim.try_now().map_err(|error| match error {
        ternlease::PoolError::Lease(ternlease::Error::Busy) => Failure::with(
            crate::exit::TIMEOUT,
            format!("not free now: {}", words::who_has_what(pool)),
        ),
        error => error.into(),
    })?;
    let lease = lease.ok_or_else(|| Failure::new("the pool has no devices"))?;
    let kept = pool.manager().keep_for_children(lease.id())?;
    let keeper = hold::start(place, kept, owner, notice_signal)?;
    Ok((lease, keeper))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_are_one_word_for_a_shell() {
        assert_eq!(quoted("0,1"), "'0,1'");
        assert_eq!(quoted("a'b $(c)"), r"'a'\''b $(c)'");
    }
}
