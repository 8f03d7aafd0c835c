//! One who reads every event of a table. All who do so must read the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::judge::Judge;
use super::machine::Process;
use crate::table::Error;
use crate::{Event, EventReader};

/// What was read so far, by whomever.
#[derive(Clone, Default)]
pub(super) struct Annals(Rc<RefCell<BTreeMap<u64, Event>>>);

/// Reads until the table is closed.
pub(super) fn read(mut events: EventReader, process: Process, annals: &Annals, judge: &Judge) {
    let mut last = 0;
    loop {
        match events.wait(Some(Duration::from_secs(2))) {
            Ok(_) => {}
            Err(Error::Closed) => return,
            Err(error) => return judge.is_wrong(format!("reader of process {process}: {error:?}")),
        }
        while let Some(event) = events.next() {
            let missed = events.missed();
            if event.number <= last || event.number - last - 1 > missed {
                judge.is_wrong(format!(
                    "process {process} reads {event:?} after {last}, and has missed {missed}"
                ));
            }
            last = event.number;
            let mut annals = annals.0.borrow_mut();
            let known = annals.entry(event.number).or_insert_with(|| event.clone());
            if *known != event {
                judge.is_wrong(format!(
                    "process {process} reads {event:?}, others have read {known:?}"
                ));
            }
        }
    }
}
