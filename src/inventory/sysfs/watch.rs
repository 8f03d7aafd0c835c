//! Asks cards how they are, each on a thread of its own: a driver that resets its card may hold up whoever reads its files.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::card::Card;
use super::state;
use crate::inventory::{Observation, PciAddress};
use crate::rt::thread::spawn;
use crate::table::Health;

#[derive(Debug)]
pub(super) struct Watch {
    patience: Duration,
    /// Those that have not answered yet. They are not asked again before they do: threads would pile up.
    late: Mutex<HashMap<PciAddress, Receiver<Observation>>>,
}

impl Watch {
    pub fn new(patience: Duration) -> Self {
        Watch { patience, late: Mutex::default() }
    }

    /// How these cards are, after the patience at the latest.
    pub fn look(&self, cards: Vec<Card>) -> HashMap<PciAddress, Observation> {
        // Beyond that the clock ends.
        let until = Instant::now() + self.patience.min(Duration::from_secs(24 * 3600));
        let asked: Vec<_> = cards.into_iter().map(|card| (card.pci, self.ask(card))).collect();
        asked.into_iter().map(|(pci, answer)| (pci, self.wait(pci, answer, until))).collect()
    }

    fn ask(&self, card: Card) -> Receiver<Observation> {
        let late = self.late.lock().remove(&card.pci);
        // What comes only now is news; what came earlier is not.
        if let Some(answer) = late.filter(|answer| answer.try_recv() == Err(TryRecvError::Empty)) {
            return answer;
        }
        let (tell, answer) = sync_channel(1);
        // Without a thread to be had, nothing comes.
        let _ = spawn("ternlease-sysfs", move || {
            let _ = tell.send(card.observe());
        });
        answer
    }

    fn wait(&self, pci: PciAddress, answer: Receiver<Observation>, until: Instant) -> Observation {
        let left = until.saturating_duration_since(Instant::now());
        let trouble = match answer.recv_timeout(left) {
            Ok(observation) => return observation,
            Err(RecvTimeoutError::Disconnected) => "the system has no thread to ask it".to_owned(),
            Err(RecvTimeoutError::Timeout) => {
                self.late.lock().insert(pci, answer);
                format!("its driver has not answered for {:?}", self.patience)
            }
        };
        state(Health::Draining, Some(trouble))
    }
}
