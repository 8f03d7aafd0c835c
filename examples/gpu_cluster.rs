//! GPU cluster scheduling with three answers: a worker that renews keeps its GPUs (+1), work whose lease
//! expired is tried again (0), work whose lease was revoked raises an alert (-1).
//!
//! Run it: `cargo run --release --example gpu_cluster`

use LeaseState::{Expired, Held, Revoked};
use ternlease::{
    Error, LeaseId, LeaseManager, LeaseState, Options, Reason, ReasonClass, Span, Ticket,
    TicketState,
};

const GPUS: [&str; 4] = ["node0/gpu0", "node0/gpu1", "node1/gpu0", "node1/gpu1"];

struct Job {
    name: &'static str,
    gpus: u32,
    work: u32,
    /// After so much work the first worker dies: from then on nobody renews.
    dies_after: Option<u32>,
    stage: Stage,
}

enum Stage {
    Waiting(Ticket),
    Running { lease: LeaseId, done: u32 },
    Over,
}

/// All of its GPUs or none: in line until then, and for three ticks at a time once it has them.
fn submit(cluster: &LeaseManager, name: &str, gpus: u32) -> Result<Stage, Error> {
    cluster.claim(name).of(&GPUS).count(gpus).ttl(3).enqueue().map(Stage::Waiting)
}

fn job(cluster: &LeaseManager, name: &'static str, gpus: u32, work: u32) -> Result<Job, Error> {
    Ok(Job { name, gpus, work, dies_after: None, stage: submit(cluster, name, gpus)? })
}

/// One tick in the life of a job.
fn step(cluster: &LeaseManager, job: &mut Job) -> Result<(), Error> {
    let say = |what: &str| println!("{:>4}  {:<8} {what}", cluster.tick_count(), job.name);
    job.stage = match std::mem::replace(&mut job.stage, Stage::Over) {
        Stage::Waiting(ticket) if ticket.state() != TicketState::Waiting => {
            let lease = ticket.wait()?; // decided: does not block
            let takes = cluster.lease(lease).map_or(vec![], |info| info.takes);
            let gpus: Vec<String> = takes.into_iter().map(|taken| taken.resource).collect();
            say(&format!("starts on {}", gpus.join(" ")));
            Stage::Running { lease, done: 0 }
        }
        Stage::Running { lease, done } => match cluster.state(lease) {
            Some(Held) if done == job.work => {
                cluster.release(lease)?;
                say("finished");
                Stage::Over
            }
            Some(Held) if job.dies_after == Some(done) => Stage::Running { lease, done },
            Some(Held) => {
                cluster.renew(lease)?;
                Stage::Running { lease, done: done + 1 }
            }
            Some(Expired) => {
                say("expired: the worker is gone, try again");
                job.dies_after = None;
                submit(cluster, job.name, job.gpus)?
            }
            Some(Revoked) => {
                let info = cluster.lease(lease).ok_or(Error::UnknownLease)?;
                let (reason, by) = (info.reason.unwrap(), info.revoker.unwrap());
                let stop = matches!(reason.class(), ReasonClass::Conduct | ReasonClass::Authority);
                let next = if stop { "stop" } else { "claim again" };
                say(&format!("ALERT: revoked by {by}, {reason} ({}): {next}", reason.code()));
                if stop { Stage::Over } else { submit(cluster, job.name, job.gpus)? }
            }
            None => return Err(Error::UnknownLease),
        },
        unchanged => unchanged,
    };
    Ok(())
}

/// The operator takes a lease away, and says why.
fn take_from(cluster: &LeaseManager, holder: &str, reason: Reason) -> Result<(), Error> {
    let lease = cluster.held_by(holder)[0];
    cluster.revoke_with(lease, reason, "ops", Span::Zero).map(drop)
}

fn main() -> Result<(), Error> {
    let cluster = LeaseManager::with(Options::ticks());
    let mut jobs = [
        job(&cluster, "train-a", 2, 6)?,
        Job { dies_after: Some(2), ..job(&cluster, "train-b", 1, 4)? },
        job(&cluster, "miner", 1, 99)?,
        job(&cluster, "eval", 4, 2)?,  // needs the whole cluster
        job(&cluster, "infer", 1, 3)?, // came later, and does not pass it
    ];
    println!("tick  job      what happened");
    while jobs.iter().any(|job| !matches!(job.stage, Stage::Over)) {
        match cluster.tick_count() {
            4 => take_from(&cluster, "miner", Reason::OverUse)?,
            12 => take_from(&cluster, "train-b", Reason::Quota)?,
            _ => {}
        }
        jobs.iter_mut().try_for_each(|job| step(&cluster, job))?;
        cluster.tick();
    }
    let [done, retried] = [Reason::Released, Reason::TimedOut].map(|reason| cluster.count(reason));
    let alerts = cluster.revocations();
    println!("\n{done} jobs finished, {retried} expired and tried again, {alerts} alerts");
    assert_eq!((done, retried, alerts, cluster.active_count()), (4, 1, 2, 0));
    Ok(())
}
