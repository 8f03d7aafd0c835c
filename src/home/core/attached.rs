//! A process that shares a table: how it comes, what its keeper does, how it goes; and what becomes of those that die.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::{Core, State};
use crate::home::actor;
use crate::home::arrays::Undo;
use crate::home::clock::Clock;
use crate::home::host::{CHECK_INTERVAL, Host, HostInfo, Inherited, Journal, Place, owner_of};
use crate::home::refused::{Cause, Refused};
use crate::home::wake::Woken;
use crate::home::world;
use crate::table::{Error, LeaseId, Reason, Settings, Table, Time, first_sequence};

/// How often a keeper takes the lock while no thread of its process waits. It checks the file more often.
const IDLE: Duration = Duration::from_secs(5);

/// How long a keeper sleeps while a command is due that does not happen, and while a process tree is alive, whose end
/// wakes no process.
const DUE: Duration = Duration::from_millis(1);
const TREES: Duration = Duration::from_millis(20);

impl Core<Journal> {
    /// The home of the table in a file, which is made with these settings if there is none.
    pub fn open_host(place: Place, mut settings: Settings) -> Result<Arc<Self>, Refused> {
        let since_1970 = world::since_1970();
        settings.first_sequence = first_sequence(settings.limits, since_1970);
        let host = Host::attach(place, settings)?;
        settings.limits = host.limits();
        let memory = host.arrays().clone();
        let table = Table::try_attach(memory, settings).ok_or_else(Refused::no_memory)?;
        let home =
            Arc::new_cyclic(|me| Core { host: Some(host), ..Core::around(me, table, Clock::Real) });
        match home.settle_in() {
            Ok(()) => Ok(home),
            Err(refused) => {
                home.close();
                Err(refused)
            }
        }
    }
}

impl<U: Undo> Core<U> {
    fn settle_in(self: &Arc<Self>) -> Result<(), Refused> {
        let Some(host) = self.host() else { return Ok(()) };
        let stuck = "a process that uses it has its lock and does not go on; continue or end it";
        let state = self.lock();
        if state.host.is_none() {
            let corrupt = host.is_corrupt() || host.is_detached();
            return Err(if corrupt { Refused::corrupt() } else { Refused::stuck(stuck) });
        }
        if state.table.verify().is_err() {
            state.table.mark_corrupt();
            return Err(Refused::corrupt());
        }
        let now = self.time_for(&state);
        let slot = host.own_slot_number();
        if host.is_haunted(slot) {
            reap_slot(host, &state, slot, now);
        }
        state.table.act_as(host.owner(), actor::of_process());
        state.table.set_principal(host.owner());
        host.settle_in(now);
        drop(state);
        self.start_shared_keeper().map_err(|error| Refused {
            problem: "the system does not start the thread that it needs".into(),
            cause: Cause::System(error.raw_os_error().unwrap_or(libc::EAGAIN)),
        })
    }

    /// Gives back what dead processes had; whether there were any.
    pub(super) fn reap(&self, host: &Host) -> bool {
        // Without the lock: a look at words of memory, unless somebody may be dead.
        if host.is_forked() || host.is_detached() || !host.anybody_suspicious() {
            return false;
        }
        let state = self.lock();
        if state.host.is_none() {
            return false;
        }
        let now = self.time_for(&state);
        let dead = host.find_dead();
        dead.iter().for_each(|&slot| reap_slot(host, &state, slot, now));
        self.hand_over(state);
        !dead.is_empty()
    }

    fn start_shared_keeper(self: &Arc<Self>) -> std::io::Result<()> {
        let (begun, begins) = mpsc::channel();
        let home = self.clone();
        let keep = move || {
            let Some(host) = home.host() else { return };
            let (life, news) = match host.begin_life() {
                Ok(life) => (Some(life), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let _ = begun.send(news);
            drop(begun);
            let Some(life) = life else { return };
            let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut notified_loss = false;
                while home.keep_shared(host, &mut notified_loss) {}
            }));
            if kept.is_err() {
                home.abandon();
            }
            drop(life);
        };
        let keeper = world::spawn("tern-keeper", keep)?;
        self.state.lock().keeper = Some(keeper);
        begins.recv().unwrap_or_else(|_| Err(std::io::Error::from_raw_os_error(libc::EAGAIN)))
    }

    /// Runs what is due, reaps dead processes and wakes the waiters of this process; then sleeps. False
    /// when the home is closed.
    fn keep_shared(&self, host: &Host, notified_loss: &mut bool) -> bool {
        let bell = host.bell();
        self.look(|_| ());
        let mut woken = Woken::default();
        let mut state = self.lock();
        if state.closing {
            return false;
        }
        let State { table, wakers, listeners, .. } = &mut *state;
        wakers.take_if(|place| table.is_decided(place), &mut woken);
        listeners.take(table.last_event(), &mut woken);
        // Replaced memory has neither tickets nor events by which waiters would learn of the loss.
        let newly_lost = host.is_lost() && !std::mem::replace(notified_loss, true);
        if state.table.is_corrupt() || newly_lost {
            let State { wakers, listeners, .. } = &mut *state;
            wakers.take_all(&mut woken);
            listeners.take_all(&mut woken);
        }
        let (listens, watches) = (!state.listeners.is_empty(), !state.wakers.is_empty());
        host.listen(listens, watches);
        let due = state.table.next_due();
        drop(state);
        woken.wake();
        let cares = listens || watches || host.has_sleepers();
        let mut nap = if cares { CHECK_INTERVAL } else { IDLE };
        if cares {
            let left = match due.saturating_sub(self.clock.now()) {
                0 => DUE,
                left => Duration::from_micros(left),
            };
            nap = nap.min(left);
            nap = if host.has_trees() { nap.min(TREES) } else { nap };
        }
        let wake_at = Instant::now() + nap;
        loop {
            let left = wake_at.saturating_duration_since(Instant::now());
            host.sleep(bell, due, cares, left.min(CHECK_INTERVAL));
            // What only checks the file need not take the lock.
            let idle = !cares && host.bell() == bell && !host.is_lost();
            if !idle || Instant::now() >= wake_at {
                return true;
            }
        }
    }

    /// Ends the part of this process in a shared table: its claims leave the line, its leases end.
    pub(super) fn leave_shared(&self, host: &Host) {
        if host.is_forked() || host.is_detached() {
            return;
        }
        let state = self.lock();
        if state.host.is_some() {
            let now = self.time_for(&state);
            // Fails only if the table is damaged, and then there is nothing to give back.
            let _ = state.table.reap(now, host.owner(), Reason::Released);
        }
        self.hand_over(state);
        host.ring_own();
        let keeper = self.state.lock().keeper.take();
        if let Some(keeper) = keeper
            && keeper.thread().id() != world::current().id()
        {
            // A panic of its own is not the closer's.
            let _ = keeper.join();
        }
        let state = self.lock();
        if state.host.is_some() {
            host.journal().commit();
            host.free_own_slot();
        }
        drop(state);
        host.detach();
    }

    /// What there is to know of the file; `None` if the table lives in this process alone.
    pub fn host_info(&self) -> Option<HostInfo> {
        let host = self.host()?;
        // As it was before this took the lock itself.
        let lock = host.lock_info();
        Some(self.run(|table, _| host.info(table, lock)))
    }

    /// Makes a held lease one of whoever has the descriptor that this gives.
    pub fn keep_for_children(&self, id: LeaseId) -> Result<Inherited, Error> {
        let host = self.host().ok_or(Error::NotShared)?;
        let (descriptor, slot) = host.new_tree()?;
        let state = self.lock();
        let now = self.time_for(&state);
        let locked = state.host.is_some();
        if locked && host.is_haunted(slot) {
            reap_slot(host, &state, slot, now);
        }
        if locked {
            // Before the lease is: what belongs to a slot that counts as free is never given back.
            host.settle_tree(slot, now);
            state.table.set_principal(owner_of(slot));
        }
        let given = state.table.give_to(now, id, owner_of(slot));
        if locked && given.is_err() {
            host.free_slot(slot);
        }
        self.hand_over(state);
        given?;
        Ok(Inherited::new(id, descriptor))
    }

    /// Makes a held lease one of another process that uses the table.
    pub fn hand_to(&self, id: LeaseId, process: u32) -> Result<(), Error> {
        let host = self.host().ok_or(Error::NotShared)?;
        self.run(|table, now| {
            let owner = host.owner_with(process).ok_or(Error::UnknownProcess)?;
            table.give_to(now, id, owner)
        })
    }
}

/// Gives back what the process had that was in this slot. Only with the lock.
fn reap_slot<U: Undo>(host: &Host, state: &State<U>, slot: usize, now: Time) {
    let table = &state.table;
    if let Ok(reaped) = table.reap(now, owner_of(slot), Reason::HolderDied) {
        // A tree that had nothing left has ended as it should: nobody has died.
        let died = !host.is_tree(slot) || reaped.leases != 0;
        if died {
            table.record_death(now, host.process_in(slot), reaped);
        }
        host.journal().commit();
        if died {
            host.count_death();
        }
        host.free_slot(slot);
        // It may have died after it had decided something and before it had told.
        table.each_untold(|place| {
            host.wake_ticket(place);
            host.tell_owner(table.owner_of_place(place));
        });
    }
}
