"""Costs: what a computation needs, in whole numbers that are the same on every machine and in every language."""

import math
import struct
from ctypes import c_uint32
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from ._c import constants as c
from ._c import structs
from ._c.calls import call, signed, whole
from ._c.library import lib
from ._enums import Kind

# What never ends, where times are predicted.
NEVER = math.inf


def told_ns(nanoseconds: int) -> float:
    """A predicted time: whole nanoseconds, or NEVER."""
    return NEVER if nanoseconds == c.NEVER else nanoseconds


def given_ns(name: str, nanoseconds: float) -> int:
    """A time for the library."""
    if nanoseconds == NEVER:
        return c.NEVER
    if isinstance(nanoseconds, float):
        raise TypeError(f"{name} must be whole nanoseconds, or NEVER")
    return whole(name, nanoseconds)


def nanoseconds(work: int, rate: int) -> float:
    """How long `work` takes at `rate` per second: whole nanoseconds, rounded up, or NEVER."""
    return told_ns(lib.tern_nanoseconds(whole("work", work), whole("rate", rate)))


@dataclass(frozen=True)
class FnCost:
    """What a computation needs: an identity, which may be part of the key of a cache.

    No number wraps around: 2**64 - 1 means "this much or more". `a + b` is `a.then(b)`.
    """

    flops: int = 0
    """Operations, of whatever sort the computation is made of."""
    mem_bytes: int = 0
    """Bytes that go to and from memory."""
    peak_mem: int = 0
    """Bytes of memory in use at one time, at most."""
    result_bytes: int = 0
    """Bytes of the result."""

    def __post_init__(self) -> None:
        for name in ("flops", "mem_bytes", "peak_mem", "result_bytes"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))

    @staticmethod
    def scan(bytes: int, result_bytes: int = 0) -> "FnCost":
        """Reading `bytes` once, from end to end."""
        return _made(lib.tern_cost_scan, bytes=bytes, result_bytes=result_bytes)

    @staticmethod
    def sort(items: int, item_bytes: int, result_bytes: int = 0) -> "FnCost":
        """Sorting so many items by comparison."""
        return _made(lib.tern_cost_sort, items=items, item_bytes=item_bytes, result_bytes=result_bytes)

    @staticmethod
    def hash(bytes: int) -> "FnCost":
        """Hashing `bytes` into 32."""
        return _made(lib.tern_cost_hash, bytes=bytes)

    @staticmethod
    def matmul(m: int, n: int, k: int, result_bytes: int = 0) -> "FnCost":
        """Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers."""
        return _made(lib.tern_cost_matmul, m=m, n=n, k=k, result_bytes=result_bytes)

    @staticmethod
    def etl(rows: int, row_bytes: int, ops_per_row: int, result_bytes: int = 0) -> "FnCost":
        """Reading so many rows, doing so many operations with each, and writing them."""
        return _made(
            lib.tern_cost_etl, rows=rows, row_bytes=row_bytes, ops_per_row=ops_per_row, result_bytes=result_bytes
        )

    @staticmethod
    def copy(bytes: int) -> "FnCost":
        """Copying `bytes`."""
        return _made(lib.tern_cost_copy, bytes=bytes)

    def then(self, next: "FnCost") -> "FnCost":
        """This, then the next one, whose result it is."""
        return _told(lib.tern_cost_then(_given(self), _given(next)))

    def par(self, other: "FnCost") -> "FnCost":
        """This beside another, each on processors of its own."""
        return _told(lib.tern_cost_par(_given(self), _given(other)))

    def both(self, other: "FnCost") -> "FnCost":
        """This beside another on the same processors: everything adds up."""
        return _told(lib.tern_cost_both(_given(self), _given(other)))

    def repeat(self, times: int) -> "FnCost":
        """This so many times, one after the other, of which the last result counts."""
        return _told(lib.tern_cost_repeat(_given(self), whole("times", times)))

    def __add__(self, next: "FnCost") -> "FnCost":
        return self.then(next) if isinstance(next, FnCost) else NotImplemented

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.mem_bytes if self.mem_bytes else math.inf

    def to_bytes(self) -> bytes:
        """The four numbers, little-endian: a key."""
        return struct.pack("<4Q", self.flops, self.mem_bytes, self.peak_mem, self.result_bytes)


def _made(function: Callable[..., Any], **numbers: int) -> FnCost:
    return _told(function(*[whole(name, number) for name, number in numbers.items()]))


def _told(cost: Any) -> FnCost:
    return FnCost(cost.flops, cost.mem_bytes, cost.peak_mem, cost.result_bytes)


def _given(cost: FnCost) -> Any:
    if not isinstance(cost, FnCost):
        raise TypeError(f"a cost must be a FnCost, not {type(cost).__name__}")
    return structs.Cost(cost.flops, cost.mem_bytes, cost.peak_mem, cost.result_bytes)


@dataclass(frozen=True)
class Learned:
    """What runs of a function taught about how well it is written. Keep one for each function."""

    runs: int = 0
    permille: int = 0
    """How long they took, in thousandths of what is predicted without this."""

    def record(self, predicted_ns: float, measured_ns: int) -> "Learned":
        """What is known after a run that was predicted to take so long (`MachCap.untaught_time`) and took so long."""
        runs = c_uint32(whole("runs", self.runs, 32))
        permille = c_uint32(whole("permille", self.permille, 32))
        times = given_ns("predicted_ns", predicted_ns), given_ns("measured_ns", measured_ns)
        call(lib.tern_learned_record, runs, permille, *times)
        return Learned(runs.value, permille.value)


@dataclass(frozen=True)
class Task:
    """A cost, and what else a prediction needs to know."""

    cost: FnCost
    kind: Kind = Kind.ROOFLINE
    """What sort of work it is."""
    threads: int = 1
    """On how many threads it runs."""
    input_bytes: Optional[int] = None
    """How many bytes must get to a GPU before it can begin there; None: all that it has in memory."""
    learned: Learned = Learned()


# Wherever a task is asked for: a cost alone is a task of one thread of which nothing else is known.
TaskLike = Union[Task, FnCost]


def task_struct(task: TaskLike) -> Any:
    """A task, as the library takes it."""
    if isinstance(task, FnCost):
        task = Task(task)
    if not isinstance(task, Task):
        raise TypeError(f"a task must be a Task or a FnCost, not {type(task).__name__}")
    told = structs.Task(
        cost=_given(task.cost),
        kind=signed("kind", task.kind),
        threads=whole("threads", task.threads, 32),
        learned_runs=whole("runs", task.learned.runs, 32),
        learned_permille=whole("permille", task.learned.permille, 32),
    )
    if task.input_bytes is not None:
        told.input_bytes = whole("input_bytes", task.input_bytes)
        told.flags = c.TASK_INPUT
    return told


@dataclass(frozen=True)
class Estimate:
    """A length of time as far as it is known: whole nanoseconds, or NEVER for what cannot be done or has no end."""

    lo: float
    """If all goes well."""
    mid: float
    """Most likely."""
    hi: float
    """If it does not."""

    @property
    def seconds(self) -> float:
        """The most likely one, in seconds."""
        return self.mid / 1e9


def estimate(told: Any) -> Estimate:
    """A length of time, as the library tells of it."""
    return Estimate(told_ns(told.lo), told_ns(told.mid), told_ns(told.hi))
