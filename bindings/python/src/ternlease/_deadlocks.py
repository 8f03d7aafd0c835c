"""Deadlocks, as they are when they are looked for."""

from ctypes import c_size_t, c_uint64
from typing import TYPE_CHECKING, Any, List

from ._c import handles, structs
from ._c.calls import call, items, words
from ._c.library import lib
from ._info import Deadlock, Wait

if TYPE_CHECKING:
    from ._manager import LeaseManager


def find_deadlocks(manager: "LeaseManager") -> List[Deadlock]:
    """All deadlocks of a table."""
    report = handles.Deadlocks()
    count = c_size_t()
    call(lib.tern_deadlocks_find, manager._handle, report, count)
    return [_deadlock(report, index) for index in range(count.value)]


def _deadlock(report: Any, index: int) -> Deadlock:
    victim = c_uint64()
    call(lib.tern_deadlocks_victim, report, index, victim)
    stuck = items(structs.Name, lib.tern_deadlocks_stuck, report, index)
    cycle = items(structs.Wait, lib.tern_deadlocks_cycle, report, index)
    return Deadlock(
        victim=victim.value,
        stuck=tuple(words(one.text) for one in stuck),
        cycle=tuple(Wait(words(one.worker), one.ticket or None, one.lease) for one in cycle),
    )
