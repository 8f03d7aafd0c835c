//! Statuses and reasons, as the C header numbers them, are known to every language by the same names.

use std::fs;

use super::driver::Language;
use super::here;

/// Rust has errors instead of statuses: there the scenarios show which is which.
const WITHOUT_STATUSES: &str = "rust";

pub fn check(language: &Language) -> Result<(), String> {
    let header = fs::read_to_string(here("../../include/ternlease.h")).unwrap();
    let mut driver = language.start();
    let mut expect = |step: String, expected: &str| match driver.ask(&step)? {
        answer if answer == expected => Ok(()),
        answer => Err(format!("{}: {step}: {answer}, not {expected}", language.name)),
    };
    if language.name != WITHOUT_STATUSES {
        let statuses = enumerators(&header, "tern_status_t");
        assert!(statuses.len() > 30);
        for (name, number) in &statuses {
            expect(format!("status {number}"), &format!("OK {name}"))?;
        }
        expect("status 12345".to_owned(), "OK -")?;
    }
    let classes = enumerators(&header, "tern_reason_class_t");
    let reasons = enumerators(&header, "tern_reason_t");
    assert!(reasons.len() > 20 && classes.len() == 7);
    for (name, number) in reasons.iter().filter(|(_, number)| *number != 0) {
        let class = classes.iter().find(|(_, class)| *class == number / 100).unwrap();
        let (name, class) = (&name["TERN_REASON_".len()..], &class.0["TERN_CLASS_".len()..]);
        expect(format!("reason {number}"), &format!("OK {name} {class}"))?;
    }
    expect("reason 999".to_owned(), "OK -")?;
    driver.end()
}

/// What an enumeration of the header lists.
fn enumerators(header: &str, name: &str) -> Vec<(String, i64)> {
    let begin = format!("TERN_ENUM_BEGIN({name})");
    let body = header.split_once(&begin).unwrap().1.split_once("TERN_ENUM_END").unwrap().0;
    let entries = body.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    entries.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}
