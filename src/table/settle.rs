//! What follows from a change.

use super::Table;
use super::layout::setting;
use super::memory::Memory;
use super::types::Time;

impl<M: Memory> Table<M> {
    /// Brings priorities up to date, serves the line, takes back what waiting claims may take, and looks for deadlocks,
    /// until nothing changes any more.
    #[inline(always)]
    pub(super) fn settle(&self, now: Time) {
        let header = self.header();
        if header.waiting.get() != 0 {
            self.settle_queue(now);
        } else if self.setting(setting::BREAK_DEADLOCKS)
            && self.scratch.look_for_deadlocks.replace(false)
        {
            while self.break_deadlocks(now) {}
        }
    }

    #[cold]
    fn settle_queue(&self, now: Time) {
        let header = self.header();
        while !self.corrupt.get() {
            if header.entangled.get() != 0 || header.raised.get() != 0 {
                self.update_priorities();
            }
            self.serve(now);
            if header.takeable.get() != 0
                && header.waiting_not_spare.get() != 0
                && self.take_back(now)
            {
                continue;
            }
            if self.scratch.look_for_deadlocks.replace(false) {
                let breaks = self.setting(setting::BREAK_DEADLOCKS);
                if breaks && self.break_deadlocks(now) || self.cure_soft_deadlock() {
                    self.scratch.look_for_deadlocks.set(true);
                    continue;
                }
            }
            return;
        }
    }
}
