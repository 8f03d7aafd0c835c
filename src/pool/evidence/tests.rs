use super::*;

const RULES: Rules = Rules {
    clean_memory: 100,
    drain_limit: Duration::from_secs(60),
    recovery: Duration::from_secs(30),
};

fn well() -> Observation {
    Observation {
        health: Health::Healthy,
        trouble: None,
        memory_used: Some(10),
        busy: Some(0),
        processes: Some(Vec::new()),
        uuid: None,
    }
}

fn process(kind: ProcessKind, pid: u32, memory: u32) -> Process {
    Process { kind, pid, memory: Some(memory), user: None, command: None }
}

fn after(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

struct Watch {
    memory: Memory,
    start: Instant,
}

impl Watch {
    fn new() -> Self {
        Watch { memory: Memory::default(), start: Instant::now() }
    }

    fn see(&mut self, seconds: u64, leased: bool, seen: &Observation) -> Judgement {
        self.memory.judge(seen, leased, true, &RULES, after(self.start, seconds))
    }
}

#[test]
fn what_is_well_and_unused_is_healthy() {
    assert_eq!(Watch::new().see(0, false, &well()), Judgement::HEALTHY);
}

#[test]
fn memory_of_no_process_makes_it_drain_then_fail_then_it_comes_back() {
    let mut watch = Watch::new();
    let ghost = Observation { memory_used: Some(40_000), ..well() };
    let first = watch.see(0, false, &ghost);
    assert_eq!(first.health, Health::Draining);
    let trouble = first.trouble.unwrap();
    assert!(trouble.contains("40000 MiB by no process"), "{trouble}");
    assert_eq!(watch.see(59, false, &ghost).health, Health::Draining);
    let last = watch.see(60, false, &ghost);
    assert_eq!(last.health, Health::Failed);
    assert!(last.trouble.unwrap().contains("60s after its last lease"));
    assert!(!last.fault, "no lease is to blame");
    assert_eq!(watch.see(61, false, &well()), Judgement::HEALTHY);
}

#[test]
fn each_time_it_has_the_whole_limit_to_become_clean() {
    let mut watch = Watch::new();
    let used = Observation { memory_used: Some(40_000), ..well() };
    assert_eq!(watch.see(0, false, &used).health, Health::Draining);
    assert_eq!(watch.see(10, true, &used), Judgement::HEALTHY);
    assert_eq!(watch.see(70, false, &used).health, Health::Draining);
}

#[test]
fn a_squatter_is_named() {
    let mut watch = Watch::new();
    let squatter = Process {
        user: Some("alice".into()),
        command: Some("python".into()),
        ..process(ProcessKind::Compute, 99, 38_000)
    };
    let seen = Observation { processes: Some(vec![squatter.clone()]), ..well() };
    let judgement = watch.see(0, false, &seen);
    assert_eq!(judgement.health, Health::Draining);
    let trouble = judgement.trouble.unwrap();
    assert!(trouble.contains("pid 99 (alice: python) with 38000 MiB"), "{trouble}");
    assert_eq!(squatters(&seen, false), [squatter]);
    assert!(squatters(&seen, true).is_empty(), "with a lease it may be the holder's");
}

#[test]
fn a_display_server_is_no_reason_not_to_compute() {
    let seen = Observation {
        memory_used: Some(1_050),
        processes: Some(vec![process(ProcessKind::Graphics, 7, 1_000)]),
        ..well()
    };
    assert_eq!(Watch::new().see(0, false, &seen), Judgement::HEALTHY);
    let more = Observation { memory_used: Some(1_101), ..seen };
    assert_eq!(Watch::new().see(0, false, &more).health, Health::Draining);
}

#[test]
fn unused_is_not_asked_of_a_device_that_need_not_be() {
    let mut memory = Memory::default();
    let seen = Observation { memory_used: Some(40_000), ..well() };
    let judgement = memory.judge(&seen, false, false, &RULES, Instant::now());
    assert_eq!(judgement, Judgement::HEALTHY);
}

#[test]
fn what_cannot_be_seen_is_unknown_and_not_clean_or_dirty() {
    let blind = Observation { memory_used: None, processes: None, busy: None, ..well() };
    let mut watch = Watch::new();
    assert_eq!(watch.see(0, false, &blind), Judgement::HEALTHY);
    watch.see(1, true, &blind);
    assert_eq!(watch.memory.idle_since, None, "nobody saw that it is idle");
}

#[test]
fn a_fault_fails_it_until_it_has_been_well_for_long_enough() {
    let mut watch = Watch::new();
    let judgement = watch.memory.note_fault("Xid 79", watch.start);
    assert!(judgement.fault && judgement.health == Health::Failed);
    let watched = watch.see(29, false, &well());
    assert_eq!((watched.health, watched.fault), (Health::Failed, false));
    assert!(watched.trouble.unwrap().contains("Xid 79"));
    // It has another one, and the time begins anew.
    let lost = Observation { health: Health::Failed, trouble: Some("it is lost".into()), ..well() };
    assert!(watch.see(29, false, &lost).fault);
    assert_eq!(watch.see(58, false, &well()).health, Health::Failed);
    assert_eq!(watch.see(59, false, &well()), Judgement::HEALTHY);
}

#[test]
fn after_a_fault_it_must_be_clean_too() {
    let mut watch = Watch::new();
    watch.memory.note_fault("Xid 48", watch.start);
    let used = Observation { memory_used: Some(500), ..well() };
    assert_eq!(watch.see(30, false, &used).health, Health::Draining);
}

#[test]
fn a_driver_that_does_not_answer_is_no_fault_of_the_holder() {
    let hung = Observation {
        health: Health::Draining,
        trouble: Some("the driver has not answered for 5s".into()),
        memory_used: None,
        processes: None,
        busy: None,
        uuid: None,
    };
    let judgement = Watch::new().see(0, true, &hung);
    assert_eq!((judgement.health, judgement.fault), (Health::Draining, false));
}

#[test]
fn a_lease_that_is_not_used_is_idle_since_then() {
    let mut watch = Watch::new();
    watch.see(0, true, &well());
    watch.see(5, true, &well());
    assert_eq!(watch.memory.idle_since, Some(watch.start));
    let busy = Observation { busy: Some(3), ..well() };
    watch.see(6, true, &busy);
    assert_eq!(watch.memory.idle_since, None);
    watch.see(7, true, &well());
    assert_eq!(watch.memory.idle_since, Some(after(watch.start, 7)));
    watch.see(8, false, &well());
    assert_eq!(watch.memory.idle_since, None, "nobody has it");
}
