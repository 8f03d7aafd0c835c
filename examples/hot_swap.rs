//! Hot-swap detection from the rate of revocations by reason. One revocation says little; three faults of one device within
//! ten ticks say that the device is bad, while leases that end for other reasons say nothing about it. The device goes out of service, claims
//! move to the others, and when it has been swapped the first in line has it at once.
//!
//! Run it: `cargo run --release --example hot_swap`

use ternlease::{
    Error, Health, LeaseId, LeaseManager, Options, Reason, Span, Ticket, TicketState, What,
};

const GPUS: [&str; 3] = ["gpu0", "gpu1", "gpu2"];
const STREAMS: [&str; 3] = ["red", "green", "blue"];
const WINDOW: u64 = 10;
const TOO_MANY: usize = 3;

/// Watches the history for faults.
#[derive(Default)]
struct Monitor {
    cursor: u64,
    faults: Vec<(String, u64)>,
}

impl Monitor {
    /// The devices with too many faults in the window; each is reported once.
    fn look(&mut self, manager: &LeaseManager) -> Vec<&'static str> {
        let (events, missed) = manager.events_since(self.cursor);
        assert_eq!(missed, 0);
        for event in events {
            self.cursor = event.number;
            let What::Ended { lease, reason: Reason::DeviceFault, .. } = event.what else {
                continue;
            };
            let takes = manager.lease(lease).map_or(vec![], |info| info.takes);
            self.faults.extend(takes.into_iter().map(|taken| (taken.resource, event.at)));
        }
        self.faults.retain(|(_, at)| at + WINDOW > manager.tick_count());
        let count = |gpu: &str| self.faults.iter().filter(|(name, _)| name == gpu).count();
        let bad: Vec<_> = GPUS.into_iter().filter(|gpu| count(gpu) >= TOO_MANY).collect();
        self.faults.retain(|(name, _)| !bad.contains(&name.as_str()));
        bad
    }
}

/// The lease on a device and its holder.
fn user(manager: &LeaseManager, gpu: &str) -> Option<(LeaseId, String)> {
    let mut leases = manager.leases().into_iter();
    let lease = leases.find(|lease| lease.takes[0].resource == gpu)?;
    Some((lease.id, lease.holder))
}

fn main() -> Result<(), Error> {
    let manager = LeaseManager::with(Options::ticks());
    for gpu in GPUS {
        manager.declare(gpu, 1, 0)?;
    }
    // Each stream of work needs any one device, keeps it for four ticks and claims again.
    let claim = |stream| manager.claim(stream).of(&GPUS).ttl(4).enqueue();
    let mut tickets: Vec<Ticket> = STREAMS.into_iter().map(claim).collect::<Result<_, _>>()?;
    let mut monitor = Monitor::default();
    let mut out_of_service = vec![];

    println!("tick  gpu0   gpu1   gpu2   faults  waiting");
    for now in 0..20 {
        // gpu1 breaks at tick 3: whoever has it loses it. An operator takes gpu0 once, which is no fault.
        let (gpu, reason, by) = match now {
            2 => ("gpu0", Reason::Operator, "ops"),
            3..14 => ("gpu1", Reason::DeviceFault, "driver"),
            _ => ("", Reason::Operator, ""),
        };
        if let Some((lease, _)) = user(&manager, gpu) {
            manager.revoke_with(lease, reason, by, Span::Zero)?;
        }
        if now == 14 {
            manager.set_health("gpu1", Health::Healthy)?; // it has been swapped
        }
        for gpu in monitor.look(&manager) {
            out_of_service.push((now, gpu));
            manager.set_health(gpu, Health::Failed)?;
        }
        // A stream that has no lease and does not stand in line claims again.
        for (stream, ticket) in STREAMS.into_iter().zip(&mut tickets) {
            let waits = ticket.state() == TicketState::Waiting;
            if !waits && manager.held_by(stream).is_empty() {
                *ticket = claim(stream)?;
            }
        }
        let cell = |gpu: &str| match manager.resource(gpu).map(|resource| resource.health) {
            Some(Health::Healthy) => user(&manager, gpu).map_or("-".into(), |(_, holder)| holder),
            other => format!("{:?}", other.unwrap_or(Health::Draining)).to_lowercase(),
        };
        let [a, b, c] = GPUS.map(cell);
        let (faults, waiting) = (manager.count(Reason::DeviceFault), manager.pending_claimers());
        println!("{now:>4}  {a:<6} {b:<6} {c:<6} {faults:>6} {waiting:>8}");
        manager.tick();
    }
    let all = manager.revocations();
    println!("\n{all} revocations, {} of them faults", manager.count(Reason::DeviceFault));
    assert_eq!(out_of_service, [(5, "gpu1")], "once, and only the bad one");
    assert_eq!((all, manager.count(Reason::DeviceFault)), (4, 3));
    assert_eq!(manager.pending_claimers(), 0, "after the swap there is room for all");
    Ok(())
}
