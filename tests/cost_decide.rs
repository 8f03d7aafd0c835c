//! Compute or fetch, and all that follows from a cost and a machine: sensible for ordinary input, and for any other.

use std::time::Duration;

use ternlease::cost::{
    Answer, Battery, DeviceClass, Learned, NEVER, Network, Obstacle, ReadError, ReadOptions, Route,
};
use ternlease::{FnCost, Kind, MachCap, Task};

const MB: u64 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);

/// Every number that has ever been an edge of anything.
const NUMBERS: [u64; 8] =
    [0, 1, 4095, 1 << 32, (1 << 53) + 1, i64::MAX as u64, u64::MAX - 1, u64::MAX];

#[test]
fn what_takes_longer_to_compute_is_fetched_and_the_other_way_round() {
    let machine = MachCap::example();
    let hash = machine.verdict(FnCost::hash(10_000 * MB).kind(Kind::Hash));
    assert_eq!((hash.answer, hash.trit()), (Answer::Fetch, Some(1)));
    assert!(hash.score().unwrap() > 1.0 && hash.should_fetch() && hash.decisive);
    assert!(hash.to_string().starts_with("fetch (saves "), "{hash}");

    let copy = machine.verdict(FnCost::copy(1000 * MB).kind(Kind::Copy));
    assert_eq!((copy.answer, copy.trit()), (Answer::Compute, Some(-1)));
    assert!(copy.score().unwrap() < -1.0 && copy.should_compute());
    assert_eq!(copy.words(), "compute");
}

#[test]
fn a_small_result_is_not_fetched_through_a_long_way() {
    let mut machine = MachCap::example();
    let task = FnCost::hash(64 << 10).kind(Kind::Hash);
    assert_eq!(machine.verdict(task).answer, Answer::Compute, "two round trips take longer");
    machine.route = Some(Route::new(0, u64::MAX));
    machine.disk.write.per_second = u64::MAX;
    assert_eq!(machine.verdict(task).answer, Answer::Fetch);
}

#[test]
fn what_cannot_be_done_says_why() {
    let mut machine = MachCap::example();
    let huge = FnCost::new(1, 1, 1 << 40, 10);
    let verdict = machine.verdict(huge);
    assert_eq!(verdict.words(), "must fetch (insufficient RAM)");
    assert_eq!(verdict.score(), Some(f64::INFINITY));

    machine.route = None;
    let verdict = machine.verdict(FnCost::copy(1));
    assert_eq!(verdict.words(), "must compute (no network)");
    assert_eq!((verdict.score(), verdict.trit()), (Some(f64::NEG_INFINITY), Some(-1)));

    // Neither is an answer of its own, and no trit.
    let verdict = machine.verdict(huge);
    assert_eq!((verdict.answer, verdict.trit(), verdict.score()), (Answer::Impossible, None, None));
    assert!(!verdict.should_fetch() && !verdict.should_compute());
    assert_eq!(verdict.words(), "impossible (insufficient RAM, no network)");

    machine.route = Some(Route::new(1, 1 << 30));
    machine.disk_free = Some(3 << 30);
    let verdict = machine.verdict(FnCost::copy(10_000 * MB));
    assert_eq!(verdict.t_fetch, Err(Obstacle::Disk), "a full disk counts");
    assert!(!verdict.can_store && verdict.can_compute());

    machine.rates.flop64.per_second = 0;
    let endless = machine.verdict(FnCost::new(1, 0, 0, 0));
    assert_eq!(endless.t_compute, Err(Obstacle::Endless), "and not insufficient RAM");
}

#[test]
fn a_network_of_unknown_speed_is_a_network() {
    let options = ReadOptions::new().without_benchmarks().without_network();
    assert_eq!(MachCap::read_with(".", options).unwrap().route, None);
    let mut machine = MachCap { network: Network::Unknown, ..MachCap::example() };
    machine.route = Some(Route::new(2_000_000, 125 * MB));
    assert!(machine.verdict(FnCost::hash(10_000 * MB).kind(Kind::Hash)).can_fetch());
}

#[test]
fn bias_is_shown_and_changes_no_seconds() {
    let mut machine = MachCap::example();
    let task = FnCost::sort(1_000_000, 64, 64 * MB).kind(Kind::Sort);
    let before = machine.verdict(task);
    machine.battery = Some(Battery { percent: Some(99), discharging: true });
    let after = machine.verdict(task);
    assert_eq!((before.bias_permille, after.bias_permille), (1000, 1500));
    assert_eq!((before.t_compute, before.answer), (after.t_compute, after.answer));
    machine.battery = Some(Battery { percent: Some(99), discharging: false });
    assert_eq!(machine.verdict(task).bias_permille, 1000, "on mains at 99 % as at 100 %");
}

#[test]
fn classes_go_by_what_is_there() {
    const GIB: u64 = 1 << 30;
    let class = |cores_usable, mem_total, battery: Option<Battery>| {
        MachCap { cores_usable, mem_total, battery, ..MachCap::example() }.device_class()
    };
    let battery = Some(Battery { percent: None, discharging: false });
    assert_eq!(class(2, 128 * GIB, None), DeviceClass::Desktop);
    assert_eq!(class(4, 64 * GIB, None), DeviceClass::Desktop);
    assert_eq!(class(8, 64 * GIB, None), DeviceClass::Server);
    assert_eq!(class(16, 32 * GIB, None), DeviceClass::Server);
    assert_eq!(class(8, 16 * GIB, battery), DeviceClass::Laptop);
    assert_eq!(class(8, 3 * GIB, battery), DeviceClass::Constrained);
    assert_eq!(class(1, 4 * GIB, None), DeviceClass::Constrained);
}

#[test]
fn a_miss_costs_the_computation_after_the_query() {
    let mut machine = MachCap::example();
    let task = FnCost::hash(10_000 * MB).kind(Kind::Hash);
    let sure = machine.verdict(task).t_fetch.unwrap();
    let route = machine.route.unwrap();
    machine.route = Some(Route { hits_permille: 0, query: 7, ..route });
    let verdict = machine.verdict(task);
    let missed = verdict.t_fetch.unwrap();
    assert_eq!(missed.mid, verdict.t_compute.unwrap().mid + 7);
    assert_eq!(verdict.answer, Answer::Compute);
    assert!(sure.mid < missed.mid);
}

#[test]
fn more_threads_are_faster_until_there_are_no_more_cores() {
    let machine = MachCap::example();
    for kind in Kind::ALL {
        let task = FnCost::new(1 << 40, 1 << 36, 0, 0).kind(kind);
        let time = |threads| machine.compute_time(task.threads(threads)).mid;
        assert!(time(2) <= time(1) && time(8) <= time(2), "{kind:?}");
        assert_eq!(time(8), time(1000), "{kind:?}");
        assert_eq!(time(0), time(1), "{kind:?}");
    }
}

#[test]
fn what_was_learned_counts() {
    let machine = MachCap::example();
    let task = FnCost::sort(1_000_000, 64, 0).kind(Kind::Sort);
    let untaught = machine.untaught_time(task);
    let mut learned = Learned::NOTHING;
    for _ in 0..3 {
        learned.record(untaught, untaught * 3);
    }
    let time = machine.compute_time(task.learned(learned));
    assert_eq!(time.mid / 1000, untaught * 3 / 1000);
    assert_eq!(machine.untaught_time(task.learned(learned)), untaught);
    assert!(time.hi - time.lo < time.mid / 2, "it is known better than before");
}

#[test]
fn a_ttl_is_longer_for_what_is_dear_and_never_absurd() {
    let mut machine = MachCap::example();
    let cheap = FnCost::copy(1000 * MB).kind(Kind::Copy);
    let dear = FnCost::hash(100_000 * MB).kind(Kind::Hash);
    assert_eq!(machine.suggest_ttl(cheap, SECOND), SECOND / 10);
    let ttl = machine.suggest_ttl(dear, SECOND);
    assert!(ttl > SECOND * 100 && ttl <= SECOND * 1000, "{ttl:?}");
    assert_eq!(machine.suggest_ttl(dear, Duration::ZERO), Duration::ZERO);
    assert_eq!(machine.suggest_ttl(dear, Duration::MAX), Duration::from_nanos(u64::MAX));
    let route = machine.route.as_mut().unwrap();
    route.bytes_per_second = 0;
    assert_eq!(machine.suggest_ttl(cheap, SECOND), SECOND * 1000, "fetching never ends");
    machine.route = None;
    assert_eq!(machine.suggest_ttl(cheap, SECOND), SECOND * 1000, "it cannot be fetched again");
}

#[test]
fn a_buffer_has_whole_rows_and_at_least_one() {
    let machine = MachCap::example();
    let half = machine.compute_budget() / 2;
    let buffer = machine.etl_buffer_bytes(1000).unwrap();
    assert!(buffer <= half && buffer > half - 1000 && buffer.is_multiple_of(1000));
    assert_eq!(machine.etl_buffer_bytes(0), Some(half));
    assert_eq!(machine.etl_buffer_bytes(half + 1), None);
    assert_eq!(machine.etl_buffer_bytes(u64::MAX), None);
}

#[test]
fn caching_is_worth_what_the_verdict_says() {
    let mut machine = MachCap::example();
    let task = FnCost::hash(10_000 * MB).kind(Kind::Hash);
    assert!(machine.cache_value(task) > 1.0, "the same sign as the score");
    machine.route = None;
    assert_eq!(machine.cache_value(task), f64::NEG_INFINITY);
    let took = machine.normalize(SECOND, 5, 6);
    assert_eq!(took.flops, machine.rates.flop64.per_second);
    assert_eq!((took.peak_mem, took.result_bytes), (5, 6));
    assert_eq!(machine.normalize(Duration::MAX, 0, 0).flops, u64::MAX);
}

#[test]
fn no_number_gives_a_panic_a_nan_or_a_wrong_order() {
    let mut machines = vec![MachCap::example()];
    for number in NUMBERS {
        let mut odd = MachCap {
            mem_total: number,
            mem_available: number,
            disk_total: Some(number),
            disk_free: Some(number),
            cores_usable: number as u32,
            route: Some(Route { query: number, ..Route::new(number, number) }),
            ..MachCap::example()
        };
        odd.rates.flop64.per_second = number;
        odd.rates.triad.per_second = number;
        odd.disk.write.per_second = number;
        odd.disk.read.per_second = number;
        machines.push(odd);
    }
    for machine in &machines {
        for a in NUMBERS {
            for b in NUMBERS {
                for task in [
                    Task::new(FnCost::new(a, b, a, b)),
                    FnCost::new(b, a, b, a).kind(Kind::Sort).threads(a as u32),
                    FnCost::etl(a, b, a, b).kind(Kind::Rows).input(b),
                ] {
                    check(machine, task);
                }
            }
            let pressure = [machine.mem_pressure(), machine.disk_pressure()];
            assert!(pressure.iter().all(|part| (0.0..=1.0).contains(part)));
            assert!(machine.etl_buffer_bytes(a) != Some(0));
            machine.can_store(a);
        }
        assert!(!machine.ridge_point().is_nan() && !machine.core_scaling().is_nan());
        assert!(!machine.to_json().contains("NaN") && !machine.to_json().contains("inf"));
    }
}

fn check(machine: &MachCap, task: Task) {
    let verdict = machine.verdict(task);
    for time in [verdict.t_compute, verdict.t_fetch, Ok(verdict.t_store)].into_iter().flatten() {
        assert!(time.lo <= time.mid && time.mid <= time.hi, "{time:?}");
        assert!(!time.seconds().is_nan());
    }
    assert!(verdict.t_compute.is_ok_and(|time| time.mid != NEVER) || verdict.t_compute.is_err());
    assert!(verdict.score().is_none_or(|score| !score.is_nan()));
    assert_eq!(verdict.trit().is_none(), verdict.answer == Answer::Impossible);
    if verdict.should_fetch() {
        assert!(verdict.can_fetch());
    }
    if verdict.should_compute() {
        assert!(verdict.can_compute());
    }
    assert!(!verdict.to_json().contains("NaN"));
    assert!(!machine.cache_value(task).is_nan());
    machine.suggest_ttl(task, Duration::MAX);
}

#[test]
fn a_store_that_is_not_there_is_an_error_that_names_it() {
    for (path, word) in [("/nonexistent/store", "/nonexistent/store"), ("/dev/null", "/dev/null")] {
        let options = ReadOptions::new().without_benchmarks();
        let error = MachCap::read_with(path, options).unwrap_err();
        assert!(matches!(error, ReadError::Store { .. }));
        assert!(error.to_string().contains(word), "{error}");
    }
}
