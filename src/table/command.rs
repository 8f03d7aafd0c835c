//! Commands: every change of a table, as data.
//!
//! A command is a small value that borrows its names. A home brings it to a table and runs it with
//! [`Table::apply`]; the reply is owned. The set is closed: each command has a tag that is never
//! changed or used again, so that the same value can be applied under a lock, appended to a log
//! or sent over a socket.
//!
//! Commands that have strings take them in any form: borrowed as a face builds them, or owned as
//! [`codec`](super::codec) decodes them.
//!
//! A command does not name the process that issues it. The home supplies it ([`Issuer`]).

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Deref;

use super::codec::{Encode, Reply};
use super::memory::Memory;
use super::names::check_name;
use super::types::{
    Cancelled, Claim, Error, Health, LeaseId, Outcome, ResourceId, Revoked, TicketId, TicketState,
    Time, Traits,
};
use super::{Issuer, Reaped, Reason, ResourceInfo, Table};

/// A string of a command: borrowed or owned.
pub trait Text: AsRef<str> + Encode {}

impl<S: AsRef<str> + Encode> Text for S {}

/// One change of a table.
pub trait Command: Encode {
    /// Stable and append-only: the number of a removed command is not used again.
    const TAG: u8;

    /// What the process that sent the command gets back.
    type Reply: Reply;

    /// Runs the command. Only [`Table::apply`] calls this.
    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error>;
}

impl<M: Memory> Table<M> {
    /// Runs a command of a process at a time.
    #[inline(always)]
    pub fn apply<C: Command>(
        &self,
        issuer: Issuer,
        command: &C,
        now: Time,
    ) -> Result<C::Reply, Error> {
        let _end = self.begin_command(issuer);
        command.run(self, now)
    }
}

/// How many resources [`Picks`] has room for without an allocation.
const INLINE_PICKS: usize = 8;

/// The resources of a lease, in the order of the claim.
#[derive(Debug, Clone)]
pub struct Picks {
    count: usize,
    inline: [ResourceId; INLINE_PICKS],
    /// All of them, if they do not fit into `inline`.
    spilled: Vec<ResourceId>,
}

impl Default for Picks {
    #[inline(always)]
    fn default() -> Self {
        Picks { count: 0, inline: [ResourceId(0); INLINE_PICKS], spilled: Vec::new() }
    }
}

impl Picks {
    /// The resources of a held or remembered lease; none if the table does not know it.
    #[inline(always)]
    pub(super) fn of<M: Memory>(table: &Table<M>, lease: LeaseId) -> Picks {
        let mut picks = Picks::default();
        table.each_resource_of(lease, |resource| picks.push(resource));
        picks
    }

    #[inline(always)]
    pub(super) fn push(&mut self, resource: ResourceId) {
        match self.inline.get_mut(self.count) {
            Some(place) => *place = resource,
            None => self.spill(resource),
        }
        self.count += 1;
    }

    #[cold]
    fn spill(&mut self, resource: ResourceId) {
        if self.spilled.is_empty() {
            self.spilled.extend(self.inline);
        }
        self.spilled.push(resource);
    }

    /// The resources.
    #[inline(always)]
    pub fn as_slice(&self) -> &[ResourceId] {
        if self.count <= INLINE_PICKS { &self.inline[..self.count] } else { &self.spilled }
    }
}

impl PartialEq for Picks {
    fn eq(&self, other: &Picks) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Picks {}

/// What the reply to a claim has beside the outcome: [`Picks`], or nothing.
pub trait GrantDetail: Default {
    /// The detail of a lease that was just granted.
    fn of<M: Memory>(table: &Table<M>, lease: LeaseId) -> Self;

    /// The detail of the lease that a ticket was granted.
    fn of_ticket<M: Memory>(table: &Table<M>, ticket: TicketId) -> Self;

    /// The detail of a reply that was decoded.
    fn from_picks(picks: Picks) -> Self;
}

impl GrantDetail for () {
    #[inline(always)]
    fn of<M: Memory>(_: &Table<M>, _: LeaseId) -> Self {}

    #[inline(always)]
    fn of_ticket<M: Memory>(_: &Table<M>, _: TicketId) -> Self {}

    fn from_picks(_: Picks) -> Self {}
}

impl GrantDetail for Picks {
    #[inline(always)]
    fn of<M: Memory>(table: &Table<M>, lease: LeaseId) -> Self {
        Picks::of(table, lease)
    }

    fn of_ticket<M: Memory>(table: &Table<M>, ticket: TicketId) -> Self {
        match table.ticket(ticket) {
            Some(TicketState::Granted(lease)) => Picks::of(table, lease),
            _ => Picks::default(),
        }
    }

    fn from_picks(picks: Picks) -> Self {
        picks
    }
}

/// What became of a claim, and what it was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<D> {
    /// Granted or waiting.
    pub outcome: Outcome,
    /// The detail of the lease; the default while the claim waits.
    pub detail: D,
}

/// Asks for a lease. The issuer is its owner, whatever [`Claim::owner`] says.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a, D> {
    pub(super) claim: &'a Claim<'a>,
    detail: PhantomData<D>,
}

impl<'a, D> Place<'a, D> {
    /// The command for a claim.
    #[inline(always)]
    pub fn new(claim: &'a Claim<'a>) -> Self {
        Place { claim, detail: PhantomData }
    }
}

impl<D: GrantDetail> Command for Place<'_, D> {
    const TAG: u8 = 1;
    type Reply = Placed<D>;

    #[inline(always)]
    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let outcome = table.place_claim(now, self.claim)?;
        let detail = match outcome {
            Outcome::Granted(lease) => D::of(table, lease),
            Outcome::Waiting(_) => D::default(),
        };
        Ok(Placed { outcome, detail })
    }
}

/// Gives a lease back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The lease.
    pub lease: LeaseId,
}

impl Command for Release {
    const TAG: u8 = 2;
    type Reply = ();

    #[inline(always)]
    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.release(now, self.lease)
    }
}

/// Withdraws a claim, and gives back the lease that it was granted unless the reply was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdraw {
    /// The ticket of the claim.
    pub ticket: TicketId,
}

impl Command for Withdraw {
    const TAG: u8 = 3;
    type Reply = Cancelled;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.withdraw(now, self.ticket)
    }
}

/// Takes the answer of a resolved ticket: from now on the table may forget the ticket.
#[derive(Debug, Clone, Copy)]
pub struct Collect<D> {
    pub(super) ticket: TicketId,
    detail: PhantomData<D>,
}

impl<D> Collect<D> {
    /// The command for a ticket.
    pub fn new(ticket: TicketId) -> Self {
        Collect { ticket, detail: PhantomData }
    }
}

/// What [`Collect`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected<D> {
    /// The claim was withdrawn before: its lease, if any, was given back.
    pub withdrawn: bool,
    /// The detail of the lease that the claim was granted.
    pub detail: D,
}

impl<D: GrantDetail> Collected<D> {
    /// Collects a ticket.
    #[inline(always)]
    pub(crate) fn of<M: Memory>(table: &Table<M>, ticket: TicketId) -> Self {
        if !table.collect(ticket) {
            return Collected { withdrawn: true, detail: D::default() };
        }
        Collected { withdrawn: false, detail: D::of_ticket(table, ticket) }
    }
}

impl<D: GrantDetail> Command for Collect<D> {
    const TAG: u8 = 4;
    type Reply = Collected<D>;

    fn run<M: Memory>(&self, table: &Table<M>, _: Time) -> Result<Self::Reply, Error> {
        Ok(Collected::of(table, self.ticket))
    }
}

/// Moves the end of a lease to now + its ttl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renew {
    /// The lease.
    pub lease: LeaseId,
    /// Its ttl from now on; `None`: as before.
    pub ttl: Option<Time>,
}

impl Command for Renew {
    const TAG: u8 = 5;
    type Reply = Time;

    #[inline(always)]
    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.renew(now, self.lease, self.ttl)
    }
}

/// Takes a lease away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revoke<S> {
    /// The lease.
    pub lease: LeaseId,
    /// A reason of a revocation.
    pub reason: Reason,
    /// The name that the caller claims; may be empty.
    pub by: S,
    /// How long the lease stays held; 0: it is revoked at once.
    pub notice: Time,
}

impl<S: Text> Command for Revoke<S> {
    const TAG: u8 = 6;
    type Reply = Revoked;

    #[inline(always)]
    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.revoke(now, self.lease, self.reason, self.by.as_ref(), self.notice)
    }
}

/// Makes a resource that stays, or changes its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declare<S> {
    /// The name of the resource.
    pub resource: S,
    /// How many slots it has.
    pub slots: u32,
    /// How much memory it has, in MiB.
    pub memory: u32,
}

impl<S: Text> Command for Declare<S> {
    const TAG: u8 = 7;
    type Reply = ResourceId;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.declare(now, self.resource.as_ref(), self.slots, self.memory)
    }
}

/// Sets the node of a declared resource. A node that is not declared yet is declared with one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetNode<S> {
    /// The name of the resource.
    pub resource: S,
    /// The name of the node; `None`: no node.
    pub node: Option<S>,
}

impl<S: Text> Command for SetNode<S> {
    const TAG: u8 = 8;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let id = table.resource_id(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        let node = match self.node.as_ref().map(AsRef::as_ref) {
            None => None,
            Some(node) => Some(match table.resource_id(node) {
                Some(known) => known,
                None => {
                    // Before it is declared: what is refused changes nothing.
                    check_name(node)?;
                    table.advance(now)?;
                    table.check_can_move(id)?;
                    table.declare(now, node, 1, 0)?
                }
            }),
        };
        let info = table.resource(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        table.set_traits(now, id, Traits { node, ..info.traits })
    }
}

/// Sets the health of a declared resource as an operator states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetHealth<S> {
    /// The name of the resource.
    pub resource: S,
    /// Its health.
    pub health: Health,
}

impl<S: Text> Command for SetHealth<S> {
    const TAG: u8 = 9;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let id = table.resource_id(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        table.set_health(now, id, self.health)
    }
}

/// The state of a device on which a health observation depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceState {
    /// The health that was observed last.
    pub evidence: Health,
    /// A lease holds a part of it.
    pub leased: bool,
    /// It drains because its last lease ended.
    pub cleaning: bool,
}

impl From<ResourceInfo> for DeviceState {
    fn from(info: ResourceInfo) -> Self {
        let leased = info.used_slots != 0 || info.used_memory != 0 || info.shared != 0;
        DeviceState { evidence: info.evidence, leased, cleaning: info.cleaning }
    }
}

/// Sets the observed health of a device, unless its state has changed since it was observed. The
/// reply says whether it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetEvidence<S> {
    /// The name of the device.
    pub resource: S,
    /// Its state when it was observed.
    pub before: DeviceState,
    /// The observed health.
    pub health: Health,
    /// No program uses it: it need not drain any more.
    pub unused: bool,
}

impl<S: Text> Command for SetEvidence<S> {
    const TAG: u8 = 10;
    type Reply = bool;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.advance(now)?;
        let id = table.resource_id(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        if table.resource(self.resource.as_ref()).map(DeviceState::from) != Some(self.before) {
            return Ok(false);
        }
        table.set_evidence(now, id, self.health, self.unused).map(|()| true)
    }
}

/// Takes a resource out of service and revokes the leases on it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fail<S> {
    /// The name of the resource.
    pub resource: S,
    /// A reason of a revocation.
    pub reason: Reason,
    /// The name that the caller claims; may be empty.
    pub by: S,
}

impl<S: Text> Command for Fail<S> {
    const TAG: u8 = 11;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let id = table.resource_id(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        table.fail(now, id, self.reason, self.by.as_ref())
    }
}

/// A device is no longer checked after its last lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearCheck<S> {
    /// The name of the device.
    pub resource: S,
}

impl<S: Text> Command for ClearCheck<S> {
    const TAG: u8 = 12;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let id = table.resource_id(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        let info = table.resource(self.resource.as_ref()).ok_or(Error::UnknownResource)?;
        table.set_traits(now, id, Traits { checked: false, ..info.traits })
    }
}

/// A device in [`ListDevices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceListing<S> {
    /// The name of the resource that stands for it.
    pub resource: S,
    /// Into how many parts it is divided; `None`: as declared before, else one.
    pub slots: Option<u32>,
    /// Its memory in MiB.
    pub memory: u32,
    /// Vendor and number of its topology island: devices of one island have fast links.
    pub island: Option<(S, u32)>,
    /// It drains after its last lease until it was checked.
    pub checked: bool,
    /// The observed health; `None`: set later.
    pub evidence: Option<Health>,
}

/// Declares the devices of one node. The reply has their ids, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListDevices<D> {
    /// The devices, as a slice or a vector of [`DeviceListing`].
    pub devices: D,
    /// The node that they are in.
    pub node: Option<ResourceId>,
}

impl<S: Text, D: Deref<Target = [DeviceListing<S>]>> Command for ListDevices<D> {
    const TAG: u8 = 13;
    type Reply = Vec<ResourceId>;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        let declared = |device: &DeviceListing<S>| {
            table.resource(device.resource.as_ref()).filter(|info| info.declared)
        };
        table.advance(now)?;
        let known: Vec<Option<ResourceInfo>> = self.devices.iter().map(declared).collect();
        let slots_of = |(device, known): (&DeviceListing<S>, &Option<ResourceInfo>)| {
            device.slots.unwrap_or(known.as_ref().map_or(1, |info| info.slots))
        };
        let slots: Vec<u32> = self.devices.iter().zip(&known).map(slots_of).collect();
        // Before the first is declared: what is refused changes nothing, unless the table is full.
        for (device, &slots) in self.devices.iter().zip(&slots) {
            let size = (slots, device.memory);
            table.check_listing(device.resource.as_ref(), size, self.node)?;
        }
        let mut ids = Vec::with_capacity(self.devices.len());
        for (device, &slots) in self.devices.iter().zip(&slots) {
            ids.push(table.declare(now, device.resource.as_ref(), slots, device.memory)?);
            table.memory().checkpoint();
        }
        let islands = number_islands(&self.devices, &known, &ids);
        for (place, (device, known)) in self.devices.iter().zip(&known).enumerate() {
            let was_checked = known.as_ref().is_some_and(|info| info.traits.checked);
            let traits = Traits {
                island: islands[place],
                node: self.node,
                checked: device.checked || was_checked,
            };
            table.set_traits(now, ids[place], traits)?;
            if let Some(health) = device.evidence {
                table.set_evidence(now, ids[place], health, false)?;
            }
            table.memory().checkpoint();
        }
        Ok(ids)
    }
}

/// The number of each device's island in the table: 0 for none, else the record of the island's
/// first device, unless another process has declared a number already.
fn number_islands<S: Text>(
    devices: &[DeviceListing<S>],
    known: &[Option<ResourceInfo>],
    ids: &[ResourceId],
) -> Vec<u32> {
    fn island_of<S: Text>(device: &DeviceListing<S>) -> Option<(&str, u32)> {
        device.island.as_ref().map(|(vendor, island)| (vendor.as_ref(), *island))
    }
    let mut numbers = HashMap::new();
    for ((device, known), id) in devices.iter().zip(known).zip(ids) {
        if let Some(island) = island_of(device) {
            let declared = known.as_ref().map_or(0, |info| info.traits.island);
            let number = numbers.entry(island).or_insert(id.0);
            if declared != 0 {
                *number = declared;
            }
        }
    }
    let number = |device: &DeviceListing<S>| {
        island_of(device).and_then(|island| numbers.get(&island).copied()).unwrap_or(0)
    };
    devices.iter().map(number).collect()
}

/// Declares that a holder cannot continue without a resource, without a claim for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want<S> {
    /// The holder.
    pub holder: S,
    /// The name of the resource.
    pub resource: S,
}

impl<S: Text> Command for Want<S> {
    const TAG: u8 = 14;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.want(now, self.holder.as_ref(), self.resource.as_ref())
    }
}

/// Removes a [`Want`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwant<S> {
    /// The holder.
    pub holder: S,
    /// The name of the resource.
    pub resource: S,
}

impl<S: Text> Command for Unwant<S> {
    const TAG: u8 = 15;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.unwant(now, self.holder.as_ref(), self.resource.as_ref())
    }
}

/// Makes another owner the owner of a held lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The lease.
    pub lease: LeaseId,
    /// Its new owner.
    pub to: u16,
}

impl Command for Transfer {
    const TAG: u8 = 16;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.give_to(now, self.lease, self.to)
    }
}

/// Ends leases and claims of an owner that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReapOwner {
    /// The owner.
    pub owner: u16,
    /// Why its leases end.
    pub reason: Reason,
    /// How many leases and claims end at most.
    pub limit: u32,
}

impl Command for ReapOwner {
    const TAG: u8 = 17;
    type Reply = Reaped;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.reap_some(now, self.owner, self.reason, self.limit as usize)
    }
}

/// Records the principal of the issuer as that of an owner number. An owner needs it before its
/// first lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetPrincipal {
    /// The owner number.
    pub owner: u16,
}

impl Command for SetPrincipal {
    const TAG: u8 = 19;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, _: Time) -> Result<Self::Reply, Error> {
        table.set_principal(self.owner);
        table.leave(())
    }
}

/// In a replicated table, reports that the time of a lease is over. Only its owner may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expire {
    /// The lease.
    pub lease: LeaseId,
    /// When its time was over.
    pub at: Time,
}

impl Command for Expire {
    const TAG: u8 = 20;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.expire(now, self.lease, self.at)
    }
}

/// In a replicated table, records that the owner of a lease renewed it late. An owner that is not
/// late needs no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewLate {
    /// The lease.
    pub lease: LeaseId,
    /// Its ttl from now on; `None`: as before.
    pub ttl: Option<Time>,
    /// Its end so far, which the owner keeps: a renewal does not end a lease earlier.
    pub end: Time,
}

impl Command for RenewLate {
    const TAG: u8 = 21;
    type Reply = Time;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.renew_late(now, self.lease, self.ttl, self.end)
    }
}

/// Lets due ends of leases, waits and notices happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance;

impl Command for Advance {
    const TAG: u8 = 18;
    type Reply = ();

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        table.advance(now)
    }
}
