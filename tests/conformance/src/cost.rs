//! Costs, and what a machine says of them.

use ternlease::cost::{Learned, NEVER, ReadOptions, Route, RouteKnown, nanoseconds};
use ternlease::{FnCost, Kind, MachCap, Task};

use crate::Driver;
use crate::answer::{Problem, Step, ok, trit};
use crate::words::Words;

impl Driver {
    pub fn cost_step(&mut self, verb: &str, mut words: Words) -> Step {
        match verb {
            "cost" => {
                let FnCost { flops, mem_bytes, peak_mem, result_bytes } = cost(&mut words)?;
                Ok(format!("OK {flops} {mem_bytes} {peak_mem} {result_bytes}"))
            }
            "nanoseconds" => Ok(match nanoseconds(words.number()?, words.number()?) {
                NEVER => "OK forever".to_owned(),
                time => format!("OK {time}"),
            }),
            "learned" => {
                let mut learned = Learned::restored(words.number()?, words.number()?);
                learned.record(words.number()?, words.number()?);
                Ok(format!("OK {} {}", learned.runs(), learned.permille()))
            }
            "machine" => {
                let options = ReadOptions::new().without_benchmarks().without_network();
                let read = MachCap::read_with(".", options);
                self.machine = Some(read.map_err(|_| Problem::Status("ERR_SYSTEM"))?);
                ok()
            }
            "route" => {
                let machine = self.machine.as_mut().ok_or(Problem::Nonsense)?;
                let first = words.next()?;
                machine.route = if first == "none" { None } else { Some(route(first, words)?) };
                ok()
            }
            _ => {
                let machine = self.machine.as_ref().ok_or(Problem::Nonsense)?;
                let kind: usize = words.option_number("kind")?.unwrap_or(0);
                let kind = *Kind::ALL.get(kind).ok_or(Problem::Nonsense)?;
                let threads = words.option_number("threads")?.unwrap_or(1);
                let task = Task::new(numbers(&mut words)?).kind(kind).threads(threads);
                let verdict = machine.verdict(task);
                Ok(format!("OK {} {}", trit(verdict.trit()), verdict.words().replace(' ', "_")))
            }
        }
    }
}

fn route(round_trip: &str, mut words: Words) -> Result<Route, Problem> {
    Ok(Route {
        round_trip: round_trip.parse().map_err(|_| Problem::Nonsense)?,
        bytes_per_second: words.number()?,
        query: 0,
        hits_permille: words.number()?,
        known: RouteKnown::Declared,
    })
}

/// A cost by its four numbers.
fn numbers(words: &mut Words) -> Result<FnCost, Problem> {
    Ok(FnCost::new(words.number()?, words.number()?, words.number()?, words.number()?))
}

fn cost(words: &mut Words) -> Result<FnCost, Problem> {
    Ok(match words.next()? {
        "scan" => FnCost::scan(words.number()?, words.number()?),
        "sort" => FnCost::sort(words.number()?, words.number()?, words.number()?),
        "hash" => FnCost::hash(words.number()?),
        "matmul" => {
            FnCost::matmul(words.number()?, words.number()?, words.number()?, words.number()?)
        }
        "etl" => FnCost::etl(words.number()?, words.number()?, words.number()?, words.number()?),
        "copy" => FnCost::copy(words.number()?),
        "then" => numbers(words)?.then(numbers(words)?),
        "par" => numbers(words)?.par(numbers(words)?),
        "both" => numbers(words)?.both(numbers(words)?),
        "repeat" => numbers(words)?.repeat(words.number()?),
        _ => return Err(Problem::Nonsense),
    })
}
