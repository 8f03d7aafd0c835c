//! What leases of devices can do: renew themselves, tell of revocation, show children their devices and no others.

#[path = "common/gpus.rs"]
mod gpus;

use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use gpus::{device, nvidia, wait_until};
use parking_lot::Mutex;
use ternlease::inventory::Mig;
use ternlease::{
    Error, GpuDevice, GpuPool, LeaseManager, LeaseState, Options, PoolOptions, Reason, TicketState,
    Vendor,
};

#[test]
fn children_see_the_devices_of_their_lease_and_no_others() {
    let mut devices = nvidia(3);
    let part = |n: u32| GpuDevice {
        uuid: Some(format!("MIG-{n}")),
        mig: Some(Mig {
            parent: "GPU-nvidia-2".into(),
            profile: "1g.10gb".into(),
            gpu_instance: n,
            compute_instance: 0,
        }),
        ..devices[2].clone()
    };
    let parts = [part(1), part(2)];
    devices.truncate(2);
    devices.extend(parts);
    let pool = GpuPool::new(&devices);
    let order = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
    let visible = |value: &str| vec![order.clone(), ("CUDA_VISIBLE_DEVICES", value.to_owned())];
    let two = pool.claim().named(&["nvidia:0", "nvidia:1"]).devices(2).try_now().unwrap().unwrap();
    assert_eq!(two.env().unwrap().set, visible("0,1"));
    assert_eq!(two.env_by_uuid().unwrap().set, visible("GPU-nvidia-0,GPU-nvidia-1"));
    let part = pool.claim().named(&["MIG-2"]).try_now().unwrap().unwrap();
    assert_eq!(part.env().unwrap().set, visible("MIG-2"), "a part has no number");

    let mixed = GpuPool::new(&[device(Vendor::Nvidia, 4, 1), device(Vendor::Amd, 0, 1)]);
    let amd = mixed.claim().vendor(Vendor::Amd).try_now().unwrap().unwrap().env().unwrap();
    assert!(amd.set.contains(&("ROCR_VISIBLE_DEVICES", "GPU-amd-0".to_owned())));
    assert!(amd.set.contains(&("CUDA_VISIBLE_DEVICES", String::new())), "not its business");
    assert_eq!(amd.remove, ["HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"]);

    let mut command = std::process::Command::new("sh");
    command.args(["-c", "echo $CUDA_VISIBLE_DEVICES/$HIP_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES"]);
    command.env("HIP_VISIBLE_DEVICES", "3");
    amd.apply(&mut command);
    assert_eq!(command.output().unwrap().stdout, b"//GPU-amd-0\n");
}

#[test]
fn a_lease_is_kept_alive_while_it_lives_and_not_longer() {
    let pool = GpuPool::new(&nvidia(2));
    let ttl = Duration::from_millis(60);
    let kept = pool.claim().ttl(ttl).keep_alive().wait().unwrap().unwrap();
    let left = pool.claim().ttl(ttl).wait().unwrap().unwrap();
    let end = |lease: &ternlease::GpuLease| lease.info().unwrap().end;
    let before = end(&kept);
    wait_until("the other one ends", || left.state() == Some(LeaseState::Expired));
    assert_eq!(left.info().unwrap().reason, Some(Reason::TimedOut));
    wait_until("it is renewed", || end(&kept) > before);
    assert_eq!(kept.state(), Some(LeaseState::Held));
    let id = kept.into_id();
    wait_until("it ends", || pool.manager().state(id) == Some(LeaseState::Expired));
}

#[test]
fn keeping_alive_needs_real_time() {
    let manager = LeaseManager::with(Options::ticks());
    let pool = GpuPool::on(&manager, &nvidia(1)).unwrap();
    let error = pool.claim().ttl(5).keep_alive().try_now().unwrap_err();
    assert_eq!(error, Error::WrongClock.into());
    assert!(pool.try_claim().unwrap().is_some(), "what it was granted was given back");
}

#[test]
fn a_preempted_holder_is_told_and_can_save_its_work() {
    let pool = GpuPool::new(&nvidia(1));
    let notice = Duration::from_secs(3600);
    let low = pool.claim().preemptible(notice).wait().unwrap().unwrap();
    let (tell, told) = mpsc::channel();
    low.on_change(move |notice| tell.send(*notice).unwrap()).unwrap();
    thread::scope(|scope| {
        let high = scope.spawn(|| pool.claim().priority(5).preempt().wait().unwrap().unwrap());
        let first = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(first.state, Some(LeaseState::Held));
        assert_eq!(first.reason, Some(Reason::Preempted));
        low.release().unwrap();
        assert_eq!(high.join().unwrap().gpu_index(), 0);
    });
    let last = told.recv_timeout(Duration::from_secs(60)).unwrap();
    // Released during the notice: an acknowledged revocation.
    assert_eq!((last.state, last.reason), (Some(LeaseState::Revoked), Some(Reason::Preempted)));
}

#[test]
fn giving_back_what_was_taken_away_says_so() {
    let pool = GpuPool::new(&nvidia(1));
    let lease = pool.try_claim().unwrap().unwrap();
    pool.manager().revoke(lease.id()).unwrap();
    assert_eq!(lease.release(), Err(Error::NotHeld(LeaseState::Revoked, Reason::Operator)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_descriptor_tells_of_revocation() {
    use std::io::Read;
    let pool = GpuPool::new(&nvidia(1));
    let lease = pool.try_claim().unwrap().unwrap();
    let mut told = std::fs::File::from(lease.fd().unwrap());
    let mut count = [0; 8];
    let early = told.read(&mut count).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    pool.manager().revoke_with(lease.id(), Reason::NodeDrain, "ops", Duration::ZERO).unwrap();
    wait_until("it is readable", || (&told).read(&mut [0; 8]).is_ok());
    assert_eq!(lease.state(), Some(LeaseState::Revoked));
    assert!(matches!(lease.fd(), Err(Error::NotHeld(..))), "it is over");
}

#[test]
fn who_is_woken_by_a_renewal_keeps_nobody_else_from_being_renewed() {
    /// Whoever calls this stays here until the gate is open.
    struct Slow(Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>);
    impl Wake for Slow {
        fn wake(self: Arc<Self>) {
            let both = self.0.lock();
            both.0.send(()).unwrap();
            let _ = both.1.recv();
        }
    }
    let pool = GpuPool::new(&nvidia(5));
    let parent = pool.claim().named(&["0"]).wait().unwrap().unwrap();
    let kept = pool.claim().named(&["1"]).child_of(parent.id()).ttl(Duration::from_millis(60));
    let _kept = kept.keep_alive().wait().unwrap().unwrap();
    let (enter, entered) = mpsc::channel();
    let mut gates = Vec::new();
    let mut tickets = Vec::new();
    // One of the two is woken by the thread that renews, the other by the one that looks at the clock.
    for (number, place) in [("2", 2), ("3", 3)] {
        let short = pool.claim().named(std::slice::from_ref(&number));
        let short = short.ttl(Duration::from_millis(30)).wait().unwrap().unwrap();
        let (open, gate) = mpsc::channel();
        gates.push(open);
        let ticket =
            pool.manager().claim("waiter").of(&[&pool.devices()[place].key()]).enqueue().unwrap();
        let slow = Arc::new(Slow(Mutex::new((enter.clone(), gate))));
        assert_eq!(ticket.watch(&Waker::from(slow)), TicketState::Waiting);
        short.into_id();
        tickets.push(ticket);
        entered.recv_timeout(Duration::from_secs(60)).expect("it is woken");
    }
    let (tell, told) = mpsc::channel();
    let other = pool.clone();
    thread::spawn(move || {
        let claim = other.claim().named(&["4"]).ttl(Duration::from_secs(60)).keep_alive();
        tell.send(claim.wait().unwrap().is_some()).unwrap();
    });
    let granted = told.recv_timeout(Duration::from_secs(10));
    drop(gates);
    assert_eq!(granted, Ok(true));
}

#[test]
fn leases_and_claims_can_go_to_other_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<ternlease::GpuLease>();
    sync::<ternlease::GpuLease>();
    sync::<GpuPool>();
    send::<ternlease::pool::GpuClaiming<'static>>();
    send::<PoolOptions>();
}

#[test]
fn who_does_not_say_how_devices_are_divided_leaves_them_as_they_are() {
    let manager = LeaseManager::open("process:").unwrap();
    let divided = GpuPool::on_with(&manager, PoolOptions::from_spec("fake:1").unwrap().slots(4));
    let divided = divided.unwrap();
    let slots = || divided.status()[0].slots.0;
    let look = || GpuPool::on_with(&manager, PoolOptions::from_spec("fake:1").unwrap()).unwrap();
    drop(look());
    assert_eq!(slots(), 4);
    let lease = divided.claim().slots(1).try_now().unwrap();
    assert_eq!(look().status()[0].slots, (4, 1));
    drop(lease);
    let undivided = PoolOptions::from_spec("fake:1").unwrap().slots(1);
    drop(GpuPool::on_with(&manager, undivided).unwrap());
    assert_eq!(slots(), 1, "who says so changes it");
}
