//! Workers: the holders at the roots of chains, for whom leases and tickets count when it comes to priorities and deadlocks.

use super::Table;
use super::layout::flag;
use super::memory::Memory;

impl<M: Memory> Table<M> {
    /// The holder at the root of the lease's chain.
    #[inline(always)]
    pub(super) fn worker_of(&self, lease: u32) -> u32 {
        let record = self.lease_record(lease);
        if record.flags.get() & flag::CHILD != 0 {
            self.extra_record(lease).worker.get()
        } else {
            record.holder.get()
        }
    }

    /// The leases of a worker: those of its own that are roots, and all that hang on them.
    pub(super) fn each_lease_of_worker(&self, worker: u32, visit: &mut dyn FnMut(u32)) {
        for lease in self.leases_of(worker) {
            if self.lease_record(lease).flags.get() & flag::CHILD == 0 {
                self.each_in_chain(lease, visit);
            }
        }
    }

    /// Keeps count of what a worker holds and waits for.
    #[inline(always)]
    pub(super) fn count_worker(&self, worker: u32, holding: i32, waiting: i32) {
        let record = self.holder_record(worker);
        let (held, waited) = (record.holding.get(), record.waiting.get());
        let (holds, waits) =
            (held.wrapping_add_signed(holding), waited.wrapping_add_signed(waiting));
        self.set(&record.holding, holds);
        if waited != 0 || waits != 0 {
            self.set(&record.waiting, waits);
            let before = (held != 0 && waited != 0) as u32;
            let after = (holds != 0 && waits != 0) as u32;
            let entangled = &self.header().entangled;
            self.set(entangled, entangled.get().wrapping_add(after).wrapping_sub(before));
        }
    }
}
