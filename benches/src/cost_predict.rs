//! `cost.predict.KERNEL`: how far a prediction is from what a real computation takes, beside the peer's.

use ternlease::MachCap;
use ternlease::cost::{Estimate, Learned};

use crate::cost::{Known, error, geometric_mean, reached};
use crate::cost_kernels::Case;
use crate::measure::{Sample, Unit, median};
use crate::report::{Bench, figure, significant};

/// From the measured rates alone, and after so many runs that were recorded.
const GOAL: f64 = 2.0;
const TAUGHT_GOAL: f64 = 1.5;
const RECORDED: usize = 3;

/// Of all at full size; it needs all of them.
pub const MEAN: &str = "cost.predict.mean";

pub fn name(case: Case) -> String {
    format!("cost.predict.{}", case.name())
}

pub fn report(bench: &mut Bench, machine: &MachCap, known: &[Known]) {
    for known in known.iter().filter(|known| bench.wants(&name(known.case))).collect::<Vec<_>>() {
        one(bench, machine, known);
    }
    if !bench.wants(MEAN) {
        return;
    }
    let counts = |known: &Known| known.case.kernel.counts();
    mean(bench, MEAN, known, |known| counts(known) && known.case.divisor == 1);
    mean(bench, "cost.predict.mean_of_all_sizes", known, counts);
    mean(bench, "cost.predict.mean_with_extras", known, |_| true);
    let off = known.iter().map(|known| {
        let (predicted, next) = taught(machine, known);
        error(predicted, next)
    });
    let off: Vec<f64> = off.collect();
    let mean = significant(geometric_mean(off.iter().copied()));
    let worst = significant(off.into_iter().fold(1.0, f64::max));
    let text =
        format!("after {RECORDED} recorded runs: x{mean} in the mean of all, x{worst} at worst");
    bench.note("cost.predict.taught", &text);
}

/// What is predicted once some runs were recorded, as they came, and what the ones after them took in the middle: that is what it is for.
fn taught(machine: &MachCap, known: &Known) -> (f64, f64) {
    let (recorded, next) = known.runs.split_at(RECORDED);
    let mut learned = Learned::NOTHING;
    recorded.iter().for_each(|&run| learned.record(known.predicted, run));
    let Estimate { mid, .. } = machine.compute_time(known.case.task().learned(learned));
    (mid as f64, median(next.iter().map(|&run| run as f64)))
}

fn one(bench: &mut Bench, machine: &MachCap, known: &Known) {
    let name = name(known.case);
    let (predicted, best) = (known.predicted as f64, known.best() as f64);
    let ours = error(predicted, best);
    let peer = known.peer.map(|peer| error(peer, best));
    bench.line(&name, Sample::beside(ours, peer, Unit::Factor));
    let time = |nanoseconds: f64| figure(nanoseconds, Unit::Nanoseconds);
    let goal = known.case.divisor == 1 && known.case.kernel.counts();
    let judged = |factor: f64, limit: f64| match goal {
        true => format!(" (goal: within {limit}x: {})", reached(factor <= limit)),
        false => String::new(),
    };
    let beside = known.peer.map_or(String::new(), |peer| format!("; coren {:.2}", peer / best));
    bench.note(
        &name,
        &format!(
            "predicted {} measured {}: {:.2}{}{beside}",
            time(predicted),
            time(best),
            predicted / best,
            judged(ours, GOAL),
        ),
    );
    let (predicted, next) = taught(machine, known);
    bench.note(
        &name,
        &format!(
            "taught by {RECORDED} runs: {} for {} in the middle: {:.2}{}",
            time(predicted),
            time(next),
            predicted / next,
            judged(error(predicted, next), TAUGHT_GOAL),
        ),
    );
}

/// Geometric means and worst errors of those that count.
fn mean(bench: &mut Bench, name: &str, known: &[Known], counts: impl Fn(&Known) -> bool) {
    let counted: Vec<&Known> = known.iter().filter(|known| counts(known)).collect();
    let ours = counted.iter().map(|known| error(known.predicted as f64, known.best() as f64));
    let ours: Vec<f64> = ours.collect();
    let peer: Option<Vec<f64>> =
        counted.iter().map(|known| Some(error(known.peer?, known.best() as f64))).collect();
    let mean_of = |errors: &[f64]| geometric_mean(errors.iter().copied());
    let worst_of = |errors: &[f64]| errors.iter().copied().fold(1.0, f64::max);
    bench.line(name, Sample::beside(mean_of(&ours), peer.as_deref().map(mean_of), Unit::Factor));
    let beside =
        peer.map_or(String::new(), |peer| format!("; coren x{}", significant(worst_of(&peer))));
    let count = counted.len();
    let worst = significant(worst_of(&ours));
    bench.note(name, &format!("of {count}; the worst is off by x{worst}{beside}"));
}
