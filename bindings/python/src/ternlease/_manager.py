"""LeaseManager: a table of leases on named resources."""

from array import array
from ctypes import c_int8, c_size_t, c_uint32, c_uint64
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional

from ._c import constants as c
from ._c import handles, structs
from ._c.calls import call, encoded, items, signed, text, whole, words
from ._c.library import lib
from ._claim import ClaimOptions, Resources, claim_struct
from ._deadlocks import find_deadlocks
from ._enums import Health, LeaseState, Life, Reason
from ._errors import Busy
from ._events import Events
from ._info import (
    Deadlock,
    HostInfo,
    LeaseInfo,
    ProcessInfo,
    ResourceInfo,
    TicketInfo,
    lease_info,
    resource_info,
    ticket_info,
)
from ._lease import STATES, Lease, LeaseLike, numbered
from ._managed import Managed
from ._ticket import Ticket
from ._time import Clock, RealClock, Span, TickClock

if TYPE_CHECKING:
    from typing_extensions import Unpack

# As the trits are found in an array of bytes.
STATES_BY_BYTE: Dict[int, LeaseState] = {trit & 0xFF: state for trit, state in STATES.items()}


class LeaseManager(Managed):
    """A table of leases on named resources.

    The URL picks its home: "host:" (the default), "host:NAME" and "host:/PATH" are tables that all processes of this
    machine share; "process:" is a private table, shared by the threads of this process. With `ticks`, time is counted
    in calls of `tick()`, and all times are whole numbers of those; otherwise they are seconds. Only a private table
    can count ticks: with `ticks`, the default is "process:".
    """

    _clock: Clock

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        ticks: bool = False,
        open_house: bool = False,
        break_deadlocks: bool = False,
        leases: int = 0,
        tickets: int = 0,
        resources: int = 0,
        history: int = 0,
    ) -> None:
        options = structs.Options(
            flags=(c.OPTION_TICKS if ticks else 0)
            | (c.OPTION_OPEN_HOUSE if open_house else 0)
            | (c.OPTION_BREAK_DEADLOCKS if break_deadlocks else 0),
            leases=whole("leases", leases, 32),
            tickets=whole("tickets", tickets, 32),
            resources=whole("resources", resources, 32),
            history=whole("history", history, 32),
        )
        if url is None:
            url = "process:" if ticks else "host:"
        opened = handles.Manager()
        call(lib.tern_manager_open, *encoded("url", url), options, opened)
        self._adopt_handle(opened, TickClock() if ticks else RealClock())

    def _adopt_handle(self, handle: Any, clock: Clock) -> None:
        self._clock = clock
        super().__init__(handle)

    @classmethod
    def _of_pool(cls, handle: Any, clock: Clock) -> "LeaseManager":
        manager = cls.__new__(cls)
        manager._adopt_handle(handle, clock)
        return manager

    @property
    def ticks(self) -> bool:
        """Is time counted in calls of `tick()`?"""
        return self._clock.ticks

    # ---- Leases

    def acquire(self, resource: str, holder: str, ttl: Optional[Span] = None) -> Lease:
        """A lease on one slot of a resource, now or not at all: `Busy`. It lasts for `ttl` unless it is renewed."""
        granted = c_uint64()
        try:
            call(
                lib.tern_lease_acquire,
                self._handle,
                *encoded("resource", resource),
                *encoded("holder", holder),
                self._clock.span("ttl", ttl),
                granted,
            )
            return Lease(self, granted, owned=True)
        except BaseException:
            if granted.value:
                Lease(self, granted, owned=False)._give_back()
            raise

    def claim(
        self,
        holder: str,
        resources: Resources,
        ttl: Optional[Span] = None,
        *,
        timeout: Optional[Span] = None,
        **options: "Unpack[ClaimOptions]",
    ) -> Lease:
        """A lease on some of the resources, after standing in line for `timeout` if need be: `Timeout`, `Refused`.

        A timeout of 0 does not wait: `Busy`. With ticks, somebody else has to count them meanwhile.
        """
        ticket = self.enqueue(holder, resources, ttl, timeout=timeout, **options)
        with ticket:
            return ticket.wait()

    def try_claim(
        self, holder: str, resources: Resources, ttl: Optional[Span] = None, **options: "Unpack[ClaimOptions]"
    ) -> Optional[Lease]:
        """As `claim()`, now or not at all: None."""
        try:
            return self.claim(holder, resources, ttl, timeout=0, **options)
        except Busy:
            return None

    async def claim_async(
        self,
        holder: str,
        resources: Resources,
        ttl: Optional[Span] = None,
        *,
        timeout: Optional[Span] = None,
        **options: "Unpack[ClaimOptions]",
    ) -> Lease:
        """As `claim()`, for tasks. If the task is cancelled, the claim is withdrawn."""
        with self.enqueue(holder, resources, ttl, timeout=timeout, **options) as ticket:
            return await ticket

    def enqueue(
        self,
        holder: str,
        resources: Resources,
        ttl: Optional[Span] = None,
        *,
        timeout: Optional[Span] = None,
        **options: "Unpack[ClaimOptions]",
    ) -> "Ticket[Lease]":
        """As `claim()`, but returns at once with the ticket."""
        claim = claim_struct(self._clock, holder, resources, ttl, timeout, options)
        ticket: Ticket[Lease] = Ticket(self, lambda number: Lease(self, number, owned=True))
        return ticket._ask(lib.tern_manager_enqueue, self._handle, claim)

    def lease(self, number: int) -> Lease:
        """A lease by its number. It is not given back when it is forgotten."""
        return Lease(self, numbered("lease", number), owned=False)

    def ticket(self, number: int) -> "Ticket[Lease]":
        """A ticket by its number. It is not withdrawn when it is forgotten."""
        return Ticket(self, lambda granted: Lease(self, granted, owned=True), numbered("ticket", number))

    def states(self, leases: Iterable[LeaseLike]) -> List[Optional[LeaseState]]:
        """The states of many leases in one call, each as `Lease.state`."""
        numbers = _numbers(leases)
        count = len(numbers)
        trits = bytearray(count)
        call(
            lib.tern_lease_states,
            self._handle,
            (c_uint64 * count).from_buffer(numbers),
            count,
            (c_int8 * count).from_buffer(trits),
        )
        return list(map(STATES_BY_BYTE.get, trits))

    def renew_all(self, leases: Iterable[LeaseLike]) -> int:
        """Renews many leases in one call. How many were renewed: those that are over are passed over."""
        numbers = _numbers(leases)
        count = len(numbers)
        renewed = c_size_t()
        call(lib.tern_lease_renew_all, self._handle, (c_uint64 * count).from_buffer(numbers), count, renewed)
        return renewed.value

    def leases(self) -> List[LeaseInfo]:
        """All held leases, oldest first."""
        found = items(structs.LeaseInfo, lib.tern_manager_leases, self._handle)
        return [lease_info(one, self._clock) for one in found]

    def held_by(self, holder: str) -> List[int]:
        """The numbers of the leases a holder holds, oldest first."""
        return items(c_uint64, lib.tern_manager_held_by, self._handle, *encoded("holder", holder))

    def tickets(self) -> List[TicketInfo]:
        """All waiting claims, in order."""
        found = items(structs.TicketInfo, lib.tern_manager_tickets, self._handle)
        return [ticket_info(one, self._clock) for one in found]

    # ---- Resources

    def declare(self, resource: str, slots: int, memory_mib: int = 0) -> int:
        """Makes a resource, or changes the size of one that is not in use. Its number, by which claims are cheaper."""
        number = c_uint32()
        size = whole("slots", slots, 32), whole("memory_mib", memory_mib, 32)
        call(lib.tern_resource_declare, self._handle, *encoded("resource", resource), *size, number)
        return number.value

    def set_health(self, resource: str, health: Health) -> None:
        """Says how a declared resource is. One that is not healthy keeps its leases and gets no new ones."""
        call(lib.tern_resource_set_health, self._handle, *encoded("resource", resource), Health(health).value)

    def resource(self, name: str) -> ResourceInfo:
        """What there is of a resource, and what is taken."""
        told = structs.ResourceInfo()
        call(lib.tern_resource_info, self._handle, *encoded("name", name), told)
        return resource_info(told)

    def resources(self) -> List[ResourceInfo]:
        """All resources that are declared or in use, by name."""
        return [resource_info(one) for one in items(structs.ResourceInfo, lib.tern_manager_resources, self._handle)]

    def leases_on(self, resource: str) -> List[int]:
        """The numbers of the leases on a resource, oldest first."""
        return items(c_uint64, lib.tern_resource_leases, self._handle, *encoded("resource", resource))

    # ---- Deadlocks and events

    def deadlocks(self) -> List[Deadlock]:
        """Who waits for whom in a circle."""
        return find_deadlocks(self)

    def want(self, holder: str, resource: str) -> None:
        """Declares that a holder cannot go on without a resource. Only deadlock detection looks at it."""
        call(lib.tern_manager_want, self._handle, *encoded("holder", holder), *encoded("resource", resource))

    def unwant(self, holder: str, resource: str) -> None:
        """Takes back what `want()` declared."""
        call(lib.tern_manager_unwant, self._handle, *encoded("holder", holder), *encoded("resource", resource))

    def events(self, after: Optional[int] = None) -> Events:
        """Reads events from now on, or those after number `after`; 0: from the oldest that is remembered."""
        return Events(self, after)

    # ---- Time and counters

    def tick(self) -> None:
        """Counts one tick. With a real clock: only brings the table up to date."""
        call(lib.tern_manager_tick, self._handle)

    def now(self) -> float:
        """The time by the manager's clock: ticks so far, or seconds since the machine started."""
        return self._clock.told(self._count(lib.tern_manager_tick_count))

    def active_count(self) -> int:
        """How many leases are held."""
        return self._count(lib.tern_manager_active_count)

    def pending_claimers(self) -> int:
        """How many claims wait."""
        return self._count(lib.tern_manager_pending_claimers)

    def revocations(self) -> int:
        """How many leases were revoked so far."""
        return self._count(lib.tern_manager_revocations)

    def count(self, reason: Reason) -> int:
        """How many leases ended, or claims were refused, for this reason so far."""
        return self._count(lib.tern_manager_count, signed("reason", reason))

    def _count(self, function: Callable[..., int], *arguments: Any) -> int:
        number = c_uint64()
        call(function, self._handle, *arguments, number)
        return number.value

    def metrics(self) -> str:
        """The counters as text, in the format that Prometheus reads."""
        return text(lib.tern_manager_metrics, self._handle)

    # ---- Tables that processes share

    def host(self) -> HostInfo:
        """Where the shared table is, and whether all is well."""
        told = structs.HostInfo()
        call(lib.tern_manager_host, self._handle, told)
        return HostInfo(
            path=words(told.path),
            size=told.bytes,
            process_count=told.process_count,
            roll_backs=told.roll_backs,
            deaths=told.deaths,
            lock_process=told.lock_process or None,
            lock_since=self._clock.told(told.lock_since) if told.lock_since else None,
            corrupt=bool(told.corrupt),
        )

    def processes(self) -> List[ProcessInfo]:
        """Every process that uses the shared table, this one included."""
        found = items(structs.ProcessInfo, lib.tern_manager_processes, self._handle)
        return [
            ProcessInfo(one.process, one.owner, Life(one.life), self._clock.told(one.since), one.leases, one.tickets)
            for one in found
        ]

    def __repr__(self) -> str:
        return f"<LeaseManager{' closed' if self.closed else ''}>"


def _numbers(leases: Iterable[LeaseLike]) -> "array[int]":
    """The numbers of leases, each checked to be one."""
    return array("Q", [lease._number.value if isinstance(lease, Lease) else lease for lease in leases])
