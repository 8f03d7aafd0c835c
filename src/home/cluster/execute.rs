//! What a home does otherwise whose table many machines share: what a command changes counts when the engine has it, and not before.

use super::Replica;
use super::home::{ClusterHome, State};
use crate::home::cluster::etcd::half_to_whole;
use crate::home::cluster::{
    Conditions, Failure, Flight, Group, Made, Outcome, Part, Receipt, Store, Written,
};
use crate::home::waiters::WakeList;
use crate::memory::Arrays;
use crate::rt::{self, MutexGuard};
use crate::table::command::{Collected, GrantDetail, Place, SetPrincipal};
use crate::table::{Claim, Error, Memory, Placed, Table, TicketId, TicketState, Time};
use std::time::Duration;

/// How often an engine that does not answer is asked before a command is refused.
const ATTEMPTS: u32 = 3;

/// Between two questions to an engine that does not answer.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// Who was overtaken so often waits a little, and longer each time, up to a limit.
const PATIENT: u32 = 4;
const STEP_BACK: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(8)];

impl ClusterHome {
    /// Runs a command until what it did counts. An answer that changed nothing is given only if it is one to what the table was while this ran.
    pub(super) fn run_clustered<T>(
        &self,
        part: &Part,
        needs: impl Fn() -> Conditions,
        mut command: impl FnMut(&Table<Arrays<Replica>>, Time) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if part.is_forked() {
            return Err(Error::Forked);
        }
        let mut fresh = false;
        let (mut attempts, mut overtaken) = (0, 0);
        loop {
            if let Some(error) = self.refusal(part, attempts) {
                return Err(error);
            }
            let mut state = self.when_it_is_its_turn(part);
            let now = self.clock.now().max(state.table.now());
            // Before anything is written: nobody who reads without the lock takes for done what may be undone.
            part.take_off();
            let events = state.table.last_event();
            let told = tell_of_tickets(&state);
            let mut written = part.replica().take_written();
            // Asked before the command: whom it concerns may be another afterwards.
            let mut needs = needs();
            let answer = command(&state.table, now);
            let by_command = part.replica().take_written();
            let mut decided = Vec::new();
            state.table.take_decided(|place| decided.push(place));
            if part.replica().is_only(&by_command, &self.memory.header().now) {
                part.replica().undo_shared(&by_command);
                let settled = take_back(part, &state, &written);
                if fresh && settled {
                    return answer;
                }
                drop(state);
                fresh = self.refresh(part).is_ok();
                attempts += u32::from(!fresh);
                continue;
            }
            written.extend(by_command);
            let special = !needs.unchanged.is_empty();
            needs.special = special;
            needs.unchanged.push(part.presence());
            concerned(&state.table, events, &decided, &mut needs);
            needs.concerned.remove(&part.owner());
            let Some(group) = &mut state.group else { return answer };
            let receipt = group.add(written, decided, needs);
            match self.settle(part, state, &receipt) {
                // It was something that another command needed: this one may be run again.
                Outcome::Unmet if !special => step_back(&mut overtaken),
                Outcome::Failed | Outcome::Unmet => attempts += 1,
                Outcome::InDoubt => {
                    self.catch_up(part);
                    attempts = ATTEMPTS;
                }
                Outcome::Done => {
                    self.forget_told(&told);
                    return answer;
                }
                Outcome::Undone | Outcome::Pending => {
                    // Without a session nothing comes to count, however often it is tried.
                    attempts += u32::from(!part.has_its_number());
                    step_back(&mut overtaken);
                }
            }
        }
    }

    /// Asks for a lease. Not while the others may take this process for dead: it would be over before it began.
    pub(super) fn claim_clustered<D: GrantDetail>(
        &self,
        part: &Part,
        claim: &Claim<'_>,
    ) -> Result<Placed<D>, Error> {
        if part.is_cut_off() {
            return Err(part.refusal().unwrap_or(Error::Unavailable));
        }
        self.run_clustered(part, Conditions::default, |table, now| {
            // By the time that this is run again, its session may be another one, and what it had not given back yet: its holder would be told that it is over.
            if part.is_cut_off() {
                return Err(part.refusal().unwrap_or(Error::Unavailable));
            }
            // Its session may be another one by now.
            let issuer = part.issuer();
            table.apply(issuer, &SetPrincipal { owner: issuer.owner() }, now)?;
            table.apply(issuer, &Place::new(claim), now)
        })
    }

    fn refusal(&self, part: &Part, attempts: u32) -> Option<Error> {
        if part.is_closed() {
            return Some(Error::Closed);
        }
        if let Some(error) = part.refusal() {
            return Some(error);
        }
        (attempts >= ATTEMPTS).then_some(Error::Unavailable)
    }

    /// The others know that somebody was told of these tickets.
    fn forget_told(&self, told: &[TicketId]) {
        if !told.is_empty()
            && let Some(group) = &mut self.state.lock().group
        {
            group.told.retain(|ticket| !told.contains(ticket));
        }
    }

    /// Waits until a command counts or was undone. Whoever finds nothing under way takes along what has gathered.
    fn settle<'a>(
        &'a self,
        part: &Part,
        mut state: MutexGuard<'a, State>,
        receipt: &Receipt,
    ) -> Outcome {
        loop {
            match receipt.outcome() {
                Outcome::Pending => {}
                outcome => return outcome,
            }
            match state
                .group
                .as_mut()
                .and_then(|group| group.take_off(|changes| part.delta_of(changes)))
            {
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
        let Flight { mut store, delta, conditions } = flight;
        let delta = &delta;
        let special = conditions.special;
        let called: Vec<u16> = conditions.concerned.into_iter().collect();
        let mut made = store.make(part.kv(), delta, conditions.unchanged, &called);
        while let Err(Failure::InDoubt(_)) = made {
            // For as long as the others may take this process for alive, it has to know. Afterwards whatever it has is given back, this included.
            if part.is_closed() || !part.is_sure() {
                break;
            }
            rt::sleep(PAUSE);
            made = store.find_out(part.kv(), delta);
        }
        let forgotten = matches!(made, Ok(Made::Forgotten(_)));
        let mut wake = WakeList::default();
        let mut state = self.state.lock();
        let State { table, waiters, group, .. } = &mut *state;
        let Some(group) = group else { return };
        match made {
            Ok(Made::Done) => {
                for place in group.land(store) {
                    waiters.take(place, &mut wake);
                }
                waiters.take_subscribers(table.last_event(), &mut wake);
            }
            Ok(Made::Overtaken(read) | Made::Forgotten(read)) => {
                // Before anybody else's changes come on top; and what is undone is told when it is known why.
                let undone = group.undo();
                if !part.is_sure() {
                    self.give_up_number(part, table);
                }
                let known = store.number();
                let followed = store.follow(part.kv(), &read, known);
                group.come_back(store);
                // If the table is as it was, something else is not as it must be: to run it again would be the same again.
                undone.end(match followed {
                    _ if forgotten => Outcome::InDoubt,
                    Ok(false) if special => Outcome::Unmet,
                    Ok(false) => Outcome::Failed,
                    _ => Outcome::Undone,
                });
                if let Err(failure) = &followed {
                    self.lose_table(part, table, failure);
                }
                self.others_did_something(part, &mut state, &mut wake);
                part.count_undone();
            }
            Err(failure) => {
                group.undo().end(match &failure {
                    Failure::InDoubt(_) => Outcome::InDoubt,
                    _ => Outcome::Failed,
                });
                part.count_undone();
                group.come_back(store);
                self.lose_table(part, table, &failure);
            }
        }
        if state.group.as_ref().is_none_or(|group| group.is_settled()) {
            part.land();
        }
        part.landed.notify_all();
        drop(state);
        wake.wake();
    }

    /// Brings the copy up to what the engine has.
    pub(super) fn refresh(&self, part: &Part) -> Result<(), Failure> {
        let Some((news, known)) = self.on_the_ground(part).group.as_mut().and_then(|it| it.news())
        else {
            return Ok(());
        };
        let read = Store::ask(part.kv(), news)?;
        let mut wake = WakeList::default();
        let mut state = self.on_the_ground(part);
        if !part.is_sure() {
            self.give_up_number(part, &state.table);
        }
        let Some(store) = state.group.as_mut().and_then(|group| group.store()) else {
            return Ok(());
        };
        part.take_off();
        let followed = store.follow(part.kv(), &read, known);
        if let Err(failure) = &followed {
            self.lose_table(part, &state.table, failure);
        }
        if followed != Ok(false) {
            self.others_did_something(part, &mut state, &mut wake);
        }
        part.count_undone();
        part.land();
        drop(state);
        wake.wake();
        followed.map(drop)
    }

    /// Nobody knows what became of a command: what is told from now on must be after it. Not if this process is taken for dead: then all that it has is over.
    fn catch_up(&self, part: &Part) {
        while part.is_sure()
            && !part.is_closed()
            && matches!(self.refresh(part), Err(Failure::Engine(_)))
        {
            rt::sleep(PAUSE);
        }
    }

    /// The lock, at a moment when nothing is under way that is about this record, or when all that this process has, this included, is over anyway.
    pub(super) fn lock_about<T>(
        &self,
        part: &Part,
        record: Option<&T>,
        is_own: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while state.is_under_way(record) && (part.is_sure() || !is_own(&state)) {
            part.landed.wait_for(&mut state, PAUSE);
        }
        state
    }

    /// The lock, at a moment when nothing is under way, so that everything that the copy has counts: only that may be told.
    pub(super) fn on_the_ground(&self, part: &Part) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let in_the_air = |state: &State| state.group.as_ref().is_some_and(|it| !it.is_settled());
        if !in_the_air(&state) {
            return state;
        }
        state.group.iter_mut().for_each(Group::ask_for_a_moment);
        while in_the_air(&state) {
            part.landed.wait(&mut state);
        }
        state.group.iter_mut().for_each(Group::have_a_moment);
        part.landed.notify_all();
        state
    }

    /// The lock, once all have had their moment who asked for one before.
    fn when_it_is_its_turn(&self, part: &Part) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let before = state.group.as_ref().map_or(0, Group::asked_before);
        while state.group.as_ref().is_some_and(|group| !group.is_the_turn_of(before)) {
            part.landed.wait(&mut state);
        }
        state
    }

    /// The copy has what others did. Nobody reads it without the lock meanwhile.
    fn others_did_something(&self, part: &Part, state: &mut State, wake: &mut WakeList) {
        let State { table, waiters, .. } = state;
        let moved = self.clock.at_least(table.now());
        if let Some(kept) = self.memory.kept() {
            kept.lag_behind(moved);
        }
        table.find_kept();
        // It counts, whatever becomes of the next command.
        part.replica().take_written();
        waiters.take_if(|place| table.is_decided(place), wake);
        waiters.take_subscribers(table.last_event(), wake);
    }

    /// Whoever waited for the ticket knows what became of it. The others learn that with the next change.
    pub(super) fn collect_clustered<D: GrantDetail>(
        &self,
        part: &Part,
        id: TicketId,
    ) -> Collected<D> {
        if part.is_forked() {
            return Collected::default();
        }
        // Nothing is granted any more to a process whose session is lost.
        if !part.is_sure() && super::own::is_own_ticket(part, &self.state.lock(), id) {
            return Collected::default();
        }
        let mut state = self.on_the_ground(part);
        if matches!(state.table.ticket(id), None | Some(TicketState::Waiting)) {
            drop(state);
            // As far as is known here: whoever asks may know more.
            let _ = self.refresh(part);
            state = self.on_the_ground(part);
        }
        let collected = Collected::of(&state.table, id);
        let written = part.replica().take_written();
        part.replica().undo(&written);
        if let Some(group) = state.group.as_mut().filter(|_| !written.is_empty()) {
            group.told.push(id);
        }
        collected
    }
}

/// Of which tickets the others learn now that somebody was told.
fn tell_of_tickets(state: &State) -> Vec<TicketId> {
    let told = state.group.as_ref().map_or_else(Vec::new, |group| group.told.clone());
    for ticket in &told {
        state.table.collect(*ticket);
    }
    told
}

/// Who has to hear of what a command did.
fn concerned(
    table: &Table<Arrays<Replica>>,
    events: u64,
    decided: &[usize],
    needs: &mut Conditions,
) {
    needs.concerned.extend(decided.iter().map(|place| table.owner_of_place(*place)));
    let mut owners = Vec::new();
    if !table.owners_since(events, |owner| owners.push(owner)) {
        needs.concerned.insert(0);
    }
    needs.concerned.extend(owners);
}

/// Who was overtaken often lets others go first for a moment. Not at once: as long as somebody gets through each time, none is lost.
fn step_back(times: &mut u32) {
    let [first, most] = STEP_BACK;
    *times += 1;
    if let Some(more) = times.checked_sub(PATIENT) {
        rt::sleep(half_to_whole((first * (1 << more.min(10))).min(most)));
    }
}

/// A command has changed nothing that counts: whatever it wrote is undone. Is there nothing else that may be?
pub(super) fn take_back(part: &Part, state: &State, written: &[Written]) -> bool {
    part.replica().undo(written);
    part.count_undone();
    let settled = state.group.as_ref().is_none_or(|group| group.is_settled());
    if settled {
        part.land();
    }
    settled
}
