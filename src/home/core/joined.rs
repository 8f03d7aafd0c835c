//! A process that takes part in a table of many machines: how it comes, what its keeper does, how it goes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Core;
use super::clustered::{PAUSE, UNREACHABLE};
use crate::home::arrays::Undo;
use crate::home::clock::Clock;
use crate::home::cluster::etcd::Config;
use crate::home::cluster::{Failure, Group, Made, Part, Replica};
use crate::home::refused::{Cause, Refused};
use crate::home::thread;
use crate::table::{Error, FOREVER, Reason, Settings, Table, first_sequence};

/// How often the keeper looks if it hears nothing.
const NAP: Duration = Duration::from_secs(1);

impl Core<Replica> {
    /// The home of the table that a URL names, which is made with these settings if there is none.
    pub fn open_cluster(config: Config, mut settings: Settings) -> Result<Arc<Self>, Refused> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let refused = |_| Refused::words("etcd cannot be reached, or does not let this user in");
        let (kv, config, limits) = Part::connect(config, settings.limits).map_err(refused)?;
        settings.limits = limits;
        settings.first_sequence = first_sequence(limits, since_1970);
        let (replica, arrays) = Replica::try_new(&limits.sizes()).ok_or_else(Refused::no_memory)?;
        let table = Table::try_attach(arrays, settings).ok_or_else(Refused::no_memory)?;
        let part = Part::new(kv, config, replica.clone());
        let mut store = part.new_store();
        let unreadable = |_| Refused::words("what etcd has of this table cannot be read");
        while !store.load(part.kv()).map_err(unreadable)? {
            table.prepare(settings);
            let delta = part.delta_of(replica.take_written());
            match store.make(part.kv(), &delta, Vec::new()) {
                Ok(Made::Done) => break,
                // Somebody else has made it, or this was made after all: the next look tells.
                Ok(Made::Overtaken(_)) | Err(Failure::InDoubt(_)) => replica.clear(),
                Err(_) => return Err(Refused::words("etcd did not take a new table")),
            }
        }
        replica.take_written();
        if table.verify().is_err() {
            let problem =
                "what etcd has of this table makes no sense; delete its keys once nobody uses it";
            return Err(Refused { problem, cause: Cause::Corrupt });
        }
        part.settle_in().map_err(|_| Refused::words("etcd did not take this process in"))?;
        let clock = Clock::Shared(AtomicI64::new(0));
        clock.at_least(table.now().max(1));
        let home = Arc::new_cyclic(|me| {
            let core = Core::around(me, table, clock);
            core.state.lock().group = Some(Group::new(replica, store));
            Core { part: Some(part), ..core }
        });
        match home.move_in() {
            Ok(()) => Ok(home),
            Err(refused) => {
                home.close();
                Err(refused)
            }
        }
    }
}

impl<U: Undo> Core<U> {
    /// What happened by time alone has happened, and what others did is known.
    pub(super) fn bring_up_to_date(&self, part: &Part) {
        // What cannot be reached is looked at as it was, and what is due happens when it can.
        if self.refresh(part).is_ok() && self.clock.now() >= self.state.lock().table.next_due() {
            let _ = self.run_clustered(part, &[], |table, now| table.advance(now));
        }
    }

    /// Begins to listen, gives back what the dead have left, and starts the keeper.
    fn move_in(self: &Arc<Self>) -> Result<(), Refused> {
        let Some(part) = self.part() else { return Ok(()) };
        let away = || Refused::words("etcd does not answer any more");
        part.listen().map_err(|_| away())?;
        self.reap_the_absent(part).map_err(|_| away())?;
        let home = self.clone();
        let keep = move || {
            let Some(part) = home.part() else { return };
            if catch_unwind(AssertUnwindSafe(|| while home.keep_clustered(part) {})).is_err() {
                home.abandon();
            }
        };
        let keeper = thread::spawn("tern-keeper", keep).map_err(|error| {
            Refused::system("the system does not start the thread that it needs", &error)
        })?;
        part.set_keeper(keeper.thread().clone());
        self.state.lock().keeper = Some(keeper);
        Ok(())
    }

    /// Lets due things happen, notices who is gone, tells those in this process who wait; then sleeps. False when the home is closed.
    fn keep_clustered(&self, part: &Part) -> bool {
        if self.state.lock().closing || part.is_forked() {
            return false;
        }
        if part.is_session_lost() && self.begin_again(part).is_ok() {
            part.set_found();
        }
        for owner in part.take_gone().into_iter().filter(|owner| *owner != part.owner()) {
            self.give_back(part, owner);
        }
        let waits = self.state.lock().anybody_waits();
        if part.take_changed() || waits {
            self.bring_up_to_date(part);
        }
        self.write_base(part);
        let state = self.state.lock();
        let due = if state.anybody_waits() { state.table.next_due() } else { FOREVER };
        drop(state);
        let left = match due.saturating_sub(self.clock.now()) {
            // It should have happened: the engine is away.
            0 => PAUSE,
            left => Duration::from_micros(left),
        };
        std::thread::park_timeout(left.min(NAP));
        true
    }

    /// The others may have taken this process for dead: what it had is over, under whatever number, and it has a session again.
    fn begin_again(&self, part: &Part) -> Result<(), Error> {
        part.have_session().map_err(|_| UNREACHABLE)?;
        let own = part.owner();
        self.run_clustered(part, &[], |table, now| table.reap(now, own, Reason::EngineLost))?;
        let mut all = Ok(());
        for owner in part.take_former().into_iter().filter(|owner| *owner != own) {
            if let Err(error) = self.reap_clustered(part, owner, Reason::EngineLost) {
                part.remember_former(owner);
                all = Err(error);
            }
        }
        all
    }

    /// Gives back what a process had that is gone; later, if the engine cannot be reached now.
    fn give_back(&self, part: &Part, owner: u16) {
        let given = self.reap_clustered(part, owner, Reason::HolderDied);
        // Whoever has its number by now has given it back before.
        let reused = || part.present().is_ok_and(|present| present.contains(&owner));
        if given.is_err() && !reused() {
            part.is_still_gone(owner);
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

    /// Gives back what processes had that were gone before this one came.
    fn reap_the_absent(&self, part: &Part) -> Result<(), Error> {
        let owners: BTreeSet<u16> = self.peek(|table| {
            let leases = table.leases().into_iter().map(|lease| lease.owner);
            leases.chain(table.tickets().into_iter().map(|ticket| ticket.owner)).collect()
        });
        // Its own number was somebody else's before.
        let own = part.owner();
        self.run_clustered(part, &[], |table, now| table.reap(now, own, Reason::HolderDied))?;
        let present = part.present().map_err(|_| UNREACHABLE)?;
        for owner in owners.into_iter().filter(|owner| *owner != 0 && !present.contains(owner)) {
            self.give_back(part, owner);
        }
        Ok(())
    }

    /// Ends the part of this process: its claims leave the line, its leases end.
    pub(super) fn leave_cluster(&self, part: &Part) {
        if part.is_forked() || part.is_closed() {
            return;
        }
        // If that fails, the others give it back when the session ends.
        let _ = self
            .run_clustered(part, &[], |table, now| table.reap(now, part.owner(), Reason::Released));
        part.leave();
        part.wake_keeper();
        let keeper = self.state.lock().keeper.take();
        if let Some(keeper) = keeper
            && keeper.thread().id() != std::thread::current().id()
        {
            // A panic of its own is not the closer's.
            let _ = keeper.join();
        }
        part.close();
    }
}

#[cfg(test)]
mod tests;
