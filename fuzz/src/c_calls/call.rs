//! One call: its handle, its other arguments, and what must hold after any call whatsoever.

use std::fmt::Arguments;
use std::sync::OnceLock;

use crate::c::*;
use crate::input::{Input, Text};
use crate::manager::{Manager, UNKNOWN};
use crate::memory::{Details, Out, Structs};
use crate::world::{Answer, Machine, Pool, Reader, Target, World};

pub struct Call<'w, 'i> {
    pub world: &'w mut World,
    pub input: Input<'i>,
    details: Details,
    expected: Option<tern_status_t>,
    /// Something about the arguments is wrong.
    bad: bool,
    /// The manager's table is not shared, and the call is about that.
    unshared: bool,
    /// The call may have changed something although it did not return `TERN_OK`.
    changes: bool,
    manager: Option<usize>,
    reader: Option<usize>,
    answer: Option<usize>,
    pool: Option<usize>,
    machine: Option<usize>,
}

impl<'w, 'i> Call<'w, 'i> {
    pub fn new(world: &'w mut World, mut input: Input<'i>) -> Self {
        let details = Details::draw(&mut input);
        Call {
            world,
            input,
            details,
            expected: None,
            bad: false,
            unshared: false,
            changes: false,
            manager: None,
            reader: None,
            answer: None,
            pool: None,
            machine: None,
        }
    }

    /// What is called a manager in this call.
    pub fn on_manager(&mut self) -> *mut tern_manager_t {
        let others = self.world.not_managers();
        let target = Target::draw(&mut self.input, &self.world.managers, &others);
        self.expected = target.expected;
        self.manager = target.open;
        target.pointer.cast()
    }

    /// What is called a manager in a call that only shared tables can answer: mostly that of one.
    pub fn on_shared(&mut self) -> *mut tern_manager_t {
        if self.input.byte() < 192 {
            return crate::shared::manager();
        }
        let pointer = self.on_manager();
        self.unshared = self.expected.is_none();
        pointer
    }

    /// Is the call about a table that is shared?
    pub fn is_shared(&self) -> bool {
        self.expected.is_none() && !self.unshared
    }

    pub fn on_reader(&mut self) -> *mut tern_events_t {
        let others = self.world.managers_and_junk();
        let target = Target::draw(&mut self.input, &self.world.readers, &others);
        self.expected = target.expected;
        self.reader = target.open;
        target.pointer.cast()
    }

    pub fn on_answer(&mut self) -> *mut tern_deadlocks_t {
        let others = self.world.managers_and_junk();
        let target = Target::draw(&mut self.input, &self.world.answers, &others);
        self.expected = target.expected;
        self.answer = target.open;
        target.pointer.cast()
    }

    /// What is called a pool in this call. Its manager is then the one that the call is about, if that is open.
    pub fn on_pool(&mut self) -> *mut tern_pool_t {
        let others = self.world.managers_and_junk();
        let target = Target::draw(&mut self.input, &self.world.pools, &others);
        self.expected = target.expected;
        self.pool = target.open;
        if let Some(pool) = target.open.map(|place| self.world.pools.open[place].manager) {
            self.manager =
                self.world.managers.open.iter().position(|manager| manager.pointer == pool);
        }
        target.pointer.cast()
    }

    /// What is called a machine in this call. There is always one to be had.
    pub fn on_machine(&mut self) -> *mut tern_machine_t {
        if self.world.machines.open.is_empty() {
            self.world.machines.open.push(Machine(crate::calls::read_machine()));
        }
        let others = self.world.managers_and_junk();
        let target = Target::draw(&mut self.input, &self.world.machines, &others);
        self.expected = target.expected;
        self.machine = target.open;
        target.pointer.cast()
    }

    /// As [`Self::on_machine`] and [`Self::on_pool`]; if both are bad, the machine is what is complained of.
    pub fn on_machine_and_pool(&mut self) -> (*mut tern_machine_t, *mut tern_pool_t) {
        let machine = self.on_machine();
        let expected = self.expected;
        let pool = self.on_pool();
        self.expected = expected.or(self.expected);
        (machine, pool)
    }

    pub fn machine_place(&self) -> Option<usize> {
        self.machine
    }

    pub fn pool(&self) -> Option<&Pool> {
        self.pool.map(|place| &self.world.pools.open[place])
    }

    pub fn pool_place(&self) -> Option<usize> {
        self.pool
    }

    /// The manager, if it is a good one.
    pub fn manager(&mut self) -> Option<&mut Manager> {
        self.manager.map(|place| &mut self.world.managers.open[place])
    }

    /// The manager of a call that was accepted: it must be a good one.
    #[track_caller]
    pub fn the_manager(&mut self) -> &mut Manager {
        self.manager().expect("only a good handle is accepted")
    }

    pub fn reader(&mut self) -> Option<&mut Reader> {
        self.reader.map(|place| &mut self.world.readers.open[place])
    }

    pub fn answer(&mut self) -> Option<&mut Answer> {
        self.answer.map(|place| &mut self.world.answers.open[place])
    }

    pub fn manager_place(&self) -> Option<usize> {
        self.manager
    }

    pub fn reader_place(&self) -> Option<usize> {
        self.reader
    }

    pub fn answer_place(&self) -> Option<usize> {
        self.answer
    }

    /// Does time stand still for the manager?
    pub fn ticks(&mut self) -> bool {
        self.manager().is_some_and(|manager| manager.ticks)
    }

    /// An output that the call cannot do without.
    pub fn required<T: Copy>(&mut self) -> Out<T> {
        let out = Out::draw(&mut self.input);
        self.bad |= out.is_null();
        out
    }

    pub fn optional<T: Copy>(&mut self) -> Out<T> {
        Out::draw(&mut self.input)
    }

    pub fn one_struct<T: Copy>(&mut self) -> Structs<T> {
        let one = Structs::one(&mut self.input);
        self.bad |= one.is_bad();
        one
    }

    pub fn structs<T: Copy>(&mut self) -> Structs<T> {
        let capacity = self.input.capacity();
        let array = Structs::array(&mut self.input, capacity);
        self.bad |= array.is_bad();
        array
    }

    /// The name of something that there must be.
    pub fn name(&mut self) -> Text {
        let text = self.input.text(&self.world.texts);
        self.bad |= text.bad;
        text
    }

    /// An id: of this manager, of another one, or of none.
    pub fn lease(&mut self) -> u64 {
        self.id(|manager| manager.leases.iter().map(|known| known.id).collect())
    }

    pub fn ticket(&mut self) -> u64 {
        self.id(|manager| manager.tickets.iter().map(|known| known.id).collect())
    }

    fn id(&mut self, ids: impl Fn(&Manager) -> Vec<u64>) -> u64 {
        let (choice, index) = (self.input.byte(), self.input.byte());
        let own = self.manager.unwrap_or(0);
        let managers = &self.world.managers.open;
        let of = |place: usize| {
            let ids = managers.get(place % managers.len().max(1)).map(&ids).unwrap_or_default();
            // The newest first: those are the most alive.
            ids.iter().rev().nth(usize::from(index) % ids.len().max(1)).copied().unwrap_or(0)
        };
        match choice {
            0..=207 => of(own),
            208..=231 => of(own + 1),
            232..=239 => of(own) ^ 1 << (index % 64),
            240..=247 => of(own).wrapping_add(u64::from(index)),
            _ => [0, u64::MAX, 1, 1 << 63][usize::from(index) % 4],
        }
    }

    /// Something is wrong with the arguments: the call must fail.
    pub fn bad_if(&mut self, bad: bool) {
        self.bad |= bad;
    }

    /// The call changes things though it returns another status than `TERN_OK`.
    pub fn changes_if(&mut self, changes: bool) {
        self.changes |= changes;
    }

    pub fn err(&mut self) -> *mut tern_error_t {
        self.details.pointer()
    }

    /// After the call, and after its outputs were looked at.
    #[track_caller]
    pub fn done(&mut self, what: Arguments, status: tern_status_t) {
        trace(what, status);
        self.details.check(status);
        match status {
            TERN_ERR_UNSUPPORTED if self.unshared => {}
            TERN_ERR_PANIC | TERN_ERR_POISONED | TERN_ERR_CORRUPT | TERN_ERR_FORKED
            | TERN_ERR_UNSUPPORTED => panic!("{what}: {status:?}"),
            _ => {}
        }
        if !self.details.is_usable() {
            assert_eq!(status, TERN_ERR_BAD_STRUCT, "{what}");
        } else if let Some(expected) = self.expected {
            assert_eq!(status, expected, "{what}");
        } else if self.bad {
            assert!((status as i32) < 0, "{what}: {status:?}, though an argument is wrong");
        } else if self.unshared {
            assert_eq!(status, TERN_ERR_UNSUPPORTED, "{what}");
        }
        let changes = status == TERN_OK || self.changes;
        if let Some(place) = self.manager {
            self.world.managers.open[place].look(changes);
        }
    }

    /// As [`Self::done`], for a call that answers with a trit: what else it may be is `unknown`.
    #[track_caller]
    pub fn done_trit(&mut self, what: Arguments, trit: i8, unknown: tern_status_t) {
        let known = trit != UNKNOWN;
        assert!(!known || trit.abs() <= 1, "{what}: {trit}");
        let status = match (known, self.details.is_usable(), self.expected) {
            (true, _, _) => TERN_OK,
            (false, false, _) => TERN_ERR_BAD_STRUCT,
            (false, true, Some(expected)) => expected,
            (false, true, None) => unknown,
        };
        self.done(what, status);
    }
}

/// With `TERN_FUZZ_TRACE` in the environment every call is told, to see what a finding is about.
fn trace(what: Arguments, status: tern_status_t) {
    static ON: OnceLock<bool> = OnceLock::new();
    if *ON.get_or_init(|| std::env::var_os("TERN_FUZZ_TRACE").is_some()) {
        eprintln!("{what} = {status:?}");
    }
}
