//! `etcd.fanout`: what members that do nothing cost etcd while another one sends commands.
//!
//! Members are in a few processes, each with a session, a connection and a replica of its own. An
//! idle one holds a lease; a waiting one follows the log.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::{LeaseManager, Limits};

use crate::etcd::{Cluster, open_with};
use crate::host_place::{Place, Problem, Worker};
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::{Bench, figure};

const PROCESSES: usize = 4;

/// So many members of each process join in one turn.
const STEP: usize = 25;

/// As much as all of them need.
const LIMITS: Limits = Limits { leases: 2048, tickets: 2048, resources: 2048, history: 256 };

/// A grant and its release are two commands: 100 in a second.
const PACE: Duration = Duration::from_millis(20);

/// How long members may take to become idle: they follow the log for two seconds after they met
/// commands of others, as when they joined.
const PATIENCE: u64 = 20_000_000_000;

/// One that is idle looks at the log in each third of the time of its session, in seconds.
const LOOK: u64 = 20;

/// How many watches clients have.
const WATCHES: &str = "etcd_debugging_mvcc_watcher_total";

const SENT: &str = "etcd_network_client_grpc_sent_bytes_total";

struct Crowd {
    name: &'static str,
    what: &'static str,
    role: &'static str,
    members: usize,
}

const CROWDS: [Crowd; 4] = [
    Crowd { name: "etcd.fanout_0", what: "no other member", role: "idle", members: 0 },
    Crowd { name: "etcd.fanout_100", what: "100 idle holders", role: "idle", members: 100 },
    Crowd { name: "etcd.fanout_1000", what: "1,000 idle holders", role: "idle", members: 1000 },
    Crowd { name: "etcd.fanout_waiting", what: "100 waiters", role: "waits", members: 100 },
];

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    for crowd in &CROWDS {
        let name = cluster.line(crowd.name);
        if bench.wants(&name)
            && let Err(problem) = cost(bench, cluster, &name, crowd)
        {
            bench.note(&name, &format!("not measured: {problem}"));
        }
    }
    Ok(())
}

fn cost(
    bench: &mut Bench,
    cluster: &mut Cluster,
    name: &str,
    crowd: &Crowd,
) -> Result<(), Problem> {
    // The keys of a crowd that was killed concern no other crowd.
    let url = cluster.url(crowd.name);
    let sender = open_with(&url, LIMITS)?;
    // What the waiting ones wait for.
    sender.claim("holder").of(&["busy"]).try_now()?;
    let _members = join(bench, name, &url, crowd)?;
    let seconds = match crowd.role {
        _ if bench.quick => 2,
        "idle" if crowd.members > 0 => LOOK,
        _ => 5,
    };
    settle(bench, cluster, name, crowd)?;
    let sent = cluster.count(SENT)?;
    let (start, used) = (wall_now(), cluster.processor_time()?);
    let commands = send(&sender, Duration::from_secs(seconds))?;
    let passed = (wall_now() - start) as f64;
    let used = (cluster.processor_time()? - used) / passed * 100.0;
    let bytes = (cluster.count(SENT)? - sent) / commands as f64;
    let rate = figure(commands as f64 / passed * 1e9, Unit::PerSecond);
    bench.line(name, Sample::beside(used, None, Unit::Percent));
    bench.line(&format!("{name}.bytes"), Sample::beside(bytes, None, Unit::Bytes));
    bench.note(name, &format!("{}: {rate} commands; bytes are for one", crowd.what));
    let what = |of: &str| format!("fan-out to {}: {of}", crowd.what);
    cluster.table.told(&what("etcd's CPU, of a core"), used, Unit::Percent);
    cluster.table.told(&what("bytes sent for a command"), bytes, Unit::Bytes);
    Ok(())
}

/// Waits until members watch what they will watch during the measurement: ends of sessions and hints,
/// and the log if they wait.
fn settle(bench: &Bench, cluster: &Cluster, name: &str, crowd: &Crowd) -> Result<(), Problem> {
    let each = if crowd.role == "waits" { 3 } else { 2 };
    let start = wall_now();
    let wanted = (each * crowd.members + 2) as f64;
    loop {
        let watches = cluster.count(WATCHES)?;
        let passed = wall_now() - start;
        let settled = if each == 3 { watches >= wanted } else { watches <= wanted };
        if settled || passed > PATIENCE {
            let passed = figure(passed as f64, Unit::Nanoseconds);
            bench.note(name, &format!("{watches} watches {passed} after the last one joined"));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Starts the members, and says how long that took and what they need.
fn join(bench: &Bench, name: &str, url: &str, crowd: &Crowd) -> Result<Vec<Worker>, Problem> {
    if crowd.members == 0 {
        return Ok(Vec::new());
    }
    let place = Place::new()?;
    let each = crowd.members / PROCESSES;
    let argument = format!("{url} {} {STEP}", crowd.role);
    let worker = |number: usize| place.worker("etcd_members", number + 1, &argument);
    let workers: Vec<Worker> = (0..PROCESSES).map(worker).collect::<Result<_, _>>()?;
    let line = place.line(0);
    line.finished(PROCESSES as u32)?;
    let before: Vec<f64> = workers.iter().map(resident).collect::<Result<_, _>>()?;
    let start = wall_now();
    for _ in 0..each / STEP {
        line.begin();
        line.finished(PROCESSES as u32)?;
    }
    let took = (wall_now() - start) as f64;
    let after: Vec<f64> = workers.iter().map(resident).collect::<Result<_, _>>()?;
    let memory: Vec<f64> =
        before.iter().zip(&after).map(|(before, after)| (after - before) / each as f64).collect();
    let each_took = |number: usize| place.line(number + 1).told.load(Ordering::Acquire) as f64;
    let text = format!(
        "{} members joined in {}, one of the last in {}; each has {} of memory",
        crowd.members,
        figure(took, Unit::Nanoseconds),
        figure(median((0..PROCESSES).map(each_took)), Unit::Nanoseconds),
        figure(median(memory), Unit::Bytes),
    );
    bench.note(name, &text);
    Ok(workers)
}

/// Bytes of memory that a process has.
pub fn resident(worker: &Worker) -> Result<f64, Problem> {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", worker.id()))?;
    let pages: f64 = text.split(' ').nth(1).ok_or("no such process")?.parse()?;
    // SAFETY: takes no pointers.
    Ok(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64)
}

/// Sends commands at their pace; how many.
fn send(manager: &LeaseManager, length: Duration) -> Result<usize, Problem> {
    let start = wall_now();
    let mut grants = 0;
    while wall_now() - start < length.as_nanos() as u64 {
        let lease = manager.claim("sender").of(&["gpu"]).try_now()?;
        manager.release(lease)?;
        grants += 1;
        let next = start + grants as u64 * PACE.as_nanos() as u64;
        std::thread::sleep(Duration::from_nanos(next.saturating_sub(wall_now())));
    }
    Ok(grants * 2)
}

/// A process with members, more in each turn: tells how many nanoseconds one of the last took to
/// join, in the middle.
pub fn members(place: &Place, number: usize, argument: &str) -> Result<(), Problem> {
    let words: Vec<&str> = argument.split(' ').collect();
    let &[url, role, count] = words.as_slice() else { return Err("no such members".into()) };
    let count: usize = count.parse()?;
    let mut members = Vec::new();
    place.line(0).serve(|| {
        let mut times = Vec::new();
        for _ in 0..count {
            let start = wall_now();
            let manager = open_with(url, LIMITS)?;
            times.push((wall_now() - start) as f64);
            match role {
                "idle" => {
                    let own = format!("own{number}.{}", members.len());
                    manager.claim("idle").of(&[&own]).try_now()?;
                }
                "waits" => drop(manager.claim("waiter").of(&["busy"]).submit()?),
                // It has only joined.
                _ => {}
            }
            members.push(manager);
        }
        place.line(number).told.store(median(times) as u64, Ordering::Release);
        Ok(())
    })
}
