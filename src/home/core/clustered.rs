//! What a home does otherwise whose table many machines share: what a command changes counts when the engine has it, and not before.

use parking_lot::MutexGuard;

use super::{Core, State};
use crate::home::arrays::{Arrays, Undo};
use crate::home::cluster::{
    Failure, Flight, Made, Outcome, Part, Receipt, Revision, Store, Written,
};
use crate::home::wake::Woken;
use crate::table::{
    Claim, Error, LeaseState, Memory, Outcome as TableOutcome, Reason, Table, Time,
};

/// How often an engine that does not answer is asked before a command is refused.
const ATTEMPTS: u32 = 3;

/// Why commands are refused then.
pub(super) const UNREACHABLE: Error = Error::System(libc::EHOSTUNREACH);

impl<U: Undo> Core<U> {
    /// Runs a command until what it did counts. An answer that changed nothing is given only if it is one to what the table was while this ran.
    pub(super) fn run_clustered<T>(
        &self,
        part: &Part,
        unchanged: &[(String, Revision)],
        mut command: impl FnMut(&Table<Arrays<U>>, Time) -> T,
    ) -> T {
        if part.is_forked() {
            // Refuses everything, and touches nothing.
            return command(&self.lock_forked().table, 0);
        }
        let mut fresh = false;
        let mut attempts = 0;
        loop {
            let mut state = self.state.lock();
            let refusal = self.refusal(part, attempts);
            state.table.accept();
            if let Some(error) = refusal {
                state.table.refuse_all(error);
            }
            let now = self.clock.now().max(state.table.now());
            // Before anything is written: nobody who reads without the lock takes for done what may be undone.
            part.take_off();
            let answer = command(&state.table, now);
            let written = part.replica().take_written();
            let mut decided = Vec::new();
            state.table.take_decided(|place| decided.push(place));
            if refusal.is_some() {
                take_back(part, &state, &written);
                state.table.accept();
                return answer;
            }
            if part.replica().is_only(&written, &self.memory.header().now) {
                let settled = take_back(part, &state, &written);
                if fresh && settled {
                    return answer;
                }
                drop(state);
                fresh = self.refresh(part).is_ok();
                attempts += u32::from(!fresh);
                continue;
            }
            let Some(group) = &mut state.group else { return answer };
            let unchanged = unchanged.iter().cloned().chain(part.presence()).collect();
            let receipt = group.add(written, decided, unchanged);
            match self.settle(part, state, &receipt) {
                Outcome::Failed => attempts += 1,
                Outcome::Done => return answer,
                Outcome::Undone | Outcome::Pending => {}
            }
        }
    }

    /// Asks for a lease. Not while the others may take this process for dead: it would be over before it began.
    pub(super) fn claim_clustered(
        &self,
        part: &Part,
        claim: Claim<'_>,
    ) -> Result<TableOutcome, Error> {
        if !part.is_forked() && !part.is_closed() && !part.is_sure() {
            return Err(UNREACHABLE);
        }
        self.run_clustered(part, &[], |table, now| {
            // Which may be another one by the time that this is run again.
            table.claim(now, &Claim { owner: part.owner(), ..claim })
        })
    }

    fn refusal(&self, part: &Part, attempts: u32) -> Option<Error> {
        if part.is_closed() {
            return Some(Error::Closed);
        }
        (attempts >= ATTEMPTS).then_some(UNREACHABLE)
    }

    /// Waits until a command counts or was undone. Whoever finds nothing under way takes along what has gathered.
    fn settle<'a>(
        &'a self,
        part: &Part,
        mut state: MutexGuard<'a, State<U>>,
        receipt: &Receipt,
    ) -> Outcome {
        loop {
            match receipt.outcome() {
                Outcome::Pending => {}
                outcome => return outcome,
            }
            match state.group.as_mut().and_then(|group| group.take_off(|| part.next_author())) {
                None => part.landed.wait(&mut state),
                Some(flight) => {
                    drop(state);
                    self.fly(part, flight);
                    state = self.state.lock();
                }
            }
        }
    }

    /// One transaction, and what becomes of it.
    fn fly(&self, part: &Part, flight: Flight) {
        let Flight { mut store, delta, unchanged } = flight;
        let delta = &delta;
        let mut made = store.make(part.kv(), delta, unchanged);
        while let Err(Failure::InDoubt(_)) = made {
            // For as long as the others may take this process for alive, it has to know. Afterwards whatever it has is given back, this included.
            if part.is_closed() || !part.is_sure() {
                break;
            }
            std::thread::sleep(PAUSE);
            made = store.find_out(part.kv(), delta);
        }
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        let State { table, wakers, listeners, group, .. } = &mut *state;
        let Some(group) = group else { return };
        match made {
            Ok(Made::Done) => {
                for place in group.land(store) {
                    wakers.take(place, &mut woken);
                }
                listeners.take(table.last_event(), &mut woken);
            }
            Ok(Made::Overtaken(read)) => {
                // Before anybody else's changes come on top; and what is undone is told when it is known why.
                let undone = group.undo();
                part.count_undone();
                let followed = store.follow(part.kv(), &read);
                group.come_back(store);
                // If the table is as it was, something else is not as it must be: to run it again would be the same again.
                undone.end(match followed {
                    Ok(false) => Outcome::Failed,
                    _ => Outcome::Undone,
                });
                if followed == Err(Failure::Corrupt) {
                    table.mark_corrupt();
                }
                self.others_did_something(&mut state, &mut woken);
            }
            Err(failure) => {
                group.undo().end(Outcome::Failed);
                part.count_undone();
                group.come_back(store);
                if failure == Failure::Corrupt {
                    table.mark_corrupt();
                }
            }
        }
        if state.group.as_ref().is_none_or(|group| group.is_settled()) {
            part.land();
        }
        part.landed.notify_all();
        drop(state);
        woken.wake();
    }

    /// Brings the copy up to what the engine has.
    pub(super) fn refresh(&self, part: &Part) -> Result<(), Failure> {
        let Some(news) = self.on_the_ground(part).group.as_mut().and_then(|it| it.news()) else {
            return Ok(());
        };
        let read = Store::ask(part.kv(), news)?;
        let mut woken = Woken::default();
        let mut state = self.on_the_ground(part);
        let Some(store) = state.group.as_mut().and_then(|group| group.store()) else {
            return Ok(());
        };
        let followed = store.follow(part.kv(), &read);
        if followed == Err(Failure::Corrupt) {
            state.table.mark_corrupt();
        }
        self.others_did_something(&mut state, &mut woken);
        drop(state);
        woken.wake();
        followed.map(drop)
    }

    /// The lock, at a moment when nothing is under way, so that everything that the copy has counts: only that may be told.
    pub(super) fn on_the_ground(&self, part: &Part) -> MutexGuard<'_, State<U>> {
        let mut state = self.state.lock();
        while state.group.as_ref().is_some_and(|group| !group.is_settled()) {
            part.landed.wait(&mut state);
        }
        state
    }

    fn others_did_something(&self, state: &mut State<U>, woken: &mut Woken) {
        let State { table, wakers, listeners, .. } = state;
        self.clock.at_least(table.now());
        wakers.take_if(|place| table.is_decided(place), woken);
        listeners.take(table.last_event(), woken);
    }

    /// The state of a lease as this process knows it; over, if the others may take this process for dead by now.
    pub(super) fn clustered_state(
        &self,
        part: &Part,
        read: impl Fn() -> Option<LeaseState>,
    ) -> Option<LeaseState> {
        if part.is_forked() {
            return None;
        }
        let state = part.settled(&read).unwrap_or_else(|| {
            let _settled = self.on_the_ground(part);
            read()
        });
        match state {
            Some(LeaseState::Held) if !part.is_sure() => Some(LeaseState::Expired),
            state => state,
        }
    }

    /// Gives back what a process had that is gone. An error if somebody else has its number by now, or the engine cannot be reached.
    pub(super) fn reap_clustered(
        &self,
        part: &Part,
        owner: u16,
        reason: Reason,
    ) -> Result<(), Error> {
        let absent = [part.absence_of(owner)];
        self.run_clustered(part, &absent, |table, now| {
            let reaped = table.reap(now, owner, reason)?;
            if reaped.leases + reaped.tickets != 0 {
                table.record_death(now, owner.into(), reaped);
            }
            Ok(())
        })
    }
}

/// Between two questions to an engine that does not answer.
pub(super) const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// A command has changed nothing that counts: whatever it wrote is undone. Is there nothing else that may be?
fn take_back<U: Undo>(part: &Part, state: &State<U>, written: &[Written]) -> bool {
    part.replica().undo(written);
    part.count_undone();
    let settled = state.group.as_ref().is_none_or(|group| group.is_settled());
    if settled {
        part.land();
    }
    settled
}
