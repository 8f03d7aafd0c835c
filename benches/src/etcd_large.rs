//! `etcd.large`: a pool of 10,000 devices for which 1,000 claims wait: what goes to etcd and back
//! for a grant, how long a process takes to join, and how much memory it needs.

use ternlease::inventory::Declared;
use ternlease::{
    GpuDevice, GpuPool, LeaseId, LeaseManager, Limits, Outcome, PoolOptions, TicketId, TicketState,
    Vendor,
};

use crate::etcd::{Cluster, open_with};
use crate::etcd_fanout::resident;
use crate::host_place::{Place, Problem};
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::{Bench, figure};

const NODES: u32 = 100;
const DEVICES: u32 = 100;
const CLAIMS: u32 = 1000;

/// So many claims are served one by one.
const SERVED: usize = 200;

/// So many processes join, one after the other.
const JOINS: usize = 5;

const LIMITS: Limits = Limits {
    leases: NODES * DEVICES + 4 * NODES,
    tickets: 2 * CLAIMS,
    resources: NODES * DEVICES + NODES,
    history: 4096,
};

pub fn run(bench: &mut Bench, cluster: &mut Cluster) -> Result<(), Problem> {
    let url = cluster.url("large");
    let start = wall_now();
    let manager = open_with(&url, LIMITS)?;
    // Machines whose pools are dropped would be drained.
    let (_machines, tickets) = wait_for_all(&manager)?;
    let name = cluster.line("etcd.large");
    let took = figure((wall_now() - start) as f64, Unit::Nanoseconds);
    bench.note(
        &name,
        &format!("{NODES} machines of {DEVICES} devices and {CLAIMS} waiters: {took}"),
    );
    joins(bench, cluster, &url)?;
    served(bench, cluster, &manager, &tickets)
}

/// Takes all devices, a machine at a time, and lets others wait; the first of these have one.
fn wait_for_all(manager: &LeaseManager) -> Result<(Vec<GpuPool>, Vec<TicketId>), Problem> {
    let machine = |node: u32| -> Result<GpuPool, Problem> {
        let gpu = |index| GpuDevice::new(Vendor::Nvidia, index, "A100");
        let devices = Declared::new((0..DEVICES).map(gpu).collect());
        Ok(GpuPool::on_with(manager, PoolOptions::of(devices).node(format!("n{node}")))?)
    };
    let machines: Vec<GpuPool> = (0..NODES).map(machine).collect::<Result<_, _>>()?;
    let scheduler = machines[0].refreshed()?;
    let mut whole: Option<LeaseId> = None;
    for _ in 0..NODES {
        let lease = scheduler.claim().devices(DEVICES).on_one_node().try_now()?;
        whole = Some(lease.ok_or("no machine is free")?.into_id());
    }
    let mut tickets = Vec::new();
    for _ in 0..CLAIMS {
        match scheduler.claim().submit()? {
            Some(Outcome::Waiting(ticket)) => tickets.push(ticket),
            _ => return Err("a device is free".into()),
        }
    }
    // What serves the others one by one.
    manager.release(whole.ok_or("there are no machines")?)?;
    Ok((machines, tickets))
}

fn joins(bench: &mut Bench, cluster: &mut Cluster, url: &str) -> Result<(), Problem> {
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..JOINS {
        let place = Place::new()?;
        let worker = place.worker("etcd_members", 1, &format!("{url} joins 1"))?;
        place.line(0).finished(1)?;
        let before = resident(&worker)?;
        place.line(0).begin();
        place.line(0).finished(1)?;
        memory.push(resident(&worker)? - before);
        times.push(place.line(1).told.load(std::sync::atomic::Ordering::Acquire) as f64);
    }
    let (time, memory) = (median(times), median(memory));
    let name = cluster.line("etcd.large_join");
    bench.line(&name, Sample::beside(time, None, Unit::Nanoseconds));
    bench.line(&format!("{name}.memory"), Sample::beside(memory, None, Unit::Bytes));
    cluster.table.told("10,000 devices, 1,000 waiters: to join", time, Unit::Nanoseconds);
    cluster.table.told("10,000 devices, 1,000 waiters: memory of a member", memory, Unit::Bytes);
    Ok(())
}

/// A release serves the next claim: the member that sends it has both.
fn served(
    bench: &mut Bench,
    cluster: &mut Cluster,
    manager: &LeaseManager,
    tickets: &[TicketId],
) -> Result<(), Problem> {
    let counts = |cluster: &Cluster| -> Result<[f64; 2], Problem> {
        Ok([
            cluster.count("etcd_network_client_grpc_received_bytes_total")?,
            cluster.count("etcd_network_client_grpc_sent_bytes_total")?,
        ])
    };
    let granted = |ticket: TicketId| match manager.ticket_state(ticket) {
        Some(TicketState::Granted(lease)) => Ok(lease),
        other => Err(format!("it was not served: {other:?}")),
    };
    let mut received = Vec::new();
    let first = counts(cluster)?;
    let mut before = first[0];
    for (&done, &next) in tickets.iter().zip(&tickets[DEVICES as usize..]).take(SERVED) {
        manager.release(granted(done)?)?;
        granted(next)?;
        let now = counts(cluster)?[0];
        received.push(now - before);
        before = now;
    }
    let last = counts(cluster)?;
    let [mean, sent] = [0, 1].map(|place| (last[place] - first[place]) / SERVED as f64);
    let usual = median(received);
    let name = cluster.line("etcd.large_grant");
    bench.line(&name, Sample::beside(usual, None, Unit::Bytes));
    let text =
        format!("on average, with its part of a snapshot, {mean:.0} to etcd, {sent:.0} back");
    bench.note(&name, &text);
    cluster.table.told(
        "10,000 devices, 1,000 waiters: bytes to etcd for a grant",
        usual,
        Unit::Bytes,
    );
    cluster.table.told("the same on average, with snapshots", mean, Unit::Bytes);
    Ok(())
}
