//! A small writer of pictures in SVG. Whatever text is put in comes out as text: it is escaped here and nowhere else.

use std::fmt::Write;
use std::path::Path;

use crate::exit::Failure;
use crate::text::line::clean_lines;
use crate::text::put;

/// A picture in the making. Coordinates are pixels.
#[derive(Debug)]
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
    title: String,
}

/// Where a text stands, beside its coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub struct Font<'a> {
    /// In pixels.
    pub size: f64,
    /// The colour.
    pub fill: &'a str,
    /// Where it stands.
    pub anchor: Anchor,
    /// In bold letters.
    pub bold: bool,
}

impl Svg {
    /// An empty picture with a white ground, so that it can be read on dark pages as well.
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        let mut svg = Svg { body: String::new(), width, height, title: escape(title) };
        svg.rect([0.0, 0.0, width, height], "fill=\"#ffffff\" rx=\"6\"", None);
        svg
    }

    /// A rectangle: left, top, width, height. `style` is written by this program, never by others; `tip` is shown to whoever points at it.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], style: &str, tip: Option<&str>) {
        let (x, y, width, height) =
            (number(x), number(y), number(width.max(0.0)), number(height.max(0.0)));
        let shape =
            format!("rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {style}");
        self.shape("rect", &shape, tip);
    }

    /// A circle.
    pub fn circle(&mut self, [x, y]: [f64; 2], radius: f64, style: &str, tip: Option<&str>) {
        let shape = format!(
            "circle cx=\"{}\" cy=\"{}\" r=\"{}\" {style}",
            number(x),
            number(y),
            number(radius)
        );
        self.shape("circle", &shape, tip);
    }

    /// A line through these points.
    pub fn line(&mut self, points: &[[f64; 2]], style: &str, tip: Option<&str>) {
        let list: Vec<String> =
            points.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect();
        let shape = format!("polyline points=\"{}\" fill=\"none\" {style}", list.join(" "));
        self.shape("polyline", &shape, tip);
    }

    /// An area between these points.
    pub fn area(&mut self, points: &[[f64; 2]], style: &str, tip: Option<&str>) {
        let list: Vec<String> =
            points.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect();
        let shape = format!("polygon points=\"{}\" {style}", list.join(" "));
        self.shape("polygon", &shape, tip);
    }

    /// Text on one line, turned by so many degrees around its place.
    pub fn turned_text(&mut self, [x, y]: [f64; 2], text: &str, font: Font<'_>, degrees: f64) {
        let anchor = match font.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let (x, y, size) = (number(x), number(y), number(font.size));
        let turn = match degrees {
            0.0 => String::new(),
            degrees => format!(" transform=\"rotate({} {x} {y})\"", number(degrees)),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{}\" text-anchor=\"{anchor}\"{weight}{turn}>{}</text>",
            font.fill,
            escape(text)
        );
    }

    /// Text on one line.
    pub fn text(&mut self, place: [f64; 2], text: &str, font: Font<'_>) {
        self.turned_text(place, text, font, 0.0);
    }

    fn shape(&mut self, name: &str, shape: &str, tip: Option<&str>) {
        let _ = match tip {
            None => writeln!(self.body, "<{shape}/>"),
            Some(tip) => writeln!(self.body, "<{shape}><title>{}</title></{name}>", escape(tip)),
        };
    }

    /// The whole picture.
    pub fn finish(self) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n\
             <title>{}</title>\n{}</svg>\n",
            self.title, self.body
        )
    }
}

/// Writes a picture, or another text, into a file; `-` is standard output.
pub fn save(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return put(text);
    }
    std::fs::write(path, text).map_err(|error| {
        // Half of it is of no use. What is not a file, such as a device, stays.
        if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let _ = std::fs::remove_file(path);
        }
        Failure::new(format!("{} cannot be written: {error}; name another file", path.display()))
    })
}

/// About how wide a text is in a font of this size: no font is at hand to ask.
pub fn text_width(text: &str, size: f64) -> f64 {
    let units: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | '|' | '\'' | ' ' => 0.36,
            'm' | 'w' | 'M' | 'W' => 0.95,
            c if c.is_ascii_uppercase() => 0.72,
            c if c.is_ascii() => 0.62,
            _ => 1.0,
        })
        .sum();
    units * size
}

/// The text, or as much of it as fits into so many pixels; nothing if that would say nothing.
pub fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if text_width(&short, size) + size > width {
            short.pop();
            break;
        }
    }
    if short.chars().count() < 2 { String::new() } else { short + "…" }
}

/// Text as XML has it. XML has no form for control characters: they are escaped as in other text. A tip may have several lines.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean_lines(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Tenths of a pixel are fine enough. What is no number is at the edge.
fn number(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 };
    // Not "-0".
    format!("{}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut svg = Svg::new("a < b", 10.0, 10.0);
        svg.rect([0.0, f64::NAN, -1.0, 1.04], "", Some("<b>&\"'\x1b"));
        let text = svg.finish();
        assert!(text.contains("<title>a &lt; b</title>"), "{text}");
        assert!(text.contains("<title>&lt;b&gt;&amp;&quot;&#39;\\u{1b}</title>"), "{text}");
        assert!(text.contains("<rect x=\"0\" y=\"0\" width=\"0\" height=\"1\" >"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        assert_eq!(fitted("trainer", 10.0, 100.0), "trainer");
        assert_eq!(fitted("trainer", 10.0, 30.0), "tra…");
        assert_eq!(fitted("trainer", 10.0, 9.0), "");
    }
}
