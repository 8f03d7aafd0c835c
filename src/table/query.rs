//! Queries: everything that a process can ask of a table, as data. A query changes nothing.

use super::command::DeviceState;
use super::memory::Memory;
use super::types::{LeaseId, ResourceId, TicketId, Time};
use super::{Deadlock, Event, LeaseInfo, Picks, Reason, ResourceInfo, Table, TicketInfo};

/// A question to a table.
pub trait Query {
    /// What is asked for.
    type Answer;

    /// Reads the answer.
    fn answer<M: Memory>(&self, table: &Table<M>) -> Self::Answer;

    /// Sets the ends of held leases in an answer of a replicated table, whose owners keep them.
    fn set_ends(_answer: &mut Self::Answer, _end: &dyn Fn(LeaseId) -> Option<Time>) {}
}

/// Queries that are one call of the table; `ends` names the leases in the answer.
macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident $(<$lt:lifetime>)? { $($field:ident: $type:ty)? } -> $answer:ty
        = |$query:pat_param, $table:ident| $call:expr
        $(, ends = |$answered:ident| $leases:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs)] // The line above says what the field is.
        pub struct $name $(<$lt>)? { $(pub $field: $type)? }

        impl $(<$lt>)? Query for $name $(<$lt>)? {
            type Answer = $answer;

            fn answer<M: Memory>(&self, $table: &Table<M>) -> Self::Answer {
                let $query = self;
                $call
            }

            $(fn set_ends($answered: &mut Self::Answer, end: &dyn Fn(LeaseId) -> Option<Time>) {
                $leases.for_each(|lease| lease.set_end(end));
            })?
        }
    )*};
}

queries! {
    /// Everything about a lease that is held or remembered.
    LeaseById { lease: LeaseId } -> Option<LeaseInfo>
        = |q, table| table.lease(q.lease), ends = |answer| answer.iter_mut();
    /// The resources of a lease that is held or remembered.
    PicksOf { lease: LeaseId } -> Picks = |q, table| Picks::of(table, q.lease);
    /// The leases of a holder, oldest first.
    HeldBy<'a> { holder: &'a str } -> Vec<LeaseId> = |q, table| table.held_by(q.holder);
    /// The leases on a resource, oldest first.
    LeasesOn<'a> { resource: &'a str } -> Vec<LeaseId> = |q, table| table.leases_on(q.resource);
    /// All held leases, oldest first.
    Leases {} -> Vec<LeaseInfo>
        = |_, table| table.leases(), ends = |answer| answer.iter_mut();
    /// How many leases are held.
    HeldCount {} -> u32 = |_, table| table.held();
    /// All waiting claims, in the order of the queue.
    Tickets {} -> Vec<TicketInfo> = |_, table| table.tickets();
    /// A claim that waits.
    WaitingTicket { ticket: TicketId } -> Option<TicketInfo>
        = |q, table| table.waiting_ticket(q.ticket);
    /// The place of a waiting claim in the queue, from 1.
    PlaceInQueue { ticket: TicketId } -> Option<u32> = |q, table| table.place(q.ticket);
    /// How many claims wait.
    WaitingCount {} -> usize = |_, table| table.waiting() as usize;
    /// A resource that is declared or in use.
    ResourceByName<'a> { name: &'a str } -> Option<ResourceInfo> = |q, table| table.resource(q.name);
    /// All resources that are declared or in use.
    Resources {} -> Vec<ResourceInfo> = |_, table| table.resources();
    /// The ids of those of these names that are declared.
    ResourceIds<'a> { names: &'a [String] } -> Vec<Option<ResourceId>>
        = |q, table| q.names.iter().map(|name| table.resource_id(name)).collect();
    /// The states of these devices at one moment.
    DeviceStates<'a> { names: &'a [String] } -> Vec<Option<DeviceState>>
        = |q, table| q.names.iter().map(|name| table.resource(name).map(DeviceState::from)).collect();
    /// How many leases were revoked.
    Revocations {} -> u64 = |_, table| table.revocations();
    /// How many leases ended, or claims were refused, for a reason.
    CountOf { reason: Reason } -> u64 = |q, table| table.count(q.reason);
    /// All deadlocks.
    Deadlocks {} -> Vec<Deadlock> = |_, table| table.deadlocks();
    /// The events after a number, and how many were missed.
    EventsSince { cursor: u64 } -> (Vec<Event>, u64) = |q, table| {
        let mut events = Vec::new();
        let missed = table.events_since(q.cursor, &mut events);
        (events, missed)
    };
    /// The number of the last event.
    LastEvent {} -> u64 = |_, table| table.last_event();
    /// Checks the table from end to end.
    Verify {} -> Result<(), String> = |_, table| table.verify();
}

/// How many claims wait for resources of which this is true.
#[derive(Debug, Clone, Copy)]
pub struct WaitingFor<F>(pub F);

impl<F: Fn(ResourceId) -> bool> Query for WaitingFor<F> {
    type Answer = usize;

    fn answer<M: Memory>(&self, table: &Table<M>) -> usize {
        table.waiting_for(&self.0)
    }
}
