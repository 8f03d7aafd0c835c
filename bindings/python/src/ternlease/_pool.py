"""GpuPool: devices, to be claimed."""

from ctypes import c_int32, c_uint64
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

from ._c import constants as c
from ._c import handles, structs
from ._c.calls import call, encoded, items, text, whole, words
from ._c.library import lib
from ._device import (
    Device,
    DeviceSpeed,
    DeviceStatus,
    ExpectedWait,
    Squatter,
    device,
    device_speed,
    device_status,
)
from ._enums import WaitKind
from ._errors import Busy, NoDevices, failure
from ._gpu_claim import GpuClaimOptions, gpu_claim_struct
from ._gpu_lease import GpuLease
from ._lease import numbered
from ._managed import Managed
from ._manager import LeaseManager
from ._ticket import Ticket
from ._time import RealClock, Span, microseconds

if TYPE_CHECKING:
    from typing_extensions import Unpack


class GpuPool(Managed):
    """Devices, to be claimed.

    The URL is that of a `LeaseManager`: "host:" (the default) is the pool that all processes of this machine share,
    "process:" a private one, which does not know what other programs use. `devices` says which: "host" for those of
    this machine, "fake:8" for eight that do not exist, "file:/path" for those that a file declares, "none"; if nothing
    is said, what TERNLEASE_DEVICES says, else "host".
    A machine without GPUs is no special case: `try_claim()` gives None there, and `absence()` says why.
    """

    def __init__(
        self,
        url: str = "host:",
        *,
        devices: str = "",
        slots: int = 0,
        check_use: bool = False,
        break_deadlocks: bool = False,
        poll: Optional[Span] = 0,
        drain_limit: Span = 0,
        recovery: Span = 0,
        clean_memory_mib: int = 0,
    ) -> None:
        options = _options(devices, slots, check_use, poll, drain_limit, recovery, clean_memory_mib)
        options.flags |= c.POOL_BREAK_DEADLOCKS if break_deadlocks else 0
        opened = handles.Pool()
        call(lib.tern_pool_open, *encoded("url", url), options, opened)
        table = handles.Manager()
        call(lib.tern_pool_manager, opened, table)
        self._open_on(opened, LeaseManager._of_pool(table, RealClock()), owns_manager=True)

    @classmethod
    def on(
        cls,
        manager: LeaseManager,
        *,
        devices: str = "",
        slots: int = 0,
        check_use: bool = False,
        poll: Optional[Span] = 0,
        drain_limit: Span = 0,
        recovery: Span = 0,
        clean_memory_mib: int = 0,
    ) -> "GpuPool":
        """A pool on the table of a manager, so that deadlocks through devices and other resources are seen."""
        options = _options(devices, slots, check_use, poll, drain_limit, recovery, clean_memory_mib)
        opened = handles.Pool()
        call(lib.tern_pool_on, manager._handle, options, opened)
        pool = cls.__new__(cls)
        pool._open_on(opened, manager, owns_manager=False)
        return pool

    def _open_on(self, handle: Any, manager: LeaseManager, owns_manager: bool) -> None:
        self._manager = manager
        self._owns_manager = owns_manager
        self._known: Optional[Tuple[Device, ...]] = None
        super().__init__(handle)

    def close(self) -> None:
        """Closes it, and its leases are gone; not those of a pool on the table of a manager that is still open."""
        super().close()
        if self._owns_manager:
            self._manager.close()

    @property
    def manager(self) -> LeaseManager:
        """The manager of its table, for events, deadlocks and more. Closed with the pool unless the pool is `on` it."""
        return self._manager

    # ---- Claims

    def claim(
        self,
        count: int = 1,
        *,
        timeout: Optional[Span] = None,
        keep_alive: bool = False,
        **options: "Unpack[GpuClaimOptions]",
    ) -> GpuLease:
        """So many devices, linked to each other where that can be, after standing in line for `timeout` if need be.

        `Timeout` or `Refused` if there will be none; `NoDevices` if the pool has none at all; a timeout of 0 does not
        wait: `Busy`. With `keep_alive`, a thread of the library renews the lease while the pool is open.
        """
        with self.enqueue(count, timeout=timeout, **options) as ticket:
            return _kept(ticket.wait(), keep_alive)

    def try_claim(
        self, count: int = 1, *, keep_alive: bool = False, **options: "Unpack[GpuClaimOptions]"
    ) -> Optional[GpuLease]:
        """As `claim()`, now or not at all: None if they are not free, or the pool has no devices."""
        try:
            if count == 1 and not options:
                return _kept(self._any_one(), keep_alive)
            return self.claim(count, timeout=0, keep_alive=keep_alive, **options)
        except (Busy, NoDevices):
            return None

    def _any_one(self) -> GpuLease:
        """The usual claim, by the function that the library has for it: no claim needs to be written down."""
        granted, err = c_uint64(), structs.Error(structs.ERROR_SIZE)
        try:
            if lib.tern_pool_try_claim(self._handle, granted, err):
                raise failure(err)
            return GpuLease(self, granted, owned=True)
        except BaseException:
            if granted.value:
                GpuLease(self, granted, owned=False)._give_back()
            raise

    async def claim_async(
        self,
        count: int = 1,
        *,
        timeout: Optional[Span] = None,
        keep_alive: bool = False,
        **options: "Unpack[GpuClaimOptions]",
    ) -> GpuLease:
        """As `claim()`, for tasks. If the task is cancelled, the claim is withdrawn."""
        with self.enqueue(count, timeout=timeout, **options) as ticket:
            return _kept(await ticket, keep_alive)

    def enqueue(
        self, count: int = 1, *, timeout: Optional[Span] = None, **options: "Unpack[GpuClaimOptions]"
    ) -> "Ticket[GpuLease]":
        """As `claim()`, but returns at once with the ticket."""
        claim = gpu_claim_struct(self._manager._clock, count, timeout, options)
        ticket: Ticket[GpuLease] = Ticket(self._manager, lambda number: GpuLease(self, number, owned=True), pool=self)
        return ticket._ask(lib.tern_pool_enqueue, self._handle, claim)

    def lease(self, number: int) -> GpuLease:
        """A lease by its number. It is not given back when it is forgotten."""
        return GpuLease(self, numbered("lease", number), owned=False)

    def expected_wait(self, count: int = 1, **options: "Unpack[GpuClaimOptions]") -> ExpectedWait:
        """How long such a claim would wait now. Asks for nothing, and changes nothing."""
        claim = gpu_claim_struct(self._manager._clock, count, 0, options)
        kind, time = c_int32(), c_uint64()
        call(lib.tern_pool_expected_wait, self._handle, claim, kind, time)
        return _expected(kind.value, time.value)

    def expected_wait_of(self, ticket: Union[Ticket[Any], int]) -> ExpectedWait:
        """How much longer a claim that stands in line will wait."""
        number = ticket.id or 0 if isinstance(ticket, Ticket) else whole("ticket", ticket)
        kind, time = c_int32(), c_uint64()
        call(lib.tern_pool_expected_wait_of, self._handle, number, kind, time)
        return _expected(kind.value, time.value)

    # ---- Devices

    @property
    def capacity(self) -> int:
        """How many devices there are."""
        count = c_uint64()
        call(lib.tern_pool_capacity, self._handle, count)
        return count.value

    def pending_claimers(self) -> int:
        """How many claims wait for devices of this pool."""
        count = c_uint64()
        call(lib.tern_pool_pending_claimers, self._handle, count)
        return count.value

    @property
    def devices(self) -> Tuple[Device, ...]:
        """All devices, in the order of their places."""
        if self._known is None:
            self._known = tuple(self._device(place) for place in range(self.capacity))
        return self._known

    def device(self, place: int) -> Device:
        """The device in this place, from 0."""
        if self._known is not None and 0 <= place < len(self._known):
            return self._known[place]
        return self._device(place)

    def _device(self, place: int) -> Device:
        told = structs.Device()
        call(lib.tern_pool_device, self._handle, whole("place", place), told)
        return device(place, told)

    def absence(self) -> str:
        """What is not there, and why: a line for each source without devices, and for each device that is hidden."""
        return text(lib.tern_pool_absence, self._handle)

    def status(self, place: int) -> DeviceStatus:
        """How the device in this place is, and who uses it."""
        told = structs.DeviceStatus()
        call(lib.tern_pool_device_status, self._handle, whole("place", place), told)
        return device_status(told)

    def snapshot(self) -> List[DeviceStatus]:
        """As `status()`, of all devices: leases and health all at one moment."""
        return [device_status(one) for one in items(structs.DeviceStatus, lib.tern_pool_snapshot, self._handle)]

    def leases_on(self, place: int) -> List[int]:
        """The numbers of the leases on the device in this place, oldest first."""
        return items(c_uint64, lib.tern_pool_leases_on, self._handle, whole("place", place))

    def squatters(self, place: int) -> List[Squatter]:
        """The processes that compute on the device in this place although it has no lease."""
        found = items(structs.Process, lib.tern_pool_squatters, self._handle, whole("place", place))
        return [
            Squatter(one.pid, words(one.user), words(one.command), one.memory_mib if one.known else None)
            for one in found
        ]

    def speed(self, place: int) -> DeviceSpeed:
        """How fast the device in this place is, by what its driver tells."""
        told = structs.DeviceSpeed()
        call(lib.tern_pool_device_speed, self._handle, whole("place", place), told)
        return device_speed(told)

    def __repr__(self) -> str:
        return f"<GpuPool{' closed' if self.closed else ''}>"


def _options(
    devices: str,
    slots: int,
    check_use: bool,
    poll: Optional[Span],
    drain_limit: Span,
    recovery: Span,
    clean_memory_mib: int,
) -> Any:
    """How a pool is made, as the library takes it."""
    options = structs.PoolOptions(
        flags=c.POOL_CHECK_USE if check_use else 0,
        poll_us=microseconds("poll", poll),
        drain_limit_us=microseconds("drain_limit", drain_limit),
        recovery_us=microseconds("recovery", recovery),
        slots=whole("slots", slots, 32),
        clean_memory_mib=whole("clean_memory_mib", clean_memory_mib, 32),
    )
    options.devices, options.devices_len = encoded("devices", devices)
    return options


def _kept(lease: GpuLease, keep_alive: bool) -> GpuLease:
    if keep_alive:
        try:
            lease.keep_alive()
        except BaseException:
            lease._give_back()
            raise
    return lease


def _expected(kind: int, nanoseconds: int) -> ExpectedWait:
    return ExpectedWait(WaitKind(kind), None if nanoseconds == c.NEVER else nanoseconds)
