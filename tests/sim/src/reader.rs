//! One who reads every event of a table. All who do so must read the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use super::checker::Checker;
use super::machine::Process;
use ternlease::table::Error;
use ternlease::{Event, EventReader, Reason, What};

/// What was read so far, by whomever.
#[derive(Clone, Default)]
pub(super) struct Annals(Rc<RefCell<BTreeMap<u64, Event>>>);

/// Reads until the table is closed.
pub(super) fn read(mut events: EventReader, process: Process, annals: &Annals, checker: &Checker) {
    let mut last = 0;
    // Leases whose end was read, and how many of these ends were read before the table recorded
    // them.
    let (mut ended, mut early) = (HashSet::new(), 0);
    loop {
        match events.wait(Some(Duration::from_secs(2))) {
            Ok(_) => {}
            Err(Error::Closed) => return,
            Err(error) => {
                return checker.is_wrong(format!("reader of process {process}: {error:?}"));
            }
        }
        while let Some(event) = events.next() {
            let missed = events.missed();
            let end = match event.what {
                What::Ended { lease, reason, .. } => Some((lease, reason)),
                _ => None,
            };
            if let Some((lease, _)) = end
                && !ended.insert(lease)
            {
                checker.is_wrong(format!("process {process} reads a second end: {event:?}"));
            }
            if event.number == last && end.is_some_and(|(_, why)| why == Reason::EngineLost) {
                // Reported when the session was lost; the table records it later, and this reader
                // skips that.
                early += 1;
                continue;
            }
            if event.number <= last || event.number - last - 1 > missed + early {
                checker.is_wrong(format!(
                    "process {process} reads {event:?} after {last}, and has missed {missed}"
                ));
            }
            last = event.number;
            let mut annals = annals.0.borrow_mut();
            let known = annals.entry(event.number).or_insert_with(|| event.clone());
            if *known != event {
                checker.is_wrong(format!(
                    "process {process} reads {event:?}, others have read {known:?}"
                ));
            }
        }
    }
}
