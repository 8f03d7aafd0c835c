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

/// How many bytes clients send to the server, each time something is done.
struct Sent<'a> {
    etcd: &'a Etcd,
    before: f64,
    each: Vec<f64>,
}

impl<'a> Sent<'a> {
    fn by(etcd: &'a Etcd) -> Self {
        Sent { etcd, before: Self::so_far(etcd), each: Vec::new() }
    }

    fn so_far(etcd: &Etcd) -> f64 {
        etcd.metric(0, "etcd_network_client_grpc_received_bytes_total")
    }

    /// Something was done.
    fn once(&mut self) {
        let now = Self::so_far(self.etcd);
        self.each.push(now - self.before);
        self.before = now;
    }

    /// Mostly, and on average over so many things: now and then a whole copy of the table goes along.
    fn told(mut self, things: usize) -> String {
        self.each.sort_by(f64::total_cmp);
        let (median, sum) = (self.each[self.each.len() / 2], self.each.iter().sum::<f64>());
        format!("{median:.0} ({:.0})", sum / things as f64)
    }
}

#[test]
fn ten_thousand_devices_and_a_thousand_who_wait() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/large?session_ttl=60&timeout=20&member=own", etcd.authority());
    let limits = Limits {
        leases: NODES * DEVICES + 4 * NODES,
        tickets: 2 * CLAIMS as u32,
        resources: NODES * DEVICES + NODES,
        history: 4096,
    };
    let manager = LeaseManager::open_with(&url, Options::real().limits(limits)).unwrap();
    let mut sent = Sent::by(&etcd);
    let machines: Vec<GpuPool> = (0..NODES)
        .map(|node| {
            let gpu = |index| GpuDevice::new(Vendor::Nvidia, index, "A100");
            let devices = Declared::new((0..DEVICES).map(gpu).collect());
            let options = PoolOptions::of(devices).node(format!("n{node}"));
            let pool = GpuPool::on_with(&manager, options).unwrap();
            sent.once();
            pool
        })
        .collect();
    let published = sent.told(NODES as usize);
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

    let mut sent = Sent::by(&etcd);
    let tickets: Vec<TicketId> = (0..CLAIMS)
        .map(|_| {
            let Some(Outcome::Waiting(ticket)) = scheduler.claim().submit().unwrap() else {
                panic!("there is nothing to be had");
            };
            sent.once();
            ticket
        })
        .collect();
    let queued = sent.told(CLAIMS);
    assert_eq!(scheduler.pending_claimers(), CLAIMS);

    // Half of them are served by whole machines that become free, the others one by one.
    let granted = |ticket: TicketId| match manager.ticket_state(ticket) {
        Some(TicketState::Granted(lease)) => Some(lease),
        Some(TicketState::Waiting) => None,
        other => panic!("{other:?}"),
    };
    let half = CLAIMS / 2;
    let mut sent = Sent::by(&etcd);
    let mut free = whole.into_iter();
    while granted(tickets[half - 1]).is_none() {
        manager.release(free.next().expect("there are enough")).unwrap();
        sent.once();
    }
    let at_once = sent.told(half);
    let mut sent = Sent::by(&etcd);
    for (place, &ticket) in tickets.iter().enumerate().skip(half) {
        assert_eq!(granted(ticket), None, "{place} was served before its turn");
        let done = granted(tickets[place - half]).expect("it was served before");
        manager.release(done).unwrap();
        assert!(granted(ticket).is_some(), "{place} is not served");
        sent.once();
    }
    let one_by_one = sent.told(CLAIMS - half);
    let leases: Vec<LeaseId> = tickets.iter().filter_map(|&ticket| granted(ticket)).collect();
    assert!(leases.len() == CLAIMS && leases.is_sorted(), "in order");
    assert_eq!(manager.pending_claimers(), 0);
    manager.verify().unwrap();
    println!(
        "bytes to etcd, mostly (and on average of each): {published} for a machine of {DEVICES} devices, \
         {queued} for a claim that waits, {one_by_one} for a grant with the release that makes it possible, \
         {at_once} for the release of a machine that makes {DEVICES} possible (and of each of these)"
    );
}
