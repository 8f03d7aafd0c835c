//! A pool of 10,000 devices on 100 machines and 1,000 claims that wait: all are served, in order; and how much goes to etcd for each.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use etcd::Etcd;
use ternlease::inventory::Declared;
use ternlease::{
    GpuDevice, GpuPool, LeaseId, LeaseManager, Limits, Options, Outcome, PoolOptions, TicketId,
    TicketState, Vendor,
};

const NODES: u32 = 100;
const DEVICES: u32 = 100;
const CLAIMS: usize = 1000;

/// Bytes that clients have sent to the server.
fn received(etcd: &Etcd) -> f64 {
    etcd.metric(0, "etcd_network_client_grpc_received_bytes_total")
}

#[test]
fn ten_thousand_devices_and_a_thousand_who_wait() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/large?session_ttl=60&timeout=20", etcd.authority());
    let limits = Limits {
        leases: NODES * DEVICES + 4 * NODES,
        tickets: 2 * CLAIMS as u32,
        resources: NODES * DEVICES + NODES,
        history: 4096,
    };
    let manager = LeaseManager::open_with(&url, Options::real().limits(limits)).unwrap();
    let before = received(&etcd);
    let machines: Vec<GpuPool> = (0..NODES)
        .map(|node| {
            let gpu = |index| GpuDevice::new(Vendor::Nvidia, index, "A100");
            let devices = Declared::new((0..DEVICES).map(gpu).collect());
            let options = PoolOptions::of(devices).node(format!("n{node}"));
            GpuPool::on_with(&manager, options).unwrap()
        })
        .collect();
    let published = (received(&etcd) - before) / f64::from(NODES);
    let scheduler = machines[0].refreshed().unwrap();
    assert_eq!(scheduler.capacity(), (NODES * DEVICES) as usize);

    // One job takes each machine as a whole.
    let whole: Vec<LeaseId> = (0..NODES)
        .map(|_| {
            let claim = scheduler.claim().devices(DEVICES).on_one_node();
            let lease = claim.try_now().unwrap().expect("there are devices");
            assert!(lease.devices().all(|device| device.node == lease.device().node));
            lease.into_id()
        })
        .collect();
    assert!(scheduler.try_claim().unwrap().is_none());

    let before = received(&etcd);
    let tickets: Vec<TicketId> = (0..CLAIMS)
        .map(|_| match scheduler.claim().submit().unwrap() {
            Some(Outcome::Waiting(ticket)) => ticket,
            other => panic!("not in line: {other:?}"),
        })
        .collect();
    let queued = (received(&etcd) - before) / CLAIMS as f64;
    assert_eq!(scheduler.pending_claimers(), CLAIMS);

    // Half of them are served by whole machines that become free, the others one by one.
    let granted = |ticket: TicketId| match manager.ticket_state(ticket) {
        Some(TicketState::Granted(lease)) => Some(lease),
        Some(TicketState::Waiting) => None,
        other => panic!("{other:?}"),
    };
    let half = CLAIMS / 2;
    let before = received(&etcd);
    let mut free = whole.into_iter();
    while granted(tickets[half - 1]).is_none() {
        manager.release(free.next().expect("there are enough")).unwrap();
    }
    let at_once = (received(&etcd) - before) / half as f64;
    let before = received(&etcd);
    for (place, &ticket) in tickets.iter().enumerate().skip(half) {
        assert_eq!(granted(ticket), None, "{place} was served before its turn");
        let done = granted(tickets[place - half]).expect("it was served before");
        manager.release(done).unwrap();
        assert!(granted(ticket).is_some(), "{place} is not served");
    }
    let one_by_one = (received(&etcd) - before) / (CLAIMS - half) as f64;
    let leases: Vec<LeaseId> = tickets.iter().filter_map(|&ticket| granted(ticket)).collect();
    assert!(leases.len() == CLAIMS && leases.is_sorted(), "in order");
    assert_eq!(manager.pending_claimers(), 0);
    manager.verify().unwrap();
    println!(
        "bytes to etcd: {published:.0} for a machine of {DEVICES} devices, {queued:.0} for a claim that waits, \
         {at_once:.0} for a grant of {DEVICES} at once, {one_by_one:.0} for a grant with the release that makes it"
    );
}
