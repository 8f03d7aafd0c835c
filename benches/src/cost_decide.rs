//! `cost.decide.…`: computing or fetching, decided for real computations and networks that are imagined: how often it is wrong, and what that
//! costs, beside the peer.

use ternlease::cost::{Learned, Route};
use ternlease::{MachCap, Task};

use crate::cost::{Known, reached};
use crate::cost_coren::Said;
use crate::measure::{Sample, Unit};
use crate::report::{Bench, significant};

const WRONG: &str = "cost.decide.wrong";
const REGRET: &str = "cost.decide.regret";

/// In percent, and of all times together.
const WRONG_GOAL: f64 = 10.0;
const REGRET_GOAL: f64 = 1.05;

pub struct Network {
    pub mbps: u64,
    /// There and back, in nanoseconds.
    pub round_trip: u64,
}

/// Within a rack, an office, to another country, and from home.
pub const NETWORKS: [Network; 4] = [
    Network { mbps: 10_000, round_trip: 200_000 },
    Network { mbps: 1_000, round_trip: 1_000_000 },
    Network { mbps: 100, round_trip: 20_000_000 },
    Network { mbps: 20, round_trip: 60_000_000 },
];

pub fn wanted(bench: &Bench) -> bool {
    bench.wants(WRONG) || bench.wants(REGRET)
}

/// One question, with the true answers in nanoseconds.
struct Question {
    compute: f64,
    fetch: f64,
}

impl Question {
    fn best(&self) -> f64 {
        self.compute.min(self.fetch)
    }

    fn chosen(&self, fetch: bool) -> f64 {
        if fetch { self.fetch } else { self.compute }
    }
}

/// How somebody did who answered all questions.
struct Score {
    wrong: f64,
    /// All chosen times beside all best ones; the mean of the ratios; the worst of them.
    total: f64,
    mean: f64,
    worst: f64,
}

impl Score {
    fn of(questions: &[Question], fetches: &[bool]) -> Score {
        let each = || questions.iter().zip(fetches).map(|(q, &fetch)| (q.chosen(fetch), q.best()));
        let count = questions.len() as f64;
        let wrong = each().filter(|(chosen, best)| chosen > best).count() as f64;
        let (chosen, best) = each().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        Score {
            wrong: 100.0 * wrong / count,
            total: chosen / best,
            mean: each().map(|(chosen, best)| chosen / best).sum::<f64>() / count,
            worst: each().map(|(chosen, best)| chosen / best).fold(1.0, f64::max),
        }
    }

    fn words(&self) -> String {
        let Score { wrong, total, mean, worst } = self;
        let [total, mean, worst] = [total, mean, worst].map(|&factor| significant(factor));
        format!("{wrong:.1} % wrong, total x{total}, mean x{mean}, worst x{worst}")
    }
}

pub fn report(bench: &mut Bench, machine: &MachCap, known: &[Known], peer: Option<&[Said]>) {
    let mut machine = machine.clone();
    let (mut questions, mut ours, mut taught) = (Vec::new(), Vec::new(), Vec::new());
    for known in known {
        let task = known.case.task();
        let mut learned = Learned::NOTHING;
        known.runs.iter().take(3).for_each(|&run| learned.record(known.predicted, run));
        for network in &NETWORKS {
            let route = Route::new(network.round_trip, network.mbps * 125_000);
            machine.route = Some(route);
            questions.push(truth(&machine, network, &task, known.best()));
            ours.push(machine.verdict(task).should_fetch());
            taught.push(machine.verdict(task.learned(learned)).should_fetch());
        }
    }
    let our_score = Score::of(&questions, &ours);
    let their = |score: fn(&Said) -> f64| {
        let fetches: Vec<bool> = peer?.iter().map(|said| score(said) > 0.0).collect();
        Some(Score::of(&questions, &fetches))
    };
    let (biased, unbiased) = (their(|said| said.score), their(|said| said.unbiased));
    let sample =
        |of: fn(&Score) -> f64, unit| Sample::beside(of(&our_score), biased.as_ref().map(of), unit);
    let fetched = questions.iter().filter(|question| question.fetch < question.compute).count();
    let count = questions.len();
    bench.line(WRONG, sample(|score| score.wrong, Unit::Percent));
    let verdict = reached(our_score.wrong <= WRONG_GOAL);
    bench.note(WRONG, &format!("goal: {WRONG_GOAL} % or less: {verdict}"));
    bench.note(WRONG, &format!("of {count} questions, fetching is right for {fetched}"));
    let name = |number: usize| {
        let (case, network) = (number / NETWORKS.len(), number % NETWORKS.len());
        format!("{} at {} Mbit/s", known[case].case.name(), NETWORKS[network].mbps)
    };
    let wrong = questions.iter().zip(&ours).enumerate();
    let wrong = wrong.filter(|(_, (question, fetch))| question.chosen(**fetch) > question.best());
    let wrong: Vec<String> = wrong.map(|(number, _)| name(number)).collect();
    if !wrong.is_empty() {
        bench.note(WRONG, &format!("ours is wrong for {}", wrong.join(", ")));
    }
    bench.line(REGRET, sample(|score| score.total, Unit::Factor));
    let verdict = reached(our_score.total <= REGRET_GOAL);
    bench.note(REGRET, &format!("goal: x{REGRET_GOAL} or less: {verdict}"));
    bench.note("cost.decide", &format!("ours: {}", our_score.words()));
    let taught = Score::of(&questions, &taught);
    bench.note("cost.decide", &format!("ours, taught by 3 runs: {}", taught.words()));
    for (name, score) in [("coren", biased), ("coren without its bias", unbiased)] {
        if let Some(score) = score {
            bench.note("cost.decide", &format!("{name}: {}", score.words()));
        }
    }
}

/// Computing takes what it took. Fetching takes two round trips, the bytes, and writing them as fast as the disk is taken to be.
fn truth(machine: &MachCap, network: &Network, task: &Task, measured: u64) -> Question {
    let bytes = task.cost.result_bytes;
    let transfer = bytes as f64 * 8e3 / network.mbps as f64;
    let stored = machine.store_time(bytes).mid as f64;
    let fetch = 2.0 * network.round_trip as f64 + transfer + stored;
    Question { compute: measured as f64, fetch }
}
