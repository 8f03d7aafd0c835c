//! The fixed point after a command.

use super::Table;
use super::layout::setting;
use super::memory::Memory;
use super::types::Time;

impl<M: Memory> Table<M> {
    /// Brings the table to a fixed point after a command: lost nodes, priorities, grants, reclaims
    /// and deadlocks. After it no line is marked.
    #[inline(always)]
    pub(super) fn settle(&self, now: Time) {
        if self.header().waiting.get() != 0 {
            self.settle_queue(now);
        } else if self.setting(setting::NODE_LOST | setting::BREAK_DEADLOCKS) {
            self.settle_without_queue(now);
        }
    }

    #[cold]
    fn settle_without_queue(&self, now: Time) {
        self.lose_nodes(now);
        if self.setting(setting::BREAK_DEADLOCKS) {
            while self.break_deadlock(now) && !self.corrupt.get() {
                self.lose_nodes(now);
            }
        }
    }

    #[cold]
    fn settle_queue(&self, now: Time) {
        self.requeue_after_full();
        while !self.corrupt.get() {
            self.lose_nodes(now);
            if self.priorities_may_change() {
                self.update_priorities();
            }
            let changed = self.grant_next(now)
                || self.take_back(now)
                || self.setting(setting::BREAK_DEADLOCKS) && self.break_deadlock(now)
                || self.cure_soft_deadlock();
            if !changed {
                break;
            }
        }
        // A line whose first ticket waits for room in the table is marked again by the next
        // command.
        self.clear_marks();
    }
}
