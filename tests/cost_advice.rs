//! Where to do a task, with the line in front of the GPUs taken into account: each way is chosen where it is the best, and what cannot be done says why.

use std::time::Duration;

use ternlease::cost::{Choice, Estimate, Obstacle};
use ternlease::inventory::Declared;
use ternlease::{
    ExpectedWait, FnCost, GpuDevice, GpuPool, Kind, MachCap, PoolError, PoolOptions, Task, Vendor,
};

fn pool(devices: u32) -> GpuPool {
    GpuPool::open_with("process:", PoolOptions::of(Declared::fake(devices))).unwrap()
}

/// Much to compute, little to carry.
fn large() -> Task {
    FnCost::matmul(20_000, 20_000, 20_000, 3_200_000_000).kind(Kind::Dense64)
}

/// As it would be without anybody to fetch from.
fn alone() -> MachCap {
    MachCap { route: None, ..MachCap::example() }
}

#[test]
fn a_large_product_goes_to_a_free_gpu_and_a_small_one_does_not() {
    let pool = pool(1);
    let advice = alone().advise(large(), &pool.claim()).unwrap();
    assert_eq!((advice.choice, advice.wait), (Choice::GpuNow, ExpectedWait::None));
    assert!(advice.decisive && advice.gpu_now().unwrap().mid < advice.cpu.unwrap().mid / 50);
    assert_eq!(advice.gpu_wait(), None);

    let small = FnCost::matmul(500, 500, 500, 2_000_000).kind(Kind::Dense64);
    let advice = alone().advise(small, &pool.claim()).unwrap();
    assert_eq!(advice.choice, Choice::Cpu, "beginning with a GPU takes longer than all of it");
    let mut begun = alone();
    begun.gpu_start = Estimate::ZERO;
    let advice = begun.advise(small, &pool.claim()).unwrap();
    assert_eq!(advice.choice, Choice::GpuNow);
}

#[test]
fn bytes_that_are_only_read_are_not_worth_the_way() {
    let scan = FnCost::scan(10 << 30, 8).kind(Kind::Stream).threads(8);
    let machine = MachCap { gpu_start: Estimate::ZERO, ..alone() };
    assert_eq!(machine.advise(scan, &pool(1).claim()).unwrap().choice, Choice::Cpu);
}

#[test]
fn waiting_is_worth_it_exactly_as_long_as_computing_here_takes_longer() {
    let machine = alone();
    let seconds = machine.compute_time(large()).mid / 1_000_000_000;
    for (ttl, choice) in [(seconds / 4, Choice::GpuWait), (seconds * 2, Choice::Cpu)] {
        let pool = pool(1);
        let claim = pool.claim().ttl(Duration::from_secs(ttl));
        let _lease = claim.try_now().unwrap().unwrap();
        let advice = machine.advise(large(), &pool.claim()).unwrap();
        assert_eq!(advice.choice, choice, "{advice}");
        assert_eq!(advice.gpu_now(), None);
        let ExpectedWait::About(wait) = advice.wait else { panic!("{advice}") };
        let after = advice.gpu_wait().unwrap();
        assert_eq!(after.mid, wait.as_nanos() as u64 + advice.gpu.unwrap().mid);
    }
    // One that nobody can foresee is not waited for.
    let pool = pool(1);
    let _lease = pool.claim().try_now().unwrap().unwrap();
    let advice = machine.advise(large(), &pool.claim()).unwrap();
    assert_eq!((advice.choice, advice.wait), (Choice::Cpu, ExpectedWait::Unknown));
    assert!(advice.to_string().contains("nobody can tell"), "{advice}");
}

#[test]
fn a_result_that_somebody_has_is_fetched() {
    let mut machine = MachCap::example();
    machine.route = Some(ternlease::cost::Route::new(100_000, 10_000_000_000));
    machine.disk.write.per_second = 10_000_000_000;
    let task = FnCost::new(1 << 50, 1 << 30, 1 << 30, 1 << 20).kind(Kind::Dense64);
    let advice = machine.advise(task, &pool(1).claim()).unwrap();
    assert_eq!(advice.choice, Choice::Fetch, "{advice}");
    assert!(advice.decisive);
}

#[test]
fn several_devices_share_the_work_and_the_memory() {
    let pool = pool(4);
    let machine = alone();
    let one = machine.advise(large(), &pool.claim()).unwrap().gpu.unwrap();
    let four = machine.advise(large(), &pool.claim().devices(4)).unwrap().gpu.unwrap();
    let start = machine.gpu_start.mid;
    assert!((one.mid - start) / 4 >= four.mid - start - 4);
    // Twice what one has.
    let wide = FnCost::new(1, 1, 160 << 30, 0);
    let advice = |count| machine.advise(wide, &pool.claim().devices(count)).unwrap();
    assert_eq!(advice(1).gpu, Err(Obstacle::DeviceMemory));
    assert!(advice(2).gpu.is_ok());
    // Who leases only a part of the memory has only that part.
    let claim = pool.claim().memory(1024);
    let task = FnCost::new(1, 1, 2 << 30, 0);
    assert_eq!(machine.advise(task, &claim).unwrap().gpu, Err(Obstacle::DeviceMemory));
}

#[test]
fn without_devices_or_without_knowing_them_the_processor_does_it() {
    let machine = alone();
    let advice = machine.advise(large(), &pool(0).claim()).unwrap();
    assert_eq!((advice.choice, advice.gpu), (Choice::Cpu, Err(Obstacle::NoDevice)));
    assert_eq!(advice.wait, ExpectedWait::NoDevices);

    let unknown = GpuPool::new(&[GpuDevice::new(Vendor::Amd, 0, "MI300X")]);
    let advice = machine.advise(large(), &unknown.claim()).unwrap();
    assert_eq!((advice.choice, advice.gpu), (Choice::Cpu, Err(Obstacle::DeviceSpeed)));

    let too_many = machine.advise(large(), &pool(1).claim().devices(2));
    assert!(matches!(too_many, Err(PoolError::TooFew { .. })));
}

#[test]
fn what_can_be_done_nowhere_is_infeasible() {
    let machine = alone();
    let endless = FnCost::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    let advice = machine.advise(endless, &pool(1).claim()).unwrap();
    assert_eq!((advice.choice, advice.decisive), (Choice::Infeasible, false));
    assert!(advice.ways().is_empty());
    let json = advice.to_json();
    assert!(json.contains("\"why_not\": \"insufficient RAM\""), "{json}");
    assert!(!json.contains("inf,") && !json.contains("NaN"), "{json}");
}

#[test]
fn advice_reads_well() {
    let text = alone().advise(large(), &pool(2).claim()).unwrap().to_string();
    let expected = "\
gpu now
  gpu now                 3.368 s  (1.634 to 8.136)
  cpu                   416.667 s  (208.333 to 833.333)
  fetch              not possible: no network";
    assert_eq!(text, expected);
}
