"""What the library tells about leases, claims, resources and processes: plain values."""

from dataclasses import dataclass
from typing import Any, Optional, Tuple

from ._c import constants as c
from ._c.calls import words
from ._enums import EventKind, Health, LeaseState, Life, Reason
from ._time import Clock


@dataclass(frozen=True)
class Actor:
    """A process that made a change, as the library knows it and not as the caller claims."""

    principal: int
    """Its user: on one machine the user id, in a cluster a number of the node and the etcd user."""
    process: int
    """On one machine the process id, in a cluster the owner number of its session."""


def actor(principal: int, process: int) -> Optional[Actor]:
    """An actor, as the library tells of it."""
    return Actor(principal, process) if process else None


@dataclass(frozen=True)
class LeaseInfo:
    """Everything about one lease."""

    id: int
    """Names it for ever, and is its fencing token."""
    state: LeaseState
    holder: str
    ttl: float
    """How long it lasts without renewal."""
    granted_at: float
    end: float
    """While held: its end. Afterwards: when it ended."""
    reason: Reason
    """Why it ended, or will end if a notice is running."""
    priority: int
    parent: Optional[int]
    """The lease it hangs on."""
    revoker: str
    """Who revoked it, as the caller that did so claimed."""
    ended_by: Optional[Actor]
    """The process that released, revoked or is revoking it; None: its owner, or the table by itself."""
    acknowledged: bool
    """It was revoked with notice, and its holder released it before the notice ended."""
    take_count: int
    """How many resources it takes; `Lease.takes()` tells them."""
    revoking: bool
    """The holder has been told that the lease will be revoked."""
    spare: bool
    preemptible: bool
    shared: bool


def lease_info(told: Any, clock: Clock) -> LeaseInfo:
    """A lease, as the library tells of it."""
    return LeaseInfo(
        id=told.lease,
        state=LeaseState(told.state),
        holder=words(told.holder),
        ttl=clock.told(told.ttl),
        granted_at=clock.told(told.granted_at),
        end=clock.told(told.end),
        reason=Reason(told.reason),
        priority=told.priority,
        parent=told.parent or None,
        revoker=words(told.revoker),
        ended_by=actor(told.ender_principal, told.ender_process),
        acknowledged=bool(told.flags & c.LEASE_ACKNOWLEDGED),
        take_count=told.take_count,
        revoking=bool(told.flags & c.LEASE_REVOKING),
        spare=bool(told.flags & c.LEASE_SPARE),
        preemptible=bool(told.flags & c.LEASE_PREEMPTIBLE),
        shared=bool(told.flags & c.LEASE_SHARED),
    )


@dataclass(frozen=True)
class Take:
    """What a lease takes of one resource."""

    resource: str
    slots: int
    memory_mib: int


@dataclass(frozen=True)
class Revocation:
    """What revoking did."""

    at: float
    """From when on the lease is revoked."""
    changed: bool
    """False: a notice was running that ends no later."""


@dataclass(frozen=True)
class Notice:
    """What happened to a lease that is watched."""

    state: Optional[LeaseState]
    """HELD: it will be revoked at the time `at`. Otherwise it is over since then; None: nothing else is remembered."""
    reason: Reason
    at: float


@dataclass(frozen=True)
class TicketInfo:
    """Everything about one waiting claim."""

    id: int
    holder: str
    place: int
    """Its place in line, from 1."""
    queued_at: float
    count: int
    """How many resources it needs; `Ticket.resources()` tells out of which."""
    resource_count: int
    priority: int
    """Its effective priority."""


def ticket_info(told: Any, clock: Clock) -> TicketInfo:
    """A waiting claim, as the library tells of it."""
    return TicketInfo(
        id=told.ticket,
        holder=words(told.holder),
        place=told.place,
        queued_at=clock.told(told.queued_at),
        count=told.count,
        resource_count=told.resource_count,
        priority=told.priority,
    )


@dataclass(frozen=True)
class ResourceInfo:
    """What there is of a resource, and what is taken."""

    name: str
    slots: int
    memory_mib: int
    used_slots: int
    used_memory_mib: int
    shared: int
    """Shared leases on it."""
    health: Health
    declared: bool
    """Declared, not just used."""


def resource_info(told: Any) -> ResourceInfo:
    """A resource, as the library tells of it."""
    return ResourceInfo(
        name=words(told.name),
        slots=told.slots,
        memory_mib=told.memory_mib,
        used_slots=told.used_slots,
        used_memory_mib=told.used_memory_mib,
        shared=told.shared,
        health=Health(told.health),
        declared=bool(told.declared),
    )


@dataclass(frozen=True)
class Event:
    """One event in the history of a table."""

    number: int
    """Grows by one with each event."""
    kind: EventKind
    at: float
    lease: Optional[int]
    ticket: Optional[int]
    until: float
    """RENEWED_LATE, REVOKING: when the lease ends."""
    duration: float
    """ENDED: for how long it was held. REFUSED: for how long it had waited."""
    reason: Reason
    health: Optional[Health]
    """HEALTH: of `resource`."""
    resource: str
    process: Optional[int]
    """DIED, ROLLED_BACK: the process, by the number that it had for itself."""
    missed: int
    """How many events this reader has missed so far, because it fell behind."""
    actor: Optional[Actor]
    """The process whose command did it; None: the table did it by itself."""
    acknowledged: bool
    """ENDED: it was revoked with notice, and its holder released it before the notice ended."""


def event(told: Any, clock: Clock) -> Event:
    """An event, as the library tells of it."""
    return Event(
        number=told.number,
        kind=EventKind(told.kind),
        at=clock.told(told.at),
        lease=told.lease or None,
        ticket=told.ticket or None,
        until=clock.told(told.until),
        duration=clock.told(told.duration),
        reason=Reason(told.reason),
        health=Health(told.health) if told.kind == EventKind.HEALTH else None,
        resource=words(told.resource),
        process=told.process or None,
        missed=told.missed,
        actor=actor(told.actor_principal, told.actor_process),
        acknowledged=bool(told.flags & c.EVENT_FLAG_ACKNOWLEDGED),
    )


@dataclass(frozen=True)
class Wait:
    """One step of the proof of a deadlock: who waits for a lease, which the worker of the next step holds."""

    worker: str
    ticket: Optional[int]
    """By which claim it waits; None: by a declared want."""
    lease: int


@dataclass(frozen=True)
class Deadlock:
    """Who waits for whom in a circle, and how to break it."""

    victim: int
    """The lease whose revocation breaks it at the least cost."""
    stuck: Tuple[str, ...]
    """Everybody who is stuck because of it."""
    cycle: Tuple[Wait, ...]


@dataclass(frozen=True)
class HostInfo:
    """A shared table, and how it is."""

    path: str
    size: int
    """Of its file, in bytes."""
    process_count: int
    roll_backs: int
    """Changes that were undone because their author died, so far."""
    deaths: int
    """Processes that were found dead, so far."""
    lock_process: Optional[int]
    """Who had its lock when this was asked."""
    lock_since: Optional[float]
    corrupt: bool


@dataclass(frozen=True)
class ProcessInfo:
    """A process that uses a shared table."""

    pid: int
    """As it sees itself: processes in different containers may have the same."""
    owner: int
    """The number under which the table knows it."""
    life: Life
    since: float
    leases: int
    tickets: int
