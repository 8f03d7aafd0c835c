//! The roofline: how fast this machine can be at work of so many operations per byte, and where the six tasks are.

use ternlease::cost::Source;
use ternlease::{MachCap, Task};

use super::tasks;
use super::units::{bytes, si};
use crate::svg::{Anchor, Font, Svg, fitted};
use crate::text::line::clean;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 520.0;
/// Left, right, top and bottom of the plot.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 462.0;
/// Where the list of the tasks begins.
const LIST: f64 = 668.0;

/// How far labels stand from their lines.
const ABOVE: f64 = -9.0;
const BELOW: f64 = 19.0;

const INK: &str = "#1f2328";
const FAINT_INK: &str = "#656d76";
const ALL: &str = "#0969da";
const ONE: &str = "#bc4c00";
const POINT: &str = "#8250df";

/// A roof: what the processor can do at most, and what the memory brings.
struct Roof {
    flops: f64,
    bytes: f64,
}

impl Roof {
    fn at(&self, intensity: f64) -> f64 {
        self.flops.min(self.bytes * intensity)
    }

    /// Where memory and processor are both busy.
    fn ridge(&self) -> f64 {
        self.flops / self.bytes
    }
}

/// A task in the plot.
struct Point {
    name: &'static str,
    /// Operations per byte; zero for one that only moves bytes.
    intensity: f64,
    /// Operations per second that it reaches on one core.
    speed: f64,
    /// Bytes per second that it moves.
    moved: f64,
}

impl Point {
    fn of(machine: &MachCap, (name, task): (&'static str, Task)) -> Self {
        let seconds = machine.untaught_time(task).max(1) as f64 / 1e9;
        let per_second = |work: u64| work as f64 / seconds;
        Point {
            name,
            intensity: task.cost.intensity(),
            speed: per_second(task.cost.flops),
            moved: per_second(task.cost.mem_bytes),
        }
    }
}

/// Draws it.
pub fn draw(machine: &MachCap) -> String {
    let rates = &machine.rates;
    let roof =
        |flops: u64, bytes: u64| Roof { flops: flops.max(1) as f64, bytes: bytes.max(1) as f64 };
    let one = roof(rates.flop64.per_second, rates.triad.per_second);
    let all = roof(rates.flop64_all.per_second, rates.triad_all.per_second);
    let points = tasks().map(|task| Point::of(machine, task));
    let plot = Plot::around(&[&one, &all], &points);
    let title = format!("Roofline of {}", clean(&machine.processor));
    let mut svg = Svg::new(&title, WIDTH, HEIGHT);
    let title = fitted(&title, 17.0, WIDTH - 340.0);
    svg.text([22.0, 32.0], &title, Font { bold: true, ..font(17.0, INK, Anchor::Start) });
    let measured = rates.flop64.source != Source::Estimated;
    let how = if measured { "measured" } else { "estimated, not measured" };
    let about = format!("{} cores usable, {how}", machine.cores_usable);
    svg.text([WIDTH - 22.0, 32.0], &about, font(12.0, FAINT_INK, Anchor::End));
    plot.grid(&mut svg);
    // Of one core there is nothing else to tell where there is one, or where one has all of the memory.
    let one_core = machine.cores_usable > 1;
    let one_memory = one_core && (all.bytes / one.bytes - 1.0).abs() > 0.05;
    let gap = plot.py(one.flops) - plot.py(all.flops);
    if one_core {
        // Tasks are below this line: the label is above it, if there is room.
        let level = if gap > 24.0 { ABOVE } else { BELOW };
        plot.roof(&mut svg, &one, ONE, "one core", level, one_memory.then_some(BELOW));
    }
    plot.roof(&mut svg, &all, ALL, "all cores", ABOVE, Some(ABOVE));
    for (number, point) in points.iter().enumerate() {
        plot.point(&mut svg, number + 1, point, &one);
    }
    list(&mut svg, &points);
    svg.finish()
}

fn font(size: f64, fill: &str, anchor: Anchor) -> Font<'_> {
    Font { size, fill, anchor, bold: false }
}

/// What the numbers mean.
fn list(svg: &mut Svg, points: &[Point]) {
    let head = Font { bold: true, ..font(12.0, INK, Anchor::Start) };
    svg.text([LIST, TOP + 6.0], "tasks, as predicted for one core", head);
    for (number, point) in points.iter().enumerate() {
        let y = TOP + 36.0 + 48.0 * number as f64;
        marker(svg, [LIST + 9.0, y - 2.0], number + 1, point, None);
        svg.text([LIST + 28.0, y], point.name, font(13.0, INK, Anchor::Start));
        let speed = match point.intensity {
            0.0 => format!("no arithmetic, {}/s", bytes(point.moved)),
            _ => format!(
                "{} op/B, {}op/s, {}/s",
                digits(point.intensity),
                si(point.speed),
                bytes(point.moved)
            ),
        };
        svg.text([LIST + 28.0, y + 17.0], &speed, font(11.0, FAINT_INK, Anchor::Start));
    }
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        ..0.9995 => format!("{value:.3}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn marker(svg: &mut Svg, place: [f64; 2], number: usize, point: &Point, tip: Option<&str>) {
    // One without arithmetic has no place on these axes: it is drawn hollow, at the edge.
    let (fill, ink) = if point.intensity > 0.0 { (POINT, "#ffffff") } else { ("#ffffff", POINT) };
    let style = format!("fill=\"{fill}\" stroke=\"{POINT}\" stroke-width=\"1.5\"");
    svg.circle(place, 9.0, &style, tip);
    let font = Font { bold: true, ..font(11.0, ink, Anchor::Middle) };
    svg.text([place[0], place[1] + 4.0], &number.to_string(), font);
}

/// Both axes: powers of ten.
struct Plot {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    /// So that all roofs and tasks are in it, in whole powers of ten.
    fn around(roofs: &[&Roof], points: &[Point]) -> Self {
        let tasks = || points.iter().filter(|point| point.intensity > 0.0);
        let xs = roofs.iter().map(|roof| roof.ridge()).chain(tasks().map(|point| point.intensity));
        let (low, high) = ends(xs.chain([0.1, 100.0]));
        let x = (low.log10().floor(), (high * 1.5).log10().ceil());
        let ys = roofs.iter().map(|roof| roof.flops).chain(tasks().map(|point| point.speed));
        let (low, high) = ends(ys);
        Plot { x, y: ((low * 0.7).log10().floor(), (high * 1.6).log10().ceil()) }
    }

    fn px(&self, x: f64) -> f64 {
        LEFT + (x.log10() - self.x.0) / (self.x.1 - self.x.0).max(1.0) * (RIGHT - LEFT)
    }

    fn py(&self, y: f64) -> f64 {
        BOTTOM - (y.log10() - self.y.0) / (self.y.1 - self.y.0).max(1.0) * (BOTTOM - TOP)
    }

    fn grid(&self, svg: &mut Svg) {
        let thin = "stroke=\"#eaeef2\" stroke-width=\"1\"";
        let thick = "stroke=\"#d0d7de\" stroke-width=\"1\"";
        for decade in self.x.0 as i32..=self.x.1 as i32 {
            for part in 1..=9 {
                let value = 10f64.powi(decade) * f64::from(part);
                let x = self.px(value);
                if x <= RIGHT + 0.1 {
                    let style = if part == 1 { thick } else { thin };
                    svg.line(&[[x, TOP], [x, BOTTOM]], style, None);
                }
            }
            let x = self.px(10f64.powi(decade));
            svg.text([x, BOTTOM + 18.0], &power(decade), font(11.0, FAINT_INK, Anchor::Middle));
        }
        for decade in self.y.0 as i32..=self.y.1 as i32 {
            let y = self.py(10f64.powi(decade));
            svg.line(&[[LEFT, y], [RIGHT, y]], thick, None);
            let label = power(decade);
            svg.text([LEFT - 8.0, y + 4.0], &label, font(11.0, FAINT_INK, Anchor::End));
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let name = font(12.0, INK, Anchor::Middle);
        svg.text([middle, BOTTOM + 40.0], "operations per byte to and from memory", name);
        svg.turned_text([20.0, (TOP + BOTTOM) / 2.0], "operations per second", name, -90.0);
    }

    /// A roof: up along the memory, then level, each with its label so far from it.
    fn roof(
        &self,
        svg: &mut Svg,
        roof: &Roof,
        colour: &str,
        name: &str,
        level: f64,
        slope: Option<f64>,
    ) {
        let (left, right) = (10f64.powf(self.x.0), 10f64.powf(self.x.1));
        // The slope begins where it comes into the plot.
        let floor = 10f64.powf(self.y.0);
        let begin = left.max(floor / roof.bytes).min(right);
        let ridge = roof.ridge().clamp(begin, right);
        let line = [begin, ridge, right].map(|x| [self.px(x), self.py(roof.at(x).max(floor))]);
        let style = format!("stroke=\"{colour}\" stroke-width=\"2.5\" stroke-linejoin=\"round\"");
        let tip = format!(
            "{name}: {}FLOP/s, {}/s, ridge at {:.1} operations per byte",
            si(roof.flops),
            bytes(roof.bytes),
            roof.ridge()
        );
        svg.line(&line, &style, Some(&tip));
        let ink = Font { bold: true, ..font(12.0, colour, Anchor::End) };
        let words = format!("{name}: {}FLOP/s", si(roof.flops));
        svg.text([RIGHT - 8.0, line[2][1] + level], &words, ink);
        let Some(beside) = slope else { return };
        let [[x0, y0], [x1, y1], _] = line;
        let degrees = (y1 - y0).atan2(x1 - x0).to_degrees();
        // In the middle of the slope, and at a right angle away from it.
        let (across, along) = ((x0 + x1) / 2.0, (y0 + y1) / 2.0);
        let turn = degrees.to_radians();
        let place = [across - beside * turn.sin(), along + beside * turn.cos()];
        let memory = format!("memory: {}/s", bytes(roof.bytes));
        svg.turned_text(place, &memory, Font { anchor: Anchor::Middle, ..ink }, degrees);
    }

    /// A task, and how far it is from what one core could do.
    fn point(&self, svg: &mut Svg, number: usize, point: &Point, roof: &Roof) {
        let place = match point.intensity > 0.0 {
            true => [self.px(point.intensity), self.py(point.speed)],
            false => [LEFT + 13.0, BOTTOM - 13.0],
        };
        if point.intensity > 0.0 {
            let style = format!(
                "stroke=\"{POINT}\" stroke-opacity=\"0.35\" stroke-width=\"1.2\" stroke-dasharray=\"2 3\""
            );
            let [x, y] = place;
            svg.line(&[[x, y], [x, self.py(roof.at(point.intensity))]], &style, None);
        }
        let tip = format!("{}: {}op/s, {}/s", point.name, si(point.speed), bytes(point.moved));
        marker(svg, place, number, point, Some(&tip));
    }
}

/// `0.1`, `10`, `100 M`, for an axis.
fn power(decade: i32) -> String {
    let units = ["", "k", "M", "G", "T", "P", "E"];
    match usize::try_from(decade).ok().and_then(|d| units.get(d / 3).map(|unit| (d % 3, unit))) {
        Some((rest, unit)) => format!("{} {unit}", 10u32.pow(rest as u32)).trim_end().to_owned(),
        None => 10f64.powi(decade).to_string(),
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite() && *value > 0.0);
    finite
        .fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| (low.min(value), high.max(value)))
}
