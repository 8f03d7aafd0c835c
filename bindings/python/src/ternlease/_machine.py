"""MachCap: what this machine can do, and where to do a task."""

import os
from ctypes import c_int64, c_uint64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Union

from ._c import constants as c
from ._c import handles, structs
from ._c.calls import call, signed, text, whole, words
from ._c.constants import TRIT_UNKNOWN
from ._c.cost_structs import ProgressFn
from ._c.library import lib
from ._cost import Estimate, FnCost, TaskLike, estimate, given_ns, task_struct, told_ns
from ._enums import MachineClass, Network, RateOf, RouteKnown, Source, Status
from ._errors import failure
from ._gpu_claim import GpuClaimOptions, gpu_claim_struct
from ._managed import Managed
from ._pool import GpuPool
from ._time import RealClock, Span, microseconds
from ._verdict import Advice, Verdict, advice, saved_ns, verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Is told what is being measured, how many steps are done, and of how many.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Route:
    """The way to where results can be fetched from."""

    round_trip_ns: int
    """There and back."""
    bytes_per_second: int
    """What arrives in a second, at most."""
    query_ns: int = 0
    """What it takes to know what to ask for, and to be told whether it is there."""
    hits_permille: int = 1000
    """Of a thousand queries, how many find something."""
    known: RouteKnown = RouteKnown.DECLARED


@dataclass(frozen=True)
class Rate:
    """How much of something is done in a second."""

    per_second: int
    """What the machine can do: nine of ten measurements gave less."""
    usual: int
    """What it did beside everything else that it was doing."""
    spread_permille: int
    source: Source


@dataclass(frozen=True)
class MachineInfo:
    """What a machine can do, and had left when it was read. Sizes are bytes; None is not known."""

    machine_class: MachineClass
    processor: str
    cores_physical: int
    cores_logical: int
    cores_usable: int
    freq_mhz: Optional[int]
    mem_total: int
    mem_available: int
    compute_budget: int
    """How much memory one computation may take."""
    store: str
    disk_total: Optional[int]
    disk_free: Optional[int]
    network: Network
    network_mbps: Optional[int]
    has_battery: bool
    on_battery: bool
    battery_percent: Optional[int]
    age: float
    """How old the rates are, in seconds; FOREVER: they were not measured."""
    gpu_start: Estimate
    ridge_permille: int
    core_scaling_permille: int
    mem_pressure_permille: int
    disk_pressure_permille: int


class MachCap(Managed):
    """What this machine can do. Read it with `MachCap.read()`; predictions from it take no time and ask nobody."""

    def __init__(self) -> None:
        raise TypeError("use MachCap.read()")

    @classmethod
    def read(
        cls,
        store: "Union[str, os.PathLike[str]]" = ".",
        *,
        benchmarks: bool = True,
        network: bool = True,
        budget: Span = 0,
        disk_budget: Span = 0,
        keep: bool = False,
        refresh: bool = False,
        max_age: Optional[Span] = 0,
        cache_file: "Union[str, os.PathLike[str]]" = "",
        progress: Optional[Progress] = None,
    ) -> "MachCap":
        """Reads this machine, and measures it for `budget` seconds, 0.3 unless said otherwise.

        `store` is the directory where results are kept. Blocks the thread while it measures; a signal is seen when it
        is done. With `keep`, what is measured is kept and used for `max_age`, seven days unless said otherwise.
        """
        options = structs.MachineOptions(
            flags=(0 if benchmarks else c.MACHINE_NO_BENCHMARKS)
            | (0 if network else c.MACHINE_NO_NETWORK)
            | (c.MACHINE_KEEP if keep else 0)
            | (c.MACHINE_REFRESH if refresh else 0),
            budget_us=microseconds("budget", budget),
            disk_budget_us=microseconds("disk_budget", disk_budget),
            max_age_us=microseconds("max_age", max_age),
        )
        options.cache_file = os.fsencode(cache_file)
        options.cache_file_len = len(options.cache_file)
        raised: List[BaseException] = []
        if progress is not None:
            options.progress = _callback(progress, raised)
        directory = os.fsencode(store)
        opened = handles.Machine()
        call(lib.tern_machine_read, directory, len(directory), options, opened)
        if raised:
            raise raised[0]
        machine = cls.__new__(cls)
        Managed.__init__(machine, opened)
        return machine

    def info(self) -> MachineInfo:
        """What it can do, and had left when it was read."""
        told = structs.MachineInfo()
        call(lib.tern_machine_info, self._handle, told)
        has_disk = told.known & c.MACHINE_HAS_DISK
        return MachineInfo(
            machine_class=MachineClass(told.machine_class),
            processor=words(told.processor),
            cores_physical=told.cores_physical,
            cores_logical=told.cores_logical,
            cores_usable=told.cores_usable,
            freq_mhz=told.freq_mhz or None,
            mem_total=told.mem_total,
            mem_available=told.mem_available,
            compute_budget=told.compute_budget,
            store=words(told.store),
            disk_total=told.disk_total if has_disk else None,
            disk_free=told.disk_free if has_disk else None,
            network=Network(told.network),
            network_mbps=told.network_mbps if told.network == Network.CARD else None,
            has_battery=bool(told.known & c.MACHINE_HAS_BATTERY),
            on_battery=bool(told.known & c.MACHINE_ON_BATTERY),
            battery_percent=told.battery_percent if told.known & c.MACHINE_HAS_BATTERY_PERCENT else None,
            age=RealClock.told(told.age_us),
            gpu_start=estimate(told.gpu_start),
            ridge_permille=told.ridge_permille,
            core_scaling_permille=told.core_scaling_permille,
            mem_pressure_permille=told.mem_pressure_permille,
            disk_pressure_permille=told.disk_pressure_permille,
        )

    def to_json(self) -> str:
        """Its figures as JSON, with all rates."""
        return text(lib.tern_machine_json, self._handle)

    def rate(self, which: RateOf) -> Rate:
        """How fast it is at something."""
        told = structs.Rate()
        call(lib.tern_machine_rate, self._handle, signed("which", which), told)
        return Rate(told.per_second, told.usual, told.spread_permille, Source(told.source))

    def set_gpu_start(self, lo_ns: int, mid_ns: int, hi_ns: int) -> None:
        """How long a program takes to begin with a GPU; all zero in one that has begun."""
        times = whole("lo_ns", lo_ns), whole("mid_ns", mid_ns), whole("hi_ns", hi_ns)
        call(lib.tern_machine_set_gpu_start, self._handle, *times)

    @property
    def route(self) -> Optional[Route]:
        """The way to where results can be fetched from, as far as it is known; None: there is no network.

        Say what you know of it by setting this, or teach it with `record_fetch()`.
        """
        told = structs.Route()
        if call(lib.tern_machine_route, self._handle, told, also=(Status.EMPTY,)):
            return None
        return Route(
            told.round_trip_ns,
            told.bytes_per_second,
            told.query_ns,
            told.hits_permille or 1000,
            RouteKnown(told.known),
        )

    @route.setter
    def route(self, route: Optional[Route]) -> None:
        given = None
        if route is not None:
            given = structs.Route(
                round_trip_ns=whole("round_trip_ns", route.round_trip_ns),
                bytes_per_second=whole("bytes_per_second", route.bytes_per_second),
                query_ns=whole("query_ns", route.query_ns),
                hits_permille=whole("hits_permille", route.hits_permille, 32),
                known=signed("known", route.known),
            )
        call(lib.tern_machine_set_route, self._handle, given)

    def record_fetch(self, bytes: int, took_ns: int) -> bool:
        """A transfer of so many bytes took so long. False: there is no network to learn about."""
        took = whole("bytes", bytes), given_ns("took_ns", took_ns)
        return call(lib.tern_machine_record_fetch, self._handle, *took, also=(Status.EMPTY,)) == 0

    # ---- How long things take

    def compute_time(self, task: TaskLike) -> Estimate:
        """How long a task takes here, whether or not its memory is there."""
        told = structs.Estimate()
        call(lib.tern_machine_compute_time, self._handle, task_struct(task), told)
        return estimate(told)

    def untaught_time(self, task: TaskLike) -> float:
        """How long a task takes here by the rates alone, in nanoseconds: for `Learned.record()`."""
        told = c_uint64()
        call(lib.tern_machine_untaught_time, self._handle, task_struct(task), told)
        return told_ns(told.value)

    def fetch_time(self, bytes: int) -> Estimate:
        """How long fetching so many bytes takes, once it is known that they are there."""
        told = structs.Estimate()
        call(lib.tern_machine_fetch_time, self._handle, whole("bytes", bytes), told)
        return estimate(told)

    def store_time(self, bytes: int) -> Estimate:
        """How long keeping so many bytes takes, on the disk with the results."""
        told = structs.Estimate()
        call(lib.tern_machine_store_time, self._handle, whole("bytes", bytes), told)
        return estimate(told)

    def can_store(self, bytes: int) -> Optional[bool]:
        """Is there room for so many bytes, and some to spare? None: nobody knows, and one may try."""
        err = structs.Error(structs.ERROR_SIZE)
        trit = lib.tern_machine_can_store(self._handle, whole("bytes", bytes), err)
        if trit == TRIT_UNKNOWN:
            raise failure(err)
        return None if trit == 0 else bool(trit > 0)

    def suggest_ttl(self, task: TaskLike, base: Span) -> float:
        """For how many seconds a result is worth keeping, from a tenth of `base` to a thousand times as long."""
        told = c_uint64()
        call(lib.tern_machine_suggest_ttl, self._handle, task_struct(task), microseconds("base", base), told)
        return RealClock.told(told.value)

    def etl_buffer_bytes(self, row_bytes: int) -> Optional[int]:
        """How large a buffer for rows may be; None if not even one fits."""
        told = c_uint64()
        fits = call(
            lib.tern_machine_etl_buffer, self._handle, whole("row_bytes", row_bytes), told, also=(Status.EMPTY,)
        )
        return None if fits else told.value

    def normalize(self, took_ns: int, peak_mem: int, result_bytes: int) -> FnCost:
        """A cost for something that took so long here: to be compared with others, not the way back to that time."""
        told = structs.Cost()
        rest = whole("peak_mem", peak_mem), whole("result_bytes", result_bytes)
        call(lib.tern_machine_normalize, self._handle, given_ns("took_ns", took_ns), *rest, told)
        return FnCost(told.flops, told.mem_bytes, told.peak_mem, told.result_bytes)

    def cache_value_ns(self, task: TaskLike) -> float:
        """What a cached result saves each time it is fetched, in nanoseconds; infinite if there is but one way."""
        told = c_int64()
        call(lib.tern_machine_cache_value, self._handle, task_struct(task), told)
        return saved_ns(told.value)

    # ---- Where to do a task

    def verdict(self, task: TaskLike) -> Verdict:
        """Compute the result of a task here, or fetch it?"""
        told = structs.Verdict()
        call(lib.tern_machine_verdict, self._handle, task_struct(task), told)
        return verdict(told)

    def verdict_json(self, task: TaskLike) -> str:
        """The same as JSON: what cannot be done has no time, and a reason beside it."""
        return text(lib.tern_machine_verdict_json, self._handle, task_struct(task))

    def advise(self, task: TaskLike, pool: GpuPool, count: int = 1, **options: "Unpack[GpuClaimOptions]") -> Advice:
        """Where to do a task: here, on devices that such a claim would get, or nowhere? Claims nothing."""
        told = structs.Advice()
        claim = gpu_claim_struct(pool.manager._clock, count, 0, options)
        call(lib.tern_machine_advise, self._handle, task_struct(task), pool._handle, claim, told)
        return advice(told)

    def advise_json(self, task: TaskLike, pool: GpuPool, count: int = 1, **options: "Unpack[GpuClaimOptions]") -> str:
        """The same as JSON."""
        claim = gpu_claim_struct(pool.manager._clock, count, 0, options)
        return text(lib.tern_machine_advise_json, self._handle, task_struct(task), pool._handle, claim)

    def __repr__(self) -> str:
        return f"<MachCap{' closed' if self.closed else ''}>"


def _callback(progress: Progress, raised: List[BaseException]) -> Any:
    """Calls `progress` from C, through which no exception must pass: the first one is kept, and ends the calls."""

    def told(_user: Any, step: bytes, done: int, of: int) -> None:
        if not raised:
            try:
                progress(words(step), done, of)
            except BaseException as error:
                raised.append(error)

    return ProgressFn(told)
