//! Puts mutants into the sources, each behind a switch: one build tries them all, where cargo-mutants builds once for each.
//!
//! `mutants FROM TO LIST`: FROM is the project, TO a copy of it, whose files are changed; LIST is what `cargo mutants --list --json` says, with
//! `null` for what is not to be put in. A mutant's number is its place in the list; the environment variable `TERN_MUTANT` switches one on.
//! Prints for every mutant that is in now `NUMBER FILE BEGIN END`: the bytes that are there because of it.
//!
//! Only one mutant is on at a time, so that the changed text needs no switches inside: `a + f(b - c)` becomes
//! `(if on(1) { a - f(b - c) } else { a + f((if on(2) { b + c } else { b - c })) })`.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::Visit;

const SWITCH: &str = r#"
/// Whether this mutant is switched on.
#[inline]
pub(crate) fn mutant(number: u32) -> bool {
    static CHOSEN: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("TERN_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(u32::MAX));
    *CHOSEN == number
}
"#;

/// What is put in before or after a piece of the source.
struct Insertion {
    at: usize,
    /// What encloses less ends earlier and begins later.
    order: (bool, isize),
    text: String,
    mutants: Vec<usize>,
}

struct Mutant {
    number: usize,
    replacement: String,
}

struct Switches<'a> {
    source: &'a str,
    /// By where the changed text begins and what kind of change it is.
    mutants: HashMap<(usize, &'a str), Vec<Mutant>>,
    depth: isize,
    insertions: Vec<Insertion>,
}

impl Switches<'_> {
    fn insert(&mut self, at: usize, opens: bool, text: String, mutants: &[Mutant]) {
        let order = (opens, if opens { self.depth } else { -self.depth });
        let mutants = mutants.iter().map(|mutant| mutant.number).collect();
        self.insertions.push(Insertion { at, order, text, mutants });
    }

    /// `changed` is told the replacement, and answers what is there instead of the piece.
    fn instead(
        &mut self,
        piece: Range<usize>,
        mutants: &[Mutant],
        changed: impl Fn(&str) -> String,
    ) {
        let mut text = String::from("(");
        for Mutant { number, replacement } in mutants {
            text += &format!("if crate::mutant({number}) {{ {} }} else ", changed(replacement));
        }
        self.insert(piece.start, true, text + "{ ", mutants);
        self.insert(piece.end, false, " })".into(), mutants);
    }

    fn take(&mut self, at: usize, genre: &'static str) -> Vec<Mutant> {
        self.mutants.remove(&(at, genre)).unwrap_or_default()
    }

    fn function(&mut self, block: &syn::Block) {
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else { return };
        let body = first.span().byte_range().start..last.span().byte_range().end;
        let mutants = self.take(body.start, "FnValue");
        for mutant in &mutants {
            let text = format!(
                "if crate::mutant({}) {{ return {}; }} ",
                mutant.number, mutant.replacement
            );
            self.insert(body.start, true, text, std::slice::from_ref(mutant));
        }
    }
}

/// A condition with a `let` in it cannot be put in parentheses.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Switches<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        self.depth += 1;
        let piece = expression.span().byte_range();
        match expression {
            syn::Expr::Binary(both) if !has_let(expression) => {
                let operator = both.op.span().byte_range();
                let mutants = self.take(operator.start, "BinaryOperator");
                let (before, after) = (
                    &self.source[piece.start..operator.start],
                    &self.source[operator.end..piece.end],
                );
                if !mutants.is_empty() {
                    self.instead(piece, &mutants, |other| format!("{before}{other}{after}"));
                }
            }
            syn::Expr::Unary(unary) => {
                let mutants = self.take(piece.start, "UnaryOperator");
                let operand = &self.source[unary.expr.span().byte_range()];
                if !mutants.is_empty() {
                    self.instead(piece, &mutants, |_| operand.into());
                }
            }
            _ => {}
        }
        syn::visit::visit_expr(self, expression);
        self.depth -= 1;
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let deleted = self.take(arm.span().byte_range().start, "MatchArm");
        let guard = arm.guard.as_ref().map(|(_, guard)| guard.span().byte_range());
        if let Some(Mutant { number, .. }) = deleted.first() {
            match &guard {
                Some(guard) => {
                    self.insert(
                        guard.start,
                        true,
                        format!("!crate::mutant({number}) && ("),
                        &deleted,
                    );
                    self.insert(guard.end, false, ")".into(), &deleted);
                }
                None => self.insert(
                    arm.pat.span().byte_range().end,
                    false,
                    format!(" if !crate::mutant({number})"),
                    &deleted,
                ),
            }
        }
        self.depth += 1;
        if let Some(guard) = guard {
            let mutants = self.take(guard.start, "MatchArmGuard");
            if !mutants.is_empty() {
                self.instead(guard, &mutants, str::to_owned);
            }
        }
        syn::visit::visit_arm(self, arm);
        self.depth -= 1;
    }
}

/// Where lines and columns are, in bytes.
fn offset(source: &str, place: &Value) -> usize {
    let (line, column) =
        (place["line"].as_u64().unwrap() as usize, place["column"].as_u64().unwrap() as usize);
    let before: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    before + source[before..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, from, to, list] = &arguments[..] else { panic!("mutants FROM TO LIST") };
    let (from, to) = (Path::new(from), Path::new(to));
    let list: Value =
        serde_json::from_str(&std::fs::read_to_string(list).expect("a list")).expect("a list");
    let mut by_file = BTreeMap::<&str, Vec<(usize, &Value)>>::new();
    for (number, mutant) in list.as_array().expect("a list").iter().enumerate() {
        if let Some(file) = mutant["file"].as_str() {
            by_file.entry(file).or_default().push((number, mutant));
        }
    }
    for (file, mutants) in by_file {
        let source = std::fs::read_to_string(from.join(file)).expect("a source");
        let mut switches =
            Switches { source: &source, mutants: HashMap::new(), depth: 0, insertions: Vec::new() };
        for (number, mutant) in mutants {
            let key = (
                offset(&source, &mutant["span"]["start"]),
                mutant["genre"].as_str().expect("a genre"),
            );
            let replacement = mutant["replacement"].as_str().expect("a replacement").to_owned();
            switches.mutants.entry(key).or_default().push(Mutant { number, replacement });
        }
        switches.visit_file(&syn::parse_file(&source).expect("Rust"));
        switches.insertions.sort_by_key(|insertion| (insertion.at, insertion.order));
        let (mut text, mut taken) = (String::new(), 0);
        for insertion in &switches.insertions {
            text += &source[taken..insertion.at];
            taken = insertion.at;
            for number in &insertion.mutants {
                println!("{number} {file} {} {}", text.len(), text.len() + insertion.text.len());
            }
            text += &insertion.text;
        }
        text += &source[taken..];
        std::fs::write(to.join(file), text).expect("to write");
    }
    let library = std::fs::read_to_string(from.join("src/lib.rs")).expect("a library");
    std::fs::write(to.join("src/lib.rs"), library + SWITCH).expect("to write");
}
