//! The figures of the cluster home in one table, with what they should be.

use crate::measure::Unit;
use crate::report::{figure, significant};

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn text(self) -> String {
        match self {
            Goal::AtMost(limit) => format!("<= {limit}"),
            Goal::AtLeast(limit) => format!(">= {limit}"),
        }
    }

    fn is_reached_by(self, value: f64) -> bool {
        match self {
            Goal::AtMost(limit) => value <= limit,
            Goal::AtLeast(limit) => value >= limit,
        }
    }
}

struct Row {
    what: String,
    goal: Option<Goal>,
    /// One for each column so far; empty where nothing was measured.
    cells: Vec<String>,
}

/// A column for each etcd, in the order in which they were measured.
#[derive(Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

struct Column {
    name: String,
    /// Do the goals count here?
    judges: bool,
}

impl Table {
    pub fn column(&mut self, name: &str, judges: bool) {
        self.columns.push(Column { name: name.to_owned(), judges });
    }

    /// A figure of the last column that has a goal.
    pub fn judged(&mut self, what: &str, value: f64, goal: Goal) {
        let judges = self.columns.last().is_some_and(|column| column.judges);
        let verdict = match goal.is_reached_by(value) {
            _ if !judges => "",
            true => " reached",
            false => " MISSED",
        };
        self.set(what, Some(goal), significant(value) + verdict);
    }

    /// A figure of the last column that has none.
    pub fn told(&mut self, what: &str, value: f64, unit: Unit) {
        self.set(what, None, figure(value, unit));
    }

    fn set(&mut self, what: &str, goal: Option<Goal>, cell: String) {
        let known = self.rows.iter().position(|row| row.what == what);
        let place = known.unwrap_or_else(|| {
            self.rows.push(Row { what: what.to_owned(), goal, cells: Vec::new() });
            self.rows.len() - 1
        });
        let row = &mut self.rows[place];
        row.cells.resize(self.columns.len(), String::new());
        row.cells[self.columns.len() - 1] = cell;
    }

    /// Nothing, if nothing was measured.
    pub fn print(&self) {
        if self.rows.is_empty() {
            return;
        }
        let head = ["in bare Txns unless said otherwise".to_owned(), "goal".to_owned()];
        let names = self.columns.iter().map(|column| column.name.clone());
        let mut lines: Vec<Vec<String>> = vec![head.into_iter().chain(names).collect()];
        for row in &self.rows {
            let goal = row.goal.map_or(String::new(), Goal::text);
            let mut line = vec![row.what.clone(), goal];
            line.extend(row.cells.iter().cloned());
            line.resize(self.columns.len() + 2, String::new());
            lines.push(line);
        }
        let width = |place: usize| lines.iter().map(|line| line[place].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len() + 2).map(width).collect();
        println!();
        for (number, line) in lines.iter().enumerate() {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} |"));
            println!("|{}", cells.collect::<String>());
            if number == 0 {
                let rules = widths.iter().map(|width| "-".repeat(width + 2) + "|");
                println!("|{}", rules.collect::<String>());
            }
        }
        println!();
    }
}
