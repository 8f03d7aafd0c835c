//! Checks a history of what happened to leases, from the outside: it knows nothing of the table's rules but these two.

use std::collections::{BTreeMap, HashMap, HashSet};

/// What happened, in the words of the check. Tickets and leases by their ids.
#[derive(Debug, Clone)]
pub enum Change {
    Queued(u64),
    /// Lease, ticket, and so many slots of these resources.
    Granted(u64, Option<u64>, Vec<(String, u32)>),
    Ended(u64),
    Other,
}

/// A history, and what the resources in it are.
pub struct History {
    pub changes: Vec<Change>,
    pub slots: HashMap<String, u32>,
    /// Resources for which all claims are equal.
    pub lines: Vec<String>,
}

impl History {
    pub fn check(&self) -> Result<(), String> {
        self.check_capacity()?;
        self.lines.iter().try_for_each(|line| self.check_order(line))
    }

    /// Nothing is granted that is held.
    fn check_capacity(&self) -> Result<(), String> {
        let mut held: HashMap<u64, &[(String, u32)]> = HashMap::new();
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        for (number, change) in self.changes.iter().enumerate() {
            match change {
                Change::Granted(lease, _, takes) => {
                    if held.insert(*lease, takes).is_some() {
                        return Err(format!("{number}: lease {lease} is granted twice"));
                    }
                    for (resource, slots) in takes {
                        let sum = used.entry(resource).or_default();
                        *sum += slots;
                        let there = self.slots.get(resource).copied().unwrap_or(1);
                        if *sum > there {
                            return Err(format!(
                                "{number}: {resource} has {there} slots, {sum} are granted"
                            ));
                        }
                    }
                }
                Change::Ended(lease) => {
                    let Some(takes) = held.remove(lease) else {
                        return Err(format!("{number}: lease {lease} ends and is not held"));
                    };
                    takes.iter().for_each(|(resource, slots)| {
                        *used.entry(resource).or_default() -= slots;
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Who was queued earlier is granted earlier, and nobody passes who was not queued.
    fn check_order(&self, line: &str) -> Result<(), String> {
        let of_line = |takes: &[(String, u32)]| takes.iter().any(|(resource, _)| resource == line);
        let mut served = HashSet::new();
        for change in &self.changes {
            if let Change::Granted(_, Some(ticket), takes) = change
                && of_line(takes)
            {
                served.insert(*ticket);
            }
        }
        // Those in line that will be served, in the order in which they came.
        let mut waiting: Vec<u64> = Vec::new();
        for (number, change) in self.changes.iter().enumerate() {
            match change {
                Change::Queued(ticket) if served.contains(ticket) => waiting.push(*ticket),
                Change::Granted(_, ticket, takes) if of_line(takes) => {
                    let first = waiting.first().copied();
                    if first != *ticket {
                        return Err(format!("{number}: {line} goes to {ticket:?}, not {first:?}"));
                    }
                    waiting.drain(..waiting.len().min(1));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(changes: &[Change]) -> Result<(), String> {
        let lines = vec!["line".to_owned()];
        History { changes: changes.to_vec(), slots: HashMap::new(), lines }.check()
    }

    fn granted(lease: u64, ticket: Option<u64>) -> Change {
        Change::Granted(lease, ticket, vec![("line".to_owned(), 1)])
    }

    #[test]
    fn the_check_finds_what_it_is_for() {
        use Change::{Ended, Queued};
        let first = [granted(1, None), Queued(8), Queued(9), Ended(1)];
        let with = |rest: &[Change]| check(&[&first[..], rest].concat());
        assert_eq!(with(&[granted(2, Some(8)), Ended(2), granted(3, Some(9))]), Ok(()));
        assert!(with(&[granted(2, Some(8)), granted(3, Some(9))]).is_err(), "granted while held");
        assert!(with(&[granted(2, Some(9)), Ended(2), granted(3, Some(8))]).is_err(), "order");
        assert!(with(&[granted(2, None), Ended(2), granted(3, Some(8))]).is_err(), "passed");
        assert!(with(&[Ended(1)]).is_err(), "ended twice");
    }
}
