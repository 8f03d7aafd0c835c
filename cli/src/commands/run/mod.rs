//! `ternlease run`: runs a program on devices that are leased to it.
//!
//! `wish` says what to claim, `line` waits for it, `program` starts the program, `supervise` stays beside it with the help of `fate` (its lease), `terminal`,
//! `children` and `signals`.

pub mod bus_error;
pub mod children;
mod fate;
pub mod line;
pub mod name;
pub mod poll;
mod program;
pub mod signals;
mod supervise;
mod terminal;
pub mod wish;
pub mod words;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::Duration;

use ternlease::{Env, Error, GpuPool, Inherited, LeaseId};

use crate::exit::{Failure, NO_DEVICES};
use crate::place::{Place, why_none};
use crate::text::units::parse_duration;
use fate::{Fate, Manners};
use line::Answer;
use signals::Signals;
use supervise::{End, Supervisor};
use terminal::Terminal;
use wish::Wish;

const AFTER_HELP: &str = "\
The program sees its devices and no others (CUDA_VISIBLE_DEVICES and such),
and the number of its lease in TERNLEASE_LEASE. It gets the terminal, signals
are passed on, and the command ends as it ended: with the same code, or by the
same signal (128 + n for a shell).

The lease is held as long as the program or anything it started lives, even if
this command is killed: they inherit a file descriptor that stands for it.
(What closes all descriptors it does not know gives it up.) If the lease is
taken away, the program gets a notice and is killed when the notice is over:
exit 121. While it is stopped (Ctrl-Z), nothing can tell it.

If etcd does not answer, the program gets its notice when the rest of the
session equals --grace, and is killed before the session ends. If the file of
the table is deleted, replaced or damaged, the program is killed at once,
because others may have its devices already: exit 121.

Times are written as 30s, 5m, 1.5h, 2d or 250ms; a number alone is in seconds.

Examples:
  ternlease run -- python train.py
  ternlease run -n 2 --min-memory 40G --timeout 2h -- ./train
  ternlease run --memory 8G -- python serve.py
  ternlease --fake 4 run -- env";

/// What to run, and on what.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The lease ends if this command hangs, or is stopped, for so long: it renews it meanwhile [default: no end]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    /// The program may run for so long, then it is ended: exit 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// How long the program has from a request to end to SIGKILL, if the lease does not say
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    grace: Duration,
    /// The signal that asks the program to end
    #[arg(long, value_name = "SIGNAL", default_value = "TERM", value_parser = signals::parse)]
    notice_signal: i32,
    /// Where there are no devices, run the program without
    #[arg(long)]
    cpu_ok: bool,
    /// The program and its arguments. Options of this command come before it; `--` may stand between
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM", num_args = 1..)]
    program: Vec<OsString>,
    // Last: what comes after it would be listed under its heading.
    #[command(flatten)]
    wish: Wish,
}

/// A lease that the program will inherit, and what it sees of it.
struct Held {
    id: LeaseId,
    env: Env,
    /// As long as somebody has this, the lease is held. None where no process can inherit a lease: then it ends with this one.
    kept: Option<Inherited>,
}

/// Runs the program.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    program::check(args.program.first().map_or(OsStr::new(""), OsString::as_os_str))?;
    // Until here, and while drivers are asked, a signal simply ends this.
    let pool = place.open()?;
    if !args.wish.quiet {
        place.warn_if_private(&pool);
    }
    let mut signals = Signals::of_the_end()?;
    let held = match claim(args, &pool, &signals)? {
        Claimed::Lease(held) => Some(held),
        Claimed::NoDevices if args.cpu_ok => None,
        Claimed::NoDevices => {
            let hint = "; `--cpu-ok` runs the program without";
            return Err(Failure::of_lines(NO_DEVICES, format!("{}{hint}", why_none(&pool))));
        }
        Claimed::Interrupted(signal) => {
            drop(pool);
            return Ok(signals::die_by(signal));
        }
    };
    signals.watch_a_child()?;
    children::adopt_orphans();
    bus_error::kill_program_on_bus_error();
    let terminal = Terminal::find();
    let env = held.as_ref().map_or_else(program::without_devices, |held| held.env.clone());
    let child = match program::start(&args.program, &env, &signals, terminal.as_ref()) {
        Ok(child) => child,
        Err(failure) => {
            give_back(&pool, held);
            return Err(failure);
        }
    };
    let manners =
        Manners { notice_signal: args.notice_signal, grace: args.grace, max_time: args.max_time };
    let lease = held.as_ref().map(|held| (pool.manager().clone(), held.id));
    let (ended, fate) = (children::end_of(child), Fate::of(lease, manners));
    let end = Supervisor { child, ended, signals, terminal, fate }.run();
    // Nobody uses devices that are not leased.
    if held.as_ref().is_some_and(|held| held.kept.is_none()) {
        children::kill_all();
    }
    // Whoever is left of the program keeps the lease; if nobody is, it is not left to others to find that out.
    match children::are_gone() {
        true => give_back(&pool, held),
        false => drop(held),
    }
    drop(pool);
    Ok(match end {
        End::Code(code) | End::Taken(code) => ExitCode::from(code),
        End::Signal(signal) => signals::die_by(signal),
    })
}

enum Claimed {
    Lease(Held),
    NoDevices,
    Interrupted(i32),
}

fn claim(args: &Args, pool: &GpuPool, signals: &Signals) -> Result<Claimed, Failure> {
    let wish = &args.wish;
    let holder =
        wish.name.clone().unwrap_or_else(|| name::for_program(&args.program, std::process::id()));
    let names = wish.names();
    let claim = wish.claim(pool, &holder, &names, args.ttl);
    let answer = line::stand(pool, claim, signals, None, wish.quiet)
        .map_err(|error| wish.explain(pool, error))?;
    let id = match answer {
        Answer::Granted(id) => id,
        Answer::NoDevices => return Ok(Claimed::NoDevices),
        Answer::Interrupted(signal) => return Ok(Claimed::Interrupted(signal)),
        // Nobody but this process was asked for.
        Answer::NobodyThere => return Err(Failure::new("nobody waits any more")),
    };
    let lease = pool.take_up(id)?;
    let env = if wish.uuid { lease.env_by_uuid() } else { lease.env() }?;
    let kept = match pool.manager().keep_for_children(id) {
        Ok(kept) => Some(kept),
        Err(Error::NotShared) => None,
        Err(error) => return Err(error.into()),
    };
    // From here on it is held by whoever has the descriptor, or by the pool that is open here.
    lease.into_id();
    if args.ttl.is_some() {
        pool.keep_alive(id)?;
    }
    Ok(Claimed::Lease(Held { id, env: program::environment(id, &env), kept }))
}

/// The program is gone, or never was.
fn give_back(pool: &GpuPool, held: Option<Held>) {
    if let Some(held) = held {
        // It may have been taken away before: then there is nothing to give back.
        let _ = pool.manager().release(held.id);
        drop(held.kept);
    }
}
