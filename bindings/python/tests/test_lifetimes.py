"""Lifetimes: ten thousand times the same, and nothing has grown."""

import asyncio
import gc
import os
import tracemalloc
from pathlib import Path
from typing import Callable

import pytest
from conftest import comes_true, open_descriptors

from ternlease import Busy, GpuPool, LeaseManager, MachCap

TIMES = 10_000
# What the allocators of Python and of C may keep for themselves.
SLACK_PYTHON = 64 * 1024
SLACK_PROCESS = 4 * 1024 * 1024


def resident() -> int:
    """How much memory this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def does_not_grow(do: Callable[[], None], times: int = TIMES) -> None:
    """Does it often; a tenth of that first, until everything is as large as it gets."""
    for _ in range(times // 10):
        do()
    gc.collect()
    descriptors, memory = open_descriptors(), resident()
    tracemalloc.start()
    try:
        do()
        gc.collect()
        python = tracemalloc.get_traced_memory()[0]
        for _ in range(times // 10):
            do()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - python < SLACK_PYTHON
    finally:
        tracemalloc.stop()
    # Without tracing, which has memory of its own, and is slow.
    for _ in range(times - times // 10):
        do()
    gc.collect()
    assert comes_true(lambda: open_descriptors() <= descriptors)
    assert resident() - memory < SLACK_PROCESS


def test_managers() -> None:
    def once() -> None:
        with LeaseManager("process:", leases=8, tickets=8, resources=8, history=8) as manager:
            manager.acquire("gpu0", "a").release()

    does_not_grow(once)


def test_pools() -> None:
    def once() -> None:
        with GpuPool("process:", devices="fake:1") as pool, pool.claim():
            pass

    does_not_grow(once, TIMES // 10)


def test_machines() -> None:
    def once() -> None:
        MachCap.read(benchmarks=False, network=False).close()

    does_not_grow(once, TIMES // 100)


def test_leases_and_errors(pool: GpuPool) -> None:
    def once() -> None:
        with pool.claim(4) as lease:
            lease.renew()
            _ = lease.state, lease.devices
            with pytest.raises(Busy):
                pool.claim(timeout=0)

    does_not_grow(once)


def test_tickets_events_and_watches(manager: LeaseManager) -> None:
    def once() -> None:
        with manager.events() as events, manager.claim("a", "gpu0") as lease:
            with lease.watch() as watch, manager.enqueue("b", "gpu0") as ticket:
                assert ticket.wait(0.0) is None
                lease.release()
                assert watch.next(10)
                ticket.wait().release()
            assert events.next(0)

    does_not_grow(once)


def test_waits_that_time_out(manager: LeaseManager) -> None:
    with manager.claim("a", "gpu0"):

        def once() -> None:
            with manager.enqueue("b", "gpu0") as ticket:
                assert ticket.wait(1e-6) is None

        does_not_grow(once)


def test_tasks(pool: GpuPool) -> None:
    async def once() -> None:
        holder = await pool.claim_async(4)
        waiting = asyncio.ensure_future(pool.claim_async())
        await asyncio.sleep(0)
        holder.release()
        async with await waiting:
            pass

    loop = asyncio.new_event_loop()
    does_not_grow(lambda: loop.run_until_complete(once()), TIMES // 10)
    loop.close()
