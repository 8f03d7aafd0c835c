//! Everything that the calls so far have made.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::c::*;
use crate::input::{Input, Texts};
use crate::manager::{Manager, end_watches};
use crate::watch::Watch;

/// Handles of one kind.
pub struct Shelf<T> {
    pub open: Vec<T>,
    /// The library notices the use of the last 256 that were closed; no run closes more.
    pub closed: Vec<*mut c_void>,
}

/// No more handles of a kind are open at a time.
pub const MOST: usize = 4;

impl<T> Shelf<T> {
    fn new() -> Self {
        Shelf { open: Vec::new(), closed: Vec::new() }
    }

    pub fn is_full(&self) -> bool {
        self.open.len() >= MOST
    }
}

/// Something that is behind a handle.
pub trait Handle {
    fn pointer(&self) -> *mut c_void;
}

pub struct Reader {
    pub pointer: *mut tern_events_t,
    /// The pointer of its manager, which may have been closed since.
    pub manager: *mut tern_manager_t,
    pub ticks: bool,
    pub fd: Option<c_int>,
    pub last: u64,
    pub missed: u64,
}

pub struct Answer {
    pub pointer: *mut tern_deadlocks_t,
    pub count: usize,
}

/// A pool on the table of a manager.
pub struct Pool {
    pub pointer: *mut tern_pool_t,
    /// The pointer of its manager, which may have been closed since.
    pub manager: *mut tern_manager_t,
    pub ticks: bool,
    pub devices: usize,
    /// Of its manager, if that is closed: they go on with the table.
    watches: Vec<*mut Watch>,
}

impl Pool {
    pub fn new(
        pointer: *mut tern_pool_t,
        manager: *mut tern_manager_t,
        ticks: bool,
        devices: usize,
    ) -> Self {
        Pool { pointer, manager, ticks, devices, watches: Vec::new() }
    }
}

impl Handle for Pool {
    fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }
}

/// A machine that nobody has measured.
pub struct Machine(pub *mut tern_machine_t);

impl Handle for Machine {
    fn pointer(&self) -> *mut c_void {
        self.0.cast()
    }
}

impl Handle for Manager {
    fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }
}

impl Handle for Reader {
    fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }
}

impl Handle for Answer {
    fn pointer(&self) -> *mut c_void {
        self.pointer.cast()
    }
}

/// What a call is made with in the place of a handle.
pub struct Target {
    pub pointer: *mut c_void,
    /// Its place on the shelf, if it is good.
    pub open: Option<usize>,
    /// What the library must say if it is not.
    pub expected: Option<tern_status_t>,
}

impl Target {
    fn bad(pointer: *mut c_void, expected: tern_status_t) -> Self {
        Target { pointer, open: None, expected: Some(expected) }
    }

    pub fn draw<T: Handle>(input: &mut Input, shelf: &Shelf<T>, others: &[*mut c_void]) -> Self {
        let choice = input.byte();
        let index = usize::from(choice);
        let null = Target::bad(ptr::null_mut(), TERN_ERR_NULL);
        let of = |list: &[*mut c_void]| list.get(index % list.len().max(1)).copied();
        match choice {
            0..=215 if !shelf.open.is_empty() => {
                let place = index % shelf.open.len();
                let pointer = shelf.open[place].pointer();
                Target { pointer, open: Some(place), expected: None }
            }
            216..=223 => match of(&shelf.closed) {
                Some(closed) => Target::bad(closed, TERN_ERR_CLOSED),
                None => null,
            },
            224..=239 => match of(others) {
                Some(other) => Target::bad(other, TERN_ERR_BAD_HANDLE),
                None => null,
            },
            240..=247 => match shelf.open.first() {
                Some(any) => Target::bad(any.pointer().wrapping_byte_add(1), TERN_ERR_BAD_HANDLE),
                None => null,
            },
            _ => null,
        }
    }
}

pub struct World {
    pub texts: Texts,
    pub managers: Shelf<Manager>,
    pub readers: Shelf<Reader>,
    pub answers: Shelf<Answer>,
    pub pools: Shelf<Pool>,
    pub machines: Shelf<Machine>,
    /// Memory that is not a handle.
    junk: Box<[u64; 32]>,
}

impl World {
    pub fn new() -> Self {
        let mut world = World {
            texts: Texts::new(),
            managers: Shelf::new(),
            readers: Shelf::new(),
            answers: Shelf::new(),
            pools: Shelf::new(),
            machines: Shelf::new(),
            junk: Box::new([u64::MAX; 32]),
        };
        // Nothing happens without one.
        world.managers.open.push(Manager::small());
        world
    }

    /// Pointers that are not a manager.
    pub fn not_managers(&mut self) -> Vec<*mut c_void> {
        let readers = self.readers.open.iter().map(Handle::pointer);
        let answers = self.answers.open.iter().map(Handle::pointer);
        let pools = self.pools.open.iter().map(Handle::pointer);
        let machines = self.machines.open.iter().map(Handle::pointer);
        let junk = ptr::from_mut(&mut *self.junk).cast();
        readers.chain(answers).chain(pools).chain(machines).chain([junk]).collect()
    }

    /// Pointers that are neither a reader nor an answer about deadlocks nor a pool nor a machine.
    pub fn managers_and_junk(&mut self) -> Vec<*mut c_void> {
        let managers = self.managers.open.iter().map(Handle::pointer);
        let closed = self.managers.closed.iter().copied();
        let junk = ptr::from_mut(&mut *self.junk).cast();
        managers.chain(closed).chain([junk]).collect()
    }

    pub fn close_manager(&mut self, place: usize) {
        let manager = self.managers.open.remove(place);
        self.managers.closed.push(manager.pointer());
        match self.pools.open.iter_mut().find(|pool| pool.manager == manager.pointer) {
            Some(pool) => pool.watches = manager.close_handle(),
            None => manager.close(),
        }
    }

    pub fn close_pool(&mut self, place: usize) {
        let pool = self.pools.open.remove(place);
        self.pools.closed.push(pool.pointer());
        // SAFETY: it is open, and this is its last use but for those that the library notices.
        unsafe { tern_pool_close(pool.pointer) };
        match self.pools.open.iter_mut().find(|other| other.manager == pool.manager) {
            Some(other) => other.watches.extend(pool.watches),
            None => end_watches(pool.watches),
        }
    }

    pub fn close_reader(&mut self, place: usize) {
        let reader = self.readers.open.remove(place);
        self.readers.closed.push(reader.pointer());
        // SAFETY: it is open, and this is its last use but for those that the library notices.
        unsafe { tern_events_close(reader.pointer) };
    }

    pub fn close_answer(&mut self, place: usize) {
        let answer = self.answers.open.remove(place);
        self.answers.closed.push(answer.pointer());
        // SAFETY: as above.
        unsafe { tern_deadlocks_close(answer.pointer) };
    }

    pub fn close_machine(&mut self, place: usize) {
        let machine = self.machines.open.remove(place);
        self.machines.closed.push(machine.pointer());
        // SAFETY: as above.
        unsafe { tern_machine_close(machine.0) };
    }

    /// Is the table of this manager there?
    pub fn is_open(&self, manager: *mut tern_manager_t) -> bool {
        self.managers.open.iter().any(|open| open.pointer == manager)
            || self.pools.open.iter().any(|pool| pool.manager == manager)
    }

    /// Closes whatever is open. Afterwards every handle says that it is closed.
    pub fn close(mut self) {
        for manager in &mut self.managers.open {
            manager.look(false);
        }
        while !self.managers.open.is_empty() {
            self.close_manager(0);
        }
        while !self.pools.open.is_empty() {
            self.close_pool(0);
        }
        while !self.readers.open.is_empty() {
            self.close_reader(0);
        }
        while !self.answers.open.is_empty() {
            self.close_answer(0);
        }
        while !self.machines.open.is_empty() {
            self.close_machine(0);
        }
        let none = ptr::null_mut();
        // SAFETY: of each kind fewer than 256 handles were closed in this run, so that their memory is still there.
        unsafe {
            for &closed in &self.managers.closed {
                assert_eq!(tern_manager_tick(closed.cast(), none), TERN_ERR_CLOSED);
            }
            for &closed in &self.readers.closed {
                assert_eq!(tern_events_wait(closed.cast(), u64::MAX, none), TERN_ERR_CLOSED);
            }
            for &closed in &self.answers.closed {
                let mut victim = 0;
                let status = tern_deadlocks_victim(closed.cast(), 0, &mut victim, none);
                assert_eq!((status, victim), (TERN_ERR_CLOSED, 0));
            }
            for &closed in &self.pools.closed {
                let mut count = 0;
                let status = tern_pool_capacity(closed.cast(), &mut count, none);
                assert_eq!((status, count), (TERN_ERR_CLOSED, 0));
            }
            for &closed in &self.machines.closed {
                let status = tern_machine_set_route(closed.cast(), ptr::null(), none);
                assert_eq!(status, TERN_ERR_CLOSED);
            }
        }
    }
}

/// Closes as many handles as the library keeps. From then on each that is closed frees another, and a run gives back what it took: the search
/// for leaks goes by that.
pub fn fill_closed() {
    // What is said too shortly to name devices must not find real ones. SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("TERNLEASE_DEVICES", "fake:2") };
    crate::shared::manager();
    for _ in 0..256 {
        let manager = Manager::small();
        let (mut reader, mut answer, mut pool) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let none = ptr::null_mut();
        // SAFETY: the manager is open, and so are then the others.
        unsafe {
            tern_events_open(manager.pointer, 0, &mut reader, none);
            tern_events_close(reader);
            tern_deadlocks_find(manager.pointer, &mut answer, ptr::null_mut(), none);
            tern_deadlocks_close(answer);
            tern_pool_on(manager.pointer, ptr::null(), &mut pool, none);
            tern_pool_close(pool);
            tern_machine_close(crate::calls::read_machine());
        }
        manager.close();
    }
}
