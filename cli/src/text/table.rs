//! Tables that fit on the screen: what is too wide is cut in the columns that can bear it.

use super::colour::{Mood, paint, wanted};
use super::line::clean;
use super::width;

/// On which side the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    head: &'static str,
    side: Side,
    /// May be cut down to so many characters if the table is too wide.
    least: Option<usize>,
}

impl Column {
    /// Words that are always shown in full.
    pub fn left(head: &'static str) -> Self {
        Column { head, side: Side::Left, least: None }
    }

    /// Numbers.
    pub fn right(head: &'static str) -> Self {
        Column { head, side: Side::Right, least: None }
    }

    /// May be cut.
    pub fn flexible(self, least: usize) -> Self {
        Column { least: Some(least), ..self }
    }
}

/// A table: columns, and rows of cells with their moods.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(String, Mood)>>,
}

impl Table {
    /// Without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row. Dangerous characters are escaped.
    pub fn row(&mut self, cells: Vec<(String, Mood)>) {
        self.rows.push(cells.into_iter().map(|(text, mood)| (clean(&text), mood)).collect());
    }

    /// As text for this terminal, or for whoever reads it.
    pub fn render(&self) -> String {
        self.render_for(width(), wanted())
    }

    /// As text, at most so wide if the flexible columns allow it.
    pub fn render_for(&self, width: usize, colours: bool) -> String {
        let widths = self.widths(width);
        let heads: Vec<(String, Mood)> =
            self.columns.iter().map(|column| (column.head.to_owned(), Mood::Strong)).collect();
        let mut text = String::new();
        for cells in std::iter::once(&heads).chain(&self.rows) {
            let mut line = String::new();
            for (place, ((cell, mood), column)) in cells.iter().zip(&self.columns).enumerate() {
                let cell = cut(cell, widths[place]);
                let blanks = " ".repeat(widths[place] - cell.chars().count());
                let painted = paint(&cell, *mood, colours);
                let gap = if place == 0 { "" } else { "  " };
                match column.side {
                    Side::Left => line.push_str(&format!("{gap}{painted}{blanks}")),
                    Side::Right => line.push_str(&format!("{gap}{blanks}{painted}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self, most: usize) -> Vec<usize> {
        let cell_width = |place: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(place));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| cell_width(place).max(column.head.chars().count()))
            .collect();
        let gaps = 2 * widths.len().saturating_sub(1);
        // The widest that can be cut is cut first, one character at a time.
        while widths.iter().sum::<usize>() + gaps > most {
            let cuttable = |place: &usize| {
                let least = self.columns[*place].least;
                least.is_some_and(|least| widths[*place] > least)
            };
            let Some(widest) = (0..widths.len()).filter(cuttable).max_by_key(|&at| widths[at])
            else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }
}

/// The text, or its beginning and an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        false => text.to_owned(),
        true if width == 0 => String::new(),
        true => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns =
            vec![Column::left("DEVICE"), Column::right("AGE"), Column::left("COMMAND").flexible(8)];
        let mut table = Table::new(columns);
        let plain = |text: &str| (text.to_owned(), Mood::Plain);
        table.row(vec![plain("nvidia:0"), plain("3m"), plain("python train.py --epochs 100")]);
        table.row(vec![plain("nvidia:10"), plain("12m"), plain("a\x1b[31mb")]);
        table
    }

    #[test]
    fn columns_align_and_nothing_is_cut_where_there_is_room() {
        let expected = "\
DEVICE     AGE  COMMAND
nvidia:0    3m  python train.py --epochs 100
nvidia:10  12m  a\\u{1b}[31mb
";
        assert_eq!(table().render_for(80, false), expected);
    }

    #[test]
    fn a_narrow_terminal_cuts_what_can_be_cut() {
        let text = table().render_for(30, false);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("python train.…") && text.contains("nvidia:10"), "{text}");
        assert!(table().render_for(1, false).contains("python …"), "and never more than that");
    }
}
