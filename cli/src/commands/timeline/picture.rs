//! The timeline as a picture: a row for each device, a bar for each lease.

use std::time::Duration;

use super::axis::marks;
use super::history::{Bar, Fate, History};
use crate::people::by_words;
use crate::svg::{Anchor, Font, Svg, fitted, text_width};
use crate::text::line::clean;
use crate::text::reasons;
use crate::text::units::duration;

const WIDTH: f64 = 960.0;
/// Around the whole.
const MARGIN: f64 = 20.0;
/// A lane, and the bar in it.
const LANE: f64 = 30.0;
const BAR: f64 = 22.0;
/// Title and legend.
const HEAD: f64 = 74.0;
/// The axis.
const FOOT: f64 = 44.0;
/// Behind now, where what is held points to.
const BEYOND: f64 = 26.0;
const WIDEST_NAME: f64 = 220.0;

const INK: &str = "#1f2328";
const FAINT_INK: &str = "#656d76";
const GRID: &str = "stroke=\"#d8dee4\" stroke-width=\"1\"";

/// Draws it.
pub fn draw(history: &History, pool: &str) -> String {
    let names = history.rows.iter().map(|row| text_width(&row.name, 13.0));
    let name_width = names.fold(40.0, f64::max).min(WIDEST_NAME);
    let lanes: usize = history.rows.iter().map(|row| row.lanes.len()).sum();
    let rows_height = lanes.max(1) as f64 * LANE;
    let height = HEAD + rows_height + FOOT;
    let plot = Plot { left: MARGIN + name_width + 14.0, right: WIDTH - MARGIN - BEYOND, history };
    let mut svg = Svg::new(&format!("Who had which device: {}", clean(pool)), WIDTH, height);
    head(&mut svg, history, pool);
    let bottom = HEAD + rows_height;
    for (at, label) in marks(history, 8) {
        let x = plot.x(at);
        svg.line(&[[x, HEAD], [x, bottom + 5.0]], GRID, None);
        if x + 34.0 < plot.right {
            svg.text([x, bottom + 20.0], &label, font(11.0, FAINT_INK, Anchor::Middle));
        }
    }
    let mut top = HEAD;
    for (number, row) in history.rows.iter().enumerate() {
        let row_height = row.lanes.len() as f64 * LANE;
        if number % 2 == 0 {
            let band = [MARGIN / 2.0, top, WIDTH - MARGIN, row_height];
            svg.rect(band, "fill=\"#eaeef2\" fill-opacity=\"0.45\" rx=\"4\"", None);
        }
        let name = fitted(&clean(&row.name), 13.0, name_width);
        svg.text([MARGIN, top + LANE / 2.0 + 4.5], &name, font(13.0, INK, Anchor::Start));
        for lane in &row.lanes {
            for bar in lane {
                plot.bar(&mut svg, bar, &row.name, top + (LANE - BAR) / 2.0);
            }
            top += LANE;
        }
    }
    if history.bars().next().is_none() {
        let middle = [(plot.left + plot.right) / 2.0, HEAD + rows_height / 2.0 + 4.5];
        svg.text(middle, "no lease is remembered", font(13.0, FAINT_INK, Anchor::Middle));
    }
    let now = "stroke=\"#1f2328\" stroke-width=\"1\" stroke-dasharray=\"3 3\"";
    svg.line(&[[plot.right, HEAD - 6.0], [plot.right, bottom + 5.0]], now, None);
    svg.text([plot.right, bottom + 20.0], "now", bold(11.0, Anchor::Middle));
    svg.finish()
}

fn font(size: f64, fill: &str, anchor: Anchor) -> Font<'_> {
    Font { size, fill, anchor, bold: false }
}

fn bold(size: f64, anchor: Anchor) -> Font<'static> {
    Font { size, fill: INK, anchor, bold: true }
}

/// What the picture is of, and what the colours mean.
fn head(svg: &mut Svg, history: &History, pool: &str) {
    svg.text([MARGIN, 28.0], "Who had which device", bold(17.0, Anchor::Start));
    let span = duration(Duration::from_micros(history.to.saturating_sub(history.from)));
    let mut about =
        format!("{}, {span} until {}", clean(pool), history.clock.date_and_time(history.to));
    if history.forgotten > 0 {
        about.push_str(&format!("; {} leases are forgotten", history.forgotten));
    }
    let about = fitted(&about, 12.0, WIDTH - 2.0 * MARGIN - 200.0);
    svg.text([WIDTH - MARGIN, 28.0], &about, font(12.0, FAINT_INK, Anchor::End));
    let mut x = MARGIN;
    for fate in history.fates() {
        svg.rect([x, 43.0, 14.0, 14.0], &format!("fill=\"{}\" rx=\"3\"", colour(fate)), None);
        svg.text([x + 20.0, 54.5], fate.name(), font(12.0, INK, Anchor::Start));
        x += 20.0 + text_width(fate.name(), 12.0) + 22.0;
    }
}

/// Colours that differ in brightness as well.
const fn colour(fate: Fate) -> &'static str {
    match fate {
        Fate::Held => "#0969da",
        Fate::Notified => "#bc4c00",
        Fate::Released => "#8ccfa0",
        Fate::RanOut => "#eac54f",
        Fate::Died => "#8250df",
        Fate::Revoked => "#cf222e",
    }
}

/// Letters that can be read on it.
const fn ink_on(fate: Fate) -> &'static str {
    match fate {
        Fate::Released | Fate::RanOut => INK,
        _ => "#ffffff",
    }
}

/// Where the bars are.
struct Plot<'a> {
    left: f64,
    right: f64,
    history: &'a History,
}

impl Plot<'_> {
    fn x(&self, at: ternlease::Time) -> f64 {
        self.left + self.history.part(at) * (self.right - self.left)
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, device: &str, top: f64) {
        let (from, to) = (self.x(bar.from), self.x(bar.to));
        // What was short is there as well.
        let width = (to - from - 1.0).max(2.0);
        let style =
            format!("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.5\"", colour(bar.fate));
        let tip = tip(bar, device);
        if bar.fate.goes_on() {
            // It has no end yet.
            let (end, bottom, tip_x) = (from + width, top + BAR, from + width + 13.0);
            let shape =
                [[from, top], [end, top], [tip_x, top + BAR / 2.0], [end, bottom], [from, bottom]];
            svg.area(&shape, &style, Some(&tip));
        } else {
            svg.rect([from, top, width, BAR], &format!("{style} rx=\"3\""), Some(&tip));
        }
        let label = fitted(&clean(&bar.holder), 12.0, width - 10.0);
        if !label.is_empty() {
            let place = [from + 6.0, top + BAR / 2.0 + 4.2];
            svg.text(place, &label, font(12.0, ink_on(bar.fate), Anchor::Start));
        }
    }
}

fn tip(bar: &Bar, device: &str) -> String {
    let length = duration(Duration::from_micros(bar.to.saturating_sub(bar.from)));
    let (holder, device, fate) = (clean(&bar.holder), clean(device), bar.fate.name());
    let since = if bar.fate.goes_on() { "for" } else { "after" };
    let mut tip = format!("{holder} on {device}: lease {}, {fate} {since} {length}", bar.lease);
    if let Some(reason) = bar.reason {
        let by = by_words(bar.ended_by, bar.revoker.as_deref(), bar.in_cluster);
        let early = if bar.acknowledged { ", acknowledged" } else { "" };
        tip.push_str(&format!("\n{}{early}{}", reasons::words(reason), clean(&by)));
    }
    tip
}
