//! `ternlease verdict`: compute a result here, on a GPU, or fetch it?

mod numbers;
mod shape;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use ternlease::cost::{Answer, Estimate, Obstacle, Route, Source};
use ternlease::{Advice, Kind, MachCap, Task, Verdict};

use super::cap::units::seconds;
use super::cap::{Wishes, read};
use crate::exit::{BREAK_EVEN, FETCH, Failure, NEITHER};
use crate::place::Place;
use crate::text::colour::{Mood, paint, wanted};
use crate::text::{put, put_line};
use crate::view::json;
use numbers::{kind, route};
use shape::Shape;

/// What is to be done, and what is known of it.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
ternlease verdict [OPTIONS] --flops N --mem N --peak N --result N
       ternlease verdict [OPTIONS] --sort N,B,R | --scan N,R | --hash N |
                         --matmul M,N,K,R | --etl N,B,O,R | --copy N",
    after_help = "\
Numbers may end in k, M, G or T (thousands) or Ki, Mi, Gi or Ti (1024s).

    ternlease verdict --sort 1M,64,64M
    ternlease verdict --hash 10G --route 2ms,125M
    ternlease verdict --matmul 20k,20k,20k,3.2G --gpu"
)]
pub struct Args {
    /// What sort of work it is: roofline, dense64, dense32, stream, copy, rows,
    /// parse, sort or hash; if not said, that of --sort, --scan and so on
    #[arg(long, value_parser = kind)]
    kind: Option<Kind>,
    /// On how many threads it runs
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: u32,
    /// The way to where results are: how long there and back, and how many bytes per
    /// second, as in 2ms,125M; if not said, by what the network card says of itself
    #[arg(long, value_name = "RTT,BYTES_PER_SECOND", value_parser = route)]
    route: Option<Route>,
    /// Results cannot be fetched
    #[arg(long, conflicts_with = "route")]
    no_route: bool,
    /// Where results are kept
    #[arg(long, value_name = "DIR", default_value = ".")]
    store: PathBuf,
    /// Measure nothing (which takes 0.3 s, or no time after `cap --keep`): estimates
    #[arg(long)]
    no_bench: bool,
    /// Ask for the GPUs of the pool as well, and the line in front of them
    #[arg(long)]
    gpu: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Let the exit code tell: 0 compute, 10 fetch, 11 break-even, 12 impossible
    #[arg(long)]
    exit_trit: bool,
    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    shape: Shape,
}

/// Says it.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let (cost, usual_kind) = args.shape.cost()?;
    let task = Task::new(cost).kind(args.kind.unwrap_or(usual_kind)).threads(args.threads.max(1));
    let wishes = Wishes { no_bench: args.no_bench, ..Wishes::default() };
    let mut machine = read(&args.store, wishes)?;
    if args.no_route {
        machine.route = None;
    }
    machine.route = args.route.or(machine.route);
    let verdict = machine.verdict(task);
    let advice = match args.gpu {
        true => Some(machine.advise(task, &place.open()?.claim())?),
        false => None,
    };
    if args.json {
        put_line(value(&verdict, advice.as_ref())?)?;
    } else {
        let guesses = Guesses {
            compute: is_guess(&machine, &task),
            fetch: args.route.is_none(),
            store: machine.disk.write.source == Source::Estimated,
        };
        if let Some(advice) = advice {
            put(advice_text(&advice, guesses))?;
        }
        put(text(&verdict, guesses, args.gpu))?;
    }
    Ok(match verdict.answer {
        _ if !args.exit_trit => ExitCode::SUCCESS,
        Answer::Compute => ExitCode::SUCCESS,
        Answer::Fetch => ExitCode::from(FETCH),
        Answer::BreakEven => ExitCode::from(BREAK_EVEN),
        Answer::Impossible => ExitCode::from(NEITHER),
    })
}

/// The verdict's own keys, and the advice beside them if it was asked for.
fn value(verdict: &Verdict, advice: Option<&Advice>) -> Result<String, Failure> {
    let parsed = |text: String| {
        serde_json::from_str::<Value>(&text)
            .map_err(|error| Failure::new(format!("this is a fault of ternlease: {error}")))
    };
    let mut value = parsed(verdict.to_json())?;
    if let (Some(advice), Value::Object(fields)) = (advice, &mut value) {
        fields.insert("advice".to_owned(), parsed(advice.to_json())?);
    }
    Ok(json::text(&value))
}

/// Which figures rest on something that was not measured.
#[derive(Debug, Clone, Copy)]
struct Guesses {
    compute: bool,
    fetch: bool,
    store: bool,
}

/// The rates of a task without a kind fit only roughly, and without a benchmark all rates are worked out.
fn is_guess(machine: &MachCap, task: &Task) -> bool {
    let rates = machine.rates.named();
    task.kind == Kind::Roofline || rates.iter().any(|(_, rate)| rate.source == Source::Estimated)
}

fn marked(guessed: bool) -> &'static str {
    if guessed { ", guessed" } else { "" }
}

/// The best way first, then all ways. GPUs are never measured: their figures are worked out from what their driver says.
fn advice_text(advice: &Advice, guesses: Guesses) -> String {
    let told = advice.to_string();
    let (headline, ways) = told.split_once('\n').unwrap_or((&told, ""));
    let headline = format!("with the GPUs of the pool: {headline}");
    let mut text = paint(&headline, Mood::Strong, wanted()) + "\n";
    for way in ways.lines() {
        let guessed = match way.trim_start() {
            _ if way.contains("not possible") => false,
            way if way.starts_with("cpu") => guesses.compute,
            way if way.starts_with("fetch") => guesses.fetch,
            _ => true,
        };
        text.push_str(&format!("{way}{}\n", marked(guessed)));
    }
    text
}

fn text(verdict: &Verdict, guesses: Guesses, with_gpus: bool) -> String {
    let close = match (verdict.decisive, verdict.answer) {
        (true, _) | (_, Answer::Impossible) => "",
        (false, _) => ", a close call",
    };
    // With GPUs the advice is the headline.
    let mut text = match with_gpus {
        true => format!("without GPUs: {verdict}{close}\n"),
        false => paint(&verdict.to_string(), Mood::Strong, wanted()) + close + "\n",
    };
    let mut line = |name: &str, time: Result<Estimate, Obstacle>, more: String| {
        let words = match time {
            Ok(time) => {
                let ends = [time.lo, time.hi].map(|end| seconds(Estimate::exactly(end).seconds()));
                format!("{:<9} ({} to {}){more}", seconds(time.seconds()), ends[0], ends[1])
            }
            Err(obstacle) => format!("not possible: {}", obstacle.words()),
        };
        text.push_str(&format!("  {name:<8} {words}\n"));
    };
    let neck = match verdict.bottleneck.name() {
        "none" => String::new(),
        name => format!(", limited by {name}"),
    };
    line("compute", verdict.t_compute, neck + marked(guesses.compute));
    line("fetch", verdict.t_fetch, marked(guesses.fetch).to_owned());
    line("store", Ok(verdict.t_store), marked(guesses.store).to_owned());
    let bias = f64::from(verdict.bias_permille) / 1000.0;
    text.push_str(&format!("  bias     {bias:.1} against computing here\n"));
    text
}
