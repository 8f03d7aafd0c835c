use super::*;

const RULES: Rules = Rules {
    clean_memory: 100,
    drain_limit: Duration::from_secs(60),
    recovery: Duration::from_secs(30),
};

fn sound() -> Observation {
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
fn sound_unused_device_is_healthy() {
    assert_eq!(Watch::new().see(0, false, &sound()), Judgement::HEALTHY);
}

#[test]
fn memory_without_process_drains_then_fails_device_until_freed() {
    let mut watch = Watch::new();
    let ghost = Observation { memory_used: Some(40_000), ..sound() };
    let first = watch.see(0, false, &ghost);
    assert_eq!(first.health, Health::Draining);
    let trouble = first.trouble.unwrap();
    assert!(trouble.contains("40000 MiB by no process"), "{trouble}");
    assert_eq!(watch.see(59, false, &ghost).health, Health::Draining);
    let last = watch.see(60, false, &ghost);
    assert_eq!(last.health, Health::Failed);
    assert!(last.trouble.unwrap().contains("60s after its last lease"));
    assert!(!last.fault, "no lease is to blame");
    assert_eq!(watch.see(61, false, &sound()), Judgement::HEALTHY);
}

#[test]
fn drain_limit_starts_again_after_each_lease() {
    let mut watch = Watch::new();
    let used = Observation { memory_used: Some(40_000), ..sound() };
    assert_eq!(watch.see(0, false, &used).health, Health::Draining);
    assert_eq!(watch.see(10, true, &used), Judgement::HEALTHY);
    assert_eq!(watch.see(70, false, &used).health, Health::Draining);
}

#[test]
fn process_without_lease_is_named() {
    let mut watch = Watch::new();
    let squatter = Process {
        user: Some("alice".into()),
        command: Some("python".into()),
        ..process(ProcessKind::Compute, 99, 38_000)
    };
    let seen = Observation { processes: Some(vec![squatter.clone()]), ..sound() };
    let judgement = watch.see(0, false, &seen);
    assert_eq!(judgement.health, Health::Draining);
    let trouble = judgement.trouble.unwrap();
    assert!(trouble.contains("pid 99 (alice: python) with 38000 MiB"), "{trouble}");
    assert_eq!(squatters(&seen, false), [squatter]);
    assert!(squatters(&seen, true).is_empty(), "with a lease it may be the holder's");
}

#[test]
fn memory_of_display_server_leaves_device_clean() {
    let seen = Observation {
        memory_used: Some(1_050),
        processes: Some(vec![process(ProcessKind::Graphics, 7, 1_000)]),
        ..sound()
    };
    assert_eq!(Watch::new().see(0, false, &seen), Judgement::HEALTHY);
    let more = Observation { memory_used: Some(1_101), ..seen };
    assert_eq!(Watch::new().see(0, false, &more).health, Health::Draining);
}

#[test]
fn used_device_without_check_is_healthy() {
    let mut memory = Memory::default();
    let seen = Observation { memory_used: Some(40_000), ..sound() };
    let judgement = memory.judge(&seen, false, false, &RULES, Instant::now());
    assert_eq!(judgement, Judgement::HEALTHY);
}

#[test]
fn device_whose_use_is_invisible_is_healthy_and_not_idle() {
    let blind = Observation { memory_used: None, processes: None, busy: None, ..sound() };
    let mut watch = Watch::new();
    assert_eq!(watch.see(0, false, &blind), Judgement::HEALTHY);
    watch.see(1, true, &blind);
    assert_eq!(watch.memory.idle_since, None, "its use is invisible");
}

#[test]
fn fault_fails_device_until_recovery_time_is_over() {
    let mut watch = Watch::new();
    let judgement = watch.memory.note_fault("Xid 79", watch.start);
    assert!(judgement.fault && judgement.health == Health::Failed);
    let watched = watch.see(29, false, &sound());
    assert_eq!((watched.health, watched.fault), (Health::Failed, false));
    assert!(watched.trouble.unwrap().contains("Xid 79"));
    // Another fault starts the time again.
    let lost =
        Observation { health: Health::Failed, trouble: Some("it is lost".into()), ..sound() };
    assert!(watch.see(29, false, &lost).fault);
    assert_eq!(watch.see(58, false, &sound()).health, Health::Failed);
    assert_eq!(watch.see(59, false, &sound()), Judgement::HEALTHY);
}

#[test]
fn device_in_use_after_recovery_drains() {
    let mut watch = Watch::new();
    watch.memory.note_fault("Xid 48", watch.start);
    let used = Observation { memory_used: Some(500), ..sound() };
    assert_eq!(watch.see(30, false, &used).health, Health::Draining);
}

#[test]
fn silent_driver_drains_device_without_fault() {
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
fn leased_unused_device_is_idle() {
    let mut watch = Watch::new();
    watch.see(0, true, &sound());
    watch.see(5, true, &sound());
    assert_eq!(watch.memory.idle_since, Some(watch.start));
    let busy = Observation { busy: Some(3), ..sound() };
    watch.see(6, true, &busy);
    assert_eq!(watch.memory.idle_since, None);
    watch.see(7, true, &sound());
    assert_eq!(watch.memory.idle_since, Some(after(watch.start, 7)));
    watch.see(8, false, &sound());
    assert_eq!(watch.memory.idle_since, None, "it has no lease");
}
