//! A reader of all events of a table. All readers must read the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use super::checker::Checker;
use super::machine::Process;
use ternlease::table::Error;
use ternlease::{Event, EventReader, Reason, What};

/// All events that were read.
#[derive(Clone, Default)]
pub(super) struct EventLog(Rc<RefCell<BTreeMap<u64, Event>>>);

/// Reads until the table is closed.
pub(super) fn read(
    mut events: EventReader,
    process: Process,
    event_log: &EventLog,
    checker: &Checker,
) {
    let mut last = 0;
    // Leases whose end was read, and how many of these ends were read before the table recorded
    // them.
    let (mut ended, mut early) = (HashSet::new(), 0);
    loop {
        match events.wait(Some(Duration::from_secs(2))) {
            Ok(_) => {}
            Err(Error::Closed) => return,
            Err(error) => {
                return checker.report(format!("reader of process {process}: {error:?}"));
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
                checker.report(format!("process {process} reads a second end: {event:?}"));
            }
            if event.number == last && end.is_some_and(|(_, why)| why == Reason::EngineLost) {
                // Reported when the session was lost; the table records it later, and this reader
                // skips that.
                early += 1;
                continue;
            }
            if event.number <= last || event.number - last - 1 > missed + early {
                checker.report(format!(
                    "process {process} reads {event:?} after {last}, and has missed {missed}"
                ));
            }
            last = event.number;
            let mut event_log = event_log.0.borrow_mut();
            let known = event_log.entry(event.number).or_insert_with(|| event.clone());
            if *known != event {
                checker.report(format!(
                    "process {process} reads {event:?}, others have read {known:?}"
                ));
            }
        }
    }
}
