//! The vectors of costs, which every language must come to, bit by bit.

use std::fs;

use super::driver::{Driver, Language};
use super::here;

pub fn check(language: &Language) -> Result<(), String> {
    let table = fs::read_to_string(here("../vectors/fncost.csv")).unwrap();
    let mut driver = language.start();
    let mut count = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [name, expression, numbers @ ..] = &fields[..] else { panic!("{row}") };
        let mut words = words_of(expression).into_iter();
        let found =
            evaluate(&mut driver, &mut words).map_err(|problem| format!("{name}: {problem}"))?;
        if found != numbers.join(" ") {
            return Err(format!(
                "{} in {}: {found}, not {}",
                name,
                language.name,
                numbers.join(" ")
            ));
        }
        count += 1;
    }
    assert!(count > 50, "only {count} vectors");
    driver.end()
}

fn words_of(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// `(then (scan 1 2) (new 1 2 3 4))`: the inner ones first, each by a step of its own.
fn evaluate(
    driver: &mut Driver,
    words: &mut impl Iterator<Item = String>,
) -> Result<String, String> {
    assert_eq!(words.next().as_deref(), Some("("));
    list(driver, words)
}

fn list(driver: &mut Driver, words: &mut impl Iterator<Item = String>) -> Result<String, String> {
    let name = words.next().unwrap();
    let mut arguments = Vec::new();
    loop {
        match words.next().unwrap().as_str() {
            ")" => break,
            "(" => arguments.push(list(driver, words)?),
            number => arguments.push(number.to_owned()),
        }
    }
    if name == "new" {
        return Ok(arguments.join(" "));
    }
    let step = format!("cost {name} {}", arguments.join(" "));
    let answer = driver.ask(&step)?;
    answer.strip_prefix("OK ").map(str::to_owned).ok_or(format!("{step}: {answer}"))
}
