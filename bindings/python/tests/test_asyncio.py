"""Tasks: claims, events and watches in an event loop, without threads."""

import asyncio
import threading
from typing import Any, Awaitable, Callable, List

import pytest
from conftest import comes_true, open_descriptors

from ternlease import (
    Closed,
    Event,
    EventKind,
    GpuPool,
    LeaseManager,
    LeaseState,
    NoDevices,
    Reason,
    Timeout,
)


def run(main: Callable[[], Awaitable[Any]]) -> None:
    """Runs a program of tasks, with the checks that asyncio has; it must start no thread and leave no descriptor."""
    threads = threading.active_count()

    async def whole() -> None:
        before = open_descriptors()
        await main()
        assert comes_true(lambda: open_descriptors() <= before)

    asyncio.run(whole(), debug=True)
    assert threading.active_count() == threads


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0)


def test_a_claim_is_awaited(pool: GpuPool) -> None:
    async def main() -> None:
        async with await pool.claim_async(4) as all_of_them:
            waiting = asyncio.ensure_future(pool.claim_async(2, holder="second"))
            await until(pool.pending_claimers)
            assert not waiting.done()
            all_of_them.release()
            async with await waiting as lease:
                assert lease.info().holder == "second"
                assert len(lease.devices) == 2
        assert pool.manager.active_count() == 0

    run(main)


def test_a_task_that_is_cancelled_gives_its_ticket_back(pool: GpuPool) -> None:
    async def main() -> None:
        with pool.claim(4):
            waiting = asyncio.ensure_future(pool.claim_async())
            await until(pool.pending_claimers)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert pool.pending_claimers() == 0

    run(main)


def test_cancelled_in_the_moment_of_its_grant(pool: GpuPool) -> None:
    async def main() -> None:
        holder = pool.claim(4)
        waiting = asyncio.ensure_future(pool.claim_async())
        await until(pool.pending_claimers)
        holder.release()
        assert pool.manager.active_count() == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert pool.manager.active_count() == pool.pending_claimers() == 0

    run(main)


def test_a_time_limit_of_asyncio(pool: GpuPool) -> None:
    async def main() -> None:
        with pool.claim(4):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(pool.claim_async(), 0.01)
            with pytest.raises(Timeout):
                await pool.claim_async(timeout=0.01)
            assert pool.pending_claimers() == 0

    run(main)


def test_without_devices() -> None:
    async def main() -> None:
        with GpuPool("process:", devices="none") as pool, pytest.raises(NoDevices):
            await pool.claim_async()

    asyncio.run(main())


def test_claims_on_named_resources(manager: LeaseManager) -> None:
    async def main() -> None:
        holder = manager.claim("a", "gpu0")
        ticket = manager.enqueue("b", "gpu0", 9)
        waiting = asyncio.ensure_future(manager.claim_async("c", "gpu0", 9))
        await until(lambda: manager.pending_claimers() == 2)
        holder.release()
        async with await ticket as lease:
            assert lease.state is LeaseState.HELD
        (await waiting).release()

    run(main)


def test_closing_wakes_a_task_that_waits() -> None:
    async def main() -> None:
        with GpuPool("process:", devices="fake:1") as pool:
            pool.claim().detach()
            waiting = asyncio.ensure_future(pool.claim_async())
            await until(pool.pending_claimers)
            pool.close()
            with pytest.raises(Closed):
                await waiting

    asyncio.run(main())


def test_events_are_looped_over(manager: LeaseManager) -> None:
    async def main() -> None:
        seen: List[Event] = []
        events = manager.events()

        async def read() -> None:
            async for event in events:
                seen.append(event)

        reader = asyncio.ensure_future(read())
        manager.claim("a", "gpu0").release()
        await until(lambda: len(seen) == 2)
        manager.claim("a", "gpu0").release()
        await until(lambda: len(seen) == 4)
        events.close()
        await reader
        assert [event.kind for event in seen] == [EventKind.GRANTED, EventKind.ENDED] * 2

    run(main)


def test_a_watch_is_looped_over(manager: LeaseManager) -> None:
    async def main() -> None:
        lease = manager.claim("a", "gpu0")
        with lease.watch() as watch:
            reader = asyncio.ensure_future(told(watch))
            await asyncio.sleep(0)
            lease.revoke(Reason.QUOTA, notice=1)
            await asyncio.sleep(0)
            manager.tick()
            assert (await reader)[-1].state is LeaseState.REVOKED

    async def told(watch: Any) -> List[Any]:
        return [notice async for notice in watch]

    run(main)


def test_closing_ends_a_loop_over_a_watch() -> None:
    async def main() -> None:
        manager = LeaseManager(ticks=True)
        lease = manager.claim("a", "gpu0")
        with lease.watch() as watch:
            reader = asyncio.ensure_future(told(watch))
            await until(lambda: manager._waiting)
            manager.close()
            assert await reader == []

    async def told(watch: Any) -> List[Any]:
        return [notice async for notice in watch]

    asyncio.run(main())
