//! A process that takes part in a table of many machines: how it comes, what its ticker does, how it goes.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::execute::PAUSE;
use super::home::{ClusterHome, State};
use crate::home::Home;
use crate::home::clock::Clock;
use crate::home::cluster::etcd::{Config, half_to_whole};
use crate::home::cluster::kv::Engine;
use crate::home::cluster::{Conditions, Failure, Group, Made, Part, Replica, Seat};
use crate::home::open::{OpenError, OpenErrorKind};
use crate::home::ticker::Ticked;
use crate::home::waiters::WakeList;
use crate::rt;
use crate::table::{
    Error, FOREVER, Memory, Reason, Settings, Table, Time, first_sequence, sequence_at,
};

/// How often the ticker looks if it hears nothing.
const NAP: Duration = Duration::from_secs(1);

/// How long a process that waits for nothing leaves what is due to those whom it concerns: they may be dead or stopped.
const LATE: Duration = Duration::from_millis(500);

impl ClusterHome {
    /// The home of the table of that name in an engine, which is made with these settings if there
    /// is none.
    pub fn open(
        engine: Box<dyn Engine>,
        config: Config,
        mut settings: Settings,
    ) -> Result<Arc<Self>, OpenError> {
        let since_1970 = rt::since_1970();
        let shape = Part::agree(&*engine, &config, settings.limits)
            .map_err(|why| OpenError::connect(&config.endpoints, &why))?;
        settings.limits = shape.limits;
        settings.first_sequence = first_sequence(shape.limits, since_1970);
        settings.numbers = Some(numbers_by_the_calendar);
        let memory = Replica::try_new(&shape.limits.sizes());
        let (replica, arrays) = memory.ok_or_else(OpenError::no_memory)?;
        let table = Table::try_attach(arrays, settings).ok_or_else(OpenError::no_memory)?;
        let part = Part::new(engine, config, replica.clone());
        let mut store = part.new_store();
        while !store.load(part.kv()).map_err(unreadable)? {
            table.prepare(settings);
            let delta = part.delta_of(replica.changes(&replica.take_written()));
            match store.make(part.kv(), &delta, Vec::new(), &[]) {
                Ok(Made::Done) => break,
                // Somebody else has made it, or this was made after all: the next look tells.
                Ok(Made::Overtaken(_) | Made::Forgotten(_)) | Err(Failure::InDoubt(_)) => {
                    replica.clear();
                }
                Err(failure) => return Err(unreadable(failure)),
            }
        }
        replica.take_written();
        if table.verify().is_err() {
            return Err(unreadable(Failure::Corrupt));
        }
        let seat = part.find_seat();
        let seat =
            seat.map_err(|why| OpenError::store("cannot register this process in etcd", &why))?;
        let clock = Clock::shared(|| shape.now());
        clock.at_least(table.now());
        let home = Arc::new(ClusterHome::new(table, clock, part, Group::new(replica, store)));
        match home.move_in(seat) {
            Ok(()) => Ok(home),
            Err(refused) => {
                home.close();
                Err(refused)
            }
        }
    }
}

/// Numbers for ids are never below the wall clock: a table that was restored from an older backup
/// does not remember the ids that were issued since. A range without an end, so that the clock is
/// asked for each number.
fn numbers_by_the_calendar(bits: u32) -> Range<u64> {
    // No clock, however wrong, leads to ids of 2^63 and above.
    sequence_at(bits, rt::since_1970()).min(1 << (62 - bits.min(31)))..0
}

fn unreadable(failure: Failure) -> OpenError {
    match failure {
        Failure::Engine(why) | Failure::InDoubt(why) => {
            OpenError::store("cannot read or write the table in etcd", &why)
        }
        // Only a copy that has followed another history finds that.
        Failure::Corrupt | Failure::Diverged => {
            let problem = "the table in etcd is damaged; delete its keys once no process uses it";
            OpenError::new(OpenErrorKind::Corrupt, problem)
        }
    }
}

impl Ticked for ClusterHome {
    /// Runs what is due, ends what gone processes had and wakes the waiters of this process.
    fn run_due(&self) -> bool {
        let part = &self.part;
        if self.steps.is_closed() || part.is_forked() {
            return false;
        }
        if part.refusal().is_some() {
            // Nothing is asked of etcd any more, and the session ends there.
            part.drop_session();
            if !self.steps.is_poisoned() && self.read(|table| table.is_corrupt()) {
                self.poison();
            }
            self.give_up_waiting();
            rt::park_timeout(NAP);
            return true;
        }
        if !part.is_sure() {
            self.give_up_waiting();
            // If that fails, it is tried again.
            let _ = self.begin_again(part);
        }
        let state = self.state.lock();
        let (subscribed, awaited) = (state.waiters.has_subscribers(), state.is_awaited());
        drop(state);
        let gone = part.hearing.take_gone();
        if !gone.is_empty() && !awaited {
            // All hear of it: those who wait for nothing do not press.
            rt::sleep(half_to_whole(LATE));
        }
        for owner in gone.into_iter().filter(|owner| *owner != part.owner()) {
            self.reap_gone(part, owner);
        }
        if part.hearing.take_missed() {
            let known = self.refresh(part).map_err(|_| Error::Unavailable);
            if known.and_then(|()| self.reap_the_absent(part)).is_err() {
                part.hearing.has_missed();
            }
        }
        part.listen_to_all(subscribed);
        // Those who wait look now and then even if they hear nothing.
        if part.hearing.take_changed() || awaited {
            // If that fails, so does what follows.
            let _ = self.refresh(part);
        }
        if self.clock.now() >= self.due(&self.state.lock()) {
            self.let_time_pass(part);
        }
        let dropped = self.state.lock().group.as_ref().is_some_and(|it| !it.dropped.is_empty());
        if dropped && self.refresh(part).is_ok() {
            self.let_go_of_dropped(part);
        }
        self.write_base(part);
        if !self.steps.is_poisoned() && self.read(|table| table.is_corrupt()) {
            self.poison();
        }
        let asleep = rt::instant();
        let left = match self.due(&self.state.lock()).saturating_sub(self.clock.now()) {
            // It should have happened: the engine is away.
            0 => PAUSE,
            left => Duration::from_micros(left),
        };
        let left = left.min(NAP).min(part.sure_for().max(PAUSE));
        rt::park_timeout(left);
        if rt::instant() - asleep >= NAP {
            self.tell_what_has_time(part);
        }
        true
    }
}

impl ClusterHome {
    /// What happened by time alone has happened, and what others did is known.
    pub(super) fn bring_up_to_date(&self, part: &Part) {
        // What cannot be reached is looked at as it was, and what is due happens when it can.
        if self.refresh(part).is_ok() && self.clock.now() >= self.state.lock().table.next_due() {
            self.let_time_pass(part);
        }
    }

    fn let_time_pass(&self, part: &Part) {
        // What does not happen now happens when the engine can be reached.
        let _ = self.run_clustered(part, Conditions::default, |table, now| table.advance(now));
    }

    /// Begins to listen, gives back what the dead have left, and starts the ticker.
    fn move_in(self: &Arc<Self>, seat: Seat) -> Result<(), OpenError> {
        let part = &self.part;
        let settled = self.on_the_ground(part);
        part.take_seat(seat);
        self.keep_own_times(part);
        drop(settled);
        part.listen().map_err(|why| OpenError::store("cannot watch the table in etcd", &why))?;
        let away = |_| OpenError::invalid("etcd has stopped answering; try again");
        // Another process had this owner number before.
        self.reap_all(part, Conditions::default, part.owner(), Reason::HolderDied).map_err(away)?;
        self.reap_the_absent(part).map_err(away)?;
        self.ticker
            .start("tern-ticker", self.clone())
            .map_err(|error| OpenError::system("cannot start a thread", &error))?;
        if let Some(thread) = self.ticker.thread() {
            part.hearing.set_ticker(thread);
        }
        self.start_session_watcher(part)
    }

    /// Those who wait learn that they wait in vain.
    fn give_up_waiting(&self) {
        let mut wake = WakeList::default();
        self.state.lock().waiters.take_all_waiters(&mut wake);
        wake.wake();
    }

    /// When to let time pass. What is no concern of this process is left to others for a while.
    fn due(&self, state: &State) -> Time {
        let due = state.table.next_due();
        if due == FOREVER || state.is_awaited() {
            return due;
        }
        let own = self.memory.kept().map_or(FOREVER, |kept| kept.due());
        own.min(due.saturating_add(LATE.as_micros() as Time))
    }

    /// The others learn which tickets can be forgotten, if no change has told them.
    fn tell_what_has_time(&self, part: &Part) {
        let take = |group: &mut Group| std::mem::take(&mut group.told);
        let told = self.state.lock().group.as_mut().map_or_else(Vec::new, take);
        if told.is_empty() {
            return;
        }
        let collected = self.run_clustered(part, Conditions::default, |table, _| {
            for ticket in &told {
                table.collect(*ticket);
            }
            if table.is_corrupt() { Err(Error::Corrupt) } else { Ok(()) }
        });
        if collected.is_err()
            && let Some(group) = &mut self.state.lock().group
        {
            group.told.extend(told);
        }
    }

    /// Now and then, a whole copy for those who come later, and fewer changes for all to keep.
    fn write_base(&self, part: &Part) {
        let mut state = self.on_the_ground(part);
        let due = state.group.as_mut().and_then(|group| group.store()?.base_if_due());
        drop(state);
        // If that fails, it is due again next time.
        let Some(Ok(written)) = due.map(|base| base.write(part.kv())) else { return };
        let mut state = self.on_the_ground(part);
        if let Some(store) = state.group.as_mut().and_then(|group| group.store()) {
            store.has_base(written);
        }
    }

    /// Ends the part of this process: its claims leave the line, its leases end.
    pub(super) fn leave_cluster(&self, part: &Part) {
        if part.is_forked() || part.is_closed() {
            return;
        }
        // If that fails, the others give it back when the session ends.
        let _ = self.reap_all(part, Conditions::default, part.owner(), Reason::Released);
        part.leave();
        part.hearing.wake_session_watcher();
        self.session_ticker.join();
        part.hearing.wake_ticker();
        self.ticker.join();
        part.close();
    }
}
