"""How much of the machine a process has, over time, and whether that is flat."""

import os
from statistics import median
from typing import Callable, List, NamedTuple, Optional

MIB = 1024 * 1024

# Allocators keep what was freed, and collectors settle late: without a leak, what a process has may differ by this much
# from time to time. A leak goes on: the longer the soak, the smaller the one that comes to more than this.
MEMORY_SLACK = 4 * MIB
# Watches have a pipe each, pools and waits a thread each, for as long as they are open.
COUNT_SLACK = 4


class Sample(NamedTuple):
    """What a process had at one time, and what it had done."""

    at: float
    memory: int
    descriptors: int
    threads: int
    operations: int


def look_at(pid: int, at: float, operations: int) -> Optional[Sample]:
    """None if the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            told = dict(line.split(":", 1) for line in status)
        memory, threads = told["VmRSS"], told["Threads"]
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, KeyError):
        return None
    return Sample(at, int(memory.split()[0]) * 1024, descriptors, int(threads), operations)


def fifth(samples: List[Sample], number: int) -> List[Sample]:
    """Those of one fifth of the time, of 1 to 5."""
    begin, end = samples[0].at, samples[-1].at
    width = (end - begin) / 5
    first, last = begin + (number - 1) * width, begin + number * width
    return [it for it in samples if first <= it.at <= last]


def growth(samples: List[Sample], of: Callable[[Sample], float]) -> float:
    """The median of the last fifth of the time, less that of the second: in the first, everything is new."""
    return median(map(of, fifth(samples, 5))) - median(map(of, fifth(samples, 2)))


def slope(samples: List[Sample], of: Callable[[Sample], float]) -> float:
    """The growth per second, by the straight line that fits best from the second fifth on."""
    later = [it for number in (2, 3, 4, 5) for it in fifth(samples, number)]
    middle_at = sum(it.at for it in later) / len(later)
    middle = sum(of(it) for it in later) / len(later)
    width = sum((it.at - middle_at) ** 2 for it in later)
    return sum((it.at - middle_at) * (of(it) - middle) for it in later) / width if width else 0.0


def leak_that_shows(samples: List[Sample]) -> Optional[float]:
    """As many bytes lost by each operation would be more than the slack; None if there was none."""
    operations = growth(samples, lambda it: it.operations)
    return MEMORY_SLACK / operations if operations else None


def what_is_not_flat(samples: List[Sample]) -> List[str]:
    """In words; nothing if all is."""
    found = []
    memory = growth(samples, lambda it: it.memory)
    if memory > MEMORY_SLACK:
        found.append(f"memory grew by {memory / MIB:.1f} MiB")
    for what, of in (("descriptors", lambda it: it.descriptors), ("threads", lambda it: it.threads)):
        count = growth(samples, of)
        if count > COUNT_SLACK:
            found.append(f"{what} grew by {count:.0f}")
    return found


def makes_progress(samples: List[Sample]) -> bool:
    """Has something been done in each fifth of the time, after the first, in which all begin?"""
    fifths = [fifth(samples, number) for number in (2, 3, 4, 5)]
    return all(part and part[-1].operations > part[0].operations for part in fifths)
