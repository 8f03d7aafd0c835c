//! A plan for a pipeline, stage by stage, that learns from what really happened: predictions become right after the first run.
//!
//! Run it: `cargo run --release --example planner`

use ternlease::cost::Learned;
use ternlease::{FnCost, Kind, MachCap};

/// A stage, what earlier runs of it taught, and how much longer it takes than its cost says, which nobody knows beforehand.
struct Stage {
    name: &'static str,
    cost: FnCost,
    kind: Kind,
    learned: Learned,
    truth_permille: u64,
}

fn stage(name: &'static str, cost: FnCost, kind: Kind, truth_permille: u64) -> Stage {
    Stage { name, cost, kind, learned: Learned::NOTHING, truth_permille }
}

fn main() {
    const ROWS: u64 = 10_000_000;
    let machine = MachCap::example();
    let mut stages = [
        stage("read", FnCost::copy(ROWS * 256), Kind::Copy, 1100),
        stage("clean", FnCost::etl(ROWS, 256, 100, ROWS * 256), Kind::Rows, 2500),
        stage("sort", FnCost::sort(ROWS, 64, ROWS * 64), Kind::Sort, 700),
        stage("fingerprint", FnCost::hash(ROWS * 64), Kind::Hash, 1000),
    ];
    let whole = stages.iter().fold(FnCost::ZERO, |sum, stage| sum + stage.cost);
    println!("the pipeline: {} operations, {} bytes at once", whole.flops, whole.peak_mem);
    assert!(machine.can_execute(whole));

    let mut errors = Vec::new();
    for run in 1..=3 {
        let (mut predicted, mut took) = (0, 0);
        println!("\nrun {run}");
        for stage in &mut stages {
            let task = stage.cost.kind(stage.kind);
            let time = machine.compute_time(task.learned(stage.learned));
            // In a program of yours: what a clock says.
            let measured = machine.untaught_time(task) * stage.truth_permille / 1000;
            stage.learned.record(machine.untaught_time(task), measured);
            let seconds = [time.mid, measured].map(|ns| ns as f64 / 1e9);
            println!(
                "  {:<12} expected {:>6.3} s, took {:>6.3} s",
                stage.name, seconds[0], seconds[1]
            );
            predicted += time.mid;
            took += measured;
        }
        let error = (predicted as f64 / took as f64 - 1.0).abs() * 100.0;
        println!("  off by {error:.0} %");
        errors.push(error);
    }
    assert!(errors[0] > 5.0 && errors[1] < 1.0 && errors[2] < 1.0);
}
