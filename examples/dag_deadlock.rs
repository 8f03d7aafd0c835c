//! Deadlock recovery in a DAG scheduler. Steps hold one GPU and want another. First a false alarm: a cycle of waiting
//! that is no deadlock, because one of the steps takes any of two. Then a real one: find it, revoke one lease, and all finish.
//!
//! Run it: `cargo run --release --example dag_deadlock`

use ternlease::{
    Deadlock, DeadlockPolicy, Error, LeaseManager, Options, Reason, Span, Ticket, TicketState,
};

struct Step {
    name: &'static str,
    wants: Ticket,
}

/// Every step takes the GPU it holds, then all of them stand in line for one of those they want.
fn start(dag: &LeaseManager, steps: &[(&'static str, &str, &[&str])]) -> Result<Vec<Step>, Error> {
    for (name, holds, _) in steps {
        dag.claim(name).of(&[holds]).try_now()?;
    }
    let queue = |(name, _, wants): &(&'static str, &str, &[&str])| {
        Ok(Step { name, wants: dag.claim(name).of(wants).enqueue()? })
    };
    steps.iter().map(queue).collect()
}

/// Lets every step finish that gets what it wants; their names, in order. What is left is stuck.
fn finish(dag: &LeaseManager, steps: &mut Vec<Step>) -> Result<Vec<&'static str>, Error> {
    let ready = |step: &Step| matches!(step.wants.state(), TicketState::Granted(_));
    let mut finished = vec![];
    while let Some(place) = steps.iter().position(ready) {
        let Step { name, wants } = steps.remove(place);
        wants.wait()?; // decided: does not block
        for lease in dag.held_by(name) {
            dag.release(lease)?;
        }
        finished.push(name);
    }
    Ok(finished)
}

fn print_cycle(dag: &LeaseManager, deadlock: &Deadlock) {
    for wait in &deadlock.cycle {
        let info = dag.lease(wait.lease).expect("a lease in a cycle is held");
        let mark = if wait.lease == deadlock.victim { "  (the victim)" } else { "" };
        let gpu = &info.takes[0].resource;
        println!("  {:<9} waits for {gpu}, held by {}{mark}", wait.worker, info.holder);
    }
}

fn main() -> Result<(), Error> {
    println!("a cycle that is no deadlock");
    let dag = LeaseManager::with(Options::ticks().deadlocks(DeadlockPolicy::Report));
    let runs = dag.claim("tokenize").of(&["gpu2"]).try_now()?;
    let either = &["gpu1", "gpu2"];
    let mut steps = start(&dag, &[("decode", "gpu0", either), ("embed", "gpu1", &["gpu0"])])?;
    println!("  decode waits for embed, embed waits for decode; tokenize runs");
    println!("  deadlocks found: {}", dag.find_deadlocks()?.len());
    assert!(dag.find_deadlocks()?.is_empty(), "a cycle detector would revoke for nothing");
    dag.release(runs)?;
    let finished = finish(&dag, &mut steps)?;
    println!("  tokenize is done; then finish: {}", finished.join(", "));
    assert_eq!(finished, ["decode", "embed"]);

    println!("\na deadlock");
    let cycle: [(_, _, &[&str]); 3] = [
        ("shuffle", "gpu0", &["gpu1"]),
        ("train", "gpu1", &["gpu2"]),
        ("evaluate", "gpu2", &["gpu0"]),
    ];
    let mut steps = start(&dag, &cycle)?;
    let publish = dag.claim("publish").of(&["gpu0"]).enqueue()?; // holds nothing, but is stuck too
    steps.push(Step { name: "publish", wants: publish });
    assert!(finish(&dag, &mut steps)?.is_empty(), "nobody can go on");
    let deadlocks = dag.find_deadlocks()?;
    assert_eq!(deadlocks.len(), 1);
    print_cycle(&dag, &deadlocks[0]);
    println!("  everybody stuck: {}", deadlocks[0].stuck.join(", "));
    assert_eq!(deadlocks[0].stuck, ["evaluate", "publish", "shuffle", "train"]);

    println!("\nrecovery");
    let victim = dag.lease(deadlocks[0].victim).ok_or(Error::UnknownLease)?;
    dag.revoke_with(victim.id, Reason::DeadlockVictim, "scheduler", Span::Zero)?;
    assert!(dag.find_deadlocks()?.is_empty());
    let place = steps.iter().position(|step| step.name == victim.holder).expect("it is a step");
    drop(steps.remove(place)); // what it waits for is of no use without what it lost
    let mut finished = finish(&dag, &mut steps)?;
    println!("  {} is revoked; then finish: {}", victim.holder, finished.join(", "));
    assert_eq!(finished.len(), 3);

    // This time it asks for all it needs at once: then it holds nothing while it waits.
    let again = dag.claim("evaluate").of(&["gpu2", "gpu0"]).count(2).enqueue()?;
    finished.extend(finish(&dag, &mut vec![Step { name: "evaluate", wants: again }])?);
    println!("  {} runs again and finishes", finished[3]);
    assert_eq!((finished.len(), dag.active_count(), dag.pending_claimers()), (4, 0, 0));
    assert_eq!(dag.count(Reason::DeadlockVictim), 1);
    Ok(())
}
